"""Vectors of sentences that two documents teach themselves, without a model. Ours.

Words that stand in both documents (names, numbers, loans), or begin alike, say which sentences
belong together, roughly. Once sentences are linked, words that often stand in the same links
translate each other: each link gets a random vector, a word the sum of those of its links, a
sentence the weighted sum of its words' vectors, and translations are near each other (the random
indexing of Sahlgren & Karlgren 2005, "Automatic bilingual lexicon acquisition using random indexing
of parallel corpora"). A sentence's own link is left out, so that no link confirms itself.
"""

from __future__ import annotations

from collections.abc import Sequence
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


def surface_vectors(source: Sequence[str], target: Sequence[str]) -> tuple[Vectors, Vectors]:
    """Return vectors ``(n, DIM)`` and ``(m, DIM)`` of what the sentences are written with.

    Random vectors of their words, and of the beginnings of longer ones, added up, each weighted by
    how rare it is among the sentences of its side.
    """
    bags = _bags([[_surface(sentence) for sentence in side] for side in (source, target)])
    random = np.random.default_rng(SEED)
    vectors = random.standard_normal((bags[0].size, DIM), dtype=np.float32)
    source_vectors, target_vectors = (bag.sums(vectors, bag.rarity()) for bag in bags)
    return source_vectors, target_vectors


def learned_vectors(
    source: Sequence[str], target: Sequence[str], links: Sequence[Link]
) -> tuple[Vectors, Vectors]:
    """Return vectors ``(n, DIM)`` and ``(m, DIM)`` by the links that words stand in; 0 where none.

    Args:
        source: n sentences.
        target: m sentences.
        links: an alignment of them.
    """
    random = np.random.default_rng(SEED)
    vectors = random.standard_normal((len(links), DIM), dtype=np.float32)
    own = [np.zeros((len(sentences), DIM), np.float32) for sentences in (source, target)]
    for link, vector in zip(links, vectors, strict=True):
        if link.source and link.target:
            own[0][link.source] = own[1][link.target] = vector
    return _learned(source, own[0]), _learned(target, own[1])


def _learned(sentences: Sequence[str], own: Vectors) -> Vectors:
    """The vectors of the sentences of one side; ``own`` ``(n, DIM)`` has those of their links."""
    (bag,) = _bags([[word_forms(sentence) for sentence in sentences]])
    words = bag.transposed().sums(own, np.ones(len(sentences)))
    weights = bag.rarity() / np.sqrt(bag.counts())
    itself = bag.sums(np.ones((bag.size, 1), np.float32), weights)
    return bag.sums(words, weights) - itself * own


def _surface(sentence: str) -> set[str]:
    """Words, and the beginnings of those that go on, which no word is written as."""
    words = word_forms(sentence)
    return words | {word[:BEGINNING] + " " for word in words if len(word) > BEGINNING}


class _Bag:
    """Which of ``size`` things stand in which of ``rows`` rows: two arrays, sorted by row."""

    def __init__(self, rows: int, size: int, places: Places, things: Places) -> None:
        """Take the row and the number of each thing that stands somewhere."""
        self.rows, self.size = rows, size
        self._places, self._things = places, things

    def transposed(self) -> _Bag:
        """Return which rows hold which thing."""
        order = np.argsort(self._things, kind="stable")
        return _Bag(self.size, self.rows, self._things[order], self._places[order])

    def counts(self) -> NDArray[np.floating]:
        """Return in how many rows each thing stands, ``(size,)``."""
        return np.bincount(self._things, minlength=self.size).astype(np.float64)

    def rarity(self) -> NDArray[np.floating]:
        """Return log((1 + rows) / rows with it) of each thing, ``(size,)``."""
        return np.asarray(np.log((1 + self.rows) / np.maximum(self.counts(), 1)))

    def sums(self, vectors: Vectors, weights: NDArray[np.floating]) -> Vectors:
        """Return the weighted sum of the vectors ``(size, dim)`` in each row, ``(rows, dim)``."""
        found = np.zeros((self.rows, vectors.shape[1]), np.float32)
        for first in range(0, self.rows, BLOCK_ROWS):
            begin, end = np.searchsorted(self._places, [first, first + BLOCK_ROWS])
            things = self._things[begin:end]
            rows, starts = np.unique(self._places[begin:end], return_index=True)
            if len(rows):
                parts = vectors[things] * weights[things, None].astype(np.float32)
                found[rows] = np.add.reduceat(parts, starts, axis=0)
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
