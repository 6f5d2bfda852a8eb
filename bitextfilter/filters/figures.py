"""Rules of figures: the same numbers, dates and units on both sides."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import regex

from bitextfilter.arrays import Mask
from bitextfilter.filters.agreement import AgreementRule, Unmatched
from bitextfilter.filters.numbers import (
    ABBREVIATIONS,
    BUDDHIST_ERA,
    BUDDHIST_YEARS,
    COMMON,
    MOST_NUMBERS,
    Number,
    either,
    has_fractions,
    in_ascii,
    raised_values,
    read_numbers,
    scale_words,
    values_of,
    widened,
    with_fractions,
    word_table,
    word_values,
)
from bitextfilter.filters.pairs import BatchSide, Pairs
from bitextfilter.filters.rule import LanguagePair
from bitextfilter.text import characters

_T = TypeVar("_T")

_LONGEST_STEM = 20
"""Characters of the longest beginning of a unit or a month, and some to spare."""


def _first(*words: Iterable[str]) -> str:
    """Return the pattern of a place before a character that begins one of the *words*."""
    return f"(?=[{regex.escape(''.join(sorted({word[0] for some in words for word in some})))}])"


def _named(word: str, table: Mapping[str, set[_T]]) -> set[_T]:
    """Return the meanings of a *word*, or of its longest beginning that may go on (``word*``)."""
    stems = (f"{word[:size]}*" for size in range(min(len(word), _LONGEST_STEM), 0, -1))
    return next((table[form] for form in (word, *stems) if form in table), set())


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
        date = _first(self._months, "0123456789") + _WITH_NAME.replace("WORD", word)
        self.date = regex.compile(date, regex.IGNORECASE)

    def of(self, word: str) -> set[str]:
        """Return the months that *word* may name."""
        return _named(word.lower(), self._months)


@functools.lru_cache
def _names(language: str | None) -> _Names | None:
    tables = word_table("months.toml")
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
    return frozenset(_named(form.lower(), _units()))


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
    start = _first(_units(), scales, ABBREVIATIONS, "d")
    return (
        regex.compile(rf"({'|'.join(map(regex.escape, _PREFIXES))})\s?$", regex.IGNORECASE),
        regex.compile(
            rf"(?:{_RANGE})?[\s-]?{start}(?:(?:{scale})\s)?(?:de\s|d')?({forms})(?![\p{{Latin}}\p{{Cyrillic}}\p{{N}}])"
            rf"(?!{_PER})",
            regex.IGNORECASE,
        ),
    )


_CLOCK = regex.compile(
    r"(?<![\p{L}\p{M}])[ap]\.?\s?m\b|[上下]午|午[前後]|오[전후]", regex.IGNORECASE
)
"""Marks of twelve hours: a.m., 下午, 午後, 오후."""
_MANY = 100
"""Excuses compare all numbers with all; sides with more numbers get none."""
_NAME = regex.compile(r"(\p{L}{3,})-$")
_COVID = regex.compile(r"covid\p{L}*-19", regex.IGNORECASE)


@dataclass(frozen=True)
class _FiguresRule(AgreementRule):
    def marked(self, side: BatchSide) -> Mask:
        """Select sentences with digits."""
        return np.asarray(side.counted(_digits()) > 0)


@functools.cache
def _digits() -> Mask:
    return characters.digits() >= 0


@dataclass(frozen=True)
class NumbersRule(_FiguresRule):
    """The sides hold the same numbers; ``allowed`` may differ.

    1,500 may be 1.500 or 1 500, and also 1.5; 2.5 million may be 2,500,000; 3 p.m. may be 15:00.
    A number in figures may be Roman on the other side, or in words of some thirty languages; ½ may
    be 0.5 or 1/2, and superscripts and subscripts (m², CO₂) may be figures or missing.
    Japanese eras, Thai years and Nordic centuries are understood. Numbers in words on both sides
    are not compared; order and repetition do not matter. A quantity may be converted (80 feet,
    24 m) to within a tenth, and the number of a name may be missing (COVID-19, Covid). Of a side,
    the first 100,000 characters and 10,000 numbers are read; so it is in the rules ``dates`` and
    ``units``.
    """

    name = "numbers"
    unit = "numbers without a partner on the other side, 0 and up"
    origin = "ours"

    def unmatched(self, source: str, target: str, languages: LanguagePair) -> Unmatched:
        """Return the numbers without a partner; words are read only if figures differ."""
        texts = in_ascii(source), in_ascii(target)
        plain = [read_numbers(text) for text in texts]
        if not any(_without_partner(plain, [set(), set()])):
            return (), ()
        clock = any(_CLOCK.search(text) for text in texts)
        sides = list(zip(texts, plain, languages or (None, None), strict=True))
        numbers = [[widened(n, text, known, clock) for n in some] for text, some, known in sides]
        if any(map(has_fractions, (source, target))):
            numbers = [[*map(with_fractions, some)] for some in numbers]
        words = [word_values(text, known) | named_months(text, known) for text, _, known in sides]
        words = [
            some | raised_values(text) for some, text in zip(words, (source, target), strict=True)
        ]
        missing = _without_partner(numbers, words)
        if any(missing):
            missing = _not_excused(texts, numbers, missing)
        one, other = ([number.text for number in some] for some in missing)
        return one, other


def _without_partner(sides: list[list[Number]], words: list[set[str]]) -> list[list[Number]]:
    """Return the numbers of each side that agree with no number or word of the other."""
    values = [values_of(numbers) | extra for numbers, extra in zip(sides, words, strict=True)]
    return [
        [number for number in numbers if not number.agrees(there)]
        for numbers, there in zip(sides, values[::-1], strict=True)
    ]


def _not_excused(
    texts: tuple[str, str], sides: list[list[Number]], missing: list[list[Number]]
) -> list[list[Number]]:
    """Remove converted quantities, and numbers of names that stand alone on the other side."""
    if max(map(len, sides)) > _MANY:
        return missing
    quantities = [read_quantities(*side) for side in zip(texts, sides, strict=True)]
    everything = quantities[0] + quantities[1]
    left = []
    for place, (text, there) in enumerate(zip(texts, texts[::-1], strict=True)):
        converted = {
            one.number for one in quantities[place] if any(map(one.converts_to, everything))
        }
        some = [number for number in missing[place] if number not in converted]
        left.append([number for number in some if not _only_a_name(text, number, there)])
    return left


def _only_a_name(text: str, number: Number, there: str) -> bool:
    """Return True if *number* ends a name, as in Apollo-11, that stands alone *there*.

    COVID-19 has many names; its number may always be missing.
    """
    name = _NAME.search(text, max(0, number.start - 20), number.start)
    if name is None or _COVID.fullmatch(text, name.start(), number.end):
        return name is not None
    stem = name[1][: max(4, len(name[1]) - 2)]
    return bool(regex.search(rf"(?<!\p{{L}})(?i:{stem})\p{{L}}*+(?![-\s]?[0-9])", there))


@dataclass(frozen=True)
class DatesRule(_FiguresRule):
    """The sides hold the same dates; ``allowed`` may differ.

    A date is a month with a day or a year, in figures or named. 3/4/2020 is the third of April or
    the fourth of March, and agrees with 3.4.2020, 2020-03-04 and 4. März 2020. Months are compared
    if the other side has one. Names of months are known in some thirty languages.
    """

    name = "dates"
    unit = "dates without a partner on the other side, 0 and up"
    origin = "ours"

    def unmatched(self, source: str, target: str, languages: LanguagePair) -> Unmatched:
        one, other = map(_Dates, (source, target), languages or (None, None))
        return one.missing_from(other), other.missing_from(one)


class _Dates:
    """Dates, numbers and months of a side."""

    def __init__(self, sentence: str, language: str | None) -> None:
        self._text, self._language = in_ascii(sentence), language
        self._dates = read_dates(self._text, language)

    @functools.cached_property
    def _months(self) -> set[str]:
        days = {day for date in self._dates for day in date.readings}
        return {day.month for day in days} | named_months(self._text, self._language)

    @functools.cached_property
    def _values(self) -> set[str]:
        numbers = read_numbers(self._text)
        if self._language == "th":
            numbers = [widened(each, self._text, "th", clock=False) for each in numbers]
        return values_of(numbers) | word_values(self._text, self._language)

    def missing_from(self, other: _Dates) -> list[str]:
        """Return the dates that *other* does not have."""
        return [date.text for date in self._dates if not any(map(other._has, date.readings))]

    def _has(self, day: Day) -> bool:
        month = not self._months or day.month in self._months
        years = day.year and (day.year, day.year[-2:].lstrip("0"))
        year = years is None or not self._values.isdisjoint(years)
        return month and year and (day.day is None or day.day in self._values)


@dataclass(frozen=True)
class UnitsRule(_FiguresRule):
    """The same figures have the same units: not 5 km and 5 miles, $5 and €5, 5 % and 5 degrees.

    A figure with a unit fails if it stands on the other side only with other units; one without
    unit there, or missing (see the rule ``numbers``), passes. Units of length, mass, volume, area,
    speed, temperature, time, data, power and money, and percent, are known by their signs, and by
    their names in a dozen languages. ``allowed`` may differ.
    """

    name = "units"
    unit = "figures with another unit on the other side, 0 and up"
    origin = "ours"

    def suspects(self, pairs: Pairs) -> Mask:
        """Select pairs with figures on both sides."""
        return self.marked(pairs.source) & self.marked(pairs.target)

    def unmatched(self, source: str, target: str, languages: LanguagePair) -> Unmatched:
        one, other = _Measured(source), _Measured(target)
        return one.otherwise_in(other), other.otherwise_in(one)


class _Measured:
    """Quantities of a side, and its numbers without a unit."""

    def __init__(self, sentence: str) -> None:
        text = in_ascii(sentence)
        numbers = read_numbers(text)
        self._quantities = read_quantities(text, numbers)
        self._units: dict[str, set[Unit]] = {}
        for quantity in self._quantities:
            for value in quantity.values:
                self._units.setdefault(value, set()).update(quantity.units)
        starts = {quantity.number.start for quantity in self._quantities}
        self._bare = values_of(number for number in numbers if number.start not in starts)

    def otherwise_in(self, other: _Measured) -> list[str]:
        """Return the quantities whose figure stands in *other* too, only with other units."""
        found = []
        for text, values, known in ((q.text, q.values, q.units) for q in self._quantities):
            units = [other._units[value] for value in values if value in other._units]
            if units and other._bare.isdisjoint(values) and all(map(known.isdisjoint, units)):
                found.append(text)
        return found
