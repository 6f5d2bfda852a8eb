"""Keys and levels of bigrams, against dictionaries."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np

from bitextfilter.text.features import HIGHEST, IN_A_BYTE, bigrams, level_table
from bitextfilter.text.ragged import Ragged

HASHES = np.array([0, 7, 2**32 - 1, 12345, 99])


def sentences() -> list[list[int]]:
    chance = np.random.default_rng(1)
    return [chance.integers(0, 5, chance.integers(0, 9)).tolist() for _ in range(200)]


def naive(rows: list[list[int]]) -> list[tuple[int, int]]:
    return [both for row in rows for both in pairwise([-1, *row, -1])]


def test_equal_bigrams_have_equal_keys_and_others_do_not() -> None:
    rows = sentences()
    found = bigrams(Ragged.of_lists(rows), HASHES)
    assert found.lengths.tolist() == [len(row) + 1 for row in rows]
    expected = naive(rows)
    assert len(found.flat) == len(expected)
    by_key: dict[int, set[tuple[int, int]]] = {}
    for key, both in zip(found.flat.tolist(), expected, strict=True):
        by_key.setdefault(key, set()).add(both)
    assert all(len(some) == 1 for some in by_key.values())
    assert len(by_key) == len(set(expected))
    assert min(by_key) >= 0
    order = bigrams(Ragged.of_lists([[1, 2], [2, 1]]), HASHES).flat
    assert order[1] != order[4]


def test_levels_are_those_of_the_counts() -> None:
    rows, buckets = sentences(), 1 << 16
    found = bigrams(Ragged.of_lists(rows), HASHES).flat
    table = level_table(found, buckets)
    assert table.shape == (buckets // IN_A_BYTE,)
    counts = Counter(found.tolist())
    for key, count in counts.items():
        place = key % buckets
        level = table[place // IN_A_BYTE] >> (2 * (place % IN_A_BYTE)) & 3
        assert level == sum(count >= least for least in (2, 8, 32))
    used = sum(count >= 2 for count in counts.values())
    assert sum(np.count_nonzero(table >> 2 * place & 3) for place in range(IN_A_BYTE)) == used


def test_buckets_need_not_fill_the_last_byte() -> None:
    assert level_table(np.array([5, 5, 0, 0]), 6).tolist() == [0, 0]  # more than a quarter
    assert level_table(np.array([5, 5]), 6).tolist() == [0, 1 << 2]


def test_bigrams_in_one_bucket_have_the_higher_level() -> None:
    keys = np.array([1] * 2 + [17] * 32 + [33] * 9)
    assert level_table(keys, 16).tolist() == [HIGHEST << 2, 0, 0, 0]
    assert level_table(keys[:0], 4).tolist() == [0]


def test_a_full_table_has_the_most_frequent_bigrams_alone() -> None:
    keys = np.repeat(np.arange(12), np.arange(12) + 1)
    levels = [level_table(keys, 16)[place // 4] >> (2 * (place % 4)) & 3 for place in range(12)]
    assert levels == [0] * 8 + [1] * 4  # of the counts 9, 10, 11 and 12
    tied = np.repeat(np.arange(12), 3)
    assert not level_table(tied, 16).any()
