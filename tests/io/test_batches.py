"""Blocks and the threads that run them."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.io.batches import blocks_by_length, map_blocks


@given(st.lists(st.integers(1, 9)), st.integers(1, 4))
def test_blocks_hold_each_item_once_beside_its_like(lengths: list[int], rows: int) -> None:
    blocks = blocks_by_length(lengths, rows, longest=6)
    order = [int(i) for block in blocks for i in block]
    assert sorted(order) == list(range(len(lengths)))
    assert [lengths[i] for i in order] == sorted(lengths)
    shared = [block for block in blocks if lengths[block[0]] <= 6]
    assert all(len(block) == rows for block in shared[:-1])
    assert all(len(block) == 1 for block in blocks[len(shared) :])
    assert all(lengths[i] <= 6 for block in shared for i in block)


@pytest.mark.parametrize("threads", [1, 3])
def test_results_come_in_the_order_of_the_blocks(threads: int) -> None:
    def slow_first(number: int) -> int:
        time.sleep(0.02 if number == 0 else 0.0)
        return number * number

    assert map_blocks(slow_first, range(6), threads) == [0, 1, 4, 9, 16, 25]


def test_blocks_run_side_by_side() -> None:
    both = threading.Barrier(2, timeout=10)
    assert map_blocks(lambda _: both.wait() >= 0, range(2), threads=2) == [True, True]


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_in_a_block_is_raised(threads: int) -> None:
    def fail(number: int) -> int:
        return 1 // number

    with pytest.raises(ZeroDivisionError):
        map_blocks(fail, [1, 0, 1, 1], threads)


def test_numpy_lengths_are_taken_too() -> None:
    assert [list(block) for block in blocks_by_length(np.array([3, 1, 3]), 2, 9)] == [[1, 0], [2]]
