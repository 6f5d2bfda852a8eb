"""Maps over processes, in order and as results come."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType, SimpleNamespace

import pytest

from bitextfilter.errors import InputError, WorkerError
from bitextfilter.io import workers
from bitextfilter.io.drafts import interrupt
from bitextfilter.io.workers import (
    map_ahead,
    map_as_done,
    map_as_it_pays,
    map_blocks,
    map_in_order,
)

Map = Callable[[Callable[[int], int], Iterable[int], int], Iterator[int]]


def tenfold(number: int) -> tuple[int, int]:
    time.sleep(0.002 * (number % 3))
    return number * 10, os.getpid()


def refuse_five(number: int) -> int:
    if number == 5:
        raise InputError("five", file="numbers", line=5, remedy="leave it out")
    return number


def sleep_at_zero(number: int) -> int:
    time.sleep(0 if number else 1)
    return number


def die_at_two(number: int) -> int:
    if number == 2:
        os._exit(3)
    return number


@pytest.mark.gate(5)
@pytest.mark.parametrize("processes", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 2, 7, 20])
def test_order_is_kept(processes: int, count: int) -> None:
    results = list(map_in_order(tenfold, range(count), processes))
    assert [result for result, _ in results] == [10 * number for number in range(count)]
    if processes == 1 or count == 1:
        assert {pid for _, pid in results} <= {os.getpid()}
    elif count:
        assert os.getpid() not in {pid for _, pid in results}


def test_only_so_many_items_are_held() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(50):
            taken.append(number)
            yield number

    for place, _ in enumerate(map_in_order(tenfold, items(), 2)):
        assert len(taken) - place <= 4


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_comes_in_its_turn(processes: int) -> None:
    results = map_in_order(refuse_five, range(9), processes)
    assert [next(results) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(InputError, match="numbers:5: five; leave it out"):
        next(results)


@pytest.mark.parametrize("mapped", [map_in_order, map_as_done])
def test_an_item_that_kills_two_workers_is_an_error(mapped: Map) -> None:
    with pytest.raises(WorkerError, match="two worker processes died at the same rows"):
        list(mapped(die_at_two, range(9), 2))


class DiesOnce:
    """Ends its process at two and at four, the first time alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, number: int) -> tuple[int, int]:
        mark = self.folder / str(number)
        if number in (2, 4) and not mark.exists():
            mark.touch()
            if number == 2:
                os._exit(3)
            os.kill(os.getpid(), signal.SIGKILL)
        return number, 1


@pytest.mark.parametrize("mapped", [map_in_order, map_as_done])
def test_the_item_of_a_worker_that_died_is_done_again(
    mapped: Callable[..., Iterator[tuple[int, int]]], tmp_path: Path
) -> None:
    assert sorted(mapped(DiesOnce(tmp_path), range(9), 2)) == [(n, 1) for n in range(9)]


KILLED_AMID_A_RESULT = """
import os, signal, sys, time
from pathlib import Path
from bitextfilter.io.workers import map_in_order

def children():
    return Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()

def tell(number):
    return os.getpid(), bytes(10**8)

if __name__ == "__main__":
    results = map_in_order(tell, range(4), 2)
    told, _ = next(results)
    time.sleep(1)  # the other worker has begun to send, and waits to be read
    for child in children():
        if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes() and int(child) != told:
            os.kill(int(child), signal.SIGKILL)
    print([len(text) for _, text in results])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_worker_that_is_killed_amid_a_result(tmp_path: Path) -> None:
    script = tmp_path / "results.py"
    script.write_text(KILLED_AMID_A_RESULT)
    line = [sys.executable, str(script)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == (f"{[10**8] * 3}\n", "")


def interrupt_oneself(number: int) -> int:
    os.kill(os.getpid(), signal.SIGINT)
    return number


def test_ctrl_c_is_for_the_parent_alone() -> None:
    assert list(map_in_order(interrupt_oneself, range(3), 2)) == [0, 1, 2]


def soon(function: Callable[[int], int], items: Iterable[int], processes: int) -> Iterator[int]:
    """Map as it pays, where it pays at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers, "WORTH", 0)
        patch.setattr(workers, "_FREE", 0)
        yield from map_as_it_pays(function, items, processes, lambda: None)


