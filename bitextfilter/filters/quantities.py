"""Quantities: numbers with a unit, and conversions between units."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import regex

from bitextfilter.filters.numbers import Number, scale_words

_RANGE = r"\s?(?:[-–—]|to|bis|au|à|až|do|tot|till)\s?[0-9][0-9.,]*"
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
            one.name != two.name and one.measures == two.measures and _near(first, second)
            for one, first in self._amounts()
            for two, second in other._amounts()
        )

    def _amounts(self) -> Iterator[tuple[Unit, float]]:
        for unit in self.units:
            for value in self.values:
                yield unit, (float(value) + unit.offset) * unit.factor


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= _TOLERANCE * max(one, other)


def read_quantities(text: str, numbers: Iterable[Number]) -> list[Quantity]:
    """Return the *numbers* of a *text* that have a unit."""
    return list(filter(None, (_quantity(text, number) for number in numbers)))


def _quantity(text: str, number: Number) -> Quantity | None:
    before, after = _patterns()
    start, end = number.start, number.end
    found: frozenset[Unit] = frozenset()
    if unit := before.search(text, max(0, number.start - _LONGEST_PREFIX), number.start):
        start = unit.start()
        found = _units_of(unit[1])
    elif unit := after.match(text, number.end):
        end = unit.end()
        found = _units_of(unit[1])
    return Quantity(number, text[start:end], found) if found else None


@functools.lru_cache(maxsize=1 << 12)
def _units_of(form: str) -> frozenset[Unit]:
    """Return the units with this form."""
    folded = form.lower()
    exact, stems = _table()
    found = exact.get(folded, frozenset())
    if not found:
        for size in range(len(folded), 0, -1):
            if folded[:size] in stems:
                return stems[folded[:size]]
    return found


@functools.cache
def _table() -> tuple[dict[str, frozenset[Unit]], dict[str, frozenset[Unit]]]:
    """Return the units by their whole forms, and by the beginnings of longer forms."""
    exact: dict[str, set[Unit]] = {}
    stems: dict[str, set[Unit]] = {}
    for unit, form in _forms():
        where, key = (stems, form[:-1]) if form.endswith("*") else (exact, form)
        where.setdefault(key.lower(), set()).add(unit)
    return (
        {form: frozenset(units) for form, units in exact.items()},
        {form: frozenset(units) for form, units in stems.items()},
    )


def _forms() -> Iterator[tuple[Unit, str]]:
    """Read units.txt: the name, dimension, factor and offset of each unit, then its forms.

    A form that ends in ``*`` may go on. A form of two units may mean either.
    """
    table = Path(__file__).with_name("units.txt").read_text(encoding="utf-8")
    for entry in _ENTRY.split(table.strip()):
        head, *lines = entry.splitlines()
        name, measures, *numbers = head.split()
        unit = Unit(name, measures, *map(float, numbers))
        for form in " ".join(lines).split():
            yield unit, form


@functools.cache
def _patterns() -> tuple[regex.Pattern[str], regex.Pattern[str]]:
    """Return the patterns of a unit before a number, and of one after it."""
    exact, stems = _table()
    words = [regex.escape(form) for form in exact]
    words += [rf"{regex.escape(stem)}\p{{L}}*" for stem in stems]
    either = "|".join(sorted(words, key=len, reverse=True))
    prefixes = "|".join(map(regex.escape, _PREFIXES))
    return (
        regex.compile(rf"({prefixes})\s?$", regex.IGNORECASE),
        regex.compile(
            rf"(?:{_RANGE})?[\s-]?(?:(?:{scale_words()})\s)?(?:de\s|d')?({either})(?![\p{{Latin}}\p{{Cyrillic}}\p{{N}}])"
            rf"(?!{_PER})",
            regex.IGNORECASE,
        ),
    )
