"""Dates of a text: in figures, and with a month's name."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

import regex

from bitextfilter.filters.numbers import BUDDHIST_ERA, BUDDHIST_YEARS, MOST_NUMBERS
from bitextfilter.filters.word_tables import COMMON, either, first, named, word_table


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

    The names are in *language*; without it, in one of ``COMMON``. Of each kind the first 10,000
    are found.
    """
    found = []
    for match in islice(_FIGURES.finditer(text), MOST_NUMBERS):
        orders = ("ymd", "ydm") if match["t"] == "/" else ("ymd",)
        found.append((match[0], [match.group(*order) for order in orders]))
    signs = islice(_SIGNS.finditer(text), MOST_NUMBERS)
    found += [(match[0], [match.group(*"ymd")]) for match in signs]
    names = _names(language)
    if names is not None and names.word.search(text):
        for match in islice(names.date.finditer(text), MOST_NUMBERS):
            year, day = match.group("year", "day")
            found.append((match[0], [(year, month, day) for month in names.of(match["month"])]))
    dates = [Date(date.strip(), frozenset(_days(readings, language))) for date, readings in found]
    return [date for date in dates if date.readings]


def named_months(text: str, language: str | None) -> set[str]:
    """Return the months named in *text*, 1 to 12."""
    names = _names(language)
    if names is None:
        return set()
    return {month for found in names.word.finditer(text) for month in names.of(found["month"])}


_FIGURES = regex.compile(
    r"(?<![0-9.,:/-])(?:"
    r"(?P<y>[0-9]{4})(?P<s>[./-])\s?(?P<m>[0-9]{1,2})(?P=s)\s?(?P<d>[0-9]{1,2})"
    r"|(?P<d>[0-9]{1,2})(?P<t>[./-])\s?(?P<m>[0-9]{1,2})(?P=t)\s?(?P<y>[0-9]{4}|[0-9]{2})"
    r")(?![0-9/-]|[.,:][0-9])"
)
_SIGNS = regex.compile(
    r"(?:(?P<y>[0-9]{4})[年년]\s?)?(?P<m>[0-9]{1,2})[月월](?:\s?(?P<d>[0-9]{1,2})[日號号일])?"
)
_WITH_NAME = (
    r"(?:(?<![0-9.,:/])(?P<day>[0-9]{1,2})(?:st|nd|rd|th|er|\.|º|ª|-го)?\s?(?:of\s|de\s|di\s)?"
    r"WORD(?:,?\s(?:de\s|del\s|năm\s)?(?P<year>[0-9]{4})(?![0-9]))?"
    r"|WORD\s(?:the\s)?(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?(?![0-9]|[.,:][0-9])"
    r"(?:,?\s(?P<year>[0-9]{4})(?![0-9]))?"
    r"|WORD,?\s(?:of\s|de\s|năm\s)?(?P<year>[0-9]{4})(?![0-9]))"
)


class _Names:
    """The names of the months in some languages."""

    def __init__(self, tables: Iterable[str]) -> None:
        self._months: dict[str, set[str]] = {}
        for table in tables:
            for month, names in enumerate(table.split(), start=1):
                for name in names.replace("_", " ").split("/"):
                    self._months.setdefault(name, set()).add(str(month))
        forms = either(self._months).replace(r"\*", r"\p{L}*")
        word = rf"(?<!\p{{L}})(?P<month>{forms})(?!\p{{L}})\.?"
        self.word = regex.compile(word, regex.IGNORECASE)
        date = first(self._months, "0123456789") + _WITH_NAME.replace("WORD", word)
        self.date = regex.compile(date, regex.IGNORECASE)

    def of(self, word: str) -> set[str]:
        """Return the months that *word* may name."""
        return named(word.lower(), self._months)


def month_names() -> dict[str, str]:
    """Return the names of the months in order, by language."""
    return word_table("months.toml")


@functools.lru_cache
def _names(language: str | None) -> _Names | None:
    tables = month_names()
    if language is None:
        return _Names(tables[known] for known in COMMON)
    return _Names([tables[language]]) if language in tables else None


def _days(readings: Iterable[tuple[str | None, ...]], language: str | None) -> Iterator[Day]:
    """Yield the possible days of *readings* (year, month, day), the years of Thailand as ours."""
    for year, month, day in readings:
        month, day = (month or "").lstrip("0"), day and day.lstrip("0")
        if 1 <= int(month or 0) <= 12 and (day is None or 1 <= int(day or 0) <= 31):
            yield Day(year, month, day)
            if language == "th" and int(year or 0) in BUDDHIST_YEARS:
                yield Day(str(int(year or 0) - BUDDHIST_ERA), month, day)
