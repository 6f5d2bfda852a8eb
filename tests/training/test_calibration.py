"""Figures and calibration, against counting and searching."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.training.classifier import fit_calibration, measure

Scored = list[tuple[float, float]]
LOGITS = st.floats(-9, 9).map(lambda x: round(x, 1))
QUALITIES = st.sampled_from([0.0, 0.0, 0.25, 1.0])
SCORED = st.lists(st.tuples(LOGITS, QUALITIES), min_size=2, max_size=40).filter(
    lambda rows: len({quality == 1 for _, quality in rows}) == 2
)


def arrays(rows: Scored) -> tuple[np.ndarray, np.ndarray]:
    return np.array([row[0] for row in rows]), np.array([row[1] for row in rows], dtype=np.float32)


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


@given(SCORED, st.sampled_from([0.5, 1.0, 3.0]))
def test_figures_as_counted(rows: Scored, temperature: float) -> None:
    found = measure(*arrays(rows), temperature)
    scores = [(sigmoid(logit / temperature), quality == 1) for logit, quality in rows]
    qualities = [(sigmoid(logit / temperature), quality) for logit, quality in rows]
    assert found.accuracy == pytest.approx(sum((p > 0.5) == y for p, y in scores) / len(scores))
    won = [(p > q) + (p == q) / 2 for p, w in rows if w == 1 for q, v in rows if v < 1]
    assert found.auc == pytest.approx(sum(won) / len(won))
    tenths = [[(p, y) for p, y in scores if min(int(p * 10), 9) == t] for t in range(10)]
    parts = [[(p, w) for p, w in qualities if min(int(p * 10), 9) == t] for t in range(10)]
    of_class = {kind: sum(y == kind for _, y in scores) for kind in (True, False)}
    gap = sum(abs(sum((p - w) / of_class[w == 1] / 2 for p, w in part)) for part in parts)
    assert found.calibration_error == pytest.approx(gap)
    assert list(found.positives) == [sum(y for _, y in part) for part in tenths]
    assert list(found.negatives) == [sum(not y for _, y in part) for part in tenths]


def test_figures_need_both_kinds() -> None:
    for qualities in ([1, 1, 1], [0, 0.25, 0]):
        with pytest.raises(ValueError, match="positives and negatives"):
            measure(np.zeros(3), np.array(qualities, dtype=np.float32))


@given(SCORED)
def test_calibration_is_the_likeliest(rows: Scored) -> None:
    """Of a grid around it; negatives together weigh as much as positives."""
    logits, qualities = arrays(rows)
    right = qualities == 1
    positives, others = right.sum(), (~right).sum()
    targets = np.where(
        right, (positives + 1) / (positives + 2), np.maximum(qualities, 1 / (others + 2))
    )
    weights = np.where(right, 1 / positives, 1 / others)

    def loss(offset: float, temperature: float) -> float:
        z = (logits + offset) / temperature
        return float((weights * (np.logaddexp(0, z) - targets * z)).sum())

    offset, temperature = fit_calibration(lambda x: logits + x, qualities, 0.25)
    assert 0.05 <= temperature <= 100.01
    if abs(offset) < 90:
        least = min(
            loss(offset + step, temperature * factor)
            for step in (-9, -3, -1, -0.1, 0, 0.1, 1, 3, 9)
            for factor in np.geomspace(0.25, 4, 13)
            if 0.05 < temperature * factor < 100
        )
        assert loss(offset, temperature) <= least + 1e-6


@pytest.mark.parametrize("part", [0.5, 0.1])
def test_calibration_finds_what_was_put_in(part: float) -> None:
    """Also where few of the pairs are positives: the part that they are does not matter."""
    generator = np.random.default_rng(1)
    logits = generator.normal(0, 3, 40_000)
    right = generator.random(40_000) < 1 / (1 + np.exp(-logits))
    kept = ~right | (generator.random(40_000) < part * 2)
    logits, qualities = logits[kept], right[kept].astype(np.float32)
    offset, temperature = fit_calibration(lambda x: logits * 4 + 3 + x, qualities)
    assert temperature == pytest.approx(4, rel=0.05) and offset == pytest.approx(-3, abs=0.25)
    after = measure(logits * 4 + 3 + offset, qualities, temperature).calibration_error
    assert after < 0.015 < measure(logits * 4 + 3, qualities).calibration_error


def test_pairs_of_some_worth_do_not_count() -> None:
    """Neither translations nor others: they change nothing."""
    generator = np.random.default_rng(1)
    logits = generator.normal(0, 3, 2000)
    qualities = (generator.random(2000) < 1 / (1 + np.exp(-logits))).astype(np.float32)
    more = np.append(logits, [5.0] * 500)
    between = np.append(qualities, np.float32([0.4] * 500))
    few = fit_calibration(lambda x: logits + x, qualities, 0.3)
    assert few == fit_calibration(lambda x: more + x, between, 0.3)
    minor = between.copy()
    minor[minor == np.float32(0.4)] = 0.3
    assert few != fit_calibration(lambda x: more + x, minor, 0.3)


@pytest.mark.gate(0)
def test_logits_may_rise_at_another_rate() -> None:
    """The offset is searched through the function that it is given."""
    generator = np.random.default_rng(1)
    logits = generator.normal(0, 3, 20_000)
    qualities = (generator.random(20_000) < 1 / (1 + np.exp(-logits))).astype(np.float32)
    offset, temperature = fit_calibration(lambda x: 2 * (logits - 1) + 1.5 * x, qualities)
    assert 1.5 * offset == pytest.approx(2, abs=0.15) and temperature == pytest.approx(2, rel=0.05)
