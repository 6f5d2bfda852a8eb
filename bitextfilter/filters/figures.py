"""Rules of figures: the same numbers, dates and units on both sides."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import regex

from bitextfilter.arrays import Mask
from bitextfilter.filters.agreement import AgreementRule, Unmatched
from bitextfilter.filters.number_words import word_values
from bitextfilter.filters.numbers import (
    Day,
    Number,
    Unit,
    has_fractions,
    in_ascii,
    named_months,
    raised_values,
    read_dates,
    read_numbers,
    read_quantities,
    values_of,
    widened,
    with_fractions,
)
from bitextfilter.filters.pairs import BatchSide, Pairs
from bitextfilter.filters.rule import LanguagePair
from bitextfilter.text import characters

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
