"""Blocks of sentences of like length."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.encoders.base import blocks_by_length


@given(st.lists(st.integers(1, 9)), st.integers(1, 4))
def test_blocks_hold_each_item_once_beside_its_like(lengths: list[int], rows: int) -> None:
    blocks = blocks_by_length(np.array(lengths, np.int64), ((4, rows), (6, 2)))
    order = [int(i) for block in blocks for i in block.items]
    assert sorted(order) == list(range(len(lengths)))
    assert [lengths[i] for i in order] == sorted(lengths)
    for low, high, size in ((1, 4, rows), (5, 6, 2), (7, 9, 1)):
        some = [block for block in blocks if low <= lengths[block.items[0]] <= high]
        assert all(low <= lengths[i] <= high for block in some for i in block.items)
        assert all(block.rows == size for block in some)
        assert all(len(block.items) == size for block in some[:-1])
        assert all(1 <= len(block.items) <= size for block in some)
