"""Exact search for the nearest rows of two vector files, in tasks, so that it can be resumed.

A task compares a part of the source side with a part of the target side. It finds neighbours of
blocks of rows of either side, which are joined with those found so far. Joining is exact, and
joining twice changes nothing: so a task counts as done once all its neighbours are written.

A GPU compares two blocks in no time. So there the tasks of a *piece*, some blocks of the source
side with some of the target side, are done together, and each of them counts as done by itself: a
search that began on a processor goes on on a GPU, or on another one, and the other way round. A
GPU, or its libraries, may compute less precisely than they promise, or have faulty memory: whenever
parts were compared, some rows are scanned on the processor, and must find the same.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from bitextfilter.arrays import Indices, Scores, Vectors
from bitextfilter.errors import DeviceError, InputError
from bitextfilter.io.files import naming_output, write_whole
from bitextfilter.io.vectors import VectorFile
from bitextfilter.io.workers import map_blocks
from bitextfilter.search.bidirectional import (
    Group,
    SearchRequest,
    TurnedRows,
    bidirectional_part_search,
    search_turned,
    turning_for,
)
from bitextfilter.search.compiled import RoundedRows, Turning, sample_rows
from bitextfilter.similarity.vectors import (
    NO_ROW,
    Neighbours,
    merge_neighbours,
    no_neighbours,
    scan,
    unit_products_at,
    unit_rows,
)

TaskId = tuple[int, int]
"""Two numbers that name a task; each kind of task defines them."""


MapTasks = Callable[[Callable[[], Callable[[TaskId], Any]], Sequence[TaskId]], Iterator[Any]]
"""Function that runs tasks, here or in other processes, and yields their results in order.

Its first argument is called once in each worker, and returns the function that does a task.
"""

_CHECK = hashlib.sha256().digest_size

BLOCK = 1 << 17
"""Rows of a side that are searched, and whose neighbours are kept, together."""
_JOINS = 4
"""Files of neighbours written at a time: most of it waits for the disk."""
_READ = 2048
"""Rows read at a time."""
_PIECE = (32, 64)
"""Most blocks of either side in a piece: what is lost by a kill, and what is searched without
reading the other side again."""
_CHECKED = 32
"""Rows of either side that are scanned after parts were compared."""
_KEPT = (1, 8)
"""Blocks of either side that are kept as integers, of some 80 MB each for 512 dimensions."""


class BlockNeighbours(NamedTuple):
    """Neighbours of the rows of one block, found by a task."""

    side: int
    """Side of the block: 0 for source, 1 for target."""
    block: int
    found: Neighbours
    """Cosines and numbers of rows of the other side."""
    rows: Indices | None = None
    """The rows of the block that they are of, counted in it; None for all, in order."""


SearchTask = Callable[[Any], list[BlockNeighbours]]
"""Function that does a task, or several together."""


@dataclass(frozen=True)
class NeighbourFiles:
    """Files of the k nearest of the rows of both sides found so far, one for each block."""

    folder: Path
    sizes: tuple[int, int]
    """Rows of either side."""
    k: int

    def blocks(self, side: int) -> range:
        """Return the numbers of the blocks of a side."""
        return range(-(-self.sizes[side] // BLOCK))

    def rows(self, side: int, block: int) -> int:
        """Return the number of rows of a block."""
        return min(BLOCK, self.sizes[side] - block * BLOCK)

    def path(self, side: int, block: int) -> Path:
        """Return the file of a block; there is none before its first neighbours."""
        return self.folder / f"{('source', 'target')[side]}.nearest.{block:05d}"

    def read(self, side: int, block: int) -> Neighbours:
        """Return the neighbours of a block ``(b, k)``. Raises InputError for a damaged file."""
        rows, path = self.rows(side, block), self.path(side, block)
        if not path.exists():
            return no_neighbours(rows, self.k)
        whole = path.read_bytes()
        kept = np.frombuffer(whole[:-_CHECK], np.uint8)
        if len(kept) != rows * self.k * 12 or _checked(path, whole[:-_CHECK]) != whole:
            message, remedy = "its neighbours are damaged", "remove the folder"
            raise InputError(message, file=str(path), remedy=remedy)
        cosines, numbers = np.split(kept, [rows * self.k * 4])
        shape = rows, self.k
        return cosines.view(np.float32).reshape(shape), numbers.view(np.int64).reshape(shape)

    def join(self, new: BlockNeighbours) -> None:
        """Keep the k nearest of the known and the new neighbours of a block. Raises OutputError."""
        cosines, numbers = self.read(new.side, new.block)
        rows: Indices | slice = slice(None) if new.rows is None else new.rows
        cosines, numbers = np.array(cosines), np.array(numbers)
        known = cosines[rows], numbers[rows]
        cosines[rows], numbers[rows] = merge_neighbours(known, new.found, self.k)
        kept = cosines.astype("<f4").tobytes() + numbers.astype("<i8").tobytes()
        path = self.path(new.side, new.block)
        write_whole(path, _checked(path, kept))

    def read_side(self, side: int) -> Neighbours:
        """Return the neighbours of all rows of a side: ``(n, min(k, m))``."""
        blocks = [
            no_neighbours(0, self.k),
            *(self.read(side, block) for block in self.blocks(side)),
        ]
        columns = min(self.k, self.sizes[1 - side])
        cosines, numbers = (np.concatenate(part)[:, :columns] for part in zip(*blocks, strict=True))
        return cosines, numbers


def _checked(path: Path, data: bytes) -> bytes:
    """Return *data* and, behind it, the digest of the file's name and of them."""
    return data + hashlib.sha256(os.fsencode(path.name) + data).digest()


