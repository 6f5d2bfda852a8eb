"""Maps over many items, in threads or in worker processes.

At most one item a worker process is under way, so memory is bounded. Each holds a pipe of its own
to its parent: a worker that dies closes it, even amid a result, and its item goes to a new one;
it ends when its parent dies.

An engine maps tasks in order: the local one here, others on other machines.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from queue import SimpleQueue
from threading import Thread, local
from typing import Any, Protocol, TypeVar

from bitextfilter.errors import WorkerError
from bitextfilter.io.compiled import opened
from bitextfilter.io.drafts import undisturbed

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_Answer = tuple[Any, BaseException | None, str, set[str]]
"""Value, or error and its trace; and the compiled libraries that are open."""

WORTH = 2.0
"""Workers are started for items that take this many times as long as a worker takes to be ready.

On two cores, two workers that start take that time from the items: with fewer, there is no gain."""
_FREE = 0.8
"""Workers are started where this process had this share of a core: else other programs have it."""


def map_in_order(
    function: Callable[[_Item], _Result], items: Iterable[_Item], processes: int
) -> Generator[_Result, None, None]:
    """Yield ``function(item)`` for each item, in order, computed in *processes* side by side.

    With one process, or one item, it runs in this one. *function*, items and results must be
    picklable. Raises the function's errors, each in its turn; WorkerError if two workers, one
    after the other, died with the same item.
    """
    return _mapped(function, items, processes, _in_turn)


def map_as_it_pays(
    function: Callable[[_Item], _Result],
    items: Iterable[_Item],
    processes: int,
    share: Callable[[], float | None],
) -> Iterator[_Result]:
    """Yield ``function(item)`` for each item, in order; else as ``map_in_order``.

    It begins in this process: before a worker is of use, it must do again what this one has done
    so far, start and load. Workers are started once the items left are worth it, unless other
    programs take the cores, and this process goes on until all are ready. *share* returns the
    share of the items that is read; where that is unknown, as many are expected as there were.
    """
    return _mapped(function, items, processes, _in_turn, share)


def map_as_done(
    function: Callable[[_Item], _Result], items: Iterable[_Item], processes: int
) -> Iterator[_Result]:
    """Yield ``function(item)`` for each item as soon as it is done; else as ``map_in_order``."""
    return _mapped(function, items, processes, _first_to_answer)


def _mapped(
    function: Callable[[_Item], _Result],
    items: Iterable[_Item],
    processes: int,
    next_of: Callable[[list[_Worker]], _Worker],
    share: Callable[[], float | None] | None = None,
) -> Generator[_Result, None, None]:
    """Yield the results in the order in which *next_of* takes them from busy workers.

    With *share*, as ``map_as_it_pays``.
    """
    stream = iter(items)
    ahead = list(islice(stream, 2 if processes > 1 else 0))
    stream = chain(ahead, stream)
    if len(ahead) < 2:
        yield from map(function, stream)
        return
    pickled = bytes(ForkingPickler.dumps(function))  # now: it may load what no other can have
    every = [_Worker(pickled) for _ in range(processes)]
    try:
        if share is not None:
            yield from _here(function, stream, every, share)
        yield from _dealt(stream, every, next_of)
    finally:
        with undisturbed():
            for worker in every:  # whatever it does: a signal can come at any time
                worker.end()


def _here(
    function: Callable[[_Item], _Result],
    stream: Iterator[_Item],
    every: list[_Worker],
    share: Callable[[], float | None],
) -> Iterator[_Result]:
    """Yield results of this process, until *every* worker is ready."""
    start, worked, took, due = 0.0, 0.0, 0.0, False
    for item in stream:
        begun, before = time.monotonic(), time.thread_time()
        result = function(item)
        after = time.thread_time()
        if start:
            worked += after - before
            took += time.monotonic() - begun
            part = share() or 0.5
            pays = worked * (1 - part) / part >= WORTH * start
            due = due or (pays and worked >= _FREE * took)
        else:
            start = after  # of the process: Python, imports, all that was loaded
        yield result
        if due and not [worker for worker in every if not worker.is_ready(item)]:
            return


def _dealt(
    stream: Iterator[Any], every: list[_Worker], next_of: Callable[[list[_Worker]], _Worker]
) -> Iterator[Any]:
    """Yield results of the workers, each of which has at most one item."""
    idle, busy = [*every], list[_Worker]()
    for item in stream:
        if not idle:
            busy.remove(worker := next_of(busy))
            idle.append(worker)
            yield worker.result()
        busy.append(worker := idle.pop())
        worker.begin(item)
    while busy:
        worker = next_of(busy)
        yield worker.result()
        busy.remove(worker)


class _Worker:
    """A process, started with its first item, that applies a function to one item at a time."""

    def __init__(self, function: bytes) -> None:
        """Take the function, pickled."""
        self._function = function
        self._process: multiprocessing.process.BaseProcess | None = None
        self._loads = 2
        """Answers until it is ready: it has started, and it has done an item."""

    def begin(self, item: Any) -> None:
        """Send an item, whose result is then asked for."""
        self._item = item
        if self._process is None:
            self._start()
        with suppress(OSError):  # it died: ``result`` sees that, too
            self.pipe.send(item)

    def is_ready(self, item: Any) -> bool:
        """Start it, or see whether it is ready: *item* makes it load all; the result is dropped.

        This never waits; it is to be called again until the worker is ready.
        """
        if self._process is None:
            self._start(greets=True)
        elif self._loads and self.pipe.poll():
            self._answer()
            self._loads -= 1
            if self._loads:
                self.begin(item)
        return not self._loads

    def result(self) -> Any:
        """Return the result of the item, or raise its error. Raises WorkerError."""
        answer = self._answer()
        if answer is None:
            self.end()
            self.begin(self._item)
            answer = self._answer()
        if answer is None:
            message = "two worker processes died at the same rows: killed, or out of memory"
            raise WorkerError(message)
        value, error, trace, libraries = answer
        opened.update(libraries)
        if error is not None:
            raise error from RuntimeError(f"in a worker process:\n{trace}")
        return value

    def _answer(self) -> _Answer | None:
        """Return an answer; None from a process that died."""
        try:
            answer: _Answer = self.pipe.recv()
        except (EOFError, OSError):
            return None
        return answer

    def end(self) -> None:
        """End the process, also one whose start was interrupted: it reads the end of its pipe."""
        if self._process is not None:
            if self._process.is_alive():
                self._process.kill()
                self._process.join()
            self.pipe.close()
            self._process = None

    def _start(self, greets: bool = False) -> None:
        """Start the process, whose first answer then *greets*: it can receive.

        The function goes through its pipe: multiprocessing's own would wait for ever for a
        process that died before it had read all.
        """
        context = multiprocessing.get_context("spawn")
        self.pipe, there = context.Pipe()
        self._process = context.Process(target=_serve, args=(there, greets))
        with there, undisturbed(), _deaf_to_interrupts():
            self._process.start()
        with suppress(OSError):
            self.pipe.send_bytes(self._function)


def _in_turn(busy: list[_Worker]) -> _Worker:
    return busy[0]


def _first_to_answer(busy: list[_Worker]) -> _Worker:
    ready = wait([worker.pipe for worker in busy])
    return next(worker for worker in busy if worker.pipe in ready)


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Start processes that never see Ctrl-C, which is for their parent to heed."""
    resource_tracker.ensure_running()  # once, here: its start would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: Connection[Any, Any], greets: bool) -> None:
    """Receive a function, then items, and answer each."""
    received: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_receive, args=(pipe, received), daemon=True).start()
    if greets:
        with suppress(OSError):
            pipe.send(None)
    function = _unpickled(received.get())
    while True:
        item = _unpickled(received.get())
        with suppress(OSError):  # the parent has ended
            try:
                pipe.send((function(item), None, "", opened))
            except BaseException as error:  # noqa: BLE001 - raised in the parent
                pipe.send((None, error, traceback.format_exc(), opened))


