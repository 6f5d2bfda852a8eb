"""Rules of digits that should be the same on both sides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np
from numpy.typing import NDArray

from bitextfilter.filters.pairs import Pairs, Side
from bitextfilter.filters.rule import Bounded
from bitextfilter.text import characters

__all__ = ["Digits", "NumberInconsistencies", "Numerals"]


@dataclass(frozen=True)
class Numerals(Bounded):
    """The digits of the sides other than 0, in their order, are alike enough.

    The value is the ratio of Ratcliff and Obershelp, as Python's ``difflib`` computes it: 1 for
    the same digits, or none on both sides. Digits of any script count by their values.
    """

    name = "numerals"
    unit = "0 to 1: ratio of likeness"
    origin = "Vázquez et al. 2019; OpusFilter NonZeroNumeralsFilter (default 0.5)"

    minimum: float | None = 0.5

    def values(self, pairs: Pairs) -> NDArray[np.float64]:
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

    def __init__(self, side: Side) -> None:
        values = characters.digits()[side.codes]
        places = np.flatnonzero(values > 0)
        self._first = np.searchsorted(places, side.starts)
        self.counts = np.searchsorted(places, side.ends) - self._first
        self._values = values[places].tobytes()

    def at(self, places: NDArray[np.int64]) -> Iterator[bytes]:
        """Return the digits of the sentences at *places*."""
        for first, count in zip(
            self._first[places].tolist(), self.counts[places].tolist(), strict=True
        ):
            yield self._values[first : first + count]


@dataclass(frozen=True)
class NumberInconsistencies(Bounded):
    """The sides hold the same digits, in any order.

    The value adds up, over the ten digits, how many more of them one side has than the other.
    Spelt-out numbers, hours written 3 p.m. and 15:00, or units make it drop good translations.
    """

    name = "number-inconsistencies"
    unit = "digits, 0 and up"
    origin = "Bicleaner no_number_inconsistencies (off there as well by default)"

    maximum: float | None = 0

    def values(self, pairs: Pairs) -> NDArray[np.int64]:
        """Return the numbers of digits that have no partner."""
        source, target = (_histogram(side) for side in pairs.sides)
        differences: NDArray[np.int64] = np.abs(source - target).sum(axis=1)
        return differences


@dataclass(frozen=True)
class Digits(Bounded):
    """Enough of the digits agree, in whatever order and with whatever marks between them.

    The value is the part of the digits of the side with more of them that the other side has too,
    as often as it has them; 1 where there are none.
    """

    name = "digits"
    unit = "0 to 1: digits that both sides have / digits of the side with more"
    origin = "Rossenbach et al. 2018 (digits that agree)"

    minimum: float | None = 0.5

    def values(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return the shares."""
        source, target = (_histogram(side) for side in pairs.sides)
        most = np.maximum(source.sum(axis=1), target.sum(axis=1))
        shared = np.minimum(source, target).sum(axis=1)
        shares: NDArray[np.float64] = shared / np.maximum(most, 1)
        return np.where(most == 0, 1.0, shares)


def _histogram(side: Side) -> NDArray[np.int64]:
    """Return how many of each digit there are, shape ``(n, 10)``."""
    values = characters.digits()[side.codes]
    places = np.flatnonzero(values >= 0)
    cells = np.searchsorted(side.ends, places) * 10 + values[places]
    return np.bincount(cells, minlength=len(side) * 10).reshape(len(side), 10)
