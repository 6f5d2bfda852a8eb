"""Cut windows of sentences into blocks of like length, and run blocks side by side.

A *window* is what a command holds at a time (``io/rows.py`` cuts streams into them). A *block* is
what one model call works on: a fixed number of sentences of like length (encoders fill the last
one up with empty rows), so that a row's arithmetic need not depend on its company.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Item = TypeVar("Item")
Result = TypeVar("Result")


def blocks_by_length(
    lengths: Sequence[int] | NDArray[np.integer], rows: int, longest: int
) -> list[NDArray[np.int64]]:
    """Group items of like length into blocks.

    Args:
        lengths: length of each item, shape ``(n,)``.
        rows: the most items in a block.
        longest: an item that is longer has a block of its own.

    Returns:
        Indices of the items of each block, shortest first; every index of ``range(n)`` stands
        in exactly one block. All blocks of items that are not too long are full but the last.
    """
    array = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(array, kind="stable")
    shared = int((array <= longest).sum())
    blocks = [order[i : min(i + rows, shared)] for i in range(0, shared, rows)]
    return blocks + [order[i : i + 1] for i in range(shared, len(order))]


def map_blocks(
    function: Callable[[Item], Result], blocks: Iterable[Item], threads: int = 1
) -> list[Result]:
    """Apply ``function`` to every block and return the results in the order of the blocks.

    With one thread it runs inline. An error in a block is raised here, after the running
    blocks have ended; the waiting ones are cancelled.
    """
    if threads <= 1:
        return [function(block) for block in blocks]
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(function, block) for block in blocks]
        try:
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
