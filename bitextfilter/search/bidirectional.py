"""Exact nearest neighbours between two large sides, in both directions at once.

:mod:`bitextfilter.search.compiled` does it where it is there, and sides are large enough; else
:mod:`bitextfilter.search.torch_search` does. The results are the same.

Letters: n and m rows of the two sides, d dimensions, k neighbours.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bitextfilter.arrays import Indices, Scores, Vectors
from bitextfilter.search.compiled import (
    LIKELY_LOST,
    LOOKS,
    LOST,
    MOST_DIMENSIONS,
    Aim,
    Part,
    RoundedRows,
    Turning,
    choose_steps,
    kernel,
    learn_rotation,
    sample_rows,
    search_parts,
)
from bitextfilter.similarity.vectors import (
    NEIGHBOURS,
    Neighbours,
    scan,
)

FEWEST = 128
"""Rows of a side for each neighbour, below which scanning is as fast."""
LEARNING, TURNING = (0, 1 << 25, 1 << 28), 1 << 12
"""Time of learning a rotation, by the kind of kernel, and of turning a row, in pairs that the
compiled search saves: processors with AVX-512 VNNI often multiply bfloat16 fast, too."""


def bidirectional_search(
    a: Vectors,
    b: Vectors,
    k: int = NEIGHBOURS,
    threads: int = 1,
) -> tuple[Neighbours, Neighbours]:
    """Return ``scan(a, b, k)`` and ``scan(b, a, k)``, to the last bit, many times as fast.

    All products are computed once, rounded. A proven bound leaves each row a few candidates that
    may be among its nearest; these are computed again without rounding. Rows with too many
    candidates, and all rows of small sides, are scanned.

    Args:
        a: rows ``(n, d)`` made by ``unit_rows``.
        b: rows ``(m, d)`` made by ``unit_rows``.
        k: neighbours wanted; where the other side has fewer, all of it.
        threads: blocks of rows computed side by side.
    """
    return bidirectional_part_search(a, b, SearchRequest(k, threads=threads))


class SearchRequest(NamedTuple):
    """Options of a search between parts of two sides."""

    k: int = NEIGHBOURS
    reached: tuple[Scores | None, Scores | None] = (None, None)
    """For each row of either part, the k-th highest cosine to rows of other parts, ``(n,)`` and
    ``(m,)``: lower cosines are not searched. -inf for fewer than k, None where all have fewer."""
    threads: int = 1


def bidirectional_part_search(
    a: Vectors, b: Vectors, wanted: SearchRequest
) -> tuple[Neighbours, Neighbours]:
    """Find the k nearest rows of the other part for each row of two parts, above ``reached``.

    Otherwise as :func:`bidirectional_search`.
    """
    k, threads = wanted.k, wanted.threads
    if min(len(a), len(b)) < FEWEST * k:
        return scan(a, b, k, threads), scan(b, a, k, threads)
    sizes = len(a), len(b)
    turning = turning_for((a[sample_rows(sizes[0])], b[sample_rows(sizes[1])]), sizes, k)
    if turning is None:
        from bitextfilter.search.torch_search import search_on_processor

        return search_on_processor((a, b), k, wanted.reached, threads)
    one, other = (turned_rows(rows, turning, side, threads) for side, rows in enumerate((a, b)))
    return search_turned(one, other, wanted)


class Group(NamedTuple):
    """One of many groups of rows of two sides, where only rows of one group are compared."""

    samples: tuple[Vectors, Vectors]
    """Unit rows of either side, some or all."""
    sizes: tuple[int, int]
    """Rows of either side."""


def turning_for(
    samples: tuple[Vectors, Vectors],
    sizes: tuple[int, int],
    k: int,
    group: Group | None = None,
    deviations: float = math.inf,
) -> Turning | None:
    """Learn how to turn the rows of two sides for the compiled search; None if torch is to do it.

    Args:
        samples: unit rows of either side, those at ``sample_rows``.
        sizes: rows of either side.
        k: neighbours wanted.
        group: one that is like most; None where all rows are compared.
        deviations: of rounding, as in ``Turning``.
    """
    worth = sizes[0] * sizes[1] > LEARNING[kernel()] + TURNING * sum(sizes)
    if not kernel() or not worth or samples[0].shape[1] > MOST_DIMENSIONS:
        return None
    lost = LOST if deviations == math.inf else LIKELY_LOST
    alike = group or Group(samples, sizes)
    rotation = learn_rotation(samples, Aim(alike.sizes, k, LOOKS[kernel()], lost), alike.samples)
    return choose_steps(rotation, samples)._replace(deviations=deviations)


class TurnedRows(NamedTuple):
    """Rows of a side for searches with several parts of the other side."""

    units: Vectors
    """Made by ``unit_rows``, ``(n, d)``, in one piece."""
    rounded: RoundedRows | None
    """They as integers; None if torch is to search."""

    def take(self, rows: Indices) -> TurnedRows:
        """Return some of the rows ``(m,)``."""
        rounded = None if self.rounded is None else self.rounded.take(rows)
        return TurnedRows(self.units[rows], rounded)


def turned_rows(units: Vectors, turning: Turning | None, side: int, threads: int = 1) -> TurnedRows:
    """Prepare unit rows ``(n, d)`` of side 0 or 1, turned as :func:`turning_for` says."""
    rounded = None if turning is None else RoundedRows(units, turning, side, threads)
    return TurnedRows(np.ascontiguousarray(units), rounded)


def search_turned(
    one: TurnedRows, other: TurnedRows, wanted: SearchRequest
) -> tuple[Neighbours, Neighbours]:
    """Do :func:`bidirectional_part_search` for rows of side 0 and of side 1, turned alike."""
    if one.rounded is None or other.rounded is None:
        return bidirectional_part_search(one.units, other.units, wanted)
    parts = (
        Part(one.units, one.rounded, wanted.reached[0]),
        Part(other.units, other.rounded, wanted.reached[1]),
    )
    return search_parts(parts, wanted.k, wanted.threads)
