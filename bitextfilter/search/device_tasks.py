"""Exact search on a GPU: tasks of many blocks, since a GPU compares two blocks in no time.

The tasks are those of :mod:`bitextfilter.search.tasks`, a block with a block. Those of a *piece*,
some blocks of the source side with some of the target side, are done together, and each of them
counts as done by itself: so a search that began on a processor goes on on a GPU, or on another
one, and the other way round.

A GPU, or its libraries, may compute less precisely than they promise, or have faulty memory. So
whenever parts were compared, some rows are scanned on the processor, and must find the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from bitextfilter.arrays import Indices, Scores
from bitextfilter.errors import DeviceError
from bitextfilter.io.workers import map_blocks
from bitextfilter.search import tasks as search
from bitextfilter.search.tasks import BlockNeighbours, Blocks, MapTasks, SearchTask, Sides, TaskId
from bitextfilter.similarity.neighbours import NO_ROW, Neighbours, merge_neighbours, scan
from bitextfilter.similarity.vectors import unit_products_at, unit_rows

Piece = tuple[TaskId, ...]
"""Tasks that are done together."""

_PIECE = (32, 64)
"""Most blocks of either side in a piece: what is lost by a kill, and what is searched without
reading the other side again."""
_CHECKED = 32
"""Rows of either side that are scanned after parts were compared."""


def searching_device(asked: str) -> str | None:
    """Return the GPU of an exact search, if ``--device`` names one; None for ``auto``, ``cpu``.

    Raises DeviceError where it is missing.
    """
    if not asked.startswith("cuda"):
        return None
    from bitextfilter.models.device import resolve_device

    return str(resolve_device(asked))


def piece_tasks(tasks: Iterable[TaskId]) -> list[TaskId]:
    """Return the tasks of ``cell_tasks`` in the order of their pieces, by target, then source."""
    return sorted(tasks, key=lambda task: (_piece(task)[::-1], task))


def _piece(task: TaskId) -> tuple[int, int]:
    return task[0] // _PIECE[0], task[1] // _PIECE[1]


def in_pieces(map_tasks: MapTasks) -> MapTasks:
    """Return the function that does tasks piece by piece, with the search of a piece.

    The first task of a piece yields the neighbours of all.
    """

    def run(prepare: Callable[[], Any], tasks: Sequence[TaskId], /) -> Iterator[Any]:
        pieces = [tuple(piece) for _, piece in groupby(tasks, _piece)]
        given: Any = pieces
        for piece, found in zip(pieces, map_tasks(prepare, given), strict=True):
            yield found
            yield from ([] for _ in piece[1:])

    return run


def compare_pieces(sides: Sides, device: str) -> SearchTask:
    """Return the function that does the tasks of a piece on a device, all at once if they fit.

    Raises DeviceError where the device is missing or too small, or computes wrongly.
    """
    from bitextfilter.models.device import free_memory, naming_device_errors, resolve_device
    from bitextfilter.search.device import room_for

    there = resolve_device(device)
    with naming_device_errors(there):
        free = free_memory(there)
    room = room_for(free, sides.dim, sides.neighbours.k)
    if room.rows < 2 * search.BLOCK:
        message = f"--device {device}: {free >> 20} MiB of memory are free, too few"
        raise DeviceError(f"{message}; use --device cpu")
    return _PieceSearch(sides, there, room)


class _PieceSearch:
    """Search of pieces; the rows of the last one stay on the device."""

    def __init__(self, sides: Sides, device: Any, room: Any) -> None:
        self._sides, self._device, self._room = sides, device, room
        self._blocks = [Blocks(sides.file(side), sides.threads) for side in (0, 1)]
        self._held: list[tuple[Sequence[int], Any]] = [((), None), ((), None)]
        self._compared = 0

    def __call__(self, piece: Piece) -> list[BlockNeighbours]:
        """Return the neighbours of all blocks of the tasks."""
        found: dict[tuple[int, int], Neighbours] = {}
        sources, targets = (sorted({task[side] for task in piece}) for side in (0, 1))
        most = self._room.rows // search.BLOCK
        rows = min(len(sources), max(most // 2, most - len(targets)))
        for target in _parts(targets, most - rows):
            for source in _parts(sources, rows):
                self._compare((source, target), found)
        return [BlockNeighbours(*place, nearest) for place, nearest in found.items()]

    def _compare(
        self, parts: tuple[Sequence[int], Sequence[int]], found: dict[tuple[int, int], Neighbours]
    ) -> None:
        """Compare some blocks of either side; join what is found."""
        from bitextfilter.models.device import naming_device_errors
        from bitextfilter.search.device import search_rows

        k = self._sides.neighbours.k
        reached = self._reached(0, parts[0], found), self._reached(1, parts[1], found)
        with naming_device_errors(self._device):
            held = self._rows(0, parts[0]), self._rows(1, parts[1])
            nearest = search_rows(held, k, reached, self._room.tile)
        for side, (cosines, numbers) in enumerate(nearest):
            numbers[...] = _in_file(numbers, parts[1 - side])
            self._check(side, parts, (cosines, numbers), reached[side])
            for place, block in enumerate(parts[side]):
                rows = slice(place * search.BLOCK, (place + 1) * search.BLOCK)
                new = cosines[rows], numbers[rows]
                known = found.get((side, block))
                found[side, block] = new if known is None else merge_neighbours(known, new, k)
        self._compared += 1

    def _rows(self, side: int, blocks: Sequence[int]) -> Any:
        """Return the rows of some blocks of a side, on the device."""
        from bitextfilter.search.device import DeviceRows

        if self._held[side][0] != blocks:
            self._held[side] = ((), None)  # its memory is for the new ones
            count = sum(self._sides.neighbours.rows(side, block) for block in blocks)
            rows = DeviceRows(count, self._sides.dim, self._device)
            for place, block in enumerate(blocks):
                rows.put(place * search.BLOCK, self._blocks[side].read(block).units)
            self._held[side] = blocks, rows
        return self._held[side][1]

    def _reached(
        self, side: int, blocks: Sequence[int], found: dict[tuple[int, int], Neighbours]
    ) -> Scores:
        """Return the k-th highest cosine known of each row of some blocks."""

        def of(block: int) -> Scores:
            known = found.get((side, block)) or self._sides.neighbours.read(side, block)
            return known[0][:, -1]

        return np.concatenate(map_blocks(of, blocks, self._sides.threads))

    def _check(
        self,
        side: int,
        parts: tuple[Sequence[int], Sequence[int]],
        found: Neighbours,
        reached: Scores,
    ) -> None:
        """Scan a block of the other side for some rows. Raises DeviceError for other results.

        *reached*: lower cosines were not searched.
        """
        from bitextfilter.models.device import wrong_products

        k, other = self._sides.neighbours.k, parts[1 - side]
        places = np.unique(np.linspace(0, len(reached) - 1, _CHECKED).astype(np.int64))
        units = unit_rows(self._sides.file(side)[_in_file(places, parts[side])])
        block = other[self._compared % len(other)]
        cosines, numbers = scan(units, self._blocks[1 - side].read(block).units, k)
        low = cosines < reached[places, None]
        scanned = (
            np.where(low, -np.inf, cosines),
            np.where(low, NO_ROW, numbers + block * search.BLOCK),
        )
        known = found[0][places], found[1][places]
        joined = merge_neighbours(known, scanned, k)
        same = np.array_equal(known[0], joined[0]) and np.array_equal(known[1], joined[1])
        if not same or not np.array_equal(known[0], self._cosines(side, units, known[1])):
            raise wrong_products(self._device)

    def _cosines(self, side: int, units: Any, numbers: Indices) -> Scores:
        """Return the cosines of some rows of a side to others by their numbers, ``(c, k)`` both."""
        others = unit_rows(self._sides.file(1 - side)[np.maximum(numbers, 0).ravel()])
        cosines = unit_products_at(units, others, np.arange(numbers.size).reshape(numbers.shape))
        return np.where(numbers == NO_ROW, np.float32(-np.inf), cosines)


def _parts(blocks: Sequence[int], most: int) -> list[Sequence[int]]:
    return [blocks[first : first + most] for first in range(0, len(blocks), most)]


def _in_file(numbers: Indices, blocks: Sequence[int]) -> Indices:
    """Return numbers of rows within some blocks as numbers within the file."""
    starts = search.BLOCK * (np.array(blocks) - np.arange(len(blocks)))
    return np.where(numbers == NO_ROW, NO_ROW, numbers + starts[numbers // search.BLOCK])
