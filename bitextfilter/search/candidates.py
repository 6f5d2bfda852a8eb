"""Candidates for the k nearest neighbours of both sides, in one pass of rounded products.

Some processors multiply matrices of bfloat16 many times as fast as of float32. The rounding error
of such products has a bound (:class:`Rounded`), so they can rule out that one row is among
another's nearest; the few remaining candidates are computed exactly.

The products of all rows of both sides are computed once, tile by tile, and each tile yields
candidates to both sides. A row's *floor* is the lowest product of a candidate. It first comes from
a sample of the other side, and rises with each candidate found. Few products are examined singly:
the highest of GROUP rows with one row of the other side is compared with the lowest floor.

Letters: n and m rows of the two sides, d dimensions.
"""

from __future__ import annotations

import math
from threading import Lock
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bitextfilter.arrays import Indices, Scores, Vectors
from bitextfilter.io.workers import map_blocks
from bitextfilter.similarity.neighbours import GROUP, fewest
from bitextfilter.similarity.vectors import VECTOR_ROWS

Bits = NDArray[np.signedinteger]
"""Floating-point numbers as the integers of their bits. Positive ones keep their order, above all
negative ones: 16-bit integers are compared many times as fast as bfloat16."""

INTEGERS = {torch.bfloat16: torch.int16, torch.float32: torch.int32}
"""The formats, each with the integer type of its size."""


class Rounded:
    """The rows of two sides, ready to be multiplied in one of the formats of ``INTEGERS``."""

    def __init__(self, a: Vectors, b: Vectors, form: torch.dtype) -> None:
        """Take rows ``(n, d)`` and ``(m, d)`` made by ``unit_rows``."""
        self.sides = tuple(torch.from_numpy(side).to(form) for side in (a, b))
        self._form = form
        errors = []
        for exact, rounded in zip((a, b), self.sides, strict=True):
            squares = [0.0]
            for first in range(0, len(exact), VECTOR_ROWS):
                rows = slice(first, first + VECTOR_ROWS)
                difference = rounded[rows].float().numpy() - exact[rows]
                squares.append(float(np.einsum("nd,nd->n", difference, difference).max()))
            errors.append(1.0001 * math.sqrt(max(squares)))
        one, other = errors
        # Of products of rows of length 1 or so, from the greatest errors of the rows.
        self._error = 1.0001 * (one + other + one * other) + 2 * a.shape[1] * 2.0**-24

    def products(self, left: Tensor, right: Tensor, room: Tensor) -> Bits:
        """Products ``(n, m)`` of some rows of either side, each rounded to the format.

        Written to ``room`` ``(n * m or more,)``: allocating memory would double the time.
        """
        out = room[: len(left) * len(right)].view(len(left), len(right))
        return torch.mm(left, right.T, out=out).view(INTEGERS[self._form]).numpy()

    def bits(self, values: Scores) -> Bits:
        """Round values to the format, as bits."""
        return torch.from_numpy(values).to(self._form).view(INTEGERS[self._form]).numpy()

    def values(self, bits: Bits) -> Scores:
        """Return the values of bits."""
        return torch.from_numpy(bits).view(self._form).float().numpy()

    def floors(self, values: Scores) -> Scores:
        """Return the floors of rows from the k-th best rounded products found, ``values``.

        A candidate's exact product may be below ``values`` (positive) by half a step of the format
        and the error of a product; its rounded product is lower by that error again, and is
        rounded as the floor is here. Where nothing positive is left, the floor is infinite.

        The error, for rows x and y and their roundings x' and y', is by the Cauchy-Schwarz
        inequality at most |x - x'| |y| + |x'| |y - y'|, and d·u / (1 - d·u) for the sum in
        float32, in any order, with u = 2**-24 (Higham, "Accuracy and Stability of Numerical
        Algorithms", 2002, section 3.1). Twice d·u also covers that the rows' lengths are 1
        only to the grid's precision, and that cosines are compared as float32 in [-1, 1].
        """
        half_step = torch.finfo(self._form).eps / 2
        lowest = values.astype(np.float64) * (1 - half_step) - 2 * self._error
        floors = torch.from_numpy(lowest).float().to(self._form).float().numpy()
        return np.where(floors > 0, floors, np.float32(np.inf))


