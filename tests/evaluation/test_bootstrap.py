"""Resamples have the distribution of rows drawn with replacement."""

from __future__ import annotations

import numpy as np
import pytest

from bitextfilter.arrays import Floats
from bitextfilter.evaluation.result import Bootstrap, estimates, resamples

FEW = np.array([3.0, 1.0, 6.0, 2.0])
MANY = np.array([300.0, 100.0, 600.0, 200.0])


@pytest.mark.parametrize("counts", [FEW, MANY], ids=["by row", "by cell"])
def test_counts_are_multinomial(counts: Floats) -> None:
    drawn = np.array([one for (one,) in resamples([counts], Bootstrap(20_000, seed=1))])
    rows = counts.sum()
    parts = counts / rows
    assert (drawn.sum(axis=1) == rows).all()
    assert (drawn == drawn.round()).all() and drawn.min() >= 0
    assert drawn.mean(axis=0) == pytest.approx(counts, rel=0.02)
    covariance = rows * (np.diag(parts) - np.outer(parts, parts))
    assert np.cov(drawn.T) == pytest.approx(covariance, rel=0.08, abs=0.02 * rows / 4)


def test_strata_are_drawn_each_by_itself() -> None:
    drawn = list(resamples([FEW, MANY], Bootstrap(2000, seed=1)))
    assert {(one.sum(), other.sum()) for one, other in drawn} == {(FEW.sum(), MANY.sum())}
    first = np.array([(one[0], other[0]) for one, other in drawn])
    assert abs(np.corrcoef(first.T)[0, 1]) < 0.06


def test_the_interval_of_a_mean() -> None:
    """Of n rows that are 0 or 1: the normal approximation is close."""
    counts = np.array([600.0, 400.0])
    value, low, high = estimates(
        [counts], lambda strata: np.array(strata[0][1] / strata[0].sum()), Bootstrap(4000, 3)
    )
    half = 1.96 * np.sqrt(0.4 * 0.6 / 1000)
    assert value == 0.4
    assert (low, high) == pytest.approx((0.4 - half, 0.4 + half), abs=0.003)


def test_figures_keep_their_shape() -> None:
    found = estimates([FEW, MANY], lambda strata: np.stack([strata[0], strata[1]]), Bootstrap(5))
    assert found.shape == (3, 2, 4)
    assert (found[0] == [FEW, MANY]).all()
    assert (found[1] <= found[2]).all()
