"""The nearest of either of two sides on the other, exactly, at the speed of rounded products.

Letters: n and m rows of the two sides, d dimensions, k neighbours.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from bitextfilter.io.batches import map_blocks
from bitextfilter.models.device import one_torch_thread, product_type
from bitextfilter.similarity.candidates import Shortlist, collect, fewest, sample_floors
from bitextfilter.similarity.margins import NEIGHBOURS
from bitextfilter.similarity.neighbours import Indices, scan
from bitextfilter.similarity.rounded import Rounded
from bitextfilter.similarity.vectors import Scores, Vectors, unit_products_at

__all__ = ["nearest_both_ways"]

Found = tuple[Scores, Indices]
"""Cosines and row numbers of each row's nearest, ``(n, k)``, as of :func:`scan`."""

CPU = torch.device("cpu")

BLOCK_ROWS = 1024
"""Rows whose products with all of the other side are made by one thread."""
EXACT_ROWS = 32
"""Rows whose candidates are gathered at a time."""


def nearest_both_ways(
    a: Vectors,
    b: Vectors,
    k: int = NEIGHBOURS,
    threads: int = 1,
    progress: Callable[[int], object] | None = None,
) -> tuple[Found, Found]:
    """Find what ``scan(a, b, k)`` and ``scan(b, a, k)`` find, to the last bit, far sooner.

    All products are made once, rounded; the candidates they leave to each row, of which a proven
    bound says that no other can be among its nearest, are computed again without rounding. Rows
    with too many candidates are scanned for, and so are all rows of a small side.

    Args:
        a: rows ``(n, d)`` made by ``unit_rows``.
        b: rows ``(m, d)`` made by ``unit_rows``.
        k: neighbours wanted; where the other side has fewer, all of it.
        threads: blocks of rows computed side by side.
        progress: called with numbers of rows of ``a`` that are done, unless a side is small.
    """
    if min(len(a), len(b)) < fewest(k):
        return scan(a, b, k, threads), scan(b, a, k, threads)
    forward, backward = _Nearest(a, b, k), _Nearest(b, a, k)
    with one_torch_thread():
        rounded = Rounded(a, b, product_type(CPU))
        floors, opposite_floors = (sample_floors(rounded, side, k, threads) for side in (0, 1))
        order, opposite = np.argsort(floors), Shortlist(opposite_floors, k, rounded)

        def search(first: int) -> None:
            rows = order[first : first + BLOCK_ROWS]
            own = Shortlist(floors[rows], k, rounded)
            collect(rounded, rows, own, opposite)
            forward.choose(rows, *own.pairs())
            if progress is not None:
                progress(len(rows))

        map_blocks(search, range(0, len(a), BLOCK_ROWS), threads)
    backward.choose_all(*opposite.pairs(), threads)
    return forward.completed(threads), backward.completed(threads)


class _Nearest:
    """The nearest rows of ``base`` to each of ``queries``, as they are found."""

    def __init__(self, queries: Vectors, base: Vectors, k: int) -> None:
        self._queries, self._base, self._k = queries, base, k
        self._cosines = np.zeros((len(queries), k), dtype=np.float32)
        self._rows = np.full((len(queries), k), -1, dtype=np.int64)

    def choose(self, queries: Indices, places: Indices, others: Indices) -> None:
        """Take the k nearest of the candidates of some queries that have so many.

        Args:
            queries: their numbers, ``(q,)``.
            places: places in ``queries``, ascending, ``(c,)``.
            others: the candidates of the query at each place, ``(c,)``.
        """
        counts = np.bincount(places, minlength=len(queries))
        starts = np.cumsum(counts) - counts
        order = np.argsort(counts)
        order = order[counts[order] >= self._k]
        for first in range(0, len(order), EXACT_ROWS):
            some = order[first : first + EXACT_ROWS]
            width = np.arange(counts[some[-1]])
            candidates = others[np.minimum(starts[some, None] + width, len(others) - 1)]
            candidates[width >= counts[some, None]] = len(self._base)
            self._choose(queries[some], np.sort(candidates, axis=1))

    def _choose(self, queries: Indices, candidates: Indices) -> None:
        """Of candidates ``(q, c)`` in ascending order; the number of all rows is none."""
        at = np.minimum(candidates, len(self._base) - 1)
        cosines = unit_products_at(self._queries[queries], self._base, at)
        cosines[candidates == len(self._base)] = -np.inf
        best = np.argsort(-cosines, axis=1, kind="stable")[:, : self._k]
        self._cosines[queries] = np.take_along_axis(cosines, best, axis=1)
        self._rows[queries] = np.take_along_axis(candidates, best, axis=1)

    def choose_all(self, queries: Indices, others: Indices, threads: int) -> None:
        """Do this for all queries, of which ``queries`` ``(c,)`` are the numbers, ascending."""

        def choose(first: int) -> None:
            rows = np.arange(first, min(first + BLOCK_ROWS, len(self._queries)))
            part = slice(*np.searchsorted(queries, [first, first + BLOCK_ROWS]))
            self.choose(rows, queries[part] - first, others[part])

        map_blocks(choose, range(0, len(self._queries), BLOCK_ROWS), threads)

    def completed(self, threads: int) -> Found:
        """Scan for those queries that had no k candidates."""
        rows = np.flatnonzero(self._rows[:, 0] < 0)
        found = scan(self._queries[rows], self._base, self._k, threads)
        self._cosines[rows], self._rows[rows] = found
        return self._cosines, self._rows
