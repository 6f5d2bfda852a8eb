"""Cut windows of sentences into blocks of like length, and run blocks side by side.

A *window* is held in memory at a time (``io/rows.py`` cuts streams into them); ``--batch-size``
is its size. A *block* is the batch of one model call. Its number of sentences is fixed by their
length (encoders fill up the last one with empty rows), so that a row's arithmetic does not depend
on the other rows.
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
    """Per thread: whether it already works for a ``map_blocks`` that keeps all threads busy.

    An inner call then runs inline.
    """

    block = False

    def enter(self) -> None:
        self.block = True


_within = _Within()


class LengthBlock(NamedTuple):
    """Items of like length."""

    items: NDArray[np.int64]
    """Their indices."""
    rows: int
    """The number of items in a full block of this length."""


def blocks_by_length(
    lengths: Sequence[int] | NDArray[np.integer], sizes: Sequence[tuple[int, int]]
) -> list[LengthBlock]:
    """Group items of like length into blocks.

    Args:
        lengths: length of each item, shape ``(n,)``.
        sizes: ``(longest, rows)``, ascending: the number of rows in a block of items up to that
            length. Items longer than all of them get a block each.

    Returns:
        Blocks, shortest items first; every index is in exactly one. Of each size, all blocks but
        the last are full.
    """
    array = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(array, kind="stable")
    ends = np.searchsorted(array[order], [longest for longest, _ in sizes], side="right")
    blocks: list[LengthBlock] = []
    start = 0
    for end, rows in zip([*ends, len(order)], [*(rows for _, rows in sizes), 1], strict=True):
        places = range(start, end, rows)
        blocks += [LengthBlock(order[i : min(i + rows, end)], rows) for i in places]
        start = max(start, end)
    return blocks


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
