"""Vectors of sentences that two documents teach themselves, without a model. Ours.

Words that stand in both documents (names, numbers, loans), or begin alike, say which sentences
belong together, roughly. Once sentences are linked, words that often stand in the same links
translate each other: each link gets a random vector, a word the sum of those of its links, a
sentence the weighted sum of its words' vectors, and translations are near each other (the random
indexing of Sahlgren & Karlgren 2005, "Automatic bilingual lexicon acquisition using random indexing
of parallel corpora"). What a sentence's own link gives its words is left out, so
that no link confirms itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from bitextfilter.mining.coarse_to_fine import Link
from bitextfilter.similarity.vectors import Vectors
from bitextfilter.text.forms import word_forms

__all__ = ["learned_vectors", "surface_vectors"]

DIM = 512
BEGINNING = 5
"""Words that begin with the same so many letters are alike."""
SEED = 20051
BLOCK_ROWS = 1024

Places = NDArray[np.int64]
Floats = NDArray[np.float64]


def surface_vectors(source: Sequence[str], target: Sequence[str]) -> tuple[Vectors, Vectors]:
    """Return vectors ``(n, DIM)`` and ``(m, DIM)`` of what the sentences are written with.

    Random vectors of their words, and of the beginnings of longer ones, added up, each weighted by
    how rare it is among the sentences of its side.
    """
    bags = _bags([[_surface(sentence) for sentence in side] for side in (source, target)])
    random = np.random.default_rng(SEED)
    vectors = random.standard_normal((bags[0].size, DIM), dtype=np.float32)
    return _weighted(bags[0], vectors), _weighted(bags[1], vectors)


def _weighted(bag: _Bag, vectors: Vectors) -> Vectors:
    """Sums of the vectors ``(size, DIM)`` of what stands in each row, by rarity."""
    rows = vectors * bag.rarity().astype(np.float32)[:, None]
    return bag.sums(lambda _, things: rows[things])


def learned_vectors(
    source: Sequence[str], target: Sequence[str], links: Sequence[Link]
) -> tuple[Vectors, Vectors]:
    """Return vectors ``(n, DIM)`` and ``(m, DIM)`` by the links that words stand in; 0 where none.

    Args:
        source: n sentences.
        target: m sentences.
        links: an alignment of them.
    """
    signs = np.random.default_rng(SEED).integers(0, 2, (len(links) + 1, DIM))
    vectors = (2 * signs - 1).astype(np.float32)
    vectors[-1] = 0  # of sentences without a link
    link_of = np.full(len(source), len(links)), np.full(len(target), len(links))
    for number, link in enumerate(links):
        if link.source and link.target:
            link_of[0][link.source] = link_of[1][link.target] = number
    return _learned(source, link_of[0], vectors), _learned(target, link_of[1], vectors)


def _learned(sentences: Sequence[str], link_of: Places, vectors: Vectors) -> Vectors:
    """The vectors of the sentences of one side; the sum of a word is that of other links alone.

    Sums of 1 and -1 are exact: what a link gives to its own words is taken away without a rest.
    """
    (bag,) = _bags([[word_forms(sentence) for sentence in sentences]])
    sums = bag.transposed().sums(lambda _, rows: vectors[link_of[rows]])
    weights = (bag.rarity() / np.sqrt(bag.counts())).astype(np.float32)
    own = bag.times_by(link_of)

    def others(part: slice, words: Places) -> Vectors:
        itself = vectors[link_of[bag.places[part]]] * own[part, None]
        return (sums[words] - itself) * weights[words, None]

    return bag.sums(others)


def _surface(sentence: str) -> set[str]:
    """Words, and the beginnings of those that go on, which no word is written as."""
    words = word_forms(sentence)
    return words | {word[:BEGINNING] + " " for word in words if len(word) > BEGINNING}


class _Bag:
    """Which of ``size`` things stand in which of ``rows`` rows: two arrays, sorted by row."""

    def __init__(self, rows: int, size: int, places: Places, things: Places) -> None:
        """Take the row and the number of each thing that stands somewhere, ``(t,)`` each."""
        self.rows, self.size = rows, size
        self.places, self.things = places, things

    def transposed(self) -> _Bag:
        """Return which rows hold which thing."""
        order = np.argsort(self.things, kind="stable")
        return _Bag(self.size, self.rows, self.things[order], self.places[order])

    def counts(self) -> Floats:
        """Return in how many rows each thing stands, ``(size,)``."""
        return np.bincount(self.things, minlength=self.size).astype(np.float64)

    def times_by(self, group_of: Places) -> NDArray[np.float32]:
        """Return in how many rows of its row's group each thing stands, ``(t,)``."""
        both = group_of[self.places] * self.size + self.things
        _, where, counts = np.unique(both, return_inverse=True, return_counts=True)
        return np.asarray(counts[where], dtype=np.float32)

    def rarity(self) -> Floats:
        """Return log((1 + rows) / rows with it) of each thing, ``(size,)``."""
        return np.asarray(np.log((1 + self.rows) / np.maximum(self.counts(), 1)))

    def sums(self, values: Callable[[slice, Places], Vectors]) -> Vectors:
        """Return the sum of what stands in each row, ``(rows, DIM)``.

        ``values``: from a part of the t and the things there to their vectors, to be added.
        """
        found = np.zeros((self.rows, DIM), np.float32)
        for first in range(0, self.rows, BLOCK_ROWS):
            begin, end = np.searchsorted(self.places, [first, first + BLOCK_ROWS])
            part = slice(int(begin), int(end))
            rows, starts = np.unique(self.places[part], return_index=True)
            if len(rows):
                found[rows] = np.add.reduceat(values(part, self.things[part]), starts, axis=0)
        return found


def _bags(sides: Sequence[Sequence[set[str]]]) -> list[_Bag]:
    """The words of each side's sentences; the same word has the same number on all sides."""
    words = sorted(set().union(*chain.from_iterable(sides)))
    numbers = {word: number for number, word in enumerate(words)}
    bags = []
    for side in sides:
        things = [sorted(numbers[word] for word in sentence) for sentence in side]
        places = np.repeat(np.arange(len(side)), list(map(len, things)))
        flat = np.fromiter(chain.from_iterable(things), np.int64, len(places))
        bags.append(_Bag(len(side), len(words), places, flat))
    return bags
