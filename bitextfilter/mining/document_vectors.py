"""Vectors of whole documents, and their sketches: some vectors of parts, in order.

A document's vector is the mean of its sentences' unit vectors. A sentence has the weight
``sqrt(c / d)``, for c characters, and d documents of its side that have it: so the lines that all
pages of a site repeat count little. A sketch has one vector a sentence, or, of a longer document,
32 of equal parts, so that documents of any length are compared in bounded memory.

Sums do not depend on how the sentences are batched: unit vectors and weights are on grids, so that
their products sum up in float64 without rounding (for documents of less than 100,000 sentences).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from zlib import crc32

import numpy as np

from bitextfilter.arrays import Indices, Integers, Scores, Vectors
from bitextfilter.similarity.vectors import unit_rows

SKETCH_ROWS = 32
"""The most vectors in a sketch."""
_LARGEST = 127
"""The largest magnitude in a row of a sketch, which holds whole numbers."""
_GRID = 256
"""Steps of a weight from 0 to 1."""
_TABLES, _PLACES = 3, 1 << 24


class SentenceCounts:
    """The number of documents that have each sentence, in 200 MB of memory at the most.

    Counts are kept in three tables by hashes, and the lowest of the three counts: with 5 million
    distinct sentences, one in 60 may be counted with another (Cormode & Muthukrishnan 2005).
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._tables = np.zeros((_TABLES, _PLACES), np.uint32)

    def add(self, sentences: Iterable[str]) -> None:
        """Count the sentences of a document, each once."""
        for table, places in zip(self._tables, _places(sorted(set(sentences))), strict=True):
            np.add.at(table, places, np.uint32(1))

    def of(self, sentences: Iterable[str]) -> Integers:
        """Return the count of each of ``n`` sentences, ``(n,)``."""
        found = zip(self._tables, _places(sentences), strict=True)
        return np.asarray(np.min([table[places] for table, places in found], axis=0), np.int64)


def _places(sentences: Iterable[str]) -> Indices:
    """Return the places of sentences in each table, ``(3, n)``."""
    size = 4 * _TABLES
    digests = (hashlib.blake2b(s.encode(), digest_size=size).digest() for s in sentences)
    numbers = np.frombuffer(b"".join(digests), "<u4").reshape(-1, _TABLES)
    return np.asarray(numbers.T % _PLACES, np.int64)


def sentence_weights(lengths: Integers, counts: Integers) -> Scores:
    """Return the weights ``(n,)`` of sentences, above 0.

    Args:
        lengths: their characters, ``(n,)``.
        counts: documents that have them, ``(n,)``.
    """
    exact = np.sqrt(lengths / np.maximum(counts, 1))
    return np.asarray(np.maximum(np.rint(exact * _GRID), 1) / _GRID, np.float32)


def sketch_places(lengths: Integers) -> Indices:
    """Return the row of a document's sketch that each sentence belongs to, ``(n,)``, ascending.

    *lengths*: characters of each sentence, ``(n,)``. A sentence's part is that of its middle.
    """
    if len(lengths) <= SKETCH_ROWS:
        return np.arange(len(lengths))
    ends = np.cumsum(lengths)
    middles = (ends - lengths / 2) / max(1, ends[-1])
    parts = np.minimum((middles * SKETCH_ROWS).astype(np.int64), SKETCH_ROWS - 1)
    return np.unique(parts, return_inverse=True)[1].ravel()


class Layout(NamedTuple):
    """Places of the sentences of some documents in a row, and their weights."""

    weights: Scores
    """Of the sentences, ``(n,)``."""
    rows: Indices
    """The row of the sketches that each sentence belongs to, ``(n,)``, from 0."""
    sizes: Integers
    """Rows of each document's sketch, ``(m,)``."""
    shares: Scores
    """The part of its document's weight that each row has, ``(r,)``."""


