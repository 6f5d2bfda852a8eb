"""Figures of yes and no, counted one pair at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.evaluation.result import Bootstrap
from bitextfilter.papers.paraphrases import (
    best_threshold,
    majority,
    measure_detection,
)

DECIDED = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30)


@given(DECIDED)
def test_accuracy_and_f1(rows: list[tuple[bool, bool]]) -> None:
    found, labels = (np.array(column) for column in zip(*rows, strict=True))
    result = measure_detection(found, labels, Bootstrap(3))
    assert result.accuracy.value == pytest.approx(
        sum(one == other for one, other in rows) / len(rows)
    )
    right = rows.count((True, True))
    if right:
        precision, recall = (
            right / sum(yes for yes, _ in rows),
            right / sum(label for _, label in rows),
        )
        assert result.f1.value == pytest.approx(2 / (1 / precision + 1 / recall))
    else:
        assert result.f1.value == 0
    assert (result.pairs, result.paraphrases) == (len(rows), sum(label for _, label in rows))


def test_intervals_are_those_of_pairs_drawn_anew() -> None:
    """Of accuracy by the normal approximation; of F1 by drawing rows, not cells."""
    generator = np.random.default_rng(3)
    labels = generator.random(800) < 0.6
    found = labels ^ (generator.random(800) < 0.25)
    result = measure_detection(found, labels, Bootstrap(3000, seed=2))
    value, low, high = result.accuracy
    half = 1.96 * np.sqrt(value * (1 - value) / 800)
    assert (low, high) == pytest.approx((value - half, value + half), abs=0.005)
    drawn = []
    for _ in range(3000):
        rows = generator.integers(0, 800, 800)
        both = np.sum(found[rows] & labels[rows])
        drawn.append(2 * both / (found[rows].sum() + labels[rows].sum()))
    assert result.f1[1:] == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.006)


def test_another_number_of_decisions() -> None:
    for rows in (np.zeros(3, dtype=bool), np.zeros(0, dtype=bool)):
        with pytest.raises(ValueError, match="decisions"):
            measure_detection(rows, rows[:-1], Bootstrap(1))


@given(st.lists(st.booleans(), min_size=1))
def test_the_majority(labels: list[bool]) -> None:
    assert majority(np.array(labels)) == (labels.count(True) >= labels.count(False))


SCORED = st.lists(
    st.tuples(st.sampled_from([-1.0, -0.25, 0.0, 0.1, 0.5, 1.0]), st.booleans()),
    min_size=1,
    max_size=20,
)


@given(SCORED)
def test_the_best_threshold(rows: list[tuple[float, bool]]) -> None:
    """No number does better on the same pairs, and no lower score as well."""
    scores = np.array([score for score, _ in rows], dtype=np.float32)
    labels = np.array([label for _, label in rows])
    threshold = best_threshold(scores, labels)

    def right(cut: float) -> int:
        return int(np.sum((scores >= cut) == labels))

    assert all(right(cut) <= right(threshold) for cut in [*scores.tolist(), -2.0, 2.0])
    assert all(right(cut) < right(threshold) for cut in scores[scores < threshold].tolist())
    assert -1 <= threshold <= np.nextafter(np.float32(1), np.float32(2))
