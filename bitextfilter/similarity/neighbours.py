"""Exact k-nearest neighbours by cosine, in bounded memory, with results that never waver.

Cosines are computed without rounding (see :mod:`bitextfilter.similarity.vectors`), so a query's
neighbours and their similarities do not depend on the other queries, on the order of anything, or
on threads, and equal similarities are ordered by the lower index. Blocks of queries run side by
side; each passes over the base in tiles and keeps the best k. Memory beside the vectors: about
40 MB a thread.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bitextfilter.io.batches import map_blocks
from bitextfilter.similarity.margins import NEIGHBOURS, highest_means
from bitextfilter.similarity.vectors import Scores, Vectors, unit_products, unit_rows

Indices = NDArray[np.int64]
"""Row numbers, from 0."""

QUERY_ROWS = 512
BASE_ROWS = 4096


def nearest(
    queries: Vectors, base: Vectors, k: int = NEIGHBOURS, threads: int = 1
) -> tuple[Scores, Indices]:
    """Find the k rows of ``base`` that are nearest to each query by cosine.

    Args:
        queries: vectors ``(n, d)``; need not be normalised.
        base: vectors ``(m, d)``.
        k: neighbours wanted; where ``base`` has fewer, all of it.
        threads: blocks of queries run side by side.

    Returns:
        Cosines and row numbers in ``base``, each ``(n, min(k, m))``, best first, the lower row
        number first among equals.
    """
    return nearest_units(unit_rows(queries), unit_rows(base), k, threads)


def nearest_units(
    queries: Vectors, base: Vectors, k: int = NEIGHBOURS, threads: int = 1
) -> tuple[Scores, Indices]:
    """Do the work of :func:`nearest` for vectors that ``unit_rows`` has made."""
    k = min(k, len(base))

    def search(first: int) -> tuple[Scores, Indices]:
        return _search(queries[first : first + QUERY_ROWS], base, k)

    found = map_blocks(search, range(0, len(queries), QUERY_ROWS), threads)
    similarities = [np.zeros((0, k), dtype=np.float32)] + [part[0] for part in found]
    indices = [np.zeros((0, k), dtype=np.int64)] + [part[1] for part in found]
    return np.concatenate(similarities), np.concatenate(indices)


def mean_similarity(
    queries: Vectors, base: Vectors, k: int = NEIGHBOURS, threads: int = 1
) -> Scores:
    """Mean cosine ``(n,)`` of each query to its k nearest rows of ``base``; 0 for an empty base.

    Arguments as for :func:`nearest`.
    """
    return highest_means(nearest(queries, base, k, threads)[0], k)


def _search(queries: Vectors, base: Vectors, k: int) -> tuple[Scores, Indices]:
    """The k nearest of one block of queries, tile by tile of the base; all are unit rows."""
    similarities = np.zeros((len(queries), 0), dtype=np.float32)
    indices = np.zeros((len(queries), 0), dtype=np.int64)
    for first in range(0, len(base), BASE_ROWS):
        tile = unit_products(queries, base[first : first + BASE_ROWS])
        values, places = highest(tile, min(k, tile.shape[1]))
        joined = np.concatenate([similarities, values], axis=1)
        numbers = np.concatenate([indices, places + first], axis=1)
        similarities, order = highest(joined, min(k, joined.shape[1]))
        indices = np.take_along_axis(numbers, order, axis=1)
    return similarities, indices


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
