"""Queries compared with every line of a stream: nearest lines, hubs, and histograms of cosines.

Similarities are exact (see :mod:`bitextfilter.similarity.vectors`): no result depends on the number
of lines added at a time, or on threads. Memory holds the queries and their results.

Word translation is measured by the precision at k of the nearest target words, as in Conneau et
al. 2018, section 3: over the source words of a dictionary that have a vector and a translation with
a vector. A source word is right if any of its translations is among the k best of all target words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import nan
from typing import NamedTuple

import numpy as np

from bitextfilter.arrays import Floats, Indices, Integers, Mask, Scores, Vectors
from bitextfilter.errors import InputError
from bitextfilter.evaluation.result import Bootstrap, Estimate, Result, estimates, record
from bitextfilter.io.workers import map_blocks
from bitextfilter.similarity.vectors import (
    BASE_ROWS,
    NEIGHBOURS,
    QUERY_ROWS,
    Best,
    csls,
    euclidean_matrix,
    matches,
    mean_similarity,
    neighbourhood_means,
    unit_products,
    unit_rows,
)

Line = tuple[int, str]
"""The number of a line, and its text."""

EDGES: Floats = np.arange(-50, 51) / 50
"""The ends of the histogram's bins: 0.02 apart, from -1 to 1."""

_PartScorer = Callable[[slice, slice], Scores]
"""Scores some queries with some lines: ``(rows, columns)``; higher is nearer."""

_Scorer = Callable[[Vectors], _PartScorer]
"""Takes the vectors of lines, ``(c, d)``."""


def _cosine(queries: Vectors, *_: int) -> _Scorer:
    units = unit_rows(queries)

    def scorer(vectors: Vectors) -> _PartScorer:
        lines = unit_rows(vectors)
        return lambda some, part: unit_products(units[some], lines[part])

    return scorer


def _csls(queries: Vectors, k: int, threads: int) -> _Scorer:
    """CSLS without the mean of the query, which is the same for all lines."""
    cosine, nothing = _cosine(queries), np.zeros(1, np.float32)

    def scorer(vectors: Vectors) -> _PartScorer:
        cosines, means = cosine(vectors), mean_similarity(vectors, queries, k, threads)
        return lambda some, part: csls(cosines(some, part), nothing, means[part])

    return scorer


def _euclidean(queries: Vectors, *_: int) -> _Scorer:
    return lambda vectors: lambda some, part: euclidean_matrix(queries[some], vectors[part])


SIMILARITIES: dict[str, Callable[[Vectors, int, int], _Scorer]] = {
    "cosine": _cosine,
    "csls": _csls,
    "euclidean": _euclidean,
}
"""By name, the functions of queries ``(n, d)``, k and threads."""


def _parts(rows: int, size: int) -> list[slice]:
    return [slice(first, min(first + size, rows)) for first in range(0, rows, size)]


def _compare(
    scores: _PartScorer,
    blocks: Sequence[slice],
    lines: int,
    collect: Sequence[Callable[[Scores], object]],
    threads: int,
) -> None:
    """Give each block's function the scores of its queries with the lines, tile by tile."""

    def compare(block: int) -> None:
        for tile in _parts(lines, BASE_ROWS):
            collect[block](scores(blocks[block], tile))

    map_blocks(compare, range(len(blocks)), threads)


class NearestLines:
    """The nearest lines of each query, best first; of ties, the earlier first."""

    def __init__(
        self, queries: Vectors, k: int = NEIGHBOURS, threads: int = 1, similarity: str = "cosine"
    ) -> None:
        """Seek the *k* nearest of each of the *queries* ``(n, d)`` by one of ``SIMILARITIES``.

        CSLS takes the *k* queries nearest to a line as its neighbours.
        """
        self._blocks, self._threads = _parts(len(queries), QUERY_ROWS), threads
        self._scorer = SIMILARITIES[similarity](queries, k, threads)
        self._best = [Best(block.stop - block.start, k) for block in self._blocks]
        self._lines: dict[int, Line] = {}
        self.seen = 0
        """The number of lines so far."""

    def add(self, vectors: Vectors, lines: Sequence[Line]) -> None:
        """Add the next lines and their vectors ``(c, d)``; only near ones are kept."""
        scores, collect = self._scorer(vectors), [best.add for best in self._best]
        _compare(scores, self._blocks, len(vectors), collect, self._threads)
        first, known = self.seen, self._lines
        self._lines = {
            place: known[place] if place < first else lines[place - first]
            for place in self.occurrences()[0].tolist()
        }
        self.seen += len(lines)

    def occurrences(self) -> tuple[Indices, Indices]:
        """Return the places of the lines that are near to any query, ``(h,)``, and to how many."""
        near = np.concatenate([best.columns.ravel() for best in self._best])
        return np.unique(near, return_counts=True)

    def hubs(self, count: int) -> Iterator[tuple[int, Line]]:
        """Yield the lines near to the most queries, and to how many; the earlier first of ties."""
        places, counts = self.occurrences()
        for hub in np.argsort(-counts, kind="stable")[:count].tolist():
            yield int(counts[hub]), self._lines[int(places[hub])]

    def __iter__(self) -> Iterator[list[tuple[float, Line]]]:
        """Yield the similarities and lines nearest to each query."""
        for best in self._best:
            for values, columns in zip(best.values.tolist(), best.columns.tolist(), strict=True):
                yield [(v, self._lines[c]) for v, c in zip(values, columns, strict=True)]

    def records(self, queries: Sequence[str]) -> list[dict[str, str | float]]:
        """Return a record for each of the *queries* and its nearest lines by cosine."""
        return [
            {"query": query, "rank": rank, "cosine": cosine, "line": number, "sentence": text}
            for query, lines in zip(queries, self, strict=True)
            for rank, (cosine, (number, text)) in enumerate(lines, 1)
        ]


