"""Worker processes: a map over a stream, for Python that no thread can speed up.

Each worker has one item at a time, so that memory is bounded; a worker ends when its pipe is
closed, whatever became of the process that made it.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import cycle, islice
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

__all__ = ["map_as_done", "map_in_order"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_in_order(
    function: Callable[[Item], Result], items: Iterable[Item], processes: int
) -> Iterator[Result]:
    """Yield ``function(item)`` for each item, in order, computed in *processes* side by side.

    With one process, or one item, it runs in this one. *function*, items and results travel
    between processes: a function must be one of a module, or an object with ``__call__``. What
    it raises is raised here, in its turn; RuntimeError if a worker died.
    """
    if processes <= 1:
        yield from map(function, items)
        return
    stream = iter(items)
    ahead = list(islice(stream, 2))
    if len(ahead) < 2:
        yield from map(function, ahead)
        return
    workers = [_Worker(function) for _ in range(processes)]
    try:
        yield from _spread(workers, ahead, stream)
    finally:
        for worker in workers:
            worker.end()


def map_as_done(
    function: Callable[[Item], Result], items: Iterable[Item], processes: int
) -> Iterator[Result]:
    """Yield ``function(item)`` for each item as soon as it is there, in whatever order.

    Else it is as ``map_in_order``: a slow item keeps no other one back.
    """
    if processes <= 1:
        yield from map(function, items)
        return
    workers: list[_Worker[Item, Result]] = []
    try:
        for item in items:
            if len(workers) < processes:
                workers.append(worker := _Worker(function))
            else:
                worker = _first_done(workers)
                yield worker.result()
            worker.give(item)
        busy = list(workers)
        while busy:
            busy.remove(worker := _first_done(busy))
            yield worker.result()
    finally:
        for worker in workers:
            worker.end()


def _first_done(workers: list[_Worker[Item, Result]]) -> _Worker[Item, Result]:
    """Wait for a worker with a result."""
    by_number = {worker.fileno(): worker for worker in workers}
    return next(by_number[done] for done in wait(by_number) if isinstance(done, int))


def _spread(
    workers: list[_Worker[Item, Result]], ahead: list[Item], stream: Iterator[Item]
) -> Iterator[Result]:
    """Deal the items round; so each worker's next result is the next one in order."""
    busy: list[_Worker[Item, Result]] = []
    turns = cycle(workers)
    for items in (ahead, stream):
        for item in items:
            if len(busy) == len(workers):
                yield busy.pop(0).result()
            worker = next(turns)
            worker.give(item)
            busy.append(worker)
    for worker in busy:
        yield worker.result()


class _Worker(Generic[Item, Result]):
    """A process that computes one thing at a time."""

    def __init__(self, function: Callable[[Item], Result]) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, its_end = context.Pipe()
        self._process = context.Process(target=_work, args=(its_end, function), daemon=True)
        self._process.start()
        its_end.close()

    def fileno(self) -> int:
        """Return what to wait for until there is a result."""
        return self._pipe.fileno()

    def give(self, item: Item) -> None:
        with suppress(BrokenPipeError):  # the result will say that it died
            self._pipe.send(item)

    def result(self) -> Result:
        try:
            error, result = self._pipe.recv()
        except (EOFError, ConnectionResetError):  # the latter if an item was left unread
            self._process.join()
            code = self._process.exitcode
            raise RuntimeError(f"a worker process died (exit code {code})") from None
        if error is not None:
            raise error
        return result  # type: ignore[no-any-return]

    def end(self) -> None:
        self._pipe.close()
        self._process.terminate()
        self._process.join()


def _work(pipe: Connection[Any, Any], function: Callable[[Any], Any]) -> None:
    """Answer each item with an error or a result, until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends us
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            pipe.send(_answer(function, pipe.recv()))


def _answer(function: Callable[[Any], Any], item: Any) -> tuple[Exception | None, Any]:
    try:
        return None, function(item)
    except Exception as error:  # noqa: BLE001 - it is raised in the parent
        return error, None
