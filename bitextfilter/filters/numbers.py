"""Numbers of a text, with all values that each may have.

1.500 is fifteen hundred or one and a half; 3.4 may be a date. A number has several readings, and
agrees with the other side if one of them does. Values are digits without idle zeros, with a point
for a fraction: ``1500``, ``1.5``.

Dates of a text: in figures, and with a month's name.

Quantities: numbers with a unit, and conversions between units.
"""

from __future__ import annotations

import functools
import math
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import regex

from bitextfilter.filters.number_words import (
    ABBREVIATIONS,
    COMMON,
    either,
    first,
    named,
    scale_words,
    scales_at,
    word_table,
)
from bitextfilter.text import characters

Readings = frozenset[tuple[str, ...]]

_NUMBER = regex.compile(
    r"[0-9]+(?:[.,'’٫٬][0-9]+|[ \u00a0\u2009\u202f][0-9]{3}(?![0-9]))*", regex.ASCII
)
_SEPARATOR = regex.compile(r"[^0-9]")
_SQUARE = regex.compile(r"(?<=[\s0-9])([ckm]?m)[2²]\b")
_MIXED = regex.compile(r"(?<=[0-9]) ([1-9])/([2-9])(?![/0-9])")
_VULGAR = regex.compile(r"([0-9]?)[ \u00a0\u2009\u202f]?([¼-¾⅐-⅞↉])")
_SIMPLE = regex.compile(r"(?<![/.,0-9])([1-9])/([2-9]|10)(?![/0-9])|[¼-¾⅐-⅞↉⁄]")
_RAISED = regex.compile("[⁰¹²³⁴-⁹]+|[₀-₉]+")


def _decimal(numerator: int, denominator: int) -> str:
    """Write a fraction below 1 with three digits at most: ``.5``, ``.333``."""
    return f"{numerator / denominator:.3f}".strip("0")


@dataclass(frozen=True)
class Number:
    """A number in a text."""

    text: str
    start: int
    end: int
    readings: Readings
    """Possible meanings; each is one value, or several."""

    def agrees(self, values: set[str]) -> bool:
        """Return True if *values* include those of a reading."""
        return any(values.issuperset(reading) for reading in self.readings)


_REST = r"([0-9]{1,4}|[0-9],[0-9]{3})"
_MYRIADS = regex.compile(
    rf"(?<![0-9][.,]|[0-9])([0-9]{{1,9}})(?:[万萬만]{_REST}|[億亿억]{_REST}(?=[万萬만]))"
    r"(?![0-9]|[.,][0-9])"
)


def _joined_myriads(found: regex.Match[str]) -> str:
    """Write 1万2000 as 12000, and 1億2000万 as 12000万."""
    return str(int(found[1]) * 10**4 + int((found[2] or found[3]).replace(",", "")))


def _vulgar(found: regex.Match[str]) -> str:
    """Write 1½ as 1.5, and ½ as 0.5."""
    return (found[1] or " 0") + _decimal(round(unicodedata.numeric(found[2]) * 2520), 2520)


def _mixed(found: regex.Match[str]) -> str:
    """Write the 3/4 of 2 3/4 as .75."""
    numerator, denominator = int(found[1]), int(found[2])
    return _decimal(numerator, denominator) if numerator < denominator else found[0]


def has_fractions(text: str) -> bool:
    """Return whether a text may have a simple fraction: ½, 1/2."""
    return _SIMPLE.search(text) is not None


def raised_values(text: str) -> set[str]:
    """Return the values of superscripts and subscripts: they are not demanded, but may be digits.

    ``CO₂`` may be CO2, and a note ² may be missing.
    """
    return {str(int(_unraised(found))) for found in _RAISED.findall(text)}


def _unraised(digits: str) -> str:
    return "".join(str(unicodedata.digit(sign)) for sign in digits)


def in_ascii(text: str) -> str:
    """Write digits and simple fractions in ASCII, km2 as km²; only the first 100,000 characters."""
    text = text[: 10 * MOST_NUMBERS]
    if not text.isascii():
        text = text.translate(_digits())
        text = _VULGAR.sub(_vulgar, text.replace("⁄", "/"))
        text = _MYRIADS.sub(_joined_myriads, text)
    text = _MIXED.sub(_mixed, text)
    return str(_SQUARE.sub(r"\1²", text))


@functools.cache
def _digits() -> dict[int, str]:
    """Return the ASCII digit of each digit."""
    values = characters.digits()
    return {code: str(values[code]) for code in np.flatnonzero(values >= 0).tolist()}


MOST_NUMBERS = 10_000
"""Numbers, and dates, of a side that are read, which bounds the time."""


