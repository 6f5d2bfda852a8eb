"""Exact nearest neighbours of two parts, in both directions at once, on a GPU.

Every row is kept on the device as float16, with the rest that rounding took from each number as an
integer of 16 bits: on the grid of unit rows (:mod:`bitextfilter.similarity.vectors`) both together
are the row, to the last bit.

1. The products of the float16 rows are computed tile by tile, with a proven bound of their error.
2. A row's *floor* is the k-th highest cosine known so far, first that of a sample of the other
   part. Less the bound, rounded to float16, it is the row's *limit*: any product below it is that
   of rows that are not among each other's nearest.
3. The highest product of each GROUP rows with one row of the other part is compared with the limits
   of all of them. Few reach one, and only their products are looked at singly.
4. The cosines of pairs that reach a limit are computed again without rounding, and raise floors.

The result is that of exhaustive search, to the last bit, whatever the sizes of tiles, if products
keep to the bound. Two checks look whether they do: each product that is looked at singly must be
that near to its cosine, and each row must have found k others that reach its first floor.

Letters: n and m rows of the two parts, d dimensions, k neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor

from bitextfilter.arrays import Scores, Vectors
from bitextfilter.models.device import wrong_products
from bitextfilter.similarity.neighbours import NO_ROW, Neighbours
from bitextfilter.similarity.vectors import UNIT_BITS

GROUP = 32
"""Rows whose highest product is compared at once."""
TILE = (1 << 16, 1 << 17)
"""Most rows of either part that are multiplied at once: large tiles hide the time between them."""
_MULTIPLIED = 1 << 13
"""Rows that one call multiplies: its products can be counted by 32 bits."""
_SMALLEST_TILE = (1 << 10, 1 << 13)
_SAMPLE = 1 << 15
"""Rows of the other part in the sample for first floors."""
_GROUPS, _PAIRS = 1 << 18, 1 << 17
"""Most groups looked at singly, and pairs computed exactly, at a time."""
_COPIED = 1 << 15
"""Rows copied to the device at a time."""
_FOUND = 1 << 8
"""Bytes needed to take a pair: its numbers and cosine, and to order them."""
_TINY = 2.0**-14
"""Smallest number of full precision in float16: some GPUs take lower ones for 0."""
_NEVER, _ALWAYS = 0x7FFF, -0x8000
"""As a limit: reached by no product, and by each."""


class DeviceRows:
    """Unit rows of a part on a device."""

    def __init__(self, rows: int, dim: int, device: torch.device) -> None:
        """Make room for rows ``(n, d)``; :meth:`put` fills it."""
        self.rounded = torch.zeros((rows, dim), dtype=torch.float16, device=device)
        self._rest = torch.zeros((rows, dim), dtype=torch.int16, device=device)
        self.zero = torch.ones(rows, dtype=torch.bool, device=device)
        """True for rows of zeros, ``(n,)``."""
        self._lost = torch.zeros((), device=device)

    def __len__(self) -> int:
        return len(self.rounded)

    def put(self, first: int, units: Vectors) -> None:
        """Copy rows made by ``unit_rows``, ``(any, d)``, to the place *first*.

        A number is at most 1, and rounding takes less than 2**-11 of it: a multiple of 2**-24 that
        fits 16 bits. Numbers below 2**-14 are all rest.
        """
        for start in range(0, len(units), _COPIED):
            exact = torch.from_numpy(units[start : start + _COPIED]).to(self.rounded.device)
            place = slice(first + start, first + start + len(exact))
            self.rounded[place] = exact.where(exact.abs() >= _TINY, 0.0)
            self.zero[place] = ~exact.any(dim=1)
            rest = exact - self.rounded[place]
            self._lost = torch.maximum(self._lost, rest.square().sum(dim=1).amax())
            self._rest[place] = rest.mul_(2.0**UNIT_BITS)

    def error(self) -> float:
        """Return the most that rounding took from a row, as a length."""
        return 1.0001 * float(self._lost.double().sqrt())

    def exact(self, places: Tensor) -> Tensor:
        """Return rows without rounding, as float64 ``(c, d)``."""
        rest = self._rest[places].double().mul_(2.0**-UNIT_BITS)
        return rest.add_(self.rounded[places])


class Room(NamedTuple):
    """Sizes that fit the memory of a device."""

    tile: tuple[int, int]
    """Rows of either part that are multiplied at once."""
    rows: int
    """Rows of both parts together that can be kept there."""


def room_for(free: int, dim: int, k: int) -> Room:
    """Return the sizes for *free* bytes of memory, *dim* dimensions and k neighbours.

    A tile has an eighth of the memory at most, and what is found in it as much; a quarter at
    least is for rows.
    """
    rows, columns = TILE
    while 2 * rows * columns > free // 8 and (rows, columns) != _SMALLEST_TILE:
        if 4 * rows > columns or columns == _SMALLEST_TILE[1]:
            rows //= 2
        else:
            columns //= 2
    groups, pairs = _at_a_time((rows, columns))
    work = 2 * (2 * rows * columns) + 4 * pairs * dim * 8 + groups * GROUP * _FOUND
    # A row with its rounding, and its neighbours, floor and limit.
    return Room((rows, columns), max(0, free - work) * 9 // 10 // (4 * dim + 12 * k + 64))


def _at_a_time(tile: tuple[int, int]) -> tuple[int, int]:
    """Return how many groups are looked at singly, and pairs computed exactly, at a time."""
    groups = max(1 << 12, tile[0] * tile[1] >> 15)
    return min(_GROUPS, groups), min(_PAIRS, groups // 2)


@torch.inference_mode()
def search_rows(
    parts: tuple[DeviceRows, DeviceRows],
    k: int,
    reached: tuple[Scores | None, Scores | None] = (None, None),
    tile: tuple[int, int] = TILE,
) -> tuple[Neighbours, Neighbours]:
    """Find the k nearest rows of the other part for each row of two parts.

    Args:
        parts: rows of both, on one device.
        k: how many; fewer are found where no more reach what is wanted, then -inf and ``NO_ROW``.
        reached: the lowest cosine that is wanted of each row, ``(n,)`` and ``(m,)``; None for any.
        tile: rows of either part that are multiplied at once.

    Returns:
        Neighbours of either part's rows, ``(n, k)`` and ``(m, k)``.

    Raises DeviceError where products are further off than their bound.
    """
    with _exact_sums():
        search = _Search(parts, k, reached, tile)
        search.run()
    one, other = search.nearest
    return one.found(len(parts[1])), other.found(len(parts[0]))


class _Search:
    """The search between two parts."""

    def __init__(
        self,
        parts: tuple[DeviceRows, DeviceRows],
        k: int,
        reached: tuple[Scores | None, Scores | None],
        tile: tuple[int, int],
    ) -> None:
        self._parts, dim = parts, parts[0].rounded.shape[1]
        self._rows = -(-min(tile[0], max(map(len, parts))) // GROUP) * GROUP
        self._columns = min(tile[1], max(map(len, parts)))
        self._groups, self._pairs = _at_a_time(tile)
        self._room = parts[0].rounded.new_empty(self._rows * self._columns)
        self._error = error = _product_error(parts[0].error(), parts[1].error(), dim)
        self._off = parts[0].rounded.new_zeros((), dtype=torch.float64)
        self.nearest = tuple(
            _Nearest(rows, k, error, given) for rows, given in zip(parts, reached, strict=True)
        )
        for side in (0, 1):
            self._sample(side, k, error)

    def _products(self, left: Tensor, right: Tensor) -> Tensor:
        """Products ``(r, c)`` of rows in float16, in the one place that is kept for them."""
        out = self._room[: len(left) * len(right)].view(len(left), len(right))
        for first in range(0, len(left), _MULTIPLIED):
            some = slice(first, first + _MULTIPLIED)
            torch.mm(left[some], right.T, out=out[some])
        return out

    def _sample(self, side: int, k: int, error: float) -> None:
        """Raise the floors of a side by the k-th best of a sample of the other part's rows.

        The highest of each group count, if there are enough groups.
        """
        rows, others, nearest = self._parts[side], self._parts[1 - side], self.nearest[side]
        size = min(len(others), self._rows, _SAMPLE)
        grouped = size >= 4 * k * GROUP
        size -= size % GROUP if grouped else 0
        if size < k:
            return
        places = torch.linspace(0, len(others) - 1, size, dtype=torch.float64).long()
        sample = others.rounded[places.to(others.rounded.device)]
        step = len(self._room) // size
        for first in range(0, len(rows), step):
            products = self._products(sample, rows.rounded[first : first + step])
            if grouped:
                products = highest(products.view(torch.int16).view(-1, GROUP, products.shape[1]))
            values = products.view(torch.float16).T.contiguous().topk(k, dim=1).values[:, -1]
            # The product before it was rounded to float16, less its error.
            lowest = values.float() - values.float().abs() * 2.0**-11 - error
            nearest.raise_floors(slice(first, first + step), lowest)

    def run(self) -> None:
        """Compare all rows of the first part, in the order of their floors, with the second."""
        one, other = self._parts
        order = self.nearest[0].floors.argsort()
        for first in range(0, len(one), self._rows):
            numbers = order[first : first + self._rows]
            padded = torch.nn.functional.pad(numbers, (0, -len(numbers) % GROUP))
            left = one.rounded[padded]
            for start in range(0, len(other), self._columns):
                right = other.rounded[start : start + self._columns]
                products = self._products(left, right).view(torch.int16)
                below = self.nearest[0].limits[padded]
                below[len(numbers) :] = _NEVER
                beside = self.nearest[1].limits[start : start + self._columns]
                for rows, columns in _reaching(products, below, beside, self._groups):
                    real = rows < len(numbers)
                    rows, columns = rows[real], columns[real]
                    self._take(padded[rows], start + columns, products[rows, columns])
        if not (float(self._off) <= self._error and all(each.complete() for each in self.nearest)):
            raise wrong_products(one.rounded.device)

    def _take(self, i: Tensor, j: Tensor, products: Tensor) -> None:
        """Compute the cosines of pairs of rows, ``(c,)``, exactly; keep those that are nearest.

        *products*: those in float16, as bits.
        """
        one, other = self._parts
        cosines = torch.empty(len(i), device=i.device)
        for first in range(0, len(i), self._pairs):
            some = slice(first, first + self._pairs)
            exactly = one.exact(i[some]).mul_(other.exact(j[some])).sum(dim=1)
            rounded = products[some].view(torch.float16).double()
            off = (rounded - exactly).abs_() - rounded.abs() * 2.0**-11
            self._off = torch.maximum(self._off, off.amax())
            cosines[some] = exactly.clamp_(-1.0, 1.0).add_(0.0)  # no -0.0
        self.nearest[0].add(i, j, cosines)
        self.nearest[1].add(j, i, cosines)


def _product_error(one: float, other: float, dim: int) -> float:
    """Return the most that a product in float16, before its rounding, can be off the cosine.

    For rows x and y and their roundings x' and y' it is, by the Cauchy-Schwarz inequality, at most
    |x - x'| |y| + |x'| |y - y'|, from the greatest errors of the rows, and what the sum of d
    products loses: a GPU adds them in float32, in any order, and cuts off what does not fit, of
    numbers no greater than |x'| |y'|. Four times the rounding unit for each addition covers that,
    too. The last summands are for tiny products taken for 0, for cosines as float32, and for limits
    that are computed in it.
    """
    return 1.001 * (one + other + one * other + dim * 2.0**-22) + _TINY + 2.0**-20


def _reaching(
    products: Tensor, below: Tensor, beside: Tensor, some: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield rows and columns of products that reach a limit, some at a time, ``(c,)`` each.

    Args:
        products: float16 as the integers of their bits, ``(r, c)``. Positive ones keep their order,
            above all negative ones; integers are compared faster.
        below: limits of the rows, ``(r,)``, whose number is a multiple of GROUP.
        beside: limits of the columns, ``(c,)``.
        some: how many groups are looked at at a time.
    """
    grouped, below = products.view(-1, GROUP, products.shape[1]), below.view(-1, GROUP)
    best = highest(grouped)
    reaching = (best >= below.amin(dim=1)[:, None]).logical_or_(best >= beside)
    groups, columns = reaching.nonzero(as_tuple=True)
    for first in range(0, len(groups), some):
        group, column = groups[first : first + some], columns[first : first + some]
        members = grouped[group, :, column]
        near = members >= torch.minimum(below[group], beside[column, None])
        which, member = near.nonzero(as_tuple=True)
        if len(which):
            yield group[which] * GROUP + member, column[which]