TILE_COLUMNS = 4096
SAMPLE_COLUMNS = 1024
SAMPLE_ROWS = 8 * SAMPLE_COLUMNS
_SAMPLE = 4096
"""Rows of the other side in the sample for first floors."""
MISSED = 0.002
"""Part of the rows whose floor from the sample may be too high: they are scanned."""
HELD = 32
"""Candidates a row, on average, at which a shortlist is tightened."""
_MOST = 512
"""A row with more candidates than this is given up."""


class Floors(NamedTuple):
    """The lowest rounded product of a candidate, for each of some rows."""

    values: Scores
    """``(n,)``; infinite for a row that was given up."""
    certain: NDArray[np.bool_]
    """True where k rows are known to reach the floor, False where that is only probable."""

    def take(self, rows: Indices) -> Floors:
        """Return the floors of some rows."""
        return Floors(self.values[rows], self.certain[rows])


class Shortlist:
    """The candidates of each of some rows. Several threads may add to one."""

    def __init__(self, floors: Floors, k: int, rounded: Rounded) -> None:
        """Start with none."""
        self.floors = floors.values
        self._first = floors
        self._k, self._rounded, self._lock = k, rounded, Lock()
        self._parts = [(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32))]
        self._size = 0

    def add(self, rows: Indices, others: Indices, values: Scores) -> None:
        """Take rounded products, and the numbers of their rows on either side, each ``(c,)``.

        They include all products that reach their row's floor.
        """
        with self._lock:
            self._parts.append((rows.astype(np.int32), others.astype(np.int32), values))
            self._size += len(rows)
            if self._size > HELD * len(self.floors):
                self._tighten()

    def pairs(self) -> tuple[Indices, Indices, NDArray[np.bool_]]:
        """Return all candidates of the rows whose candidates are surely complete.

        They are incomplete where a probable floor was above the final one, or a row was given
        up.

        Returns:
            Rows in ascending order, and their candidates, each ``(c,)``; and the rows with
            complete candidates, ``(n,)``.
        """
        given = self._tighten()
        sure = np.isfinite(self.floors) & (self._first.certain | (given >= self._first.values))
        rows, others, _ = self._parts[0]
        kept = sure[rows]
        return rows[kept].astype(np.int64), others[kept].astype(np.int64), sure

    def _tighten(self) -> Scores:
        """Raise the floors by the k-th best products, drop candidates below, return the floors.

        A row that has not k yet gives 0.
        """
        rows, others, values = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        # By row, best first: positive numbers stand in the order of their bits.
        order = np.argsort((rows.astype(np.int64) << 32) - values.view(np.int32))
        rows, others, values = rows[order], others[order], values[order]
        counts = np.bincount(rows, minlength=len(self.floors))
        places = (np.cumsum(counts) - counts + self._k - 1)[counts >= self._k]
        given = np.zeros(len(counts), np.float32)
        given[counts >= self._k] = self._rounded.floors(values[places])
        self.floors = np.maximum(self.floors, given)
        kept = values >= self.floors[rows]
        self._parts = [(rows[kept], others[kept], values[kept])]
        self._size = int(kept.sum())
        self.floors[np.bincount(rows[kept], minlength=len(counts)) > _MOST] = np.inf
        return given


def first_floors(
    rounded: Rounded, side: int, reached: Scores | None, k: int, threads: int = 1
) -> Floors:
    """First floors of the rows of a side.

    Args:
        rounded: both sides; the other must have at least :func:`fewest` rows.
        side: 0 or 1.
        reached: the cosine that k others elsewhere are known to reach, ``(n,)``; -inf for none.
        k: how many are wanted.
        threads: blocks of rows computed side by side.
    """
    size = len(rounded.sides[side])
    values, certain = np.full(size, np.inf, np.float32), np.zeros(size, np.bool_)
    if reached is not None:
        values = rounded.floors(reached)
        certain = np.isfinite(values)
    if not certain.all():
        probable = sample_floors(rounded, side, k, threads)
        values = np.where(certain, values, probable)
    return Floors(values, certain)


