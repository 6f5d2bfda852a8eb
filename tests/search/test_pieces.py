"""Searching in pieces, as on a GPU, against scanning; going on after a kill, here or there."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gpu import DEVICE
from searches import check_exact, map_here, written_sides

from bitextfilter.errors import DeviceError
from bitextfilter.models import device as devices
from bitextfilter.search import tasks as search
from bitextfilter.search import torch_search
from bitextfilter.search.tasks import (
    NeighbourFiles,
    Sides,
    TaskId,
    cell_tasks,
    compare_blocks,
    compare_pieces,
    find_neighbours,
    in_pieces,
    piece_tasks,
    searching_device,
)
from bitextfilter.search.torch_search import Room
from bitextfilter.similarity.vectors import Neighbours

GENERATOR = np.random.default_rng(5)
B = GENERATOR.standard_normal((1900, 16)).astype(np.float32)
A = (B[300:1700] + 0.3 * GENERATOR.standard_normal((1400, 16))).astype(np.float32)
A[100:120] = A[0]
A[[7, 900]] = 0
K = 3

BLOCKS = 300
"""Rows of a block, so that there are 5 and 7."""


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "BLOCK", BLOCKS)


@pytest.fixture(params=[(1, 1), (2, 3), (4, 7), (16, 96)])
def pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Pieces of some blocks."""
    size: tuple[int, int] = request.param
    monkeypatch.setattr(search, "_PIECE", size)
    return size


def sides_of(folder: Path, form: str = "float16", threads: int = 2) -> Sides:
    return replace(written_sides(folder, (A, B), K, form), threads=threads)


Run = Callable[[Callable[[], Any], Sequence[TaskId]], Iterator[Any]]


def on_device(
    sides: Sides, run: Run = map_here, done: Callable[[TaskId], object] = repr
) -> tuple[Neighbours, Neighbours]:
    prepare = partial(compare_pieces, sides, DEVICE)
    tasks = piece_tasks(cell_tasks(sides.neighbours))
    return find_neighbours(sides.neighbours, tasks, prepare, in_pieces(run), done)