def find_neighbours(
    neighbours: NeighbourFiles,
    tasks: Sequence[TaskId],
    prepare: Callable[[], SearchTask],
    map_tasks: MapTasks,
    done: Callable[[TaskId], object],
) -> tuple[Neighbours, Neighbours]:
    """Run the tasks that are not done yet; return the neighbours of either side.

    *prepare* returns the function that does a task; *done* is called with each task that is done,
    by an earlier run or by this one. Raises OutputError, and InputError for a damaged file.
    """
    record = neighbours.folder / "done"
    earlier = _tasks_done(record, neighbours)
    for task in tasks:
        if task in earlier:
            done(task)
    new = [task for task in tasks if task not in earlier]
    for task, blocks in zip(new, map_tasks(prepare, new), strict=True):
        map_blocks(neighbours.join, blocks, _JOINS)
        _append(record, task, blocks)
        done(task)
    return neighbours.read_side(0), neighbours.read_side(1)


def _tasks_done(record: Path, neighbours: NeighbourFiles) -> set[TaskId]:
    """Read the record of tasks; lines that were cut off or changed are removed from it.

    A line has the two numbers of a task, then side and number of each block it found rows of, and
    last a checksum. A task whose line is damaged is done again.
    """
    if not record.exists():
        return set()
    whole = record.read_bytes()
    found = whole.splitlines(keepends=True)
    kept = [line for line in found if line == _line(line.rpartition(b" ")[0])]
    if kept != found:
        write_whole(record, b"".join(kept))
    lines = [tuple(map(int, line.split()[:-1])) for line in kept]
    tasks = {(line[0], line[1]) for line in lines}
    blocks = {line[at : at + 2] for line in lines for at in range(2, len(line), 2)}
    if not all(neighbours.path(side, block).exists() for side, block in blocks):
        message = "neighbours found by some tasks are missing; remove the folder"
        raise InputError(message, file=str(record))
    return tasks


def _line(numbers: bytes) -> bytes:
    """Return a line of the record of tasks."""
    return b"%b %08x\n" % (numbers, crc32(numbers))


def _append(record: Path, task: TaskId, blocks: Sequence[BlockNeighbours]) -> None:
    numbers = [*task, *(number for block in blocks for number in (block.side, block.block))]
    with naming_output(record), open(record, "ab") as stream:
        stream.write(_line(" ".join(map(str, numbers)).encode()))
        stream.flush()
        if blocks:  # else the line says little: without it, they are found again
            os.fsync(stream.fileno())


