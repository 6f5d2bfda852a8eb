"""Rules of figures that should mean the same on both sides: numbers, dates, units."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import regex
from numpy.typing import NDArray

from bitextfilter.filters.agreement import Agreement, Unmatched
from bitextfilter.filters.dates import Date, Day, named_months, read_dates
from bitextfilter.filters.numbers import (
    Number,
    in_ascii,
    read_numbers,
    values_of,
    widened,
    words_worth,
)
from bitextfilter.filters.pairs import Pairs, Side
from bitextfilter.filters.rule import Languages
from bitextfilter.filters.units import Quantity, Unit, read_quantities
from bitextfilter.text import characters

__all__ = ["Dates", "Numbers", "Units"]


def _with_digits(side: Side) -> NDArray[np.bool_]:
    return side.holding(np.flatnonzero(characters.digits()[side.codes] >= 0))


_CLOCK = regex.compile(r"(?<![\p{L}\p{M}])[ap]\.?\s?m\b", regex.IGNORECASE)


@dataclass(frozen=True)
class Numbers(Agreement):
    """The numbers of the sides are the same, as far as one can tell.

    1,500 may be 1.500 or 1 500, and also 1.5; 2.5 million may be 2,500,000; 3 p.m. may be 15:00.
    A number in figures may be in words on the other side (Czech, Dutch, English, French, German,
    Italian, Polish, Portuguese, Russian, Spanish, Swedish; Chinese and Japanese signs) or Roman;
    one in words on both sides is not looked at. How often a number occurs makes no difference,
    nor does the order. A quantity may be converted (80 feet, 24 m), give or take a tenth, and the
    number of a name may be missing (COVID-19, Covid). ``allowed`` numbers may differ.
    """

    name = "numbers"
    unit = "numbers without a partner on the other side, 0 and up"
    origin = "ours"

    def marked(self, side: Side) -> NDArray[np.bool_]:
        """Look for digits."""
        return _with_digits(side)

    def unmatched(self, source: str, target: str, languages: Languages) -> Unmatched:
        """Return the numbers without a partner; words are read only where figures differ."""
        texts = in_ascii(source), in_ascii(target)
        plain = [read_numbers(text) for text in texts]
        if not any(_without_partner(plain, [set(), set()])):
            return (), ()
        clock = any(_CLOCK.search(text) for text in texts)
        sides = list(zip(texts, plain, languages or (None, None), strict=True))
        numbers = [[widened(n, text, known, clock) for n in some] for text, some, known in sides]
        words = [words_worth(text, known) | named_months(text, known) for text, _, known in sides]
        missing = _without_partner(numbers, words)
        if any(missing):
            missing = _not_excused(texts, numbers, missing)
        one, other = ([number.text for number in some] for some in missing)
        return one, other


def _without_partner(sides: list[list[Number]], words: list[set[str]]) -> list[list[Number]]:
    """Return the numbers of each side that agree with none of the other, nor with its words."""
    values = [values_of(numbers) | extra for numbers, extra in zip(sides, words, strict=True)]
    return [
        [number for number in numbers if not number.agrees(there)]
        for numbers, there in zip(sides, values[::-1], strict=True)
    ]


_MANY = 100
"""In a side with more numbers than that, none is excused: each would be held against each."""

_NAME = regex.compile(r"(\p{L}{3,})-$")
_COVID = regex.compile(r"covid\p{L}*-19", regex.IGNORECASE)


def _not_excused(
    texts: tuple[str, str], sides: list[list[Number]], missing: list[list[Number]]
) -> list[list[Number]]:
    """Leave out converted quantities, and numbers of names that the other side has without."""
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
    """Say whether the *number* belongs to a name, as in Apollo-11, that stands alone *there*.

    COVID-19 has so many names that it may always be left out.
    """
    name = _NAME.search(text, max(0, number.start - 20), number.start)
    if name is None or _COVID.fullmatch(text, name.start(), number.end):
        return name is not None
    stem = name[1][: max(4, len(name[1]) - 2)]
    return bool(regex.search(rf"(?<!\p{{L}})(?i:{stem})\p{{L}}*+(?![-\s]?[0-9])", there))


@dataclass(frozen=True)
class Dates(Agreement):
    """The dates of the sides are the same: a day or a year with its month, in figures or named.

    3/4/2020 is the third of April or the fourth of March, and agrees with 3.4.2020, 2020-03-04
    and 4. März 2020. A month is compared where the other side tells one. Names of months are known
    in Czech, Dutch, English, French, German, Italian, Polish, Portuguese, Russian, Spanish and
    Swedish. ``allowed`` dates may differ.
    """

    name = "dates"
    unit = "dates without a partner on the other side, 0 and up"
    origin = "ours"

    def marked(self, side: Side) -> NDArray[np.bool_]:
        """Look for digits."""
        return _with_digits(side)

    def unmatched(self, source: str, target: str, languages: Languages) -> Unmatched:
        """Return the dates that the other side does not tell."""
        texts = in_ascii(source), in_ascii(target)
        sides = list(zip(texts, languages or (None, None), strict=True))
        dates = [read_dates(*side) for side in sides]
        if not any(dates):
            return (), ()
        told = [_Told(*side, found) for side, found in zip(sides, dates, strict=True)]
        one, other = (
            [date.text for date in found if not any(map(there.has, date.readings))]
            for found, there in zip(dates, told[::-1], strict=True)
        )
        return one, other


class _Told:
    """What a side tells of days, months and years."""

    def __init__(self, text: str, language: str | None, dates: Iterable[Date]) -> None:
        self.values = values_of(read_numbers(text)) | words_worth(text, language)
        days = {day for date in dates for day in date.readings}
        self.months = {day.month for day in days} | named_months(text, language)

    def has(self, day: Day) -> bool:
        """Say whether the side may tell of *day*."""
        month = not self.months or day.month in self.months
        year = day.year is None or not self.values.isdisjoint((day.year, day.year[-2:].lstrip("0")))
        return month and year and (day.day is None or day.day in self.values)


@dataclass(frozen=True)
class Units(Agreement):
    """What is measured is the same: 5 km is no 5 miles, $5 no €5, and 5 % no 5 degrees.

    A figure that has a unit must not stand on the other side with another one only; where it
    stands without, or not at all (see the rule ``numbers``), there is nothing to compare. Units of
    length, mass, volume, area, speed, temperature, time, data, power and money, and percent, are
    known by their signs and by their names in a dozen languages. ``allowed`` may differ.
    """

    name = "units"
    unit = "figures with another unit on the other side, 0 and up"
    origin = "ours"

    def marked(self, side: Side) -> NDArray[np.bool_]:
        """Look for digits."""
        return _with_digits(side)

    def suspects(self, pairs: Pairs) -> NDArray[np.bool_]:
        """Look only where both sides have figures."""
        return self.marked(pairs.source) & self.marked(pairs.target)

    def unmatched(self, source: str, target: str, languages: Languages) -> Unmatched:
        """Return the quantities whose figure has another unit on the other side."""
        texts = in_ascii(source), in_ascii(target)
        numbers = [read_numbers(text) for text in texts]
        quantities = [read_quantities(*side) for side in zip(texts, numbers, strict=True)]
        measured = [_Measured(*side) for side in zip(numbers, quantities, strict=True)]
        one, other = (
            [quantity.text for quantity in here if there.contradicts(quantity)]
            for here, there in zip(quantities, measured[::-1], strict=True)
        )
        return one, other


class _Measured:
    """The values of a side, and the units that they stand with."""

    def __init__(self, numbers: Iterable[Number], quantities: Iterable[Quantity]) -> None:
        self._units: dict[str, set[Unit]] = {}
        for quantity in quantities:
            for value in quantity.values:
                self._units.setdefault(value, set()).update(quantity.units)
        starts = {quantity.number.start for quantity in quantities}
        self._bare = values_of(number for number in numbers if number.start not in starts)

    def contradicts(self, quantity: Quantity) -> bool:
        """Say whether its figure stands here too, and each time with another unit."""
        units = [self._units[value] for value in quantity.values if value in self._units]
        bare = not self._bare.isdisjoint(quantity.values)
        return bool(units) and not bare and all(map(quantity.units.isdisjoint, units))
