"""Inner products in a fast number format, and what they still say about the exact ones.

Some processors multiply matrices of bfloat16 many times as fast as of float32. Such products are
rounded, but no more than by a bound that :class:`Rounded` knows: so they can rule out that one
row is among another's nearest, which leaves few enough to be computed exactly.

Letters: n and m rows of the two sides, d dimensions.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bitextfilter.similarity.vectors import BLOCK_ROWS, Scores, Vectors

__all__ = ["BITS", "Bits", "Rounded"]

Bits = NDArray[np.signedinteger]
"""Floating-point numbers as the integers of their bits. Positive ones stand in the same order, and
above all negative ones: integers of 16 bits are compared many times as fast as bfloat16."""

BITS = {torch.bfloat16: torch.int16, torch.float32: torch.int32}
"""The formats, and the integers of their size."""


class Rounded:
    """The rows of two sides, ready to be multiplied in one of the formats of ``BITS``."""

    def __init__(self, a: Vectors, b: Vectors, form: torch.dtype) -> None:
        """Take rows ``(n, d)`` and ``(m, d)`` made by ``unit_rows``."""
        self.sides = tuple(torch.from_numpy(side).to(form) for side in (a, b))
        self._form = form
        self._error = _bound(*(_distance(*pair) for pair in zip((a, b), self.sides, strict=True)))
        self._error += 2 * a.shape[1] * 2.0**-24

    def products(self, left: Tensor, right: Tensor, room: Tensor) -> Bits:
        """Products ``(n, m)`` of some rows of either side, each rounded to the format.

        They are put into ``room`` ``(n * m or more,)``: new memory each time would double the time.
        """
        out = room[: len(left) * len(right)].view(len(left), len(right))
        return torch.mm(left, right.T, out=out).view(BITS[self._form]).numpy()

    def bits(self, values: Scores) -> Bits:
        """The numbers as products look; those of the format are kept as they are."""
        return torch.from_numpy(values).to(self._form).view(BITS[self._form]).numpy()

    def values(self, bits: Bits) -> Scores:
        """The numbers of what products look like."""
        return torch.from_numpy(bits).view(self._form).float().numpy()

    def floors(self, values: Scores) -> Scores:
        """What the product of two rows reaches if their cosine reaches that of others.

        Let the products of others be at least ``values`` (positive) after rounding: then their
        exact ones, and so that of the two rows, are at least lower by half a step of the format
        and the error of a product. The rows' product is lower still by that error, and is rounded
        as the bound is here. Where nothing positive is left, the floor is infinite.

        The error, for rows x and y and their roundings x' and y', is by the Cauchy-Schwarz
        inequality at most |x - x'| |y| + |x'| |y - y'|, and d·u / (1 - d·u) for the sum in
        float32, in whatever order, with u = 2**-24 (Higham, "Accuracy and Stability of Numerical
        Algorithms", 2002, section 3.1). Twice d·u also covers that the rows' lengths are 1
        only to the grid's precision, and that cosines are compared as float32 in [-1, 1].
        """
        half_step = torch.finfo(self._form).eps / 2
        lowest = values.astype(np.float64) * (1 - half_step) - 2 * self._error
        floors = torch.from_numpy(lowest).float().to(self._form).float().numpy()
        return np.where(floors > 0, floors, np.float32(np.inf))


def _distance(exact: Vectors, rounded: Tensor) -> float:
    """The longest difference between a row and its rounding."""
    squares = [0.0]
    for first in range(0, len(exact), BLOCK_ROWS):
        rows = slice(first, first + BLOCK_ROWS)
        difference = rounded[rows].float().numpy() - exact[rows]
        squares.append(float(np.einsum("nd,nd->n", difference, difference).max()))
    return 1.0001 * math.sqrt(max(squares))


def _bound(a: float, b: float) -> float:
    """How far products are off if rows of about length 1 are off by so much."""
    return 1.0001 * (a + b + a * b)