def read_numbers(text: str) -> list[Number]:
    """Find the numbers of a *text* from ``in_ascii``, the first 10,000 of them."""
    return [
        Number(found[0], found.start(), found.end(), _readings(found[0]))
        for found in islice(_NUMBER.finditer(text), MOST_NUMBERS)
    ]


def values_of(numbers: Iterable[Number]) -> set[str]:
    """Return all values that the numbers may have."""
    return {value for number in numbers for reading in number.readings for value in reading}


@functools.lru_cache(maxsize=1 << 12)
def _readings(text: str) -> Readings:
    groups, marks = _SEPARATOR.split(text), _SEPARATOR.findall(text)
    if not marks:
        return frozenset([(_plain(text),)])
    readings: set[tuple[str, ...]] = set()
    whole = _grouped(groups, marks)
    if whole:
        readings.add((_plain("".join(groups)),))
    if not whole or (marks[0].isspace() and not any(group[0] == "0" for group in groups[1:])):
        readings.add(tuple(_plain(group) for group in groups))
    if marks[-1] in ".,٫" and marks[-1] not in marks[:-1] and _grouped(groups[:-1], marks[:-1]):
        readings.add((_plain("".join(groups[:-1]), groups[-1]),))
    return frozenset(readings)


def _grouped(groups: list[str], marks: list[str]) -> bool:
    """Return True if groups may be one whole number: 1 234 567, or 12,34,567 in India."""
    sizes = [len(group) for group in groups]
    one_mark = len(set(marks)) == 1 and sizes[0] <= 3 == sizes[-1]
    return not marks or (one_mark and set(sizes[1:-1]) <= {2, 3})


def _plain(whole: str, decimals: str = "") -> str:
    """Write a value without idle zeros."""
    whole, decimals = whole.lstrip("0") or "0", decimals.rstrip("0")
    return f"{whole}.{decimals}" if decimals else whole


_MINUTES = regex.compile(r"(?<=[0-9][:hH])00(?![0-9])")
_YEAR = regex.compile(r"[12][0-9]{3}")


_PARTS = {
    f"0{_decimal(one, other)}": (str(one), str(other))
    for other in range(2, 11)
    for one in range(1, other)
    if math.gcd(one, other) == 1
}
"""Decimals of simple fractions → numerator and denominator."""


def with_fractions(number: Number) -> Number:
    """Return *number*, if it is a simple fraction, as numerator and denominator, too."""
    more = {_PARTS[one] for one, *_ in filter(None, number.readings) if one in _PARTS}
    return Number(number.text, number.start, number.end, number.readings | more)


def widened(number: Number, text: str, language: str | None, clock: bool) -> Number:
    """Return *number* with the readings that its context allows.

    2.5 million may be 2500000, 1990 may be 90, the 00 of 15:00 and the 20 of 20世纪90年代 may be
    missing, and with a.m. or p.m. on a side (*clock*), 3 may be 15. For years of other calendars
    see :func:`_years`.
    """
    more: set[tuple[str, ...]] = {(str(year),) for year in _years(number, text, language)}
    for power in scales_at(text, number.end, language):
        for whole, _, decimals in (r[0].partition(".") for r in number.readings if len(r) == 1):
            moved = decimals[:power].ljust(power, "0")
            more.add((_plain(whole + moved, decimals[power:]),))
    if _YEAR.fullmatch(number.text):
        more.add((_plain(number.text[2:]),))
    if _MINUTES.match(text, number.start) or _DECADE_OF_CENTURY.match(text, number.end):
        more.add(())
    if clock:
        for first, *rest in filter(None, number.readings):
            if len(first) <= 2 and "." not in first and int(first) <= 24:
                more.add((str((int(first) + 12) % 24), *rest))
    return Number(number.text, number.start, number.end, number.readings | more)


_ERAS = {"明治": 1867, "大正": 1911, "昭和": 1925, "平成": 1988, "令和": 2018}
"""The year before the first one of Japanese eras."""
_HUNDREDS = regex.compile(r"[-–]?(?:luv|luk|tal)")
_DECADE = regex.compile(r"\.\s?áratug")
_DECADE_OF_CENTURY = regex.compile(r"\s?(?:世[纪紀]|세기)\s?[0-9]0\s?(?:年代|년대)")
_CENTURY = regex.compile(r"(?<![0-9])([0-9]{1,2})\s?(?:世[纪紀]|세기)\s?$")
_LONGEST_YEAR = 4
BUDDHIST_YEARS = range(2400, 2600)
"""Years of texts of today in Thailand, ``BUDDHIST_ERA`` higher than elsewhere."""
BUDDHIST_ERA = 543


