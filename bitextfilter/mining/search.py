"""Exact search between two on-disk sides, in tasks whose results are kept so that it resumes.

A task names a part of the search; what it finds are neighbours of blocks of rows of either side.
They are joined with what is there already, which is exact, and does no harm done twice: so a
task counts as done only after all it found has been written.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from bitextfilter.arrays import Vectors
from bitextfilter.errors import InputError, OutputError
from bitextfilter.io.files import write_whole
from bitextfilter.io.vector_file import VectorFile
from bitextfilter.similarity.bidirectional import Wanted, nearest_among_parts
from bitextfilter.similarity.neighbours import NONE, Found, best_of, nothing
from bitextfilter.similarity.vectors import unit_rows

Task = tuple[int, int]
"""What a part is about, as whoever cuts the work likes."""

_Result = TypeVar("_Result")


class Do(Protocol):
    """Does tasks, wherever."""

    def __call__(
        self, prepare: Callable[[], Callable[[Task], _Result]], tasks: Iterable[Task], /
    ) -> Iterator[_Result]:
        """Yield the result of each task, in order.

        Args:
            prepare: is called wherever tasks are done, and returns what does one; it may be sent
                to other processes.
            tasks: are asked for as they can be done.
        """


def in_turn(
    prepare: Callable[[], Callable[[Task], _Result]], tasks: Iterable[Task], /
) -> Iterator[_Result]:
    """Do tasks here, one after another."""
    return map(prepare(), tasks)


BLOCK = 1 << 17
"""Rows of a side whose neighbours are kept, and sought, together."""


class Part(NamedTuple):
    """What a task found of a block of a side."""

    side: int
    """0 or 1: whose rows these are the neighbours of."""
    block: int
    found: Found
    """With numbers of rows of the other side."""


Work = Callable[[Task], tuple[Task, list[Part]]]
"""Does a task of a search."""


@dataclass(frozen=True)
class Neighbourhoods:
    """The k nearest of the rows of both sides, as far as they are known, in files of a folder."""

    folder: Path
    sizes: tuple[int, int]
    """Rows of either side."""
    k: int

    def blocks(self, side: int) -> range:
        """The numbers of the blocks of a side."""
        return range(-(-self.sizes[side] // BLOCK))

    def rows(self, side: int, block: int) -> int:
        """How many rows a block has."""
        return min(BLOCK, self.sizes[side] - block * BLOCK)

    def read(self, side: int, block: int) -> Found:
        """What is known of a block ``(b, k)``. Raises InputError where its file is damaged."""
        rows, path = self.rows(side, block), self._path(side, block)
        if not path.exists():
            return nothing(rows, self.k)
        kept = np.frombuffer(path.read_bytes(), np.uint8)
        if len(kept) != rows * self.k * 12:
            raise InputError("its neighbours are damaged", file=str(path))
        cosines, numbers = np.split(kept, [rows * self.k * 4])
        shape = rows, self.k
        return cosines.view(np.float32).reshape(shape), numbers.view(np.int64).reshape(shape)

    def take(self, part: Part) -> None:
        """Join a part with what is known. Raises OutputError."""
        known = self.read(part.side, part.block)
        cosines, numbers = best_of(known, part.found, self.k)
        kept = io.BytesIO()
        kept.write(cosines.astype("<f4").tobytes())
        kept.write(numbers.astype("<i8").tobytes())
        write_whole(self._path(part.side, part.block), kept.getvalue())

    def has(self, side: int, block: int) -> bool:
        """Whether something is known of a block."""
        return self._path(side, block).exists()

    def of_side(self, side: int) -> Found:
        """All that is known of a side: ``(n, min(k, m))``."""
        empty = nothing(0, self.k)
        parts = [empty, *(self.read(side, block) for block in self.blocks(side))]
        columns = min(self.k, self.sizes[1 - side])
        cosines, numbers = (np.concatenate(part)[:, :columns] for part in zip(*parts, strict=True))
        return cosines, numbers

    def _path(self, side: int, block: int) -> Path:
        return self.folder / f"{('source', 'target')[side]}.nearest.{block:05d}"


def search(
    known: Neighbourhoods,
    tasks: Sequence[Task],
    prepare: Callable[[], Work],
    do: Do = in_turn,
    known_done: Callable[[Task], object] | None = None,
) -> tuple[Found, Found]:
    """Do the tasks that are not done yet; return the neighbours of either side.

    Args:
        known: where they are kept.
        tasks: of the whole search.
        prepare: returns what does a task.
        do: does tasks.
        known_done: is told of each task that an earlier run has done.

    Raises:
        OutputError: the folder cannot be written.
        InputError: what is in it is damaged.
    """
    record = known.folder / "done"
    done = _done(record, known)
    for task in tasks:
        if task in done and known_done is not None:
            known_done(task)
    for task, parts in do(prepare, [task for task in tasks if task not in done]):
        for part in parts:
            known.take(part)
        _append(record, task, parts)
    return known.of_side(0), known.of_side(1)


def _done(record: Path, known: Neighbourhoods) -> set[Task]:
    """The tasks of a record; one that was cut off is taken out of it.

    A line has the two numbers of a task, and those of each block that it found something of.
    """
    if not record.exists():
        return set()
    whole = record.read_bytes()
    kept = whole[: whole.rfind(b"\n") + 1]
    if kept != whole:
        write_whole(record, kept)
    try:
        lines = [tuple(map(int, line.split())) for line in kept.splitlines()]
        tasks = {(line[0], line[1]) for line in lines}
    except (ValueError, IndexError) as error:
        raise InputError("damaged; remove the folder", file=str(record)) from error
    blocks = {line[at : at + 2] for line in lines for at in range(2, len(line), 2)}
    if not all(known.has(side, block) for side, block in blocks):
        message = "what some tasks found is missing; remove the folder"
        raise InputError(message, file=str(record))
    return tasks


def _append(record: Path, task: Task, parts: Sequence[Part]) -> None:
    numbers = [*task, *(number for part in parts for number in (part.side, part.block))]
    try:
        with open(record, "ab") as stream:
            stream.write((" ".join(map(str, numbers)) + "\n").encode())
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise OutputError(f"{record}: cannot be written: {error.strerror or error}") from error


_BEYOND = 2.0
"""A cosine that nothing reaches."""


@dataclass(frozen=True)
class Sides:
    """Two files of vectors, and what is wanted of them."""

    files: tuple[Path, Path]
    dim: int
    forms: tuple[str, str]
    """Of either, one of ``io.vector_file.FORMS``."""
    known: Neighbourhoods
    threads: int = 1

    def file(self, side: int) -> VectorFile:
        """Open the vectors of a side, 0 or 1."""
        return VectorFile(self.files[side], self.dim, self.forms[side])


def cells(known: Neighbourhoods) -> list[Task]:
    """Every block of the source side with every block of the target side."""
    return [(row, column) for row in known.blocks(0) for column in known.blocks(1)]


def block_against_block(sides: Sides) -> Work:
    """Return what searches a cell: a block of either side, and its number.

    What is known of the blocks already only makes it faster: what is found is the same in the
    end, whatever the order of cells, and wherever they are searched. Memory: about 1 GB, for 512
    dimensions.
    """
    files = [_Blocks(sides.file(side)) for side in (0, 1)]
    known = sides.known

    def work(task: Task) -> tuple[Task, list[Part]]:
        row, column = task
        own, opposite = known.read(0, row), known.read(1, column)
        reached = own[0][:, -1], opposite[0][:, -1]
        wanted = Wanted(known.k, reached, threads=sides.threads)
        forward, backward = nearest_among_parts(files[0].read(row), files[1].read(column), wanted)
        parts = [Part(0, row, _moved(forward, column)), Part(1, column, _moved(backward, row))]
        return task, parts

    return work


def nearest_in(queries: Vectors, base: VectorFile, k: int, threads: int = 1) -> Found:
    """Return the k nearest rows of a file for each of some vectors ``(n, dim)``: ``(n, ≤ k)``."""
    best, units = nothing(len(queries), k), unit_rows(queries)
    for block in range(-(-len(base) // BLOCK)):
        rows = unit_rows(base[block * BLOCK : (block + 1) * BLOCK])
        nobody = np.full(len(rows), _BEYOND, np.float32)
        wanted = Wanted(k, (best[0][:, -1], nobody), threads)
        best = best_of(best, _moved(nearest_among_parts(units, rows, wanted)[0], block), k)
    columns = min(k, len(base))
    return best[0][:, :columns], best[1][:, :columns]


def _moved(found: Found, block: int) -> Found:
    """Numbers within a block as numbers of the whole side."""
    cosines, numbers = found
    numbers[numbers != NONE] += block * BLOCK
    return cosines, numbers


class _Blocks:
    """The unit rows of blocks of a file; that of the last one is kept."""

    def __init__(self, file: VectorFile) -> None:
        self._file = file
        self._last: tuple[int, Vectors] | None = None

    def read(self, block: int) -> Vectors:
        """Return the unit rows of a block."""
        if self._last is None or self._last[0] != block:
            self._last = None
            rows = self._file[block * BLOCK : (block + 1) * BLOCK]
            self._last = block, unit_rows(rows)
        return self._last[1]
