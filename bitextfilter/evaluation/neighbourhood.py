"""Queries compared with every line of a stream: nearest lines, and histograms of cosines.

Cosines are exact (see :mod:`bitextfilter.similarity.vectors`): no result depends on the number of
lines added at a time, or on threads. Memory holds the queries and their results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Scores, Vectors
from bitextfilter.io.workers import map_blocks
from bitextfilter.similarity.neighbours import BASE_ROWS, NEIGHBOURS, QUERY_ROWS, Best
from bitextfilter.similarity.vectors import unit_products, unit_rows

Line = tuple[int, str]
"""The number of a line, and its text."""

EDGES: NDArray[np.float64] = np.arange(-50, 51) / 50
"""The ends of the histogram's bins: 0.02 apart, from -1 to 1."""


def _blocks(queries: Vectors) -> list[Vectors]:
    """Return the unit rows in blocks."""
    units = unit_rows(queries)
    return [units[first : first + QUERY_ROWS] for first in range(0, len(units), QUERY_ROWS)]


def _compare(
    queries: Sequence[Vectors],
    vectors: Vectors,
    collect: Sequence[Callable[[Scores], object]],
    threads: int,
) -> None:
    """Give each block's function its cosines to *vectors* ``(c, d)``, tile by tile."""
    base = unit_rows(vectors)

    def compare(block: int) -> None:
        for first in range(0, len(base), BASE_ROWS):
            tile = base[first : first + BASE_ROWS]
            collect[block](unit_products(queries[block], tile))

    map_blocks(compare, range(len(queries)), threads)


class NearestLines:
    """The nearest lines of each query, best first; of ties, the earlier first."""

    def __init__(self, queries: Vectors, k: int = NEIGHBOURS, threads: int = 1) -> None:
        """Seek the *k* nearest of each of the *queries* ``(n, d)``."""
        self._queries, self._threads = _blocks(queries), threads
        self._best = [Best(len(block), k) for block in self._queries]
        self._lines: dict[int, Line] = {}
        self._seen = 0

    def add(self, vectors: Vectors, lines: Sequence[Line]) -> None:
        """Add the next lines and their vectors ``(c, d)``; only near ones are kept."""
        _compare(self._queries, vectors, [best.add for best in self._best], self._threads)
        first, known = self._seen, self._lines
        wanted = np.unique(np.concatenate([best.columns.ravel() for best in self._best]))
        self._lines = {
            place: known[place] if place < first else lines[place - first]
            for place in wanted.tolist()
        }
        self._seen += len(lines)

    def __iter__(self) -> Iterator[list[tuple[float, Line]]]:
        """Yield the cosines and lines nearest to each query."""
        for best in self._best:
            for values, columns in zip(best.values.tolist(), best.columns.tolist(), strict=True):
                yield [(v, self._lines[c]) for v, c in zip(values, columns, strict=True)]

    def records(self, queries: Sequence[str]) -> list[dict[str, str | float]]:
        """Return a record for each of the *queries* and its nearest lines."""
        return [
            {"query": query, "rank": rank, "cosine": cosine, "line": number, "sentence": text}
            for query, lines in zip(queries, self, strict=True)
            for rank, (cosine, (number, text)) in enumerate(lines, 1)
        ]


class Histograms:
    """Counts of lines by their cosine to each query, in the bins of ``EDGES``.

    A bin has its lower end, and not its higher; only the last has both.
    """

    def __init__(self, queries: Vectors, threads: int = 1) -> None:
        """Count for each of the *queries* ``(n, d)``."""
        self._queries, self._threads = _blocks(queries), threads
        self._counts = [_Counts(len(block)) for block in self._queries]

    def add(self, vectors: Vectors, _: Sequence[Line] = ()) -> None:
        """Count the next lines by their vectors ``(c, d)``."""
        _compare(self._queries, vectors, [part.add for part in self._counts], self._threads)

    @property
    def counts(self) -> NDArray[np.int64]:
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
