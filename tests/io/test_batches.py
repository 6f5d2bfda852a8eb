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
    blocks = blocks_by_length(lengths, ((4, rows), (6, 2)))
    order = [int(i) for block in blocks for i in block.items]
    assert sorted(order) == list(range(len(lengths)))
    assert [lengths[i] for i in order] == sorted(lengths)
    for low, high, size in ((1, 4, rows), (5, 6, 2), (7, 9, 1)):
        some = [block for block in blocks if low <= lengths[block.items[0]] <= high]
        assert all(low <= lengths[i] <= high for block in some for i in block.items)
        assert all(block.rows == size for block in some)
        assert all(len(block.items) == size for block in some[:-1])
        assert all(1 <= len(block.items) <= size for block in some)


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


def test_numpy_lengths_are_taken_too() -> None:
    blocks = blocks_by_length(np.array([3, 1, 3]), ((9, 2),))
    assert [(list(block.items), block.rows) for block in blocks] == [([1, 0], 2), ([2], 2)]
