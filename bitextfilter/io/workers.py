"""Maps over many items, in threads or in worker processes.

At most one item a worker process is under way, so memory is bounded. Each holds a pipe to its
parent, and ends when the parent closes it or dies.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from itertools import chain, islice
from multiprocessing.connection import Connection
from threading import Thread, local
from typing import Any, TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_MAPPED: list[Callable[[Any], Any]] = []
"""The function that this process, a worker, maps; empty in other processes."""


def map_in_order(
    function: Callable[[_Item], _Result], items: Iterable[_Item], processes: int
) -> Iterator[_Result]:
    """Yield ``function(item)`` for each item, in order, computed in *processes* side by side.

    With one process, or one item, it runs in this one. *function*, items and results must be
    picklable. Raises the function's errors, each in its turn; RuntimeError if a worker died.
    """
    return _mapped(function, items, processes, lambda busy: busy[0])


def map_as_done(
    function: Callable[[_Item], _Result], items: Iterable[_Item], processes: int
) -> Iterator[_Result]:
    """Yield ``function(item)`` for each item as soon as it is done; else as ``map_in_order``."""
    return _mapped(
        function, items, processes, lambda busy: wait(busy, return_when=FIRST_COMPLETED).done.pop()
    )


def _mapped(
    function: Callable[[_Item], _Result],
    items: Iterable[_Item],
    processes: int,
    next_of: Callable[[list[Future[_Result]]], Future[_Result]],
) -> Iterator[_Result]:
    """Yield the results in the order in which *next_of* takes them from those under way."""
    stream = iter(items)
    ahead = list(islice(stream, 2 if processes > 1 else 0))
    if len(ahead) < 2:
        yield from map(function, chain(ahead, stream))
        return
    with _workers(function, processes) as submit:
        busy: list[Future[_Result]] = []
        for item in chain(ahead, stream):
            if len(busy) == processes:
                busy.remove(done := next_of(busy))
                yield done.result()
            busy.append(submit(item))
        while busy:
            busy.remove(done := next_of(busy))
            yield done.result()


@contextmanager
def _workers(
    function: Callable[[_Item], _Result], processes: int
) -> Iterator[Callable[[_Item], Future[_Result]]]:
    """Start workers, which end with the block, and return their ``submit``."""
    context = multiprocessing.get_context("spawn")
    pipe, end = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(processes, context, _begin, (function, pipe))
    try:
        yield lambda item: pool.submit(_work, item)
    except BaseException as error:
        end.close()  # no result is wanted any more
        if isinstance(error, BrokenProcessPool):
            message = "a worker process died: it was killed, or memory was short"
            raise RuntimeError(message) from None
        _hear_the_end(pool)
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        end.close()
        pipe.close()


def _hear_the_end(pool: ProcessPoolExecutor) -> None:
    """Let the pool notice that its workers ended, even amid a result.

    It holds the end that results are sent from, too, and would wait for the rest for ever. Python
    has no public way to close it.
    """
    writer = getattr(getattr(pool, "_result_queue", None), "_writer", None)
    if writer is not None:
        writer.close()


def _begin(function: Callable[[Any], Any], pipe: Connection[Any, Any]) -> None:
    """Make this process a worker."""
    _MAPPED.append(function)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends us
    Thread(target=_end_with, args=(pipe,), daemon=True).start()


def _end_with(pipe: Connection[Any, Any]) -> None:
    with suppress(EOFError, OSError):
        pipe.recv()
    os._exit(0)


def _work(item: Any) -> Any:
    return _MAPPED[0](item)


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