@pytest.mark.parametrize("mapped", [map_in_order, soon])
@pytest.mark.parametrize("line", range(4, 100, 6))
def test_a_signal_at_any_line_leaves_no_worker(mapped: Map, line: int) -> None:
    lines = itertools.count(1)

    def at_lines(_frame: FrameType, event: str, _: object) -> object:
        if event == "line" and next(lines) == line:
            interrupt(KeyboardInterrupt())
        return at_lines

    def of_workers(frame: FrameType, *_: object) -> object:
        return at_lines if frame.f_code.co_filename == workers.__file__ else None

    before = sys.gettrace()
    sys.settrace(of_workers)  # type: ignore[arg-type]
    with suppress(KeyboardInterrupt):
        list(mapped(tenfold, range(4), 2))  # type: ignore[arg-type]
    sys.settrace(before)
    assert multiprocessing.active_children() == []


def refuse_as_a_file(number: int) -> int:
    raise FileNotFoundError(number)


def test_an_error_of_the_system_is_the_functions_own() -> None:
    with pytest.raises(FileNotFoundError) as caught:
        list(map_in_order(refuse_as_a_file, range(9), 2))
    assert "in refuse_as_a_file" in str(caught.value.__cause__)


@pytest.mark.gate(5)
@pytest.mark.parametrize("processes", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 2, 7, 20])
def test_every_result_comes_once(processes: int, count: int) -> None:
    results = list(map_as_done(tenfold, range(count), processes))
    assert sorted(result for result, _ in results) == [10 * number for number in range(count)]
    pids = {pid for _, pid in results}
    here = processes == 1 or count == 1
    assert (pids <= {os.getpid()}) if here else os.getpid() not in pids


def test_a_slow_item_keeps_none_back() -> None:
    results = list(map_as_done(sleep_at_zero, range(5), 2))
    assert results[-1] == 0 and sorted(results) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_is_raised_when_it_comes(processes: int) -> None:
    with pytest.raises(InputError, match="numbers:5: five; leave it out"):
        list(map_as_done(refuse_five, range(9), processes))