@pytest.mark.gate(4)
@pytest.mark.parametrize("rows", [600, 1000, 1900, 10**6])
def test_it_is_as_at_once(
    tmp_path: Path, pieces: tuple[int, int], rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the pieces, and the memory of the device, of 2, 3, 6 or all blocks."""
    monkeypatch.setattr(torch_search, "room_for", lambda *_: Room((512, 256), rows))
    sides, done = sides_of(tmp_path), list[TaskId]()
    check_exact(on_device(sides, done=done.append), sides)
    assert sorted(done) == cell_tasks(sides.neighbours)


@pytest.mark.parametrize("form", ["float32", "float16", "int8"])
@pytest.mark.parametrize("threads", [1, 3])
def test_numbers_of_any_form_and_threads(tmp_path: Path, form: str, threads: int) -> None:
    sides = sides_of(tmp_path, form, threads)
    check_exact(on_device(sides), sides)


def test_rows_stay_on_the_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for the targets of a piece, each is copied once for a row of pieces."""
    monkeypatch.setattr(search, "_PIECE", (2, 4))
    read, whole = list[int](), torch_search.DeviceRows.put

    def counting(rows: Any, first: int, units: Any) -> None:
        read.append(len(units))
        whole(rows, first, units)

    monkeypatch.setattr(torch_search.DeviceRows, "put", counting)
    on_device(sides_of(tmp_path))
    assert sum(read) == len(B) + 2 * len(A)


class KillError(Exception):
    """As good as a kill."""


@pytest.mark.gate(4)
@pytest.mark.parametrize("joined", [0, 3, 8, 20])
def test_it_goes_on_after_a_kill(
    tmp_path: Path, pieces: tuple[int, int], joined: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a device, then with other pieces, then on processors."""
    sides, count, join = sides_of(tmp_path, threads=1), itertools.count(), NeighbourFiles.join

    def killing(*given: Any) -> None:
        if next(count) == joined:
            raise KillError
        join(*given)

    with monkeypatch.context() as patch:
        patch.setattr(NeighbourFiles, "join", killing)
        with suppress(KillError):
            on_device(sides)
    monkeypatch.setattr(search, "_PIECE", (3, 2))
    with monkeypatch.context() as patch:
        count = itertools.count(-4)
        patch.setattr(NeighbourFiles, "join", killing)
        with suppress(KillError):
            on_device(sides)
    done = list[TaskId]()
    tasks, prepare = cell_tasks(sides.neighbours), partial(compare_blocks, sides)
    check_exact(find_neighbours(sides.neighbours, tasks, prepare, map_here, done.append), sides)
    assert sorted(done) == tasks


def test_begun_on_processors(tmp_path: Path) -> None:
    """A piece of which some tasks are done is searched for the blocks of the others."""
    sides = sides_of(tmp_path)
    tasks = cell_tasks(sides.neighbours)
    some = tasks[:3] + tasks[9:20]
    find_neighbours(sides.neighbours, some, partial(compare_blocks, sides), map_here, repr)
    asked = list[TaskId]()

    def noting(prepare: Callable[[], Any], pieces: Sequence[Any]) -> Iterator[Any]:
        asked.extend(task for piece in pieces for task in piece)
        return map_here(prepare, pieces)

    check_exact(on_device(sides, noting), sides)
    assert sorted(asked) == sorted(set(tasks) - set(some))


def test_a_device_that_is_too_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "free_memory", lambda _: 20 << 20)
    with pytest.raises(
        DeviceError, match=rf"--device {DEVICE}: 20 MiB .* too few; use --device cpu"
    ):
        compare_pieces(sides_of(tmp_path), DEVICE)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (torch.cuda.OutOfMemoryError(), "its memory does not suffice; end what else runs there"),
        (RuntimeError("CUDA error: unspecified launch failure\nmore"), "launch failure; use"),
    ],
)
def test_a_device_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    def failing(*_: object) -> None:
        raise error

    monkeypatch.setattr(torch_search, "search_rows", failing)
    with pytest.raises(DeviceError, match=f"--device {DEVICE}: .*{said}"):
        on_device(sides_of(tmp_path))


def test_our_own_errors_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise RuntimeError("sizes do not match")

    monkeypatch.setattr(torch_search, "search_rows", failing)
    with pytest.raises(RuntimeError, match="sizes do not match"):
        on_device(sides_of(tmp_path))


Search = Callable[..., tuple[Neighbours, Neighbours]]


def no_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "mm", lambda _, __, out: out.fill_(0.0))


def damaged_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every number of the device's memory is a little off."""
    put = torch_search.DeviceRows.put
    monkeypatch.setattr(
        torch_search.DeviceRows, "put", lambda rows, at, units: put(rows, at, units * 0.999)
    )


def after(change: Callable[[Neighbours], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Change what is found of the first side."""
    whole: Search = torch_search.search_rows

    def changed(*given: Any) -> tuple[Neighbours, Neighbours]:
        found = whole(*given)
        change(found[0])
        return found

    monkeypatch.setattr(torch_search, "search_rows", changed)


def lost_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two neighbours of each row are missing."""

    def lose(found: Neighbours) -> None:
        found[0][:, 1:], found[1][:, 1:] = -np.inf, -1

    after(lose, monkeypatch)


def wrong_cosines(monkeypatch: pytest.MonkeyPatch) -> None:
    after(lambda found: np.nextafter(found[0], np.float32(2), out=found[0]), monkeypatch)


def wrong_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    after(lambda found: np.subtract(found[1], 1, out=found[1], where=found[1] > 0), monkeypatch)


@pytest.mark.parametrize(
    "damage", [no_products, damaged_rows, lost_neighbours, wrong_cosines, wrong_numbers]
)
@pytest.mark.parametrize("rows", [600, 10**6])
def test_wrong_results_are_noticed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    damage: Callable[[pytest.MonkeyPatch], None],
    rows: int,
) -> None:
    """Also where the device holds two blocks only."""
    monkeypatch.setattr(torch_search, "room_for", lambda *_: Room((512, 256), rows))
    damage(monkeypatch)
    with pytest.raises(
        DeviceError, match=f"--device {DEVICE}.*: its products of vectors are wrong"
    ):
        on_device(sides_of(tmp_path))


def test_which_torch_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """That which is named; one that is there is not enough."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert searching_device("cpu") is None
    assert searching_device("auto") is None
    with pytest.raises(DeviceError, match="there is no such CUDA device"):
        searching_device("cuda:9")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert searching_device("cuda") == "cuda"
    assert searching_device("cuda:1") == "cuda:1"


def test_the_memory_of_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("mem_get_info", (7, 9)), ("memory_reserved", 5), ("memory_allocated", 3)):
        monkeypatch.setattr(torch.cuda, name, lambda _, value=value: value)
    assert devices.free_memory(torch.device("cuda")) == 9
    assert devices.free_memory(devices.CPU) == 1 << 31
