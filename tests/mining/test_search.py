"""Searching in parts, killed or not, against searching everything at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest

from bitextfilter.arrays import Vectors
from bitextfilter.errors import InputError
from bitextfilter.io.vector_file import VectorFile, VectorWriter
from bitextfilter.mining import search
from bitextfilter.mining.search import (
    Do,
    Neighbourhoods,
    Part,
    Sides,
    Task,
    Work,
    block_against_block,
    cells,
    in_turn,
)
from bitextfilter.similarity.neighbours import Found, scan
from bitextfilter.similarity.vectors import unit_rows

GENERATOR = np.random.default_rng(3)
B = GENERATOR.standard_normal((1900, 16)).astype(np.float32)
A = (B[300:1700] + 0.3 * GENERATOR.standard_normal((1400, 16))).astype(np.float32)
A[100:120] = A[0]
K = 3


class KillError(Exception):
    """As good as a kill."""


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (search, search):
        monkeypatch.setattr(module, "BLOCK", 600)


def sides_of(folder: Path, a: Vectors = A, b: Vectors = B, form: str = "float32") -> Sides:
    for name, rows in (("a", a), ("b", b)):
        with VectorWriter(folder / name, 16, form) as writer:
            writer.append(rows[writer.rows :])
    known = Neighbourhoods(folder, (len(a), len(b)), K)
    return Sides((folder / "a", folder / "b"), 16, (form, form), known, threads=2)


def found(sides: Sides, **options: object) -> tuple[Found, Found]:
    def prepare() -> Work:
        return block_against_block(sides)

    return search.search(sides.known, cells(sides.known), prepare, **options)  # type: ignore[arg-type]


def check(results: tuple[Found, Found], a: Vectors = A, b: Vectors = B) -> None:
    units = unit_rows(a), unit_rows(b)
    for (cosines, numbers), (queries, base) in zip(results, (units, units[::-1]), strict=True):
        exactly = scan(queries, base, K)
        assert np.array_equal(cosines, exactly[0])
        assert np.array_equal(numbers, exactly[1])


def test_in_blocks_it_is_as_at_once(tmp_path: Path) -> None:
    check(found(sides_of(tmp_path)))


@pytest.mark.parametrize("form", ["float16", "int8"])
def test_of_numbers_of_other_forms(tmp_path: Path, form: str) -> None:
    sides = sides_of(tmp_path, form=form)
    check(found(sides), sides.file(0)[:], sides.file(1)[:])
    assert isinstance(sides.file(0), VectorFile)


@pytest.mark.parametrize("k", [1, 3])
def test_nearest_in_a_file(tmp_path: Path, k: int) -> None:
    sides = sides_of(tmp_path)
    found = search.nearest_in(A, sides.file(1), k, 2)
    expected = scan(unit_rows(A), unit_rows(B), k)
    assert np.array_equal(found[0], expected[0])
    assert np.array_equal(found[1], expected[1])


@pytest.mark.parametrize(
    "sizes", [(0, 0), (0, 5), (5, 0), (1, 1), (2, 1400), (600, 2), (1200, 601)]
)
def test_small_sides(tmp_path: Path, sizes: tuple[int, int]) -> None:
    a, b = A[: sizes[0]], B[: sizes[1]]
    check(found(sides_of(tmp_path, a, b)), a, b)


def backwards(
    prepare: Callable[[], Work], tasks: Iterable[Task]
) -> Iterator[tuple[Task, list[Part]]]:
    return in_turn(prepare, reversed(list(tasks)))


def each_by_itself(
    prepare: Callable[[], Work], tasks: Iterable[Task]
) -> Iterator[tuple[Task, list[Part]]]:
    """As far-off workers: all start from what was known at first."""
    return iter([prepare()(task) for task in tasks])


@pytest.mark.parametrize("do", [backwards, each_by_itself])
def test_whatever_the_order_and_what_each_knows(tmp_path: Path, do: Do) -> None:
    check(found(sides_of(tmp_path), do=do))


@pytest.mark.parametrize("tasks", [0, 4, 11])
@pytest.mark.parametrize("place", ["before", "between", "after"])
def test_it_goes_on_after_a_kill(
    tmp_path: Path, tasks: int, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before a task, between its two parts, or before it is noted as done."""
    sides, done = sides_of(tmp_path), itertools.count()
    take, append = Neighbourhoods.take, search._append

    def killing(known: Neighbourhoods, part: Part) -> None:
        if place == "between" and part.side == 1 and next(done) == tasks:
            raise KillError
        take(known, part)

    def noting(record: Path, task: Task, parts: list[Part]) -> None:
        if place == "after" and next(done) == tasks:
            raise KillError
        append(record, task, parts)

    def running(
        prepare: Callable[[], Work], some: Iterable[Task]
    ) -> Iterator[tuple[Task, list[Part]]]:
        for number, result in enumerate(in_turn(prepare, some)):
            if place == "before" and number == tasks:
                raise KillError
            yield result

    with monkeypatch.context() as patch:
        patch.setattr(Neighbourhoods, "take", killing)
        patch.setattr(search, "_append", noting)
        with pytest.raises(KillError):
            found(sides, do=running)
    with open(tmp_path / "done", "a") as record:
        record.write("1")  # a line cut off
    again: list[Task] = []

    def noticing(
        prepare: Callable[[], Work], some: Iterable[Task]
    ) -> Iterator[tuple[Task, list[Part]]]:
        again.extend(some)
        return in_turn(prepare, again)

    told: list[Task] = []
    check(found(sides, do=noticing, known_done=told.append))
    assert len(again) == 12 - tasks
    assert sorted([*told, *again]) == cells(sides.known)
    found(sides, do=noticing)
    assert len(again) == 12 - tasks


def test_damaged_state(tmp_path: Path) -> None:
    sides = sides_of(tmp_path)
    found(sides)
    (tmp_path / "source.nearest.00001").write_bytes(b"x")
    with pytest.raises(InputError, match="damaged"):
        found(sides)
    (tmp_path / "source.nearest.00001").unlink()
    with pytest.raises(InputError, match="is missing; remove the folder"):
        found(sides)
    (tmp_path / "done").write_text("one two\n")
    with pytest.raises(InputError, match="damaged"):
        found(sides)
