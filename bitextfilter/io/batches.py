"""Cut windows of sentences into blocks of like length, and run blocks side by side.

A *window* is what a command holds at a time (``io/rows.py`` cuts streams into them). A *block* is
what one model call works on: a number of sentences of like length that is fixed by that length
(encoders fill the last one up with empty rows), so that a row's arithmetic need not depend on its
company.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import local
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class _Within(local):
    """Whether this thread works on a block, and all others do."""

    block = False

    def enter(self) -> None:
        self.block = True


_within = _Within()


class Block(NamedTuple):
    """Some items of like length."""

    items: NDArray[np.int64]
    """Their places."""
    rows: int
    """How many there are in a full block of such items."""


def blocks_by_length(
    lengths: Sequence[int] | NDArray[np.integer], sizes: Sequence[tuple[int, int]]
) -> list[Block]:
    """Group items of like length into blocks.

    Args:
        lengths: length of each item, shape ``(n,)``.
        sizes: ``(longest, rows)``, ascending: items up to that length, and longer than the ones
            before, come together in so many rows. Those that are longer still stand alone.

    Returns:
        Blocks, shortest items first; every place of ``range(n)`` stands in exactly one. Of each
        size, all blocks are full but the last.
    """
    array = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(array, kind="stable")
    ends = np.searchsorted(array[order], [longest for longest, _ in sizes], side="right")
    blocks: list[Block] = []
    start = 0
    for end, rows in zip([*ends, len(order)], [*(rows for _, rows in sizes), 1], strict=True):
        places = range(start, end, rows)
        blocks += [Block(order[i : min(i + rows, end)], rows) for i in places]
        start = max(start, end)
    return blocks


def map_blocks(
    function: Callable[[_Item], _Result], blocks: Iterable[_Item], threads: int = 1
) -> list[_Result]:
    """Apply ``function`` to every block and return the results in the order of the blocks.

    It runs inline with one thread, or one block, or within one of so many blocks that all threads
    have something to do. An error in a block is raised here, after the running blocks have ended;
    the waiting ones are cancelled.
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
