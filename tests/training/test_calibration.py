"""Figures and temperature, against counting and searching."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.training.calibration import figures, fit_temperature

Scored = list[tuple[float, bool]]
LOGITS = st.floats(-9, 9).map(lambda x: round(x, 1))
SCORED = st.lists(st.tuples(LOGITS, st.booleans()), min_size=2, max_size=40).filter(
    lambda rows: len({label for _, label in rows}) == 2
)


def arrays(rows: Scored) -> tuple[np.ndarray, np.ndarray]:
    return np.array([row[0] for row in rows]), np.array([row[1] for row in rows])


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


@given(SCORED, st.sampled_from([0.5, 1.0, 3.0]))
def test_figures_as_counted(rows: Scored, temperature: float) -> None:
    found = figures(*arrays(rows), temperature)
    scores = [(sigmoid(logit / temperature), label) for logit, label in rows]
    assert found.accuracy == pytest.approx(sum((p > 0.5) == y for p, y in scores) / len(scores))
    won = [(p > q) + (p == q) / 2 for p, y in rows if y for q, z in rows if not z]
    assert found.auc == pytest.approx(sum(won) / len(won))
    tenths = [[(p, y) for p, y in scores if min(int(p * 10), 9) == t] for t in range(10)]
    gap = sum(abs(sum(p for p, _ in part) - sum(y for _, y in part)) for part in tenths)
    assert found.calibration_error == pytest.approx(gap / len(scores))
    assert list(found.positives) == [sum(y for _, y in part) for part in tenths]
    assert list(found.negatives) == [sum(not y for _, y in part) for part in tenths]


def test_figures_need_both_kinds() -> None:
    for label in (True, False):
        with pytest.raises(ValueError, match="positives and negatives"):
            figures(np.zeros(3), np.full(3, label))


@given(SCORED)
def test_temperature_is_the_likeliest(rows: Scored) -> None:
    logits, labels = arrays(rows)
    positives, negatives = labels.sum(), (~labels).sum()
    targets = np.where(labels, (positives + 1) / (positives + 2), 1 / (negatives + 2))

    def loss(temperature: float) -> float:
        z = logits / temperature
        return float((np.logaddexp(0, z) - targets * z).sum())

    found = fit_temperature(logits, labels)
    assert 0.05 <= found <= 100.01
    grid = np.geomspace(0.05, 100, 400)
    assert loss(found) <= min(map(loss, grid)) + 1e-6


def test_temperature_finds_what_was_put_in() -> None:
    generator = np.random.default_rng(1)
    logits = generator.normal(0, 3, 20_000)
    labels = generator.random(20_000) < 1 / (1 + np.exp(-logits))
    assert fit_temperature(logits * 4, labels) == pytest.approx(4, rel=0.05)
    after = figures(logits * 4, labels, 4.0).calibration_error
    assert after < 0.01 < figures(logits * 4, labels).calibration_error
