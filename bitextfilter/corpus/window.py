"""A stream of pairs, each with the pairs before and after it at hand."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

__all__ = ["Pair", "PairWindow", "WordRange"]

Pair = tuple[str, str]

NEAR = 2
"""How far away a neighbouring line may be."""

MOST_TEXT = 1 << 25
"""No more is read ahead while so many characters are held, and those behind are let go."""

_TRIES = 20


class WordRange(NamedTuple):
    """How many words a text may have: what stands between white space is a word."""

    fewest: int
    most: int

    def holds(self, text: str) -> bool:
        """Say whether *text* has as many."""
        return self.fewest <= len(text.split()) <= self.most


class _Held(NamedTuple):
    pair: Pair
    fits: bool
    size: int


class PairWindow:
    """Iterates over pairs; holds up to *reach* on either side of the one it gave last.

    Only pairs of which both sides have a number of words in *words* fit, that is, are given as
    neighbours and others.
    """

    def __init__(self, pairs: Iterable[Pair], reach: int, words: WordRange) -> None:
        """Read nothing yet."""
        self._pairs = iter(pairs)
        self._reach = reach
        self._words = words
        self._held: deque[_Held] = deque()
        self._place = 0
        self._size = 0

    def __iter__(self) -> Iterator[Pair]:
        """Yield each pair in turn."""
        self._read_ahead()
        while self._place < len(self._held):
            yield self._held[self._place].pair
            self._place += 1
            self._let_go()
            self._read_ahead()

    def fits(self) -> bool:
        """Say whether the pair at hand has a number of words in the range."""
        return self._held[self._place].fits

    def neighbours(self) -> list[Pair]:
        """Return the pairs one and two lines away that fit, in order."""
        first, last = max(0, self._place - NEAR), min(len(self._held), self._place + NEAR + 1)
        near = (self._held[place] for place in range(first, last) if place != self._place)
        return [held.pair for held in near if held.fits]

    def others(self, chooser: random.Random) -> Iterator[Pair]:
        """Yield some pairs drawn from those held, the one at hand aside, as far as they fit."""
        for _ in range(_TRIES):
            place = chooser.randrange(len(self._held))
            if place != self._place and self._held[place].fits:
                yield self._held[place].pair

    def _read_ahead(self) -> None:
        while (ahead := len(self._held) - self._place) <= self._reach:
            if self._size > MOST_TEXT and ahead > NEAR:
                break
            pair = next(self._pairs, None)
            if pair is None:
                break
            fits = self._words.holds(pair[0]) and self._words.holds(pair[1])
            self._held.append(_Held(pair, fits, len(pair[0]) + len(pair[1])))
            self._size += self._held[-1].size

    def _let_go(self) -> None:
        while self._place > self._reach or (self._size > MOST_TEXT and self._place > NEAR):
            self._size -= self._held.popleft().size
            self._place -= 1
