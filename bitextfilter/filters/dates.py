"""Dates as many languages write them, and all that each may mean."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import NamedTuple

import regex

MONTHS = {
    "cs": """leden/ledn* únor* březen/březn* duben/dubn* květen/květn* červen/června/červnu/červnem
        červenec/července/červenci/červencem srpen/srpn* září* říjen/říjn* listopad*
        prosinec/prosinc*""",
    "de": """januar*/jänner*/jan februar*/feb märz*/mrz april*/apr mai juni/jun juli/jul
        august*/aug september*/sept/sep oktober*/okt november*/nov dezember*/dez""",
    "en": """january/jan february/feb march/mar april/apr may june/jun july/jul august/aug
        september/sept/sep october/oct november/nov december/dec""",
    "es": """enero/ene febrero/feb marzo/mar abril/abr mayo/may junio/jun julio/jul agosto/ago
        septiembre/setiembre/sept/sep octubre/oct noviembre/nov diciembre/dic""",
    "fr": """janvier/janv février/févr/fév mars avril/avr mai juin juillet/juil août/aout
        septembre/sept octobre/oct novembre/nov décembre/déc""",
    "it": """gennaio/gen febbraio/febbr/feb marzo/mar aprile/apr maggio/magg/mag giugno/giu
        luglio/lug agosto/ago settembre/sett/set ottobre/ott novembre/nov dicembre/dic""",
    "nl": """januari/jan februari/feb maart/mrt april/apr mei juni/jun juli/jul augustus/aug
        september/sept/sep oktober/okt november/nov december/dec""",
    "pl": """styczeń/styczni* luty/lut* marzec/marc* kwiecień/kwietni* maj/maja/maju
        czerwiec/czerwc* lipiec/lipc* sierpień/sierpni* wrzesień/wrześni* październik* listopad*
        grudzień/grudni*""",
    "pt": """janeiro/jan fevereiro/fev março/mar abril/abr maio/mai junho/jun julho/jul agosto/ago
        setembro/set outubro/out novembro/nov dezembro/dez""",
    "ru": """январ* феврал* март* апрел* май/мая/мае июн* июл* август* сентябр* октябр* ноябр*
        декабр*""",
    "sv": """januari/jan februari/feb mars april/apr maj juni/jun juli/jul augusti/aug
        september/sept/sep oktober/okt november/nov december/dec""",
}
"""The months in order; a name that ends in ``*`` may go on."""


class Day(NamedTuple):
    """A day, of which the year or the day of the month may be unknown; all in digits."""

    year: str | None
    month: str
    day: str | None


class Date(NamedTuple):
    """A date as it stands in a text, and the days that it may mean."""

    text: str
    readings: frozenset[Day]


def read_dates(text: str, language: str | None) -> list[Date]:
    """Find the dates of a *text* with ASCII digits: in figures, and with a month's name.

    The names are those of *language*; of any that is known here where it is None.
    """
    found = [_in_figures(match) for match in _FIGURES.finditer(text)]
    found += [_date(match[0], match.group("y", "m", "d")) for match in _SIGNS.finditer(text)]
    names = _names(language)
    if names is not None and names.word.search(text):
        found += [_with_name(match, names) for match in names.date.finditer(text)]
    return [date for date in found if date.readings]


def named_months(text: str, language: str | None) -> set[str]:
    """Return the months, 1 to 12, whose names are in *text*."""
    names = _names(language)
    if names is None:
        return set()
    return {month for found in names.word.finditer(text) for month in names.of(found["month"])}


_FIGURES = regex.compile(
    r"(?<![0-9.,:/-])(?:"
    r"(?P<y>[0-9]{4})(?P<s>[./-])\s?(?P<m>[0-9]{1,2})(?P=s)\s?(?P<d>[0-9]{1,2})"
    r"|(?P<a>[0-9]{1,2})(?P<t>[./-])\s?(?P<b>[0-9]{1,2})(?P=t)\s?(?P<c>[0-9]{4}|[0-9]{2})"
    r")(?![0-9/-]|[.,:][0-9])"
)
_SIGNS = regex.compile(
    r"(?:(?P<y>[0-9]{4})[年년]\s?)?(?P<m>[0-9]{1,2})[月월](?:\s?(?P<d>[0-9]{1,2})[日號号일])?"
)
_WITH_NAME = (
    r"(?<![0-9.,:/])(?P<day>[0-9]{1,2})(?:st|nd|rd|th|er|\.|º|ª|-го)?\s?(?:of\s|de\s|di\s)?"
    r"WORD(?:,?\s(?:de\s|del\s)?(?P<year>[0-9]{4})(?![0-9]))?"
    r"|WORD\s(?:the\s)?(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?(?![0-9]|[.,:][0-9])"
    r"(?:,?\s(?P<year>[0-9]{4})(?![0-9]))?"
    r"|WORD,?\s(?:of\s|de\s)?(?P<year>[0-9]{4})(?![0-9])"
)


class _Names:
    """The names of the months in some languages."""

    def __init__(self, tables: Iterable[str]) -> None:
        self._months: dict[str, set[str]] = {}
        for table in tables:
            for month, names in enumerate(table.split(), start=1):
                for name in names.split("/"):
                    self._months.setdefault(name, set()).add(str(month))
        either = "|".join(map(regex.escape, sorted(self._months, key=len, reverse=True)))
        either = either.replace(r"\*", r"\p{L}*")
        word = rf"(?<!\p{{L}})(?P<month>{either})(?!\p{{L}})\.?"
        self.word = regex.compile(word, regex.IGNORECASE)
        self.date = regex.compile(_WITH_NAME.replace("WORD", word), regex.IGNORECASE)

    def of(self, word: str) -> set[str]:
        """Return the months that a *word* may name."""
        folded = word.lower()
        stems = (f"{folded[:size]}*" for size in range(len(folded), 0, -1))
        return next(
            (self._months[name] for name in (folded, *stems) if name in self._months), set()
        )


@functools.lru_cache
def _names(language: str | None) -> _Names | None:
    if language is None:
        return _Names(MONTHS.values())
    return _Names([MONTHS[language]]) if language in MONTHS else None


def _in_figures(match: regex.Match[str]) -> Date:
    if match["y"]:
        return _date(match[0], match.group("y", "m", "d"))
    readings = [match.group("c", "b", "a")]
    return _date(match[0], *readings, *([match.group("c", "a", "b")] if match["t"] == "/" else []))


def _with_name(match: regex.Match[str], names: _Names) -> Date:
    year, day = match.group("year", "day")
    return _date(match[0], *((year, month, day) for month in names.of(match["month"])))


def _date(text: str, *readings: tuple[str | None, ...]) -> Date:
    """Make a date of the *readings* (year, month, day) that a calendar may have."""
    days = (
        Day(year, (month or "").lstrip("0"), day and day.lstrip("0"))
        for year, month, day in readings
    )
    return Date(text.strip(), frozenset(filter(_possible, days)))


def _possible(day: Day) -> bool:
    return 1 <= int(day.month or 0) <= 12 and (day.day is None or 1 <= int(day.day or 0) <= 31)