def _years(number: Number, text: str, language: str | None) -> Iterator[int]:
    """Yield years and centuries that *number* stands for by its context.

    平成18年 is 2006, 20世纪90年代 is 1990, พ.ศ. 2560 is 2017, the Finnish or Swedish 1800s are the
    19th century, the Icelandic eighth decade is that of 70.
    """
    if not number.text.isdigit() or len(number.text) > _LONGEST_YEAR:
        return
    value = int(number.text)
    if era := _ERAS.get(text[max(0, number.start - 2) : number.start]):
        yield era + value
    if century := _CENTURY.search(text, max(0, number.start - 6), number.start):
        yield 100 * (int(century[1]) - 1) + value
    if language == "th" and value in BUDDHIST_YEARS:
        yield value - BUDDHIST_ERA
    if not value % 100 and _HUNDREDS.match(text, number.end):
        yield value // 100 + 1
    if _DECADE.match(text, number.end):
        yield 10 * (value - 1)


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


_RANGE = r"\s?(?:[-–—]|to|bis|au|à|až|do|tot|till)\s?[0-9][0-9.,]*+"
_PER = r"\s?(?:/|(?:per|pro|an|a|za|v|par|por|na)\s\p{L}|all'|à l)"
_ENTRY = regex.compile(r"\n(?! )")
_PREFIXES = "us$ $ € £ ¥ ₽ usd eur gbp jpy cny chf kč".split()  # noqa: SIM905 - one line
_LONGEST_PREFIX = 5

_TOLERANCE = 0.1
"""Largest relative difference of a converted quantity: conversions are rounded."""


class Unit(NamedTuple):
    """A unit: a value of it is ``(value + offset) * factor`` in the base unit of *measures*."""

    name: str
    measures: str
    factor: float
    offset: float = 0.0


class Quantity(NamedTuple):
    """A number, and the units that it may have."""

    number: Number
    text: str
    units: frozenset[Unit]

    @property
    def values(self) -> set[str]:
        """The values that the number may have."""
        return {reading[0] for reading in self.number.readings if len(reading) == 1}

    def converts_to(self, other: Quantity) -> bool:
        """Return True if *other* may be the same in another unit, to within a tenth."""
        return any(
            one.name != two.name
            and one.measures == two.measures
            and abs(first - second) <= _TOLERANCE * max(first, second)
            for one, first in self._amounts()
            for two, second in other._amounts()
        )

    def _amounts(self) -> Iterator[tuple[Unit, float]]:
        for unit in self.units:
            for value in self.values:
                yield unit, (float(value) + unit.offset) * unit.factor


def read_quantities(text: str, numbers: Iterable[Number]) -> list[Quantity]:
    """Return the *numbers* of a *text* that have a unit."""
    before, after = _patterns()
    found = []
    for number in numbers:
        start, end = number.start, number.end
        if unit := before.search(text, max(0, start - _LONGEST_PREFIX), start):
            start = unit.start()
        elif unit := after.match(text, end):
            end = unit.end()
        if unit and (units := _units_of(unit[1])):
            found.append(Quantity(number, text[start:end], units))
    return found


@functools.lru_cache(maxsize=1 << 12)
def _units_of(form: str) -> frozenset[Unit]:
    """Return the units with this form."""
    return frozenset(named(form.lower(), _units()))


@functools.cache
def _units() -> dict[str, set[Unit]]:
    """Return the units of each form in units.txt.

    The table has the name, dimension, factor and offset of each unit, then its forms. One that
    ends in ``*`` may go on; one of two units may mean either.
    """
    found: dict[str, set[Unit]] = {}
    table = Path(__file__).with_name("units.txt").read_text(encoding="utf-8")
    for entry in _ENTRY.split(table.strip()):
        head, *lines = entry.splitlines()
        name, measures, *numbers = head.split()
        for form in " ".join(lines).lower().split():
            found.setdefault(form, set()).add(Unit(name, measures, *map(float, numbers)))
    return found


@functools.cache
def _patterns() -> tuple[regex.Pattern[str], regex.Pattern[str]]:
    """Return the patterns of a unit before a number, and of one after it."""
    forms = either(_units()).replace(r"\*", r"\p{L}*")
    scales = scale_words()
    scale = rf"(?:{either(ABBREVIATIONS)})\.?|(?:{either(scales)})\p{{L}}*"
    start = first(_units(), scales, ABBREVIATIONS, "d")
    return (
        regex.compile(rf"({'|'.join(map(regex.escape, _PREFIXES))})\s?$", regex.IGNORECASE),
        regex.compile(
            rf"(?:{_RANGE})?[\s-]?{start}(?:(?:{scale})\s)?(?:de\s|d')?({forms})(?![\p{{Latin}}\p{{Cyrillic}}\p{{N}}])"
            rf"(?!{_PER})",
            regex.IGNORECASE,
        ),
    )
