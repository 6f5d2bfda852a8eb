"""Rules of figures: the same numbers, digits, dates and units on both sides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np
import regex

from bitextfilter.arrays import Floats, Integers, Mask
from bitextfilter.filters.agreement import AgreementRule, Unmatched
from bitextfilter.filters.dates import Date, Day, named_months, read_dates
from bitextfilter.filters.numbers import (
    Number,
    in_ascii,
    read_numbers,
    values_of,
    widened,
    word_values,
)
from bitextfilter.filters.pairs import BatchSide, Pairs
from bitextfilter.filters.quantities import Quantity, Unit, read_quantities
from bitextfilter.filters.rule import Bounded, LanguagePair
from bitextfilter.text import characters


@dataclass(frozen=True)
class _FiguresRule(AgreementRule):
    def marked(self, side: BatchSide) -> Mask:
        """Select sentences with digits."""
        return side.holding(np.flatnonzero(characters.digits()[side.codes] >= 0))


_CLOCK = regex.compile(r"(?<![\p{L}\p{M}])[ap]\.?\s?m\b", regex.IGNORECASE)


@dataclass(frozen=True)
class NumbersRule(_FiguresRule):
    """The sides hold the same numbers; ``allowed`` may differ.

    1,500 may be 1.500 or 1 500, and also 1.5; 2.5 million may be 2,500,000; 3 p.m. may be 15:00.
    A number in figures may be Roman on the other side, or in words (Czech, Dutch, English,
    French, German, Italian, Polish, Portuguese, Russian, Spanish, Swedish; Chinese and Japanese
    signs). Numbers in words on both sides are not compared; order and repetition do not matter. A
    quantity may be converted (80 feet, 24 m) to within a tenth, and the number of a name may be
    missing (COVID-19, Covid).
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
        words = [word_values(text, known) | named_months(text, known) for text, _, known in sides]
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


_MANY = 100
"""Excuses compare all numbers with all; sides with more numbers get none."""

