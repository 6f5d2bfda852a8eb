"""Exact k-nearest neighbours by cosine, in bounded memory, with results that never waver.

Two searches with one result. :func:`scan` goes through the whole base with numpy; its cosines
are computed without rounding (see :mod:`bitextfilter.similarity.vectors`), so a query's
neighbours and their similarities do not depend on the other queries, on the order of anything,
or on threads, and equal similarities are ordered by the lower index. :func:`nearest` lets faiss
find candidates, and then proves of each query that scanning would find no others.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from bitextfilter.errors import DeviceError
from bitextfilter.io.batches import map_blocks
from bitextfilter.similarity.margins import NEIGHBOURS, highest_means
from bitextfilter.similarity.vectors import (
    Scores,
    Vectors,
    unit_products,
    unit_products_at,
    unit_rows,
)

Indices = NDArray[np.int64]
"""Row numbers, from 0."""

QUERY_ROWS = 512
BASE_ROWS = 4096

SEARCH_ROWS = 1024
"""Queries of one call of faiss, which Ctrl-C has to wait for."""
SPARE = 16
"""How many more candidates than neighbours faiss is asked for."""
CANDIDATE_ROWS = 2048
"""Candidates whose vectors are gathered at a time."""


def nearest(
    queries: Vectors,
    base: Vectors,
    k: int = NEIGHBOURS,
    threads: int = 1,
    progress: Callable[[int], object] | None = None,
) -> tuple[Scores, Indices]:
    """Find through faiss, to the last bit, what :func:`scan` finds: each query's k nearest rows.

    faiss takes the ``k + SPARE`` rows that are best by its own, rounded cosines. Those of the
    candidates are computed again without rounding. No row that faiss left out is among the
    nearest if even the worst candidate's rounded cosine, plus twice what rounding can add, is
    below the k-th exact one; the queries where that does not hold are scanned for.

    Args:
        queries: rows ``(n, d)`` made by ``unit_rows``.
        base: rows ``(m, d)`` made by ``unit_rows``; faiss holds a copy of them.
        k: neighbours wanted; where ``base`` has fewer, all of it.
        threads: of faiss, and blocks of queries computed side by side.
        progress: called with numbers of queries that are done, unless ``base`` is very small.

    Raises:
        DeviceError: faiss is not installed.
    """
    faiss = load_faiss()
    if len(base) <= k + SPARE:
        return scan(queries, base, k, threads)
    similarities = np.empty((len(queries), k), dtype=np.float32)
    indices = np.empty((len(queries), k), dtype=np.int64)
    sure = np.empty(len(queries), dtype=np.bool_)
    for rows, rounded, candidates in _candidates(faiss, queries, base, k + SPARE, threads):
        found = _best_candidates(queries[rows], base, np.sort(candidates, axis=1), k, threads)
        similarities[rows], indices[rows] = found
        sure[rows] = _surely_above(found[0][:, -1], rounded[:, -1], base.shape[1])
        if progress is not None:
            progress(len(candidates))
    unsure = np.flatnonzero(~sure)
    similarities[unsure], indices[unsure] = scan(queries[unsure], base, k, threads)
    return similarities, indices


def load_faiss() -> ModuleType:
    """Import faiss, which is an extra. Raises DeviceError where it cannot be imported."""
    try:
        with warnings.catch_warnings():
            # On Python 3.12 the types that SWIG makes for faiss are deprecated.
            warnings.simplefilter("ignore", DeprecationWarning)
            return import_module("faiss")
    except ImportError as error:
        raise DeviceError(
            f"nearest neighbours need faiss ({error}): pip install 'bitextfilter[cpu]'"
        ) from error


def scan(
    queries: Vectors, base: Vectors, k: int = NEIGHBOURS, threads: int = 1
) -> tuple[Scores, Indices]:
    """Find what :func:`nearest` finds, for the same arguments, with numpy alone.

    Blocks of queries run side by side; each passes over the base in tiles and keeps the best k.
    Memory beside the vectors: about 40 MB a thread.

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


@contextmanager
def _threads_of(faiss: ModuleType, threads: int) -> Iterator[None]:
    """Let faiss compute with so many threads for a while."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(threads)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def _candidates(
    faiss: ModuleType, queries: Vectors, base: Vectors, number: int, threads: int
) -> Iterator[tuple[slice, Scores, Indices]]:
    """Some queries after others with the rounded cosines and the rows of their candidates."""
    index = faiss.IndexFlatIP(base.shape[1])
    index.add(base)
    for first in range(0, len(queries), SEARCH_ROWS):
        rows = slice(first, first + SEARCH_ROWS)
        with _threads_of(faiss, threads):
            rounded, candidates = index.search(queries[rows], number)
        yield rows, rounded, candidates


def _best_candidates(
    queries: Vectors, base: Vectors, candidates: Indices, k: int, threads: int
) -> tuple[Scores, Indices]:
    """The k nearest of each query's candidates ``(n, c)``, which are in ascending order."""
    size = max(1, CANDIDATE_ROWS // candidates.shape[1])

    def block(first: int) -> tuple[Scores, Indices]:
        columns = candidates[first : first + size]
        products = unit_products_at(queries[first : first + size], base, columns)
        values, places = highest(products, k)
        return values, np.take_along_axis(columns, places, axis=1)

    return _joined(map_blocks(block, range(0, len(queries), size), threads), k)


def _surely_above(lowest: Scores, rounded: Scores, dim: int) -> NDArray[np.bool_]:
    """Whether a cosine exceeds all whose inner product in float32 is at most ``rounded``.

    In whatever order d products are added in float32, with unit roundoff u = 2**-24, the sum of
    unit vectors' is off by at most d·u / (1 - d·u) (Higham, "Accuracy and Stability of Numerical
    Algorithms", 2002, section 3.1; no product underflows here). Twice d·u also covers that the
    rows' lengths are 1 only to the grid's precision. Since rounding and clipping keep the order,
    the bound is held against the cosine in float32, as :func:`scan` compares them.
    """
    bound = rounded.astype(np.float64) + 2 * dim * 2.0**-24
    return np.asarray(bound.astype(np.float32) < lowest)


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