@dataclass(frozen=True)
class Sides:
    """Vector files of the source and the target side, and the files of their neighbours."""

    files: tuple[Path, Path]
    dim: int
    forms: tuple[str, str]
    """Number formats of the files, from ``io.vectors.FORMS``."""
    neighbours: NeighbourFiles
    threads: int = 1

    def file(self, side: int) -> VectorFile:
        """Open the vectors of a side, 0 or 1."""
        return VectorFile(self.files[side], self.dim, self.forms[side])


def cell_tasks(neighbours: NeighbourFiles) -> list[TaskId]:
    """Return a task for each block of the source side with each block of the target side."""
    return [(row, column) for row in neighbours.blocks(0) for column in neighbours.blocks(1)]


def compare_blocks(sides: Sides) -> SearchTask:
    """Return the function that compares a source block with a target block.

    Neighbours found before only make it faster: the result of all tasks is the same, in any
    order and place. Memory: about 1 GB, for 512 dimensions.
    """
    neighbours, turning = sides.neighbours, sides_turning(sides)
    blocks = [Blocks(sides.file(side), sides.threads, side, turning) for side in (0, 1)]

    def work(task: TaskId) -> list[BlockNeighbours]:
        row, column = task
        reached = neighbours.read(0, row)[0][:, -1], neighbours.read(1, column)[0][:, -1]
        wanted = SearchRequest(neighbours.k, reached, threads=sides.threads)
        one, other = blocks[0].read(row), blocks[1].read(column)
        forward, backward = search_turned(one, other, wanted)
        return [
            BlockNeighbours(0, row, (forward[0], _in_file(forward[1], [column]))),
            BlockNeighbours(1, column, (backward[0], _in_file(backward[1], [row]))),
        ]

    return work


def spaced_places(size: int, count: int) -> Indices:
    """Return the places of *count* of *size* rows, or all of fewer, evenly spaced."""
    return np.unique(np.linspace(0, max(0, size - 1), min(size, count)).astype(np.int64))


