"""Exact k-nearest neighbours by cosine, in bounded memory, with results that never waver.

:func:`scan` goes through the whole base with numpy. Its cosines are computed without rounding
(see :mod:`bitextfilter.similarity.vectors`), so a query's neighbours and their similarities do not
depend on the other queries, on the order of anything, or on threads, and equal similarities are
ordered by the lower index. What takes both sides to be large, and the nearest of each to be
wanted, finds the same many times as fast: :mod:`bitextfilter.similarity.both_ways`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bitextfilter.io.batches import map_blocks
from bitextfilter.similarity.margins import NEIGHBOURS, highest_means
from bitextfilter.similarity.vectors import (
    Scores,
    Vectors,
    unit_products,
    unit_rows,
)

Indices = NDArray[np.int64]
"""Row numbers, from 0."""

QUERY_ROWS = 512
BASE_ROWS = 4096


def scan(
    queries: Vectors, base: Vectors, k: int = NEIGHBOURS, threads: int = 1
) -> tuple[Scores, Indices]:
    """Find each query's k nearest rows of a base.

    Blocks of queries run side by side; each passes over the base in tiles and keeps the best k.
    Memory beside the vectors: about 40 MB a thread.

    Args:
        queries: rows ``(n, d)`` made by ``unit_rows``.
        base: rows ``(m, d)`` made by ``unit_rows``.
        k: neighbours wanted; where ``base`` has fewer, all of it.
        threads: blocks of queries computed side by side.

    Returns:
        Cosines and row numbers in ``base``, each ``(n, min(k, m))``, best first, the lower row
        number first among equals.
    """
    k = min(k, len(base))

    def block(first: int) -> tuple[Scores, Indices]:
        return _scan(queries[first : first + QUERY_ROWS], base, k)

    return _joined(map_blocks(block, range(0, len(queries), QUERY_ROWS), threads), k)


def mean_similarity(
    queries: Vectors, base: Vectors, k: int = NEIGHBOURS, threads: int = 1
) -> Scores:
    """Mean cosine of each query ``(n, d)`` to its k nearest rows of ``base`` ``(m, d)`` → ``(n,)``.

    Neither need be unit rows. Where ``base`` has fewer than k rows, all count; the mean of none
    is 0.
    """
    return highest_means(scan(unit_rows(queries), unit_rows(base), k, threads)[0], k)


def _scan(queries: Vectors, base: Vectors, k: int) -> tuple[Scores, Indices]:
    """The k nearest of one block of queries, tile by tile of the base."""
    best = Best(len(queries), k)
    for first in range(0, len(base), BASE_ROWS):
        best.add(unit_products(queries, base[first : first + BASE_ROWS]))
    return best.values, best.columns


class Best:
    """The k highest of each row of a matrix that comes some columns at a time."""

    def __init__(self, rows: int, k: int) -> None:
        """Start with no columns."""
        self.values: Scores = np.zeros((rows, 0), dtype=np.float32)
        """Best first, the lower column first among equals: ``(n, min(k, columns so far))``."""
        self.columns: Indices = np.zeros((rows, 0), dtype=np.int64)
        """Their columns."""
        self._k, self._seen = k, 0

    def add(self, values: Scores) -> None:
        """Take the next columns, ``(n, c)``."""
        tile, places = highest(values, min(self._k, values.shape[1]))
        joined = np.concatenate([self.values, tile], axis=1)
        numbers = np.concatenate([self.columns, places + self._seen], axis=1)
        self.values, order = highest(joined, min(self._k, joined.shape[1]))
        self.columns = np.take_along_axis(numbers, order, axis=1)
        self._seen += values.shape[1]


def _joined(blocks: list[tuple[Scores, Indices]], k: int) -> tuple[Scores, Indices]:
    """Blocks of rows, none of them or more, in one array of k columns each."""
    similarities = [np.zeros((0, k), dtype=np.float32)] + [block[0] for block in blocks]
    indices = [np.zeros((0, k), dtype=np.int64)] + [block[1] for block in blocks]
    return np.concatenate(similarities), np.concatenate(indices)


def highest(values: Scores, k: int) -> tuple[Scores, Indices]:
    """Return the k highest of each row and their columns, the lower column first among equals.

    Args:
        values: ``(n, m)``.
        k: at least 1, at most m.

    Returns:
        Values and columns, each ``(n, k)``, best first.
    """
    bound = np.partition(values, -k, axis=1)[:, -k, None]
    rows, columns = np.divmod(np.flatnonzero(values >= bound), values.shape[1])
    order = np.lexsort((columns, -values[rows, columns], rows))
    starts = np.searchsorted(rows, np.arange(len(values)))
    chosen = order[(starts[:, None] + np.arange(k)[None, :])]
    return values[rows[chosen], columns[chosen]], columns[chosen]