@dataclass(frozen=True)
class Hubness:
    """The distribution of the lines' k-occurrences: the numbers of queries they are near to.

    Radovanović, Nanopoulos & Ivanović 2010, "Hubs in Space", eq. 1.
    """

    skew: float
    """The third standardised moment; 0 is symmetric, NaN where all lines are near to as many."""
    antihubs: float
    """The share of lines near to no query, 0 to 1."""
    largest: int
    """The highest k-occurrence."""
    lines: int
    """The number of lines."""

    @classmethod
    def of(cls, nearest: NearestLines) -> Hubness:
        """Measure the lines seen, of which there is one or more."""
        _, counts = nearest.occurrences()
        shares = np.bincount(counts) / nearest.seen
        shares[0] = 1 - len(counts) / nearest.seen
        deviations = np.arange(len(shares)) - shares @ np.arange(len(shares))
        variance = float(shares @ deviations**2)
        skew = float(shares @ deviations**3) / variance**1.5 if variance else nan
        return cls(skew, float(shares[0]), len(shares) - 1, nearest.seen)


class Hubs:
    """The lines that are near to many queries, by each of ``SIMILARITIES``."""

    def __init__(self, queries: Vectors, k: int = NEIGHBOURS, threads: int = 1) -> None:
        """Count a line where it is among the *k* nearest of one of the *queries* ``(n, d)``."""
        self._nearest = {name: NearestLines(queries, k, threads, name) for name in SIMILARITIES}

    def add(self, vectors: Vectors, lines: Sequence[Line]) -> None:
        """Add the next lines and their vectors ``(c, d)``."""
        for nearest in self._nearest.values():
            nearest.add(vectors, lines)

    def hubness(self) -> dict[str, Hubness]:
        """Return the measures of the lines so far, by similarity."""
        return {name: Hubness.of(nearest) for name, nearest in self._nearest.items()}

    def records(self, count: int) -> list[dict[str, str | float]]:
        """Return a record for each similarity and its *count* lines near to the most queries."""
        return [
            {"similarity": name, "rank": rank, "queries": n, "line": number, "sentence": text}
            for name, nearest in self._nearest.items()
            for rank, (n, (number, text)) in enumerate(nearest.hubs(count), 1)
        ]


class Histograms:
    """Counts of lines by their cosine to each query, in the bins of ``EDGES``.

    A bin has its lower end, and not its higher; only the last has both.
    """

    def __init__(self, queries: Vectors, threads: int = 1) -> None:
        """Count for each of the *queries* ``(n, d)``."""
        self._blocks, self._threads = _parts(len(queries), QUERY_ROWS), threads
        self._scorer = _cosine(queries)
        self._counts = [_Counts(block.stop - block.start) for block in self._blocks]

    def add(self, vectors: Vectors, _: Sequence[Line] = ()) -> None:
        """Count the next lines by their vectors ``(c, d)``."""
        scores, collect = self._scorer(vectors), [part.add for part in self._counts]
        _compare(scores, self._blocks, len(vectors), collect, self._threads)

    @property
    def counts(self) -> Integers:
        """The counts so far, ``(n, 100)``."""
        return np.concatenate([part.counts for part in self._counts])

    def records(self, queries: Sequence[str]) -> list[dict[str, str | float]]:
        """Return a record for each of the *queries* and each bin."""
        edges = EDGES.tolist()
        return [
            {"query": query, "low": low, "high": high, "count": count}
            for query, counts in zip(queries, self.counts.tolist(), strict=True)
            for low, high, count in zip(edges, edges[1:], counts, strict=False)
        ]


