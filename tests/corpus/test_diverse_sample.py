"""The diverse order, against a naive one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bitextfilter.arrays import Floats
from bitextfilter.corpus.selection import SampleSettings, diverse_order
from bitextfilter.similarity.vectors import cosine_matrix, unit_rows

GENERATOR = np.random.default_rng(4)
CENTRES = GENERATOR.standard_normal((6, 12))
NOISE = GENERATOR.standard_normal((300, 12))
ROWS = unit_rows((CENTRES[GENERATOR.integers(0, 6, 300)] + 0.3 * NOISE).astype(np.float32))
SCORES = np.where(GENERATOR.random(300) < 0.1, np.nan, np.round(GENERATOR.random(300), 1))


def naive(clusters: list[int], scores: Floats, draw: list[int], alike: float | None) -> list[int]:
    """The rows in their order, by taking one row of each cluster in turn."""

    def goodness(row: int) -> tuple[bool, float, int]:
        return math.isnan(scores[row]), -np.nan_to_num(scores[row]), draw[row]

    cosines = cosine_matrix(ROWS, ROWS)
    queues = []
    for cluster in set(clusters):
        members = [row for row, its in enumerate(clusters) if its == cluster]
        kept: list[int] = []
        for row in sorted(members, key=goodness):
            if alike is None or all(cosines[row, one] < alike for one in kept):
                kept.append(row)
        queues.append(kept)
    order: list[int] = []
    while any(queues):
        order += sorted((queue.pop(0) for queue in queues if queue), key=goodness)
    return order


@pytest.mark.parametrize("count", [1, 7, 300, 1000])
@pytest.mark.parametrize("alike", [None, 0.9])
def test_order(count: int, alike: float | None) -> None:
    settings = SampleSettings(count, alike, seed=5)
    found = diverse_order(ROWS, SCORES, settings)
    draw = np.random.default_rng((5, 1)).permutation(300).tolist()
    expected = naive(found.clusters.tolist(), SCORES, draw, alike)
    order = np.argsort(found.places, kind="stable")[: len(expected)]
    assert order.tolist() == expected
    assert np.isnan(found.places).sum() == 300 - len(expected) == (found.like >= 0).sum()
    again = diverse_order(ROWS, SCORES, SampleSettings(count, alike, seed=5, threads=3))
    assert np.array_equal(again.places, found.places, equal_nan=True)
    if count == 1 and alike is None:
        best = sorted(np.nan_to_num(SCORES, nan=-1).tolist(), reverse=True)
        assert np.nan_to_num(SCORES[order], nan=-1).tolist() == best


def test_the_seed_draws() -> None:
    first, second = (diverse_order(ROWS, SCORES, SampleSettings(seed=seed)) for seed in (1, 2))
    assert not np.array_equal(first.places, second.places)


def test_number_of_clusters() -> None:
    assert [SampleSettings().count(rows) for rows in (1, 3, 100, 100_000)] == [1, 3, 30, 948]
    assert SampleSettings().count(10**8) == 4096
    assert [SampleSettings(5).count(rows) for rows in (1, 3, 9)] == [1, 3, 5]
    assert not len(diverse_order(ROWS[:0], SCORES[:0], SampleSettings()).places)
