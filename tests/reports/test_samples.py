"""Random samples: uniform, the same however they are offered, and the right ones of them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from bitextfilter.reports.samples import (
    TEXT_LENGTH,
    Reservoir,
    Sample,
    at_tenths,
    near_thresholds,
    ordered_by,
    shortened,
)


def rows(count: int) -> list[Sample]:
    return [Sample(number, f"s{number}", "t", (0.0,)) for number in range(1, count + 1)]


def drawn(count: int, size: int, seed: int, step: int = 7) -> list[int]:
    reservoir = Reservoir(size, seed)
    for start in range(0, count, step):
        reservoir.offer(rows(count)[start : start + step])
    return [row.number for row in reservoir.rows()]


@pytest.mark.parametrize("count", [0, 1, 5, 6, 100])
def test_a_sample_has_the_size_asked_for_and_no_row_twice(count: int) -> None:
    found = drawn(count, 5, 1)
    assert len(set(found)) == len(found) == min(5, count)


def test_a_sample_is_that_of_the_smallest_draws() -> None:
    draws = np.random.default_rng(3).random(100)
    assert drawn(100, 5, 3) == (np.argsort(draws)[:5] + 1).tolist()


def test_a_sample_does_not_depend_on_how_rows_are_offered() -> None:
    assert len({tuple(drawn(100, 5, 1, step)) for step in (1, 7, 100)}) == 1
    assert drawn(100, 5, 1) != drawn(100, 5, 2)


def test_every_row_is_as_likely() -> None:
    """Of 20 rows, 5 are drawn 400 times: each 100 times, with a deviation of 8.7."""
    counts = Counter(number for seed in range(400) for number in drawn(20, 5, seed, 20))
    assert set(counts) == set(range(1, 21))
    assert all(60 < count < 140 for count in counts.values())


def test_texts_are_cut() -> None:
    reservoir = Reservoir(1, 1)
    reservoir.offer([Sample(1, "x" * 5000, "y" * TEXT_LENGTH, (1.0,))])
    (row,) = reservoir.rows()
    assert (len(row.source), row.source[-2:]) == (TEXT_LENGTH, "x…")
    assert row.target == "y" * TEXT_LENGTH
    assert shortened("abc", 3) == "abc" and shortened("abcd", 3) == "ab…"


def test_tenths_are_centred_and_whole() -> None:
    order = np.arange(1000)
    groups = at_tenths(order, 10)
    assert groups[0] == list(range(10))
    assert groups[5] == list(range(495, 505))
    assert groups[10] == list(range(990, 1000))
    assert at_tenths(np.arange(3), 10) == [[0, 1, 2]] * 11
    assert at_tenths(np.arange(0), 10) == [[]] * 11


def test_samples_nearest_to_thresholds() -> None:
    scores = np.array([0.5, 0.1, 0.9, 0.3, 0.7, 0.3], dtype=np.float32)
    order = ordered_by(scores)
    assert order.tolist() == [1, 3, 5, 0, 4, 2]
    near = near_thresholds(order, scores[order], np.array([0.3, 0.95], dtype=np.float32))
    assert near == [1, 3, 5, 4, 2]
    assert near_thresholds(order[:0], scores[:0], scores) == []
