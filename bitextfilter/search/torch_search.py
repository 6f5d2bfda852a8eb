"""Exact nearest neighbours of two parts, in both directions at once, by torch: on any device.

1. The products of rounded rows are computed tile by tile, with a proven bound of their error.
2. A row's *floor* is the k-th highest cosine known so far, first that of a sample of the other
   part. Less the bound, and rounded as products are, it is the row's *limit*: any product below it
   is that of rows that are not among each other's nearest.
3. The highest product of each GROUP rows with one row of the other part is compared with the limits
   of all of them. Few reach one, and only their products are looked at singly.
4. The cosines of pairs that reach a limit are computed again without rounding, and raise floors.

The result is that of exhaustive search, to the last bit, whatever the sizes of tiles, if products
keep to the bound. Two checks look whether they do: each product that is looked at singly must be
that near to its cosine, and each row must have found k others that reach its first floor.

A GPU multiplies float16, a processor bfloat16 where that is fast (``models.device.product_type``),
else float32.

Letters: n and m rows of the two parts, d dimensions, k neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import product
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from bitextfilter.arrays import Scores, Vectors
from bitextfilter.io.workers import map_blocks
from bitextfilter.models.device import (
    CPU,
    one_torch_thread,
    product_type,
    wrong_products,
)
from bitextfilter.similarity.vectors import (
    NO_ROW,
    UNIT_BITS,
    VECTOR_ROWS,
    Neighbours,
    merge_neighbours,
    no_neighbours,
)

GROUP = 32
"""Rows whose highest product is compared at once."""
TILE, CPU_TILE = (1 << 16, 1 << 17), (1 << 10, 1 << 12)
"""Most rows of either part that are multiplied at once. Large tiles hide the time between them on a
GPU; those of a processor stay in its cache."""
_MULTIPLIED = 1 << 13
"""Rows that one call multiplies: its products can be counted by 32 bits."""
_SMALLEST_TILE = (1 << 10, 1 << 13)
_SAMPLE, _SAMPLED = 1 << 15, 8
"""Rows of the other part in the sample for first floors, at most; and one in how many."""
_GROUPS, _PAIRS = 1 << 18, 1 << 17
"""Most groups looked at singly, and pairs computed exactly, at a time."""
_MANY, _BLOCK = 3, (1 << 9, 1 << 10)
"""Where one in so many groups reaches a limit, all cosines of a tile are computed exactly, in
blocks of so many rows."""
_LEAST_ROOM = 1 << 20
"""Products there is room for at least, for those with a sample."""
_COPIED = 1 << 15
"""Rows copied to the device at a time."""
_FOUND = 1 << 8
"""Bytes needed to take a pair: its numbers and cosine, and to order them."""
_INTEGERS = {2: torch.int16, 4: torch.int32}
"""For products of so many bytes, the integers of their bits: positive ones keep their order, above
all negative ones. Integers are compared faster."""


class Rows:
    """Unit rows of a part on the processor, ``(n, d)``, and as its products take them."""

    def __init__(self, units: Vectors) -> None:
        """Take rows made by ``unit_rows``."""
        self._exact = torch.from_numpy(units)
        self.rounded = self._exact.to(product_type(CPU))
        """In the format that is multiplied, ``(n, d)``."""
        self.zero = ~self._exact.any(dim=1)
        """True for rows of zeros, ``(n,)``."""
        self._lost = self._exact.new_zeros(())
        for first in range(0, len(units), VECTOR_ROWS):
            some = slice(first, first + VECTOR_ROWS)
            self._measure(self._exact[some] - self.rounded[some])

    def __len__(self) -> int:
        return len(self.rounded)

    def _measure(self, rest: Tensor) -> None:
        """Take what rounding took from some rows."""
        self._lost = torch.maximum(self._lost, rest.square().sum(dim=1).amax())

    def error(self) -> float:
        """Return the most that rounding took from a row, as a length."""
        return 1.0001 * float(self._lost.double().sqrt())

    def exact(self, places: Tensor) -> Tensor:
        """Return rows without rounding, as float64 ``(c, d)``."""
        return self._exact[places].double()


class DeviceRows(Rows):
    """Unit rows of a part on a GPU, as float16, with the rest of each number as 16 bits.

    On the grid of unit rows (:mod:`bitextfilter.similarity.vectors`) both together are the row, to
    the last bit.
    """

    def __init__(self, rows: int, dim: int, device: torch.device) -> None:
        """Make room for rows ``(n, d)``; :meth:`put` fills it."""
        self.rounded = torch.zeros((rows, dim), dtype=torch.float16, device=device)
        self._rest = torch.zeros((rows, dim), dtype=torch.int16, device=device)
        self.zero = torch.ones(rows, dtype=torch.bool, device=device)
        self._lost = torch.zeros((), device=device)

    def put(self, first: int, units: Vectors) -> None:
        """Copy rows made by ``unit_rows``, ``(any, d)``, to the place *first*.

        A number is at most 1, and rounding takes less than 2**-11 of it: a multiple of 2**-24 that
        fits 16 bits. Numbers below 2**-14 are all rest: some GPUs take them for 0.
        """
        for start in range(0, len(units), _COPIED):
            exact = torch.from_numpy(units[start : start + _COPIED]).to(self.rounded.device)
            place = slice(first + start, first + start + len(exact))
            self.rounded[place] = exact.where(exact.abs() >= _tiny(torch.float16), 0.0)
            self.zero[place] = ~exact.any(dim=1)
            rest = exact - self.rounded[place]
            self._measure(rest)
            self._rest[place] = rest.mul_(2.0**UNIT_BITS)

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
    return min(_GROUPS, groups), min(_PAIRS, groups // 16)


def search_on_processor(
    sides: tuple[Vectors, Vectors],
    k: int,
    reached: tuple[Scores | None, Scores | None] = (None, None),
    threads: int = 1,
) -> tuple[Neighbours, Neighbours]:
    """Do :func:`search_rows` for unit rows ``(n, d)``, ``(m, d)``, both not empty, on a processor.

    Each thread takes a part of the first side.
    """
    first, second = sides
    size, other = -(-len(first) // threads), Rows(second)

    def part(start: int) -> tuple[Neighbours, Neighbours]:
        rows = slice(start, start + size)
        wanted = None if reached[0] is None else reached[0][rows]
        return search_rows((Rows(first[rows]), other), k, (wanted, reached[1]), CPU_TILE)

    starts = range(0, len(first), size)
    with one_torch_thread():
        found = map_blocks(part, starts, threads)
    cosines, numbers = zip(*(forward for forward, _ in found), strict=True)
    best = no_neighbours(len(second), k)
    for start, (_, (values, rows)) in zip(starts, found, strict=True):
        rows[rows != NO_ROW] += start
        best = merge_neighbours(best, (values, rows), k)
    return (np.concatenate(cosines), np.concatenate(numbers)), best


@torch.inference_mode()
def search_rows(
    parts: tuple[Rows, Rows],
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
    half = parts[0].rounded.dtype == torch.float16
    with _exact_sums() if half else nullcontext():
        search = _Search(parts, k, reached, tile)
        search.run()
    one, other = search.nearest
    return one.found(len(parts[1])), other.found(len(parts[0]))


class _Search:
    """The search between two parts."""

    def __init__(
        self,
        parts: tuple[Rows, Rows],
        k: int,
        reached: tuple[Scores | None, Scores | None],
        tile: tuple[int, int],
    ) -> None:
        self._parts, (_, dim), form = parts, parts[0].rounded.shape, parts[0].rounded.dtype
        self._integer, self._step = _INTEGERS[form.itemsize], torch.finfo(form).eps / 2
        self._rows = max(1, -(-min(tile[0], len(parts[0])) // GROUP)) * GROUP
        self._columns = max(1, min(tile[1], len(parts[1])))
        self._groups, self._pairs = _at_a_time(tile)
        self._room = parts[0].rounded.new_empty(max(self._rows * self._columns, _LEAST_ROOM))
        self._error = _product_error(parts[0].error(), parts[1].error(), dim) + _tiny(form)
        self._off = parts[0].rounded.new_zeros((), dtype=torch.float64)
        self.nearest = tuple(
            _Nearest(rows, k, self._error, given)
            for rows, given in zip(parts, reached, strict=True)
        )
        for side in (0, 1):
            self._sample(side, k)

    def _products(self, left: Tensor, right: Tensor) -> Tensor:
        """Products ``(r, c)`` of rounded rows, in the one place that is kept for them."""
        out = self._room[: len(left) * len(right)].view(len(left), len(right))
        for first in range(0, len(left), _MULTIPLIED):
            some = slice(first, first + _MULTIPLIED)
            torch.mm(left[some], right.T, out=out[some])
        return out

    def _sample(self, side: int, k: int) -> None:
        """Raise the floors of a side by the k-th best of a sample of the other part's rows.

        The highest of each group count, if there are enough groups.
        """
        rows, others, nearest = self._parts[side], self._parts[1 - side], self.nearest[side]
        size = min(len(others), max(len(others) // _SAMPLED, 4 * k * GROUP), _SAMPLE)
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
                bits = products.view(self._integer).view(-1, GROUP, products.shape[1])
                products = highest(bits).view(products.dtype)
            values = products.T.contiguous().topk(k, dim=1).values[:, -1].float()
            # The product before it was rounded, less its error.
            lowest = values - values.abs() * self._step - self._error
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
                products = self._products(left, right).view(self._integer)
                below = self.nearest[0].limits[padded]
                below[len(numbers) :] = torch.iinfo(self._integer).max
                beside = self.nearest[1].limits[start : start + self._columns]
                groups, columns = _groups_reaching(products, below, beside)
                if len(groups) > products.numel() // (GROUP * _MANY):
                    self._take_all(numbers, start, products)
                    continue
                for at in range(0, len(groups), self._groups):
                    some = groups[at : at + self._groups], columns[at : at + self._groups]
                    rows, near = _members_reaching(products, (below, beside), *some)
                    real = rows < len(numbers)
                    rows, near = rows[real], near[real]
                    self._take(padded[rows], start + near, products[rows, near])
        if not (float(self._off) <= self._error and all(each.complete() for each in self.nearest)):
            raise wrong_products(one.rounded.device)

    def _take(self, i: Tensor, j: Tensor, products: Tensor) -> None:
        """Compute the cosines of pairs of rows, ``(c,)``, exactly; keep those that are nearest.

        *products*: the rounded ones, as bits.
        """
        one, other = self._parts
        cosines = torch.empty(len(i), device=i.device)
        for first in range(0, len(i), self._pairs):
            some = slice(first, first + self._pairs)
            exactly = one.exact(i[some]).mul_(other.exact(j[some])).sum(dim=1)
            cosines[some] = self._checked(exactly, products[some])
        self.nearest[0].add(i, j, cosines)
        self.nearest[1].add(j, i, cosines)

    def _take_all(self, rows: Tensor, start: int, products: Tensor) -> None:
        """Do so for all pairs of some rows and the columns from *start* on, block by block."""
        one, other = self._parts
        height, width = _BLOCK
        for top, first in product(range(0, len(rows), height), range(0, products.shape[1], width)):
            bits = products[top : top + height, first : first + width][: len(rows) - top]
            i = rows[top : top + height]
            j = start + first + torch.arange(bits.shape[1], device=i.device)
            cosines = self._checked(one.exact(i) @ other.exact(j).T, bits)
            near = cosines >= self.nearest[0].floors[i, None]
            at, there = near.logical_or_(cosines >= self.nearest[1].floors[j]).nonzero(
                as_tuple=True
            )
            self.nearest[0].add(i[at], j[there], cosines[at, there])
            self.nearest[1].add(j[there], i[at], cosines[at, there])

    def _checked(self, exactly: Tensor, products: Tensor) -> Tensor:
        """Return exact products as cosines; note how far the rounded ones, as bits, are off."""
        rounded = products.view(self._room.dtype).double()
        off = (rounded - exactly).abs_() - rounded.abs() * self._step
        self._off = torch.maximum(self._off, off.amax())
        return exactly.clamp_(-1.0, 1.0).float().add_(0.0)  # no -0.0


def _tiny(form: torch.dtype) -> float:
    """Return the smallest number of full precision: some GPUs take lower ones for 0."""
    return float(torch.finfo(form).tiny)


def _product_error(one: float, other: float, dim: int) -> float:
    """Return the most that a product, before its rounding, can be off the cosine.

    For rows x and y and their roundings x' and y' it is, by the Cauchy-Schwarz inequality, at most
    |x - x'| |y| + |x'| |y - y'|, from the greatest errors of the rows, and what the sum of d
    products loses: a GPU adds them in float32, in any order, and cuts off what does not fit, of
    numbers no greater than |x'| |y'|. Four times the rounding unit for each addition covers that,
    too. The last summand is for cosines as float32, and for limits that are computed in it.
    """
    return 1.001 * (one + other + one * other + dim * 2.0**-22) + 2.0**-20


def _groups_reaching(products: Tensor, below: Tensor, beside: Tensor) -> tuple[Tensor, ...]:
    """Return the groups of rows, and the columns, where a product reaches a limit: ``(g,)`` each.

    Args:
        products: as the integers of their bits, ``(r, c)``.
        below: limits of the rows, ``(r,)``, whose number is a multiple of GROUP.
        beside: limits of the columns, ``(c,)``.
    """
    best = highest(products.view(-1, GROUP, products.shape[1]))
    lowest = below.view(-1, GROUP).amin(dim=1)
    return (best >= lowest[:, None]).logical_or_(best >= beside).nonzero(as_tuple=True)


def _members_reaching(
    products: Tensor, limits: tuple[Tensor, Tensor], groups: Tensor, columns: Tensor
) -> tuple[Tensor, Tensor]:
    """Return rows and columns of the products in some groups that reach a limit, ``(c,)`` each."""
    grouped = products.view(-1, GROUP, products.shape[1])
    least = torch.minimum(limits[0].view(-1, GROUP)[groups], limits[1][columns, None])
    which, member = (grouped[groups, :, columns] >= least).nonzero(as_tuple=True)
    return groups[which] * GROUP + member, columns[which]


def highest(grouped: Tensor) -> Tensor:
    """Return the highest of each group, column by column: ``(g, GROUP, c)`` → ``(g, c)``."""
    return grouped.amax(dim=1)


class _Nearest:
    """The nearest rows of the other part to each row of a part, as they are found."""

    def __init__(self, rows: Rows, k: int, error: float, reached: Scores | None) -> None:
        size, device = len(rows), rows.rounded.device
        self._cosines = torch.full((size, k), -torch.inf, device=device)
        self._numbers = torch.full((size, k), NO_ROW, device=device)
        self._zero, self._error = rows.zero, error
        self.floors = torch.full((size,), -torch.inf, device=device)
        """A cosine below it is not among the k highest: ``(n,)``. Rows of zeros are not searched:
        to all rows their cosine is 0."""
        self.floors[rows.zero] = torch.inf
        self._form = rows.rounded.dtype
        self.limits = torch.zeros(size, dtype=_INTEGERS[self._form.itemsize], device=device)
        """The lowest product of rows whose cosine may reach the floor, as bits, ``(n,)``."""
        lowest = self.floors if reached is None else torch.tensor(reached, device=device)
        self.raise_floors(slice(0, size), lowest)
        self._first = self.floors.clone()

    def complete(self) -> bool:
        """Return whether each row has k others that reach its floor, where that was raised."""
        reaching = (self._cosines[:, -1] >= self.floors).logical_or_(self.floors == self._first)
        return bool(reaching.all())

    def raise_floors(self, rows: Tensor | slice, lowest: Tensor) -> None:
        """Take floors ``(r,)`` of some rows where they are higher, and set the rows' limits.

        Rounding keeps the order: a product no lower than another number is, rounded, no lower than
        that number, rounded.
        """
        floors = torch.maximum(self.floors[rows], lowest)
        limits = (floors - self._error).to(self._form)
        self.floors[rows] = floors
        always = torch.iinfo(self.limits.dtype).min
        self.limits[rows] = limits.view(self.limits.dtype).where(limits > 0, always)

    def add(self, rows: Tensor, others: Tensor, cosines: Tensor) -> None:
        """Take pairs of a row and another that is new to it, and their cosines, ``(c,)`` each."""
        near = cosines >= self.floors[rows]
        # Of equals the lower number counts; many may be equal.
        near &= (cosines > self._cosines[rows, -1]) | (others < self._numbers[rows, -1])
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
