"""Searching in parts, killed or not, against searching everything at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from searches import check_exact, map_here, written_sides

from bitextfilter.arrays import Vectors
from bitextfilter.errors import InputError
from bitextfilter.io.vectors import VectorFile
from bitextfilter.search import tasks as search
from bitextfilter.search.tasks import (
    BlockNeighbours,
    MapTasks,
    NeighbourFiles,
    SearchTask,
    Sides,
    TaskId,
    cell_tasks,
    compare_blocks,
    find_neighbours,
)
from bitextfilter.similarity.vectors import Neighbours, scan, unit_rows

GENERATOR = np.random.default_rng(3)
B = GENERATOR.standard_normal((1900, 16)).astype(np.float32)
A = (B[300:1700] + 0.3 * GENERATOR.standard_normal((1400, 16))).astype(np.float32)
A[100:120] = A[0]
K = 3

Prepare = Callable[[], SearchTask]


class KillError(Exception):
    """As good as a kill."""


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "BLOCK", 600)


def sides_of(folder: Path, a: Vectors = A, b: Vectors = B, form: str = "float32") -> Sides:
    return written_sides(folder, (a, b), K, form)


def found(
    sides: Sides, map_tasks: MapTasks = map_here, done: Callable[[TaskId], object] = repr
) -> tuple[Neighbours, Neighbours]:
    known = sides.neighbours
    prepare = partial(compare_blocks, sides)
    return find_neighbours(known, cell_tasks(known), prepare, map_tasks, done)


def test_in_blocks_it_is_as_at_once(tmp_path: Path) -> None:
    sides = sides_of(tmp_path)
    check_exact(found(sides), sides)


@pytest.mark.parametrize("form", ["float16", "int8"])
def test_of_numbers_of_other_forms(tmp_path: Path, form: str) -> None:
    sides = sides_of(tmp_path, form=form)
    check_exact(found(sides), sides)
    assert isinstance(sides.file(0), VectorFile)


@pytest.mark.parametrize("k", [1, 3])
def test_nearest_in_a_file(tmp_path: Path, k: int) -> None:
    sides = sides_of(tmp_path)
    found = search.nearest_in_file(A, sides.file(1), k, 2)
    expected = scan(unit_rows(A), unit_rows(B), k)
    assert np.array_equal(found[0], expected[0])
    assert np.array_equal(found[1], expected[1])


@pytest.mark.parametrize(
    "sizes", [(0, 0), (0, 5), (5, 0), (1, 1), (2, 1400), (600, 2), (1200, 601)]
)
def test_small_sides(tmp_path: Path, sizes: tuple[int, int]) -> None:
    a, b = A[: sizes[0]], B[: sizes[1]]
    sides = sides_of(tmp_path, a, b)
    check_exact(found(sides), sides)


def each_by_itself(prepare: Prepare, tasks: Sequence[TaskId]) -> Iterator[list[BlockNeighbours]]:
    """As distant workers: all start from the neighbours known at first."""
    return iter([prepare()(task) for task in tasks])


@pytest.mark.parametrize("map_tasks", [map_here, each_by_itself])
def test_in_another_order_with_less_known(tmp_path: Path, map_tasks: MapTasks) -> None:
    sides = sides_of(tmp_path)
    tasks = cell_tasks(sides.neighbours)[::-1]
    prepare = partial(compare_blocks, sides)
    check_exact(find_neighbours(sides.neighbours, tasks, prepare, map_tasks, repr), sides)


@pytest.mark.parametrize("tasks", [0, 4, 11])
@pytest.mark.parametrize("place", ["before", "between", "after"])
def test_it_goes_on_after_a_kill(
    tmp_path: Path, tasks: int, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before a task, between its two parts, or before it is noted as done."""
    sides, done = sides_of(tmp_path), itertools.count()
    join, append = NeighbourFiles.join, search._append

    def killing(known: NeighbourFiles, part: BlockNeighbours) -> None:
        if place == "between" and part.side == 1 and next(done) == tasks:
            raise KillError
        join(known, part)

    def noting(record: Path, task: TaskId, parts: list[BlockNeighbours]) -> None:
        if place == "after" and next(done) == tasks:
            raise KillError
        append(record, task, parts)

    def running(prepare: Prepare, some: Sequence[TaskId]) -> Iterator[list[BlockNeighbours]]:
        for number, result in enumerate(map_here(prepare, some)):
            if place == "before" and number == tasks:
                raise KillError
            yield result

    with monkeypatch.context() as patch:
        patch.setattr(NeighbourFiles, "join", killing)
        patch.setattr(search, "_append", noting)
        with pytest.raises(KillError):
            found(sides, map_tasks=running)
    with open(tmp_path / "done", "a") as record:
        record.write("1")  # a line cut off
    again: list[TaskId] = []

    def noticing(prepare: Prepare, some: Sequence[TaskId]) -> Iterator[list[BlockNeighbours]]:
        again.extend(some)
        return map_here(prepare, some)

    done_tasks: list[TaskId] = []
    check_exact(found(sides, map_tasks=noticing, done=done_tasks.append), sides)
    assert len(again) == 12 - tasks
    assert done_tasks == cell_tasks(sides.neighbours)
    found(sides, map_tasks=noticing)
    assert len(again) == 12 - tasks


def test_a_damaged_line_does_no_task(tmp_path: Path) -> None:
    sides = sides_of(tmp_path)
    with pytest.raises(StopIteration):
        found(sides, map_tasks=lambda prepare, some: map_here(prepare, some[:1]), done=next_of_none)
    (line,) = (tmp_path / "done").read_bytes().splitlines(keepends=True)
    (tmp_path / "done").write_bytes(line + line.replace(b"0 0 ", b"1 0 ", 1))
    check_exact(found(sides), sides)


def next_of_none(_: TaskId) -> object:
    """Stop a search as after its first task."""
    return next(iter(()))


def test_damaged_state(tmp_path: Path) -> None:
    sides = sides_of(tmp_path)
    found(sides)
    (tmp_path / "source.nearest.00001").write_bytes(b"x")
    with pytest.raises(InputError, match="damaged"):
        found(sides)
    (tmp_path / "source.nearest.00001").unlink()
    with pytest.raises(InputError, match="are missing; remove the folder"):
        found(sides)
    (tmp_path / "done").write_text("one two\n0 0 0 1 0\n")
    check_exact(found(sides), sides)  # no line is intact: every task is done again
