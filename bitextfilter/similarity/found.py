"""Neighbours that were found among parts of a side, and what is left of them when parts are joined.

Exact: the k nearest among all are the k nearest among those of each part.
"""

from __future__ import annotations

import numpy as np

from bitextfilter.similarity.neighbours import Indices
from bitextfilter.similarity.vectors import Scores

__all__ = ["NONE", "Found", "best_of", "nothing"]

Found = tuple[Scores, Indices]
"""Cosines of rows to their nearest, best first, and the numbers of these, each ``(n, k)``. Where a
row has fewer, the cosine -inf and the number ``NONE`` fill up."""

NONE = -1


def nothing(rows: int, k: int) -> Found:
    """Return k places for each of some rows, of which none is taken."""
    return np.full((rows, k), -np.inf, np.float32), np.full((rows, k), NONE, np.int64)


def best_of(one: Found, other: Found, k: int) -> Found:
    """Return each row's k nearest of those in either, each ``(n, any)``, as ``(n, k)``.

    The lower number comes first among equals, and what is in both counts once.
    """
    empty = nothing(len(one[0]), k)
    cosines: Scores = np.hstack([one[0], other[0], empty[0]])
    numbers: Indices = np.hstack([one[1], other[1], empty[1]])
    order = np.lexsort((numbers, -cosines), axis=1)
    cosines, numbers = _ordered(cosines, numbers, order)
    again = np.zeros(numbers.shape, np.bool_)
    again[:, 1:] = (numbers[:, 1:] == numbers[:, :-1]) & (numbers[:, 1:] != NONE)
    if again.any():
        cosines[again], numbers[again] = -np.inf, NONE
        order = np.argsort(-cosines, axis=1, kind="stable")
        cosines, numbers = _ordered(cosines, numbers, order)
    return cosines[:, :k], numbers[:, :k]


def _ordered(cosines: Scores, numbers: Indices, order: Indices) -> Found:
    return np.take_along_axis(cosines, order, axis=1), np.take_along_axis(numbers, order, axis=1)