_NAME = regex.compile(r"(\p{L}{3,})-$")
_COVID = regex.compile(r"covid\p{L}*-19", regex.IGNORECASE)


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
    if the other side has one. Names of months are known in Czech, Dutch, English, French, German,
    Italian, Polish, Portuguese, Russian, Spanish and Swedish.
    """

    name = "dates"
    unit = "dates without a partner on the other side, 0 and up"
    origin = "ours"

    def unmatched(self, source: str, target: str, languages: LanguagePair) -> Unmatched:
        """Return the dates that the other side does not have."""
        texts = in_ascii(source), in_ascii(target)
        sides = list(zip(texts, languages or (None, None), strict=True))
        dates = [read_dates(*side) for side in sides]
        if not any(dates):
            return (), ()
        known = [_DateParts(*side, found) for side, found in zip(sides, dates, strict=True)]
        one, other = (
            [date.text for date in found if not any(map(there.has, date.readings))]
            for found, there in zip(dates, known[::-1], strict=True)
        )
        return one, other


class _DateParts:
    """Days, months and years of a side."""

    def __init__(self, text: str, language: str | None, dates: Iterable[Date]) -> None:
        self.values = values_of(read_numbers(text)) | word_values(text, language)
        days = {day for date in dates for day in date.readings}
        self.months = {day.month for day in days} | named_months(text, language)

    def has(self, day: Day) -> bool:
        """Return True if the side may hold *day*."""
        month = not self.months or day.month in self.months
        year = day.year is None or not self.values.isdisjoint((day.year, day.year[-2:].lstrip("0")))
        return month and year and (day.day is None or day.day in self.values)


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
    """Values of a side, with their units."""

    def __init__(self, numbers: Iterable[Number], quantities: Iterable[Quantity]) -> None:
        self._units: dict[str, set[Unit]] = {}
        for quantity in quantities:
            for value in quantity.values:
                self._units.setdefault(value, set()).update(quantity.units)
        starts = {quantity.number.start for quantity in quantities}
        self._bare = values_of(number for number in numbers if number.start not in starts)

    def contradicts(self, quantity: Quantity) -> bool:
        """Return True if its figure stands here too, only with other units."""
        units = [self._units[value] for value in quantity.values if value in self._units]
        bare = not self._bare.isdisjoint(quantity.values)
        return bool(units) and not bare and all(map(quantity.units.isdisjoint, units))


@dataclass(frozen=True)
class Numerals(Bounded):
    """The sequences of digits other than 0 are similar on both sides.

    The value is the ratio of Ratcliff and Obershelp by Python's ``difflib``: 1 for the same
    digits, or none on both sides. Digits of any script count by their values.
    """

    name = "numerals"
    unit = "0 to 1: similarity ratio"
    origin = "Vázquez et al. 2019; OpusFilter NonZeroNumeralsFilter (default 0.5)"

    minimum: float | None = 0.5

    def values(self, pairs: Pairs) -> Floats:
        """Return the ratios."""
        source, target = (_Digits(side) for side in pairs.sides)
        empty = (source.counts == 0) & (target.counts == 0)
        ratios = np.where(empty, 1.0, 0.0)
        both = np.flatnonzero((source.counts > 0) & (target.counts > 0))
        for place, one, other in zip(both, source.at(both), target.at(both), strict=True):
            ratios[place] = 1 if one == other else SequenceMatcher(None, one, other).ratio()
        return ratios


class _Digits:
    """The digits above 0 of each sentence."""

    def __init__(self, side: BatchSide) -> None:
        values = characters.digits()[side.codes]
        places = np.flatnonzero(values > 0)
        self._first = np.searchsorted(places, side.starts)
        self.counts = np.searchsorted(places, side.ends) - self._first
        self._values = values[places].tobytes()

    def at(self, places: Integers) -> Iterator[bytes]:
        """Return the digits of the sentences at *places*."""
        for first, count in zip(
            self._first[places].tolist(), self.counts[places].tolist(), strict=True
        ):
            yield self._values[first : first + count]


@dataclass(frozen=True)
class NumberInconsistencies(Bounded):
    """The sides hold the same digits, in any order.

    The value is the number of digits without a partner on the other side. Good translations fail
    with spelt-out numbers, hours (3 p.m., 15:00) or converted units.
    """

    name = "number-inconsistencies"
    unit = "digits, 0 and up"
    origin = "Bicleaner no_number_inconsistencies (off there as well by default)"

    maximum: float | None = 0

    def values(self, pairs: Pairs) -> Integers:
        """Return the numbers of digits without a partner."""
        source, target = (_histogram(side) for side in pairs.sides)
        differences: Integers = np.abs(source - target).sum(axis=1)
        return differences


@dataclass(frozen=True)
class Digits(Bounded):
    """A large enough share of the digits stands on both sides, in any order.

    The value is the number of common digits, with their counts, over that of the side with more;
    1 for sides without digits.
    """

    name = "digits"
    unit = "0 to 1: digits that both sides have / digits of the side with more"
    origin = "Rossenbach et al. 2018 (digits that agree)"

    minimum: float | None = 0.5

    def values(self, pairs: Pairs) -> Floats:
        """Return the shares."""
        source, target = (_histogram(side) for side in pairs.sides)
        most = np.maximum(source.sum(axis=1), target.sum(axis=1))
        shared = np.minimum(source, target).sum(axis=1)
        shares: Floats = shared / np.maximum(most, 1)
        return np.where(most == 0, 1.0, shares)


def _histogram(side: BatchSide) -> Integers:
    """Return the count of each digit, shape ``(n, 10)``."""
    values = characters.digits()[side.codes]
    places = np.flatnonzero(values >= 0)
    cells = np.searchsorted(side.ends, places) * 10 + values[places]
    return np.bincount(cells, minlength=len(side) * 10).reshape(len(side), 10)