def sample_floors(rounded: Rounded, side: int, k: int, threads: int = 1) -> Scores:
    """Return probable floors of the rows of a side, ``(n,)``, from a sample of the other side.

    The other side must have at least :func:`fewest` rows.
    """
    rows, others = rounded.sides[side], rounded.sides[1 - side]
    size = min(len(others), max(_SAMPLE, fewest(k))) // GROUP**2 * GROUP**2
    sample = others[torch.linspace(0, len(others) - 1, size).long()]
    rank = _rank(k, size / len(others))

    def reached(start: int) -> Bits:
        found, room = [], sample.new_empty(size * SAMPLE_COLUMNS)
        for first in range(start, min(start + SAMPLE_ROWS, len(rows)), SAMPLE_COLUMNS):
            tile = rounded.products(sample, rows[first : first + SAMPLE_COLUMNS], room)
            found.append(np.partition(_highest(_highest(tile)), -rank, axis=0)[-rank])
        return np.concatenate(found)

    found = map_blocks(reached, range(0, len(rows), SAMPLE_ROWS), threads)
    return rounded.floors(rounded.values(np.concatenate(found)))


def _rank(k: int, share: float) -> int:
    """Return the rank in the sample that, 499 times in 500, is no higher than rank k in all.

    The number of the k highest in a sample of ``share`` of all has a Poisson distribution.
    """
    probability, above = math.exp(-k * share), 1.0
    for rank in range(1, k):
        above -= probability
        probability *= k * share / rank
        if above < MISSED:
            return rank
    return k


def collect(rounded: Rounded, rows: Indices, own: Shortlist, opposite: Shortlist) -> None:
    """Add candidates among some rows of the first side and all of the second.

    Args:
        rounded: both sides.
        rows: numbers of some rows of the first side, in an order in which their floors hardly
            change from one to the next.
        own: the shortlist of these rows, which it numbers from 0.
        opposite: the shortlist of all rows of the second side.
    """
    left = rounded.sides[0][torch.from_numpy(rows)]
    left = torch.cat([left, left.new_zeros(-len(left) % GROUP, left.shape[1])])
    room = left.new_empty(len(left) * TILE_COLUMNS)
    never = np.full(len(left) - len(rows), np.inf, np.float32)
    for first in range(0, len(rounded.sides[1]), TILE_COLUMNS):
        tile = rounded.products(left, rounded.sides[1][first : first + TILE_COLUMNS], room)
        below = rounded.bits(np.concatenate([own.floors, never]))
        beside = rounded.bits(opposite.floors[first : first + TILE_COLUMNS])
        lines, columns, bits = _reaching(tile, np.minimum(beside, below.min()))
        values = rounded.values(bits)
        near = bits >= below[lines]
        own.add(lines[near], first + columns[near], values[near])
        near = bits >= beside[columns]
        opposite.add(first + columns[near], rows[lines[near]], values[near])


def _reaching(tile: Bits, floors: Bits) -> tuple[Indices, Indices, Bits]:
    """Return rows, columns and values of the products that reach their columns' floors ``(m,)``.

    (numpy divides by a known number at once, but takes its time for both parts of ``divmod``.)
    """
    width = tile.shape[1]
    found = np.flatnonzero(_highest(tile) >= floors)
    groups = found // width
    columns = found - groups * width
    places = (groups * (GROUP * width) + columns)[:, None] + np.arange(GROUP) * width
    members = tile.take(places)
    reaching = np.flatnonzero(members >= floors[columns, None])
    which = reaching // GROUP
    rows = (groups[which] - which) * GROUP + reaching
    return rows, columns[which], members.ravel()[reaching]


def _highest(tile: Bits) -> Bits:
    """The highest of each GROUP rows, column by column: ``(n / GROUP, m)``."""
    grouped = tile.reshape(-1, GROUP, tile.shape[1])
    return np.asarray(np.maximum.reduce(grouped, axis=1))
