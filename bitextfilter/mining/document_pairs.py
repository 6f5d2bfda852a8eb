"""Documents that are translations of each other: candidates, their scores, and a choice of pairs.

A pair's evidence is how well the parts of both documents match, and the words that both have:
names, numbers, addresses. The match is also compared with those of the other candidates of the two
documents. The score is a probability, of a logistic regression.

Letters: n and m documents of either side, c candidate pairs, a and b rows of two sketches.

A document's vector is the mean of its sentences' unit vectors. A sentence has the weight ``sqrt(c /
d)``, for c characters, and d documents of its side that have it: so the lines that all pages of a
site repeat count little. A sketch has one vector a sentence, or, of a longer document, 32 of equal
parts, so that documents of any length are compared in bounded memory.

Sums do not depend on how the sentences are batched: unit vectors and weights are on grids, so that
their products sum up in float64 without rounding (for documents of less than 100,000 sentences).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Indices, Integers, Scores, Vectors
from bitextfilter.io.vectors import VectorFile
from bitextfilter.scoring.background import as_int8
from bitextfilter.similarity.vectors import NO_ROW, Neighbours, unit_rows

SKETCH_ROWS = 32
"""The most vectors in a sketch."""
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
        for table, places in zip(self._tables, _places_of(sorted(set(sentences))), strict=True):
            np.add.at(table, places, np.uint32(1))

    def of(self, sentences: Iterable[str]) -> Integers:
        """Return the count of each of ``n`` sentences, ``(n,)``."""
        found = zip(self._tables, _places_of(sentences), strict=True)
        return np.asarray(np.min([table[places] for table, places in found], axis=0), np.int64)


def _places_of(sentences: Iterable[str]) -> Indices:
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
        return as_int8(self._sums).astype(np.float32)


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


WEIGHTS, BIAS = (14.0, 48.0, 2.4), -4.6
"""Weights of the match, of the match beyond that of others, and of the words; chosen on 34 sets of
documents of 9 language pairs, some without partners."""
BALANCED_SCORE = 0.8
"""Pairs with this probability and more had a precision of 0.998 on these sets."""
_TOGETHER = 256
"""Candidates of a document that are compared together."""
_FLOAT32_DIM = 1 << 10
"""Up to it, float32 holds sums of products of magnitudes up to 127 without rounding."""


@dataclass(frozen=True)
class SketchedSide:
    """The documents of a side, each with the rows of its sketch and its rare words."""

    rows: VectorFile
    """All sketches, ``(r, dim)``, of whole numbers: so their products are exact."""
    lengths: Scores
    """The length of each row, at least 1, ``(r,)``."""
    starts: Integers
    """The first row of each document, and the end, ``(n + 1,)``."""
    shares: Scores
    """The part of its document's weight that each row has, ``(r,)``."""
    means: Scores
    """The mean cosine of each row to its nearest among unrelated text, ``(r,)``."""
    word_starts: Integers
    """The first word of each document, and the end, ``(n + 1,)``."""
    words: Integers
    """Numbers of words, ascending in each document, ``(w,)``."""
    word_weights: Scores
    """Their weights, ``(w,)``."""


def candidates(nearest: tuple[Neighbours, Neighbours]) -> tuple[Indices, Indices]:
    """Return the pairs in which one is among the nearest of the other, ``(c,)`` each, in order.

    *nearest*: the nearest targets of each source, and the nearest sources of each target.
    """
    (_, targets), (_, sources) = nearest
    there = np.repeat(np.arange(len(targets)), targets.shape[1]), targets.ravel()
    back = sources.ravel(), np.repeat(np.arange(len(sources)), sources.shape[1])
    pairs = np.concatenate([np.stack(there), np.stack(back)], axis=1)
    pairs = np.unique(pairs[:, (pairs != NO_ROW).all(axis=0)], axis=1)
    return pairs[0], pairs[1]


def evidence(
    sides: tuple[SketchedSide, SketchedSide],
    pairs: tuple[Indices, Indices],
    done: Callable[[int], object] = lambda _: None,
) -> tuple[Scores, Scores]:
    """Return how well the parts of each pair match, and the share of their words, ``(c,)`` each.

    *pairs* are in order of the source; *done* is called with the number of pairs just done.

    Two parts match if each is the nearest of the other, by cosine less the mean of both parts' mean
    cosines to unrelated text. A match of documents is the sum of these margins, where above 0, each
    times the lower share of both parts in the weight of their documents: 0 to 1.

    The share of words is the weight of the words of both, by the root of the product of both
    documents' weights of words: 0 to 1.
    """
    matches, words = np.zeros((2, len(pairs[0])), np.float32)
    known = np.zeros(1 + max(int(side.words.max(initial=0)) for side in sides), np.bool_)
    bounds = np.flatnonzero(np.diff(pairs[0], prepend=-1, append=-1)).tolist()
    for first, last in pairwise(bounds):
        source = int(pairs[0][first])
        for start in range(first, last, _TOGETHER):
            part = slice(start, min(start + _TOGETHER, last))
            matches[part] = _matches(sides, source, pairs[1][part])
            words[part] = _shared_words(sides, source, pairs[1][part], known)
        done(last - first)
    return matches, words


