"""Dates in many languages, with all days that each may mean."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import regex

from bitextfilter.io.files import read_toml


class Day(NamedTuple):
    """A day in digits; year or day of the month may be unknown."""

    year: str | None
    month: str
    day: str | None


class Date(NamedTuple):
    """A date in a text, and the days that it may mean."""

    text: str
    readings: frozenset[Day]


def read_dates(text: str, language: str | None) -> list[Date]:
    """Find the dates of a *text* with ASCII digits: in figures, and with a month's name.

    The names are those of *language*, or of any known language without it.
    """
    found = [_in_figures(match) for match in _FIGURES.finditer(text)]
    found += [_date(match[0], match.group("y", "m", "d")) for match in _SIGNS.finditer(text)]
    names = _names(language)
    if names is not None and names.word.search(text):
        found += [_with_name(match, names) for match in names.date.finditer(text)]
    return [date for date in found if date.readings]


def named_months(text: str, language: str | None) -> set[str]:
    """Return the months named in *text*, 1 to 12."""
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
        """Return the months that *word* may name."""
        folded = word.lower()
        stems = (f"{folded[:size]}*" for size in range(len(folded), 0, -1))
        return next(
            (self._months[name] for name in (folded, *stems) if name in self._months), set()
        )


@functools.cache
def month_names() -> dict[str, str]:
    """Return the names of the months in order, by language."""
    return read_toml(Path(__file__).with_name("months.toml"))


@functools.lru_cache
def _names(language: str | None) -> _Names | None:
    tables = month_names()
    if language is None:
        return _Names(tables.values())
    return _Names([tables[language]]) if language in tables else None


def _in_figures(match: regex.Match[str]) -> Date:
    if match["y"]:
        return _date(match[0], match.group("y", "m", "d"))
    readings = [match.group("c", "b", "a")]
    return _date(match[0], *readings, *([match.group("c", "a", "b")] if match["t"] == "/" else []))


def _with_name(match: regex.Match[str], names: _Names) -> Date:
    year, day = match.group("year", "day")
    return _date(match[0], *((year, month, day) for month in names.of(match["month"])))


def _date(text: str, *readings: tuple[str | None, ...]) -> Date:
    """Make a date of the possible *readings* (year, month, day)."""
    days = (
        Day(year, (month or "").lstrip("0"), day and day.lstrip("0"))
        for year, month, day in readings
    )
    return Date(text.strip(), frozenset(filter(_possible, days)))


def _possible(day: Day) -> bool:
    return 1 <= int(day.month or 0) <= 12 and (day.day is None or 1 <= int(day.day or 0) <= 31)