def nearest_in_file(queries: Vectors, base: VectorFile, k: int, threads: int = 1) -> Neighbours:
    """Return the k nearest rows of a file for each of some vectors ``(n, dim)``: ``(n, ≤ k)``."""
    best, units, blocks = no_neighbours(len(queries), k), unit_rows(queries), Blocks(base, threads)
    for block in range(-(-len(base) // BLOCK)):
        rows = blocks.read(block).units
        backward = np.full(len(rows), 2.0, np.float32)  # above any cosine: none is wanted
        wanted = SearchRequest(k, (best[0][:, -1], backward), threads)
        cosines, numbers = bidirectional_part_search(units, rows, wanted)[0]
        best = merge_neighbours(best, (cosines, _in_file(numbers, [block])), k)
    columns = min(k, len(base))
    return best[0][:, :columns], best[1][:, :columns]


def _in_file(numbers: Indices, blocks: Sequence[int]) -> Indices:
    """Return numbers of rows within some blocks as numbers within the file."""
    starts = BLOCK * (np.array(blocks) - np.arange(len(blocks)))
    return np.where(numbers == NO_ROW, NO_ROW, numbers + starts[numbers // BLOCK])


class Blocks:
    """Unit rows of the blocks of a file; those of the last block are kept in memory."""

    def __init__(
        self, file: VectorFile, threads: int, side: int = 0, turning: Turning | None = None
    ) -> None:
        self._file, self._threads, self._side, self._turning = file, threads, side, turning
        self._last = -1
        self._units: Vectors = np.zeros((0, file.shape[1]), np.float32)
        self._rounded: dict[int, RoundedRows] = {}

    def read(self, block: int) -> TurnedRows:
        """Return the rows of a block, valid until the next one."""
        if self._last != block:
            rows = range(block * BLOCK, min((block + 1) * BLOCK, len(self._file)))
            self._last = block
            if len(self._units) < len(rows):  # new memory would take as long as what it is for
                self._units = np.empty((len(rows), self._file.shape[1]), np.float32)
            self._whole = whole = self._units[: len(rows)]

            def read(first: int) -> None:
                into, start = whole[first : first + _READ], rows.start + first
                into[...] = unit_rows(self._file[start : start + len(into)])

            map_blocks(read, range(0, len(rows), _READ), self._threads)
        return TurnedRows(self._whole, self._rounded_block(block))

    def _rounded_block(self, block: int) -> RoundedRows | None:
        if self._turning is None:
            return None
        if block not in self._rounded:
            if len(self._rounded) == _KEPT[self._side]:
                del self._rounded[max(self._rounded)]
            self._rounded[block] = RoundedRows(
                self._whole, self._turning, self._side, self._threads
            )
        return self._rounded[block]


def sides_turning(
    sides: Sides, group: Group | None = None, deviations: float = math.inf
) -> Turning | None:
    """Learn how to turn the rows of both files for the compiled search, as ``turning_for``."""
    files = sides.file(0), sides.file(1)
    one, other = (unit_rows(file[sample_rows(len(file))]) for file in files)
    sizes, k = (len(files[0]), len(files[1])), sides.neighbours.k
    return turning_for((one, other), sizes, k, group, deviations)


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
    from bitextfilter.search.torch_search import room_for

    there = resolve_device(device)
    with naming_device_errors(there):
        free = free_memory(there)
    room = room_for(free, sides.dim, sides.neighbours.k)
    if room.rows < 2 * BLOCK:
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

    def __call__(self, piece: tuple[TaskId, ...]) -> list[BlockNeighbours]:
        """Return the neighbours of all blocks of the tasks."""
        found: dict[tuple[int, int], Neighbours] = {}
        sources, targets = (sorted({task[side] for task in piece}) for side in (0, 1))
        most = self._room.rows // BLOCK
        rows = min(len(sources), max(most // 2, most - len(targets)))
        for first in range(0, len(targets), most - rows):
            for start in range(0, len(sources), rows):
                parts = sources[start : start + rows], targets[first : first + most - rows]
                self._compare(parts, found)
        return [BlockNeighbours(*place, nearest) for place, nearest in found.items()]

    def _compare(
        self, parts: tuple[Sequence[int], Sequence[int]], found: dict[tuple[int, int], Neighbours]
    ) -> None:
        """Compare some blocks of either side; join what is found."""
        from bitextfilter.models.device import naming_device_errors
        from bitextfilter.search.torch_search import search_rows

        k = self._sides.neighbours.k
        reached = self._reached(0, parts[0], found), self._reached(1, parts[1], found)
        with naming_device_errors(self._device):
            held = self._rows(0, parts[0]), self._rows(1, parts[1])
            nearest = search_rows(held, k, reached, self._room.tile)
        for side, (cosines, numbers) in enumerate(nearest):
            numbers[...] = _in_file(numbers, parts[1 - side])
            self._check(side, parts, (cosines, numbers), reached[side])
            for place, block in enumerate(parts[side]):
                rows = slice(place * BLOCK, (place + 1) * BLOCK)
                new = cosines[rows], numbers[rows]
                known = found.get((side, block))
                found[side, block] = new if known is None else merge_neighbours(known, new, k)
        self._compared += 1

    def _rows(self, side: int, blocks: Sequence[int]) -> Any:
        """Return the rows of some blocks of a side, on the device."""
        from bitextfilter.search.torch_search import DeviceRows

        if self._held[side][0] != blocks:
            self._held[side] = ((), None)  # its memory is for the new ones
            count = sum(self._sides.neighbours.rows(side, block) for block in blocks)
            rows = DeviceRows(count, self._sides.dim, self._device)
            for place, block in enumerate(blocks):
                rows.put(place * BLOCK, self._blocks[side].read(block).units)
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
        places = spaced_places(len(reached), _CHECKED)
        units = unit_rows(self._sides.file(side)[_in_file(places, parts[side])])
        block = other[self._compared % len(other)]
        cosines, numbers = scan(units, self._blocks[1 - side].read(block).units, k)
        low = cosines < reached[places, None]
        scanned = (
            np.where(low, -np.inf, cosines),
            np.where(low, NO_ROW, numbers + block * BLOCK),
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
