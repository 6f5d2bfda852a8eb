"""Rules of punctuation that should agree between the sides."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bitextfilter.filters.pairs import Pairs, Side
from bitextfilter.filters.rule import Bounded

__all__ = ["Parentheses", "TerminalPunctuation"]

TERMINALS = ".?!…。．｡？！؟۔।॥։።᙮"
"""Marks that end sentences: those of OpusFilter, and of scripts with marks of their own."""

BRACKETS = ("(（", ")）"), ("[［【〔", "]］】〕"), ("{｛", "}｝"), ("⟨〈《", "⟩〉》")
"""Opening and closing brackets of each kind, as wide as they come."""


@dataclass(frozen=True)
class TerminalPunctuation(Bounded):
    """The sides hold about as many marks that end sentences, and each of them few.

    The value is -log(1 + |s - t| + max(s - 1, 0) + max(t - 1, 0)) for s and t such marks.
    """

    name = "terminal-punctuation"
    unit = "-log of a penalty, natural logarithm, 0 and below"
    origin = "Vázquez et al. 2019; OpusFilter TerminalPunctuationFilter (default -2)"

    minimum: float | None = -3

    def values(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return the scores."""
        source, target = (side.count(_terminals()[side.codes]) for side in pairs.sides)
        penalty = np.abs(source - target)
        penalty += np.maximum(source - 1, 0) + np.maximum(target - 1, 0)
        scores = [-math.log(1 + value) for value in range(int(penalty.max(initial=0)) + 1)]
        values: NDArray[np.float64] = np.array(scores)[penalty]
        return values


@functools.cache
def _terminals() -> NDArray[np.bool_]:
    return _table(TERMINALS)


@functools.cache
def _brackets() -> NDArray[np.int8]:
    """Return, for each code point, 1 + its kind for an opening bracket, and less for closing."""
    table = np.zeros(0x110000, dtype=np.int8)
    for kind, (opening, closing) in enumerate(BRACKETS, start=1):
        table[[ord(sign) for sign in opening]] = kind
        table[[ord(sign) for sign in closing]] = -kind
    return table


def _table(signs: str) -> NDArray[np.bool_]:
    table = np.zeros(0x110000, dtype=bool)
    table[[ord(sign) for sign in signs]] = True
    return table


@dataclass(frozen=True)
class Parentheses(Bounded):
    """Brackets that are open on one side, or closed without being opened, are so on the other.

    The value adds up, over round, square, curly and angle brackets, by how many the sides differ
    in what opens more than it closes: 0 for ``a) word`` and ``a) Wort``, 1 for ``(word`` and
    ``(Wort)``.
    """

    name = "parentheses"
    unit = "brackets, 0 and up"
    origin = "Bicleaner no_paren (there: also at most six brackets of a kind but round ones)"

    maximum: float | None = 0

    def values(self, pairs: Pairs) -> NDArray[np.int64]:
        """Return the differences."""
        source, target = (_open(side) for side in pairs.sides)
        differences: NDArray[np.int64] = np.abs(source - target).sum(axis=1)
        return differences


def _open(side: Side) -> NDArray[np.int64]:
    """Return opening less closing brackets of each kind, shape ``(n, kinds)``."""
    kinds = _brackets()[side.codes]
    places = np.flatnonzero(kinds)
    kinds = kinds[places]
    count = len(BRACKETS) + 1
    cells = np.searchsorted(side.ends, places) * count + np.abs(kinds)
    shape = len(side), count
    opened = np.bincount(cells[kinds > 0], minlength=len(side) * count)
    closed = np.bincount(cells[kinds < 0], minlength=len(side) * count)
    return (opened - closed).reshape(shape)