class _Counts:
    """The histograms of one block of queries."""

    def __init__(self, rows: int) -> None:
        self.counts = np.zeros((rows, len(EDGES) - 1), dtype=np.int64)

    def add(self, values: Scores) -> None:
        rows, bins = self.counts.shape
        places = np.searchsorted(EDGES[1:-1], values.astype(np.float64), "right")
        places += bins * np.arange(rows)[:, None]
        self.counts += np.bincount(places.ravel(), minlength=rows * bins).reshape(rows, bins)


WORD_SIMILARITIES = ("cosine", "csls")
PRECISION_RANKS = (1, 5)


class Lexicon(NamedTuple):
    """The words of a language and their vectors."""

    words: Sequence[str]
    """``n`` distinct words."""
    vectors: Vectors
    """``(n, d)``, of any length."""


@dataclass(frozen=True)
class Precision:
    """Precision at a rank by a similarity."""

    similarity: str
    rank: int
    precision: Estimate
    """In percent, 0 to 100, with its 95 % interval over the source words."""


@dataclass(frozen=True)
class Translations:
    """Precisions, and the numbers of words."""

    precisions: list[Precision]
    words: int
    """Source words measured."""
    without: int
    """Source words of the dictionary without a vector, or without one of any translation."""


def translate_words(
    source: Lexicon,
    target: Lexicon,
    dictionary: Sequence[tuple[str, str]],
    neighbours: int = NEIGHBOURS,
    bootstrap: Bootstrap | None = None,
) -> Translations:
    """Translate the source words of a dictionary by cosine and by CSLS, and measure the precision.

    Both languages share one vector space. CSLS averages over the *neighbours* nearest words of the
    other language.

    Raises:
        InputError: the vectors differ in width, or no entry has a vector on both sides.
    """
    widths = source.vectors.shape[1], target.vectors.shape[1]
    if widths[0] != widths[1]:
        raise InputError(f"source vectors of {widths[0]} numbers, target vectors of {widths[1]}")
    right = _right(source.words, target.words, dictionary)
    asked = len({word for word, _ in dictionary})
    if not right:
        raise InputError("no entry of the dictionary has a vector on both sides")
    hits = _hits(np.array(list(right)), list(right.values()), (source, target), neighbours)
    cells, counts = np.unique(hits, axis=0, return_counts=True)

    def percent(strata: Sequence[Floats]) -> Floats:
        return np.asarray(100 * strata[0] @ cells / strata[0].sum())

    figures = estimates([counts.astype(np.float64)], percent, bootstrap or Bootstrap())
    kinds = [(similarity, rank) for similarity in WORD_SIMILARITIES for rank in PRECISION_RANKS]
    precisions = [
        Precision(*kind, Estimate(*map(float, figures[:, place])))
        for place, kind in enumerate(kinds)
    ]
    return Translations(precisions, len(right), asked - len(right))


def _right(
    source: Sequence[str], target: Sequence[str], dictionary: Sequence[tuple[str, str]]
) -> dict[int, set[int]]:
    """Return the places of the right target words by the place of the source word."""
    at = [{word: place for place, word in enumerate(words)} for words in (source, target)]
    right: dict[int, set[int]] = {}
    for one, other in dictionary:
        if one in at[0] and other in at[1]:
            right.setdefault(at[0][one], set()).add(at[1][other])
    return right


def _hits(
    places: Indices,
    right: Sequence[set[int]],
    sides: tuple[Lexicon, Lexicon],
    neighbours: int,
) -> Mask:
    """Return the words that are right, by similarity and rank: ``(words, 4)``."""
    every, base = (unit_rows(side.vectors) for side in sides)
    queries = every[places]
    means = (
        neighbourhood_means(queries, base, neighbours),
        neighbourhood_means(base, every, neighbours),
    )
    columns = []
    for chosen in (None, means):
        found = matches(queries, base, max(PRECISION_RANKS), chosen).tolist()
        for rank in PRECISION_RANKS:
            best = (set(row[:rank]) for row in found)
            columns.append([bool(one & other) for one, other in zip(best, right, strict=True)])
    return np.stack([np.array(column, dtype=np.bool_) for column in columns], axis=1)


def word_translation_result(found: Translations, neighbours: int, bootstrap: Bootstrap) -> Result:
    """Return a record for each similarity and rank."""
    records = []
    for each in found.precisions:
        made = record(
            each,
            f"precision@{each.rank} = {each.precision.value:.2f}",
            n=found.words,
            without=found.without,
            sim=each.similarity,
            **({"k": neighbours} if each.similarity == "csls" else {}),
            **bootstrap.facts,
        )
        records.append(made)
    names = "similarity", "rank", "precision", "low", "high", "words", "without", "signature"
    facts = {"words": found.words, "without": found.without}
    return Result("words", dict.fromkeys(names, ".2f"), {"results": records}, facts)
