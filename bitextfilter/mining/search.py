"""A search in parts: what they found is kept on disk, so that one that was killed goes on.

A task names a part of the search; what it finds are neighbours of blocks of rows of either side.
They are joined with what is there already, which is exact, and does no harm done twice: so a
task counts as done only after all it found has been written.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bitextfilter.errors import InputError, OutputError
from bitextfilter.io.files import write_whole
from bitextfilter.mining.tasks import Do, Task, in_turn
from bitextfilter.similarity.found import Found, best_of, nothing

__all__ = ["BLOCK", "Neighbourhoods", "Part", "Work", "search"]

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
