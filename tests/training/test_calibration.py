"""Figures and temperature, against counting and searching."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.training.classifier import fit_temperature, measure

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
    gap = sum(abs(sum(p for p, _ in part) - sum(w for _, w in part)) for part in parts)
    assert found.calibration_error == pytest.approx(gap / len(scores))
    assert list(found.positives) == [sum(y for _, y in part) for part in tenths]
    assert list(found.negatives) == [sum(not y for _, y in part) for part in tenths]


def test_figures_need_both_kinds() -> None:
    for qualities in ([1, 1, 1], [0, 0.25, 0]):
        with pytest.raises(ValueError, match="positives and negatives"):
            measure(np.zeros(3), np.array(qualities, dtype=np.float32))


@given(SCORED)
def test_temperature_is_the_likeliest(rows: Scored) -> None:
    logits, qualities = arrays(rows)
    positives, negatives = (qualities == 1).sum(), (qualities == 0).sum()
    target = {0: 1 / (negatives + 2), 0.25: 0.25, 1: (positives + 1) / (positives + 2)}
    targets = np.array([target[quality] for quality in qualities.tolist()])

    def loss(temperature: float) -> float:
        z = logits / temperature
        return float((np.logaddexp(0, z) - targets * z).sum())

    found = fit_temperature(logits, qualities)
    assert 0.05 <= found <= 100.01
    grid = np.geomspace(0.05, 100, 400)
    assert loss(found) <= min(map(loss, grid)) + 1e-6


def test_temperature_finds_what_was_put_in() -> None:
    generator = np.random.default_rng(1)
    logits = generator.normal(0, 3, 20_000)
    right = generator.random(20_000) < 1 / (1 + np.exp(-logits))
    qualities = right.astype(np.float32)
    assert fit_temperature(logits * 4, qualities) == pytest.approx(4, rel=0.05)
    after = measure(logits * 4, qualities, 4.0).calibration_error
    assert after < 0.01 < measure(logits * 4, qualities).calibration_error


def test_what_is_nearly_a_positive_keeps_its_worth() -> None:
    """Calibrated pairs keep a temperature of 1, with a logit of quality a quarter among them."""
    generator = np.random.default_rng(1)
    logits = generator.normal(0, 3, 20_000)
    qualities = (generator.random(20_000) < 1 / (1 + np.exp(-logits))).astype(np.float32)
    logits[:8000], qualities[:8000] = np.log(0.25 / 0.75), 0.25
    assert fit_temperature(logits, qualities) == pytest.approx(1, rel=0.05)
    assert measure(logits, qualities).calibration_error < 0.01
