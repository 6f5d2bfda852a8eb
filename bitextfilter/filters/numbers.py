"""Numbers in figures, and all that each may mean.

1.500 is fifteen hundred or one and a half, depending on who writes it; 3.4 may be a date. A number
is kept with every reading that it has, and agrees with the other side if one of them does.
Values are digits without leading or idle zeros, and a point for a fraction: ``1500``, ``1.5``.
"""

from __future__ import annotations

import functools
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import regex

from bitextfilter.filters.number_words import (
    has_half,
    roman_numbers,
    scales_at,
    spelt_numbers,
)

__all__ = ["Number", "in_ascii", "read_numbers", "values_of", "widened", "words_worth"]

Readings = frozenset[tuple[str, ...]]

_NUMBER = regex.compile(
    r"[0-9]+(?:[.,'’٫٬][0-9]+|[ \u00a0\u2009\u202f][0-9]{3}(?![0-9]))*", regex.ASCII
)
_SEPARATOR = regex.compile(r"[^0-9]")
_SQUARE = regex.compile(r"(?<=[\s0-9])([ckm]?m)[2²]\b")
_HALF = regex.compile(r"(?<=[0-9]) 1/2(?![0-9])")
_FRACTION = regex.compile("([0-9]?)([¼½¾])")
_FRACTIONS = {"¼": ".25", "½": ".5", "¾": ".75"}


@dataclass(frozen=True)
class Number:
    """A number as it stands in a text."""

    text: str
    start: int
    end: int
    readings: Readings
    """What it may mean: each reading is the values that it holds, often a single one."""

    def agrees(self, values: set[str]) -> bool:
        """Say whether some reading consists of these *values*."""
        return any(values.issuperset(reading) for reading in self.readings)


def in_ascii(text: str) -> str:
    """Write the digits of all scripts and simple fractions in those of ASCII; km2 as km²."""
    if not text.isascii():
        text = text.translate(_digits())
        text = _FRACTION.sub(lambda found: (found[1] or "0") + _FRACTIONS[found[2]], text)
    text = _HALF.sub(".5", text)
    return str(_SQUARE.sub(r"\1²", text))


@functools.cache
def _digits() -> dict[int, str]:
    """Return the ASCII digit of each digit of another script."""
    codes = range(0x80, sys.maxunicode + 1)
    values = ((code, unicodedata.decimal(chr(code), None)) for code in codes)
    return {code: str(value) for code, value in values if value is not None}


def read_numbers(text: str) -> list[Number]:
    """Find the numbers of a *text*, as ``in_ascii`` writes it."""
    return [
        Number(found[0], found.start(), found.end(), _readings(found[0]))
        for found in _NUMBER.finditer(text)
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
    """Say whether groups of digits may be one whole number: 1 234 567, or 12,34,567 in India."""
    sizes = [len(group) for group in groups]
    if len(set(marks)) > 1 or sizes[0] > 3:
        return not marks
    return not marks or (sizes[-1] == 3 and set(sizes[1:-1]) <= {2, 3})


def _plain(whole: str, decimals: str = "") -> str:
    """Write a value without idle zeros."""
    whole, decimals = whole.lstrip("0") or "0", decimals.rstrip("0")
    return f"{whole}.{decimals}" if decimals else whole


def words_worth(text: str, language: str | None) -> set[str]:
    """Return the values that may be meant by words of *text*, and by Roman numbers."""
    found = spelt_numbers(text, language) | roman_numbers(text)
    if has_half(text):
        found |= {f"{value}.5" for value in found | {"0"}} | {"50"}
    return found


_MINUTES = regex.compile(r"(?<=[0-9][:hH])00(?![0-9])")
_YEAR = regex.compile(r"[12][0-9]{3}")


def widened(number: Number, text: str, language: str | None, clock: bool) -> Number:
    """Return *number* with the readings that take a look at the words around it.

    2.5 million may be 2500000, 1990 may be 90, the 00 of 15:00 may be left out, and where one of
    the sides writes a.m. or p.m. (*clock*), 3 may be 15.
    """
    more: set[tuple[str, ...]] = set()
    for power in scales_at(text, number.end, language):
        more.update(
            (_shifted(reading[0], power),) for reading in number.readings if len(reading) == 1
        )
    if _YEAR.fullmatch(number.text):
        more.add((_plain(number.text[2:]),))
    if _MINUTES.match(text, number.start):
        more.add(())
    if clock:
        more.update(_twelve_hours_off(number.readings))
    return Number(number.text, number.start, number.end, number.readings | more)


def _shifted(value: str, power: int) -> str:
    whole, _, decimals = value.partition(".")
    moved = decimals[:power].ljust(power, "0")
    return _plain(whole + moved, decimals[power:])


def _twelve_hours_off(readings: Readings) -> Iterator[tuple[str, ...]]:
    """Yield the readings that start with an hour of the clock, with the other hour instead."""
    for first, *rest in filter(None, readings):
        if len(first) <= 2 and "." not in first and int(first) <= 24:
            yield (str((int(first) + 12) % 24), *rest)