ORPHANS = """
import os, sys, time
from bitextfilter.io.workers import map_in_order
def forever():
    while True:
        yield 1
if __name__ == "__main__":
    for pid in map_in_order(os.getpgid, (0 for _ in forever()), 2):
        print("ready", flush=True)
        time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_workers_end_with_their_maker(tmp_path: Path) -> None:
    script = tmp_path / "orphans.py"
    script.write_text(ORPHANS)
    maker = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    assert maker.stdout is not None
    assert maker.stdout.readline() == "ready\n"
    children = Path(f"/proc/{maker.pid}/task/{maker.pid}/children").read_text().split()
    assert len(children) >= 2
    maker.kill()
    maker.communicate()
    deadline = time.monotonic() + 20
    while any(_alive(child) for child in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_alive(child) for child in children)


def _alive(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_few_items_are_done_here() -> None:
    results = list(map_as_it_pays(tenfold, range(20), 2, lambda: None))
    assert results == [(10 * number, os.getpid()) for number in range(20)]


@pytest.mark.parametrize(
    ("share", "load", "items"),
    [(None, 1, 3), (0.5, 1, 3), (0.1, 1, 2), (0.75, 1, 7), (0.1, 1.2, 2), (0.1, 1.3, None)],
)
def test_workers_are_started_for_items_that_are_worth_it_on_cores_that_are_free(
    share: float | None, load: float, items: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed, passed = itertools.count(), itertools.count()  # the start takes a second, items too
    times = {
        "thread_time": lambda: (next(computed) + 1) // 2,
        "monotonic": lambda: load * (next(passed) // 2),
    }
    monkeypatch.setattr(workers, "time", SimpleNamespace(**times))
    done: list[int] = []
    started: list[int] = []

    def never_ready(_: object, item: int) -> bool:
        started.append(item)
        return False

    monkeypatch.setattr(workers._Worker, "is_ready", never_ready)
    for number in map_as_it_pays(abs, range(50), 2, lambda: share):
        done.append(number)
    assert (done, started[0] + 1 if started else None) == ([*range(50)], items)


def test_workers_that_are_ready_continue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "WORTH", 0)
    monkeypatch.setattr(workers, "_FREE", 0)
    deadline, results = time.monotonic() + 60, list[tuple[int, int]]()
    for result, pid in map_as_it_pays(tenfold, itertools.count(), 2, lambda: None):
        results.append((result, pid))
        others = {pid for _, pid in results} - {os.getpid()}
        if len(others) == 2 or time.monotonic() > deadline:
            break
    assert [result for result, _ in results] == [10 * number for number in range(len(results))]
    assert len(others) == 2
    assert {pid for _, pid in results[:2]} == {os.getpid()}


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_comes_in_its_turn_wherever_it_is(
    processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "WORTH", 0)
    monkeypatch.setattr(workers, "_FREE", 0)
    results = map_as_it_pays(refuse_five, range(9), processes, lambda: None)
    assert [next(results) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(InputError, match="numbers:5: five; leave it out"):
        next(results)
    assert multiprocessing.active_children() == []


def sleep_long(number: int) -> int:
    time.sleep(60 * (number > 0))
    return number


@pytest.mark.parametrize("mapped", [map_in_order, map_as_done])
def test_a_map_that_is_left_ends_its_workers_at_once(mapped: Map) -> None:
    results = mapped(sleep_long, range(3), 2)
    assert next(results) == 0
    started = time.monotonic()
    results.close()  # type: ignore[attr-defined]
    assert time.monotonic() - started < 20
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("threads", [1, 3])
def test_results_come_in_the_order_of_the_blocks(threads: int) -> None:
    def slow_first(number: int) -> int:
        time.sleep(0.02 if number == 0 else 0.0)
        return number * number

    assert map_blocks(slow_first, range(6), threads) == [0, 1, 4, 9, 16, 25]


def test_blocks_run_side_by_side() -> None:
    both = threading.Barrier(2, timeout=10)
    assert map_blocks(lambda _: both.wait() >= 0, range(2), threads=2) == [True, True]


def test_blocks_within_blocks_and_single_ones_run_where_they_are_asked_for() -> None:
    both = threading.Barrier(2, timeout=10)

    def outer(_: int) -> bool:
        both.wait()
        here = threading.get_ident()
        return map_blocks(lambda _: threading.get_ident(), range(3), threads=2) == [here] * 3

    assert map_blocks(outer, range(2), threads=2) == [True, True]
    here = threading.get_ident()
    assert map_blocks(lambda _: threading.get_ident(), [0], threads=2) == [here]
    assert here not in map_blocks(lambda _: threading.get_ident(), range(2), threads=2)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_in_a_block_is_raised(threads: int) -> None:
    def fail(number: int) -> int:
        return 1 // number

    with pytest.raises(ZeroDivisionError):
        map_blocks(fail, [1, 0, 1, 1], threads)


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_work_ahead_in_order(threads: int) -> None:
    read: list[int] = []

    def slow_first(number: int) -> int:
        time.sleep(0.02 if number == 0 else 0.0)
        return number * number

    def items() -> Iterator[int]:
        for number in range(20):
            read.append(number)
            yield number

    results = map_ahead(slow_first, items(), threads)
    assert next(results) == 0
    assert len(read) == (1 if threads == 1 else 3)
    assert list(results) == [number * number for number in range(1, 20)]


def test_two_items_are_under_way_and_their_blocks_side_by_side() -> None:
    both = threading.Barrier(4, timeout=10)

    def outer(_: int) -> bool:
        return map_blocks(lambda _: both.wait() >= 0, range(2), threads=2) == [True, True]

    assert list(map_ahead(outer, range(4), threads=2)) == [True] * 4


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_ahead_comes_in_its_turn(threads: int) -> None:
    before = threading.active_count()
    results = map_ahead(refuse_five, range(20), threads)
    assert [next(results) for _ in range(5)] == list(range(5))
    with pytest.raises(InputError, match="five"):
        next(results)
    assert threading.active_count() == before


def test_work_ahead_that_is_left_begins_no_more() -> None:
    before, begun = threading.active_count(), list[int]()

    def note(number: int) -> int:
        begun.append(number)
        time.sleep(0.01)
        return number

    results = map_ahead(note, itertools.count(), threads=2)
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]
    assert len(begun) <= 3
    assert threading.active_count() == before


RESULTS_TOO_LARGE_TO_WAIT_FOR = """
from bitextfilter.io.workers import map_in_order

if __name__ == "__main__":
    results = map_in_order(bytes, [10**8] * 4, 2)
    print(len(next(results)))
    results.close()
"""


def test_workers_that_end_amid_a_result(tmp_path: Path) -> None:
    script = tmp_path / "results.py"
    script.write_text(RESULTS_TOO_LARGE_TO_WAIT_FOR)
    line = [sys.executable, str(script)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == ("100000000\n", "")
