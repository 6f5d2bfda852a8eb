"""Cut streams into windows, windows into blocks of one length, and run blocks side by side.

A *window* bounds memory: it is how many rows a command holds at a time. A *block* is what
one model call works on: sentences of exactly the same length, at most as many as that length
allows. Since a block's shape follows from the length alone (encoders fill the last block of a
length up with empty rows), a row's arithmetic does not depend on its company.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Item = TypeVar("Item")
Result = TypeVar("Result")


def windows(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield lists of ``size`` consecutive items; the last may be shorter, none is empty."""
    if size < 1:
        raise ValueError(f"a window holds at least one item, not {size}")
    iterator = iter(items)
    while window := list(islice(iterator, size)):
        yield window


def blocks_by_length(
    lengths: Sequence[int] | NDArray[np.integer], rows: Callable[[int], int]
) -> list[tuple[int, NDArray[np.int64]]]:
    """Group items of exactly equal length into blocks.

    Args:
        lengths: length of each item, shape ``(n,)``.
        rows: the most items a block of a given length holds (at least 1).

    Returns:
        ``(length, indices)`` pairs, shortest first; every index of ``range(n)`` stands in
        exactly one block, in ascending order within a length.
    """
    array = np.asarray(lengths, dtype=np.int64)
    blocks: list[tuple[int, NDArray[np.int64]]] = []
    for length in np.unique(array):
        members = np.flatnonzero(array == length)
        size = max(1, rows(int(length)))
        blocks += [(int(length), members[i : i + size]) for i in range(0, len(members), size)]
    return blocks


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
