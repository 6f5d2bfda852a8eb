"""Material of the kinds of noise: the pairs around the current one, and what is drawn from them."""

from __future__ import annotations

import functools
import math
import random
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bitextfilter.text.units import word_spans

Pair = tuple[str, str]

_NEAR = 2
"""Largest distance of a neighbouring line."""
_MOST_TEXT = 1 << 25
"""Characters in a window; with more, no line is read ahead and those behind are released."""
_TRIES = 20


class _HeldPair(NamedTuple):
    pair: Pair
    fits: bool
    size: int


class PairWindow:
    """Iterates over pairs, and holds up to *reach* pairs before and after the current one.

    Only pairs of two texts that *fits* accepts are returned as neighbours and others.
    """

    def __init__(self, pairs: Iterable[Pair], reach: int, fits: Callable[[str], bool]) -> None:
        self._pairs = iter(pairs)
        self._reach = reach
        self._fits = fits
        self._held: deque[_HeldPair] = deque()
        self._place = 0
        self._size = 0

    def __iter__(self) -> Iterator[Pair]:
        self._read_ahead()
        while self._place < len(self._held):
            yield self._held[self._place].pair
            self._place += 1
            while self._place > self._reach or (self._size > _MOST_TEXT and self._place > _NEAR):
                self._size -= self._held.popleft().size
                self._place -= 1
            self._read_ahead()

    def fits(self) -> bool:
        """Return True if the current pair has a number of words in the range."""
        return self._held[self._place].fits

    def neighbours(self) -> list[Pair]:
        """Return the fitting pairs one and two lines away, in order."""
        first, last = max(0, self._place - _NEAR), min(len(self._held), self._place + _NEAR + 1)
        near = (self._held[place] for place in range(first, last) if place != self._place)
        return [held.pair for held in near if held.fits]

    def others(self, chooser: random.Random) -> Iterator[Pair]:
        """Yield fitting pairs drawn from the window, without the current one."""
        for _ in range(_TRIES):
            place = chooser.randrange(len(self._held))
            if place != self._place and self._held[place].fits:
                yield self._held[place].pair

    def texts(self, side: int) -> list[str]:
        """Return the texts of a side of the pairs held."""
        return [held.pair[side] for held in self._held]

    def _read_ahead(self) -> None:
        while (ahead := len(self._held) - self._place) <= self._reach:
            if self._size > _MOST_TEXT and ahead > _NEAR:
                break
            pair = next(self._pairs, None)
            if pair is None:
                break
            fits = self._fits(pair[0]) and self._fits(pair[1])
            self._held.append(_HeldPair(pair, fits, len(pair[0]) + len(pair[1])))
            self._size += self._held[-1].size


_FREQUENT = 60
_MOST_LETTERS = 6
"""Letters of a function word, at most."""
_STEM = 0.6
"""The part of its letters that a word shares with its other forms, at least; and at least 3."""
_LONGER = 4
"""Letters that a form may have more."""
WordTable = Mapping[str, Sequence[str]]
"""Words in lower case → others."""


def words_of(text: str) -> list[str]:
    """Return the words of *text* that have no digits."""
    words = (text[slice(*span)] for span in word_spans(text))
    return [word for word in words if not any(map(str.isdigit, word))]


@dataclass(frozen=True)
class Vocabulary:
    """The words of one side, in lower case."""

    frequent: Sequence[str]
    """The most frequent short ones, most frequent first."""
    stems: Mapping[str, Sequence[str]]
    """Words by their first letters."""

    @classmethod
    def of(cls, texts: Iterable[str]) -> Vocabulary:
        """Count the words of *texts*."""
        counts = Counter(word for text in texts for word in words_of(text.lower()))
        short = [word for word, _ in counts.most_common() if len(word) <= _MOST_LETTERS]
        stems: dict[str, list[str]] = {}
        for word in (word for word in counts if len(word) >= _SHORTEST):
            stems.setdefault(word[: _stem(word)], []).append(word)
        return cls(short[:_FREQUENT], stems)

    def forms(self, word: str) -> list[str]:
        """Return other words that begin like *word*, in order of appearance."""
        if len(word) < _SHORTEST or any(map(str.isdigit, word)):
            return []
        starts = {word[:length] for length in range(_stem(word) - 1, _stem(word) + 2)}
        found = (other for start in sorted(starts) for other in self.stems.get(start, ()))
        return [w for w in found if w != word and abs(len(w) - len(word)) <= _LONGER]


_SHORTEST = 3


def _stem(word: str) -> int:
    """The number of letters that a word shares with its other forms."""
    return max(_SHORTEST, math.ceil(len(word) * _STEM))


@dataclass(frozen=True)
class Context:
    """Material of the kinds of noise: other pairs, foreign sentences, random numbers."""

    window: PairWindow
    chooser: random.Random
    foreign: Sequence[str]
    languages: tuple[str, str]
    related: Mapping[str, WordTable]
    """Words of a language → related words of it."""
    lexicon: Mapping[tuple[str, str], WordTable]
    """Words of one language → their translations in another."""
    vocabularies: dict[int, Vocabulary] = field(default_factory=dict)

    def vocabulary(self, side: int) -> Vocabulary:
        """Return the vocabulary of a side, 0 or 1: of the pairs read when it is first asked for."""
        if side not in self.vocabularies:
            self.vocabularies[side] = Vocabulary.of(self.window.texts(side))
        return self.vocabularies[side]


Maker = Callable[[Pair, Context], "Pair | None"]
SideMaker = Callable[[Pair, int, Context], "str | None"]


def with_side(pair: Pair, side: int, text: str) -> Pair:
    """Return the pair with another text on a side, 0 or 1."""
    return (text, pair[1]) if side == 0 else (pair[0], text)


def on_one_side(change: SideMaker) -> Maker:
    """Return a maker that applies *change* to a random side, or else to the other side."""

    @functools.wraps(change)
    def make(pair: Pair, context: Context) -> Pair | None:
        first = context.chooser.randrange(2)
        for side in (first, 1 - first):
            text = change(pair, side, context)
            if text is not None and text != pair[side]:
                return with_side(pair, side, text)
        return None

    return make