def _unpickled(received: bytes) -> Any:
    """Return an object; one that cannot be had, as its import fails, ends the process."""
    try:
        return ForkingPickler.loads(received)
    except Exception:  # noqa: BLE001
        traceback.print_exc()
        os._exit(1)


def _receive(pipe: Connection[Any, Any], received: SimpleQueue[bytes]) -> None:
    """Receive, even while the process is at work; end it when its parent has ended."""
    with suppress(EOFError, OSError):
        while True:
            received.put(pipe.recv_bytes())
    os._exit(1)


class _Within(local):
    """Per thread: whether it already works for a ``map_blocks`` that keeps all threads busy.

    An inner call then runs inline.
    """

    block = False

    def enter(self) -> None:
        self.block = True


_within = _Within()


def map_blocks(
    function: Callable[[_Item], _Result], blocks: Iterable[_Item], threads: int = 1
) -> list[_Result]:
    """Apply ``function`` to every block and return the results in the order of the blocks.

    It runs inline with one thread or one block, or if all threads are busy with an outer
    ``map_blocks``. An error in a block is raised here, after the running blocks have ended; the
    waiting ones are cancelled.
    """
    blocks = list(blocks)
    if threads <= 1 or len(blocks) <= 1 or _within.block:
        return [function(block) for block in blocks]
    busy = _within.enter if len(blocks) >= threads else None
    with ThreadPoolExecutor(threads, initializer=busy) as pool:
        futures = [pool.submit(function, block) for block in blocks]
        try:
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


