"""Quantities: numbers with a unit, and conversions between units."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import regex

from bitextfilter.filters.number_words import ABBREVIATIONS, scale_words
from bitextfilter.filters.numbers import Number
from bitextfilter.filters.word_tables import either, first, named

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