def highest(grouped: Tensor) -> Tensor:
    """Return the highest of each group, column by column: ``(g, GROUP, c)`` → ``(g, c)``."""
    return grouped.amax(dim=1)


class _Nearest:
    """The nearest rows of the other part to each row of a part, as they are found."""

    def __init__(self, rows: DeviceRows, k: int, error: float, reached: Scores | None) -> None:
        size, device = len(rows), rows.rounded.device
        self._cosines = torch.full((size, k), -torch.inf, device=device)
        self._numbers = torch.full((size, k), NO_ROW, device=device)
        self._zero, self._error = rows.zero, error
        self.floors = torch.full((size,), -torch.inf, device=device)
        """A cosine below it is not among the k highest: ``(n,)``. Rows of zeros are not searched:
        to all rows their cosine is 0."""
        self.floors[rows.zero] = torch.inf
        self.limits = torch.full((size,), _ALWAYS, dtype=torch.int16, device=device)
        """The lowest product of rows whose cosine may reach the floor, as bits, ``(n,)``."""
        lowest = self.floors if reached is None else torch.from_numpy(reached).to(device)
        self.raise_floors(slice(0, size), lowest)
        self._first = self.floors.clone()

    def complete(self) -> bool:
        """Return whether each row has k others that reach its floor, where that was raised."""
        reaching = (self._cosines[:, -1] >= self.floors).logical_or_(self.floors == self._first)
        return bool(reaching.all())

    def raise_floors(self, rows: Tensor | slice, lowest: Tensor) -> None:
        """Take floors ``(r,)`` of some rows where they are higher, and set the rows' limits.

        Rounding keeps the order: a product no lower than another number is, rounded to float16, no
        lower than that number, rounded to float16.
        """
        floors = torch.maximum(self.floors[rows], lowest)
        limits = (floors - self._error).half()
        self.floors[rows] = floors
        self.limits[rows] = limits.view(torch.int16).where(limits > 0, _ALWAYS)

    def add(self, rows: Tensor, others: Tensor, cosines: Tensor) -> None:
        """Take pairs of a row and another that is new to it, and their cosines, ``(c,)`` each."""
        near = cosines >= self.floors[rows]
        rows, others, cosines = rows[near], others[near], cosines[near]
        if not len(rows):
            return
        k, touched = self._cosines.shape[1], torch.unique(rows)
        lines = torch.arange(len(touched), device=rows.device).repeat_interleave(k)
        lines = torch.cat([lines, torch.searchsorted(touched, rows)])
        others = torch.cat([self._numbers[touched].flatten(), others])
        cosines = torch.cat([self._cosines[touched].flatten(), cosines])
        order = _best_first(lines, cosines, others)
        counts = torch.bincount(lines, minlength=len(touched))
        starts = counts.cumsum(0) - counts
        best = order[starts[:, None] + torch.arange(k, device=rows.device)]
        self._cosines[touched], self._numbers[touched] = cosines[best], others[best]
        self.raise_floors(touched, cosines[best[:, -1]])

    def found(self, size: int) -> Neighbours:
        """Return the neighbours; *size*: rows of the other part."""
        k = min(self._cosines.shape[1], size)
        self._cosines[:, :k][self._zero] = 0.0
        self._numbers[:, :k][self._zero] = torch.arange(k, device=self._numbers.device)
        return self._cosines.cpu().numpy(), self._numbers.cpu().numpy()


def _best_first(lines: Tensor, cosines: Tensor, numbers: Tensor) -> Tensor:
    """Return the order of ``(c,)`` entries by line; best first; the lower number first."""
    bits = cosines.view(torch.int32).long()
    ascending = bits.where(bits >= 0, bits ^ 0x7FFFFFFF)
    order = numbers.argsort()
    return order[((lines << 32) - ascending)[order].argsort(stable=True)]


@contextmanager
def _exact_sums() -> Iterator[None]:
    """Add products of float16 in float32, up to the last addition."""
    settings = torch.backends.cuda.matmul
    names = "allow_fp16_reduced_precision_reduction", "allow_fp16_accumulation"
    before = {name: getattr(settings, name) for name in names if hasattr(settings, name)}
    for name in before:
        setattr(settings, name, False)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(settings, name, value)