_AHEAD = 2


def map_ahead(
    function: Callable[[_Item], _Result], items: Iterable[_Item], threads: int = 1
) -> Iterator[_Result]:
    """Yield ``function(item)`` for each item, in order; with *threads* two are under way.

    So one item can be read while library calls compute another, which may use all *threads*. An
    error is raised in its turn, that of *items* when it is read. An interruption waits for the
    items under way: they should be short.
    """
    if threads <= 1:
        yield from map(function, items)
        return
    pool, waiting = ThreadPoolExecutor(_AHEAD), deque[Future[_Result]]()
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > _AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        with undisturbed():
            pool.shutdown(cancel_futures=True)


Task = TypeVar("Task")
Answer = TypeVar("Answer")


class Engine(Protocol):
    """Runs tasks in order."""

    def map(
        self, prepare: Callable[[], Callable[[Task], Answer]], tasks: Iterable[Task]
    ) -> Iterator[Answer]:
        """Yield the result of each task, in the order of the tasks.

        Args:
            prepare: called once in each worker: returns the function of a task. It, the tasks and
                their results travel between processes, so it must be a module's function, or an
                object with ``__call__``.
            tasks: requested as workers become free, a few ahead of the results. ``str(task)`` is
                a task's name in messages.

        Raises the error of a task in its turn, and that of requesting the next task after all
        results before it.
        """


@dataclass(frozen=True)
class TaskError:
    """Stands for a task that could not be requested."""

    error: Exception


def until_error(tasks: Iterable[Task]) -> Iterator[Task | TaskError]:
    """Yield tasks, and a TaskError last if requesting one raises."""
    try:
        yield from tasks
    except Exception as error:  # noqa: BLE001 - raised in its turn
        yield TaskError(error)


class LocalEngine:
    """An Engine of one or more processes of this machine."""

    def __init__(self, processes: int = 1) -> None:
        """Use a number of *processes*; only this one if it is 1."""
        self._processes = processes

    def map(
        self, prepare: Callable[[], Callable[[Task], Answer]], tasks: Iterable[Task]
    ) -> Iterator[Answer]:
        """Yield the result of each task, as ``Engine.map``; each is tried once."""
        return map_in_order(_Prepared(prepare), until_error(tasks), self._processes)


class _Prepared:
    """Runs tasks; prepares at the first."""

    def __init__(self, prepare: Callable[[], Callable[[Any], Any]]) -> None:
        self._prepare = prepare
        self._work: Callable[[Any], Any] | None = None

    def __call__(self, task: Any) -> Any:
        if isinstance(task, TaskError):
            raise task.error
        self._work = self._work or self._prepare()
        return self._work(task)