def lay_out(documents: Sequence[Sequence[str]], counts: Integers) -> Layout:
    """Return the layout of documents, none empty; *counts* are of all their sentences, ``(n,)``."""
    lengths = [np.fromiter(map(len, sentences), np.int64) for sentences in documents]
    weights = sentence_weights(np.concatenate(lengths), counts)
    places = [sketch_places(each) for each in lengths]
    sizes = np.array([each[-1] + 1 for each in places], np.int64)
    starts = np.cumsum(sizes) - sizes
    rows = np.concatenate([each + start for each, start in zip(places, starts, strict=True)])
    parts = np.bincount(rows, weights.astype(np.float64))
    totals = np.add.reduceat(parts, starts)
    return Layout(weights, rows, sizes, (parts / np.repeat(totals, sizes)).astype(np.float32))


class DocumentVectors:
    """Sums of the vectors of the sentences of some documents, added some at a time."""

    def __init__(self, layout: Layout, dim: int) -> None:
        """Begin without sentences."""
        self._layout = layout
        self._sums = np.zeros((int(layout.sizes.sum()), dim))
        self._next = 0

    def add(self, vectors: Vectors) -> None:
        """Add the vectors ``(c, dim)`` of the next sentences."""
        part = slice(self._next, self._next + len(vectors))
        rows = self._layout.rows[part]
        weighted = unit_rows(vectors).astype(np.float64) * self._layout.weights[part, None]
        firsts = np.flatnonzero(np.diff(rows, prepend=-1))
        self._sums[rows[firsts]] += np.add.reduceat(weighted, firsts)
        self._next = part.stop

    def vectors(self) -> Vectors:
        """Return the unit vectors of the documents, ``(m, dim)``."""
        sizes = self._layout.sizes
        return unit_rows(np.add.reduceat(self._sums, np.cumsum(sizes) - sizes))

    def sketches(self) -> Vectors:
        """Return the rows of the sketches ``(r, dim)``: whole numbers from -127 to 127."""
        highest = np.abs(self._sums).max(axis=1, keepdims=True, initial=0.0)
        scaled = np.rint(self._sums / np.where(highest > 0, highest, 1.0) * _LARGEST)
        return np.asarray(scaled, dtype=np.float32)


_PRIOR = 10
"""Documents of a side by which half of the mean is taken off."""


def centred(vectors: Vectors, mean: Vectors, count: int) -> Vectors:
    """Return vectors ``(n, dim)`` without what all *count* documents of their side share.

    *mean*: of all of them, ``(dim,)``. Little of it is taken off where they are few.
    """
    return np.asarray(vectors - mean * (count - 1) / (count - 1 + _PRIOR), np.float32)


_WORD = re.compile(r"[^\W_]+")
_WORD_PLACES = 1 << 22
MOST_WORDS = 64
"""Words of a document that are compared with those of another."""


class WordCounts:
    """The number of documents of either side that have each word, in 32 MB of memory.

    Words are letters and digits in a row, in any letter case, as numbers by a hash.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._counts = np.zeros((2, _WORD_PLACES), np.uint32)
        self._documents = [0, 0]

    def add(self, sentences: Sequence[str], side: int) -> None:
        """Count the words of a document of side 0 or 1, each once."""
        self._counts[side, _words(sentences)] += np.uint32(1)
        self._documents[side] += 1

    def rarest(self, sentences: Sequence[str]) -> tuple[Indices, Scores]:
        """Return up to 64 of a document's words that both sides have, those of most weight.

        Returns their numbers in ascending order, and weights ``log(d / c)²``, each ``(w,)``: for d
        documents of a side, and c of them that have the word, on the side where it is less rare.
        """
        words = _words(sentences)
        counts = self._counts[:, words]
        words, counts = words[counts.all(axis=0)], counts[:, counts.all(axis=0)]
        parts = (counts / (np.array(self._documents)[:, None] + 1)).max(axis=0, initial=0.0)
        weights = np.log(np.maximum(parts, 1e-12)) ** 2
        kept = np.sort(np.lexsort((words, -weights))[:MOST_WORDS])
        return words[kept], weights[kept].astype(np.float32)


def _words(sentences: Sequence[str]) -> Indices:
    """Return the numbers of a document's distinct words, ascending."""
    words = {word for sentence in sentences for word in _WORD.findall(sentence.casefold())}
    numbers = {crc32(word.encode()) % _WORD_PLACES for word in words}
    return np.array(sorted(numbers), np.int64)