def _places(starts: Integers, numbers: Indices) -> tuple[Indices, Indices, Integers]:
    """Return the places of all parts of some documents, ``(p,)``, and each one's document there.

    At last, where each document begins there.
    """
    counts = starts[numbers + 1] - starts[numbers]
    firsts = np.cumsum(counts) - counts
    places = np.arange(int(counts.sum())) + np.repeat(starts[numbers] - firsts, counts)
    return places, np.repeat(np.arange(len(numbers)), counts), firsts


def _matches(
    sides: tuple[SketchedSide, SketchedSide], source: int, targets: Indices
) -> NDArray[np.float64]:
    """Return the match of a source with each of some targets, ``(c,)``."""
    own, other = sides
    rows = slice(int(own.starts[source]), int(own.starts[source + 1]))
    places, document, firsts = _places(other.starts, targets)
    one, all_ = own.rows[rows], other.rows[places]
    # Products of whole numbers up to 127: their sums are exact, in any order.
    exact = np.float32 if one.shape[1] <= _FLOAT32_DIM else np.float64
    margins = (one.astype(exact) @ all_.astype(exact).T).astype(np.float64)
    margins /= own.lengths[rows, None].astype(np.float64) * other.lengths[places]
    margins -= (own.means[rows, None].astype(np.float64) + other.means[places]) / 2
    nearest, columns = margins.argmax(axis=0), np.arange(len(places))
    values = margins[nearest, columns]
    mutual = values >= np.maximum.reduceat(margins, firsts, axis=1)[nearest, document]
    # Of equal parts of a document, one matches.
    columns = columns[mutual]
    columns = columns[np.unique(document[columns] * len(one) + nearest[columns], True)[1]]
    shares = np.minimum(own.shares[rows][nearest[columns]], other.shares[places][columns])
    return _sums(document[columns], shares * np.maximum(values[columns], 0.0), len(targets))


def _sums(documents: Indices, values: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return the sum of the values of each document, ``(count,)``."""
    return np.asarray(np.bincount(documents, values, minlength=count), np.float64)


def _shared_words(
    sides: tuple[SketchedSide, SketchedSide],
    source: int,
    targets: Indices,
    known: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Return the share of words of a source with each of some targets; *known* stays all False."""
    own, other = sides
    part = slice(int(own.word_starts[source]), int(own.word_starts[source + 1]))
    places, document, _ = _places(other.word_starts, targets)
    weights = other.word_weights[places].astype(np.float64)
    known[own.words[part]] = True
    both = known[other.words[places]]
    known[own.words[part]] = False
    common = _sums(document[both], weights[both], len(targets))
    whole = _sums(document, weights, len(targets)) * own.word_weights[part].sum(dtype=np.float64)
    return np.asarray(np.where(whole > 0, common / np.sqrt(np.maximum(whole, 1e-30)), 0.0))


def beyond_others(values: Scores, pairs: tuple[Indices, Indices]) -> Scores:
    """Return by how much each pair's value, ``(c,)``, is above that of the best other, ``(c,)``.

    Others are the other candidates of its source and of its target; without any, they count as 0.
    """
    exact = values.astype(np.float64)
    others = [_best_others(exact, numbers) for numbers in pairs]
    return np.asarray(exact - np.maximum(*others), np.float32)


def _best_others(values: NDArray[np.float64], numbers: Indices) -> NDArray[np.float64]:
    """Return the highest of the other values with the same number, or 0: ``(c,)``."""
    order = np.lexsort((-values, numbers))
    firsts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    counts = np.diff(firsts, append=len(order))
    found = np.repeat(values[order[firsts]], counts)
    found[firsts] = 0.0
    several = firsts[counts > 1]
    found[several] = values[order[several + 1]]
    others = np.empty_like(found)
    others[order] = found
    return others


def probabilities(matches: Scores, words: Scores, pairs: tuple[Indices, Indices]) -> Scores:
    """Return the probability ``(c,)`` that each pair are translations, of their evidence."""
    columns = matches, beyond_others(matches, pairs), words
    logits = np.full(len(matches), BIAS)
    for weight, column in zip(WEIGHTS, columns, strict=True):
        logits += weight * column.astype(np.float64)
    return np.asarray(1 / (1 + np.exp(-logits)), np.float32)
