"""The expected calibration error, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from bitextfilter.errors import SettingsError
from bitextfilter.evaluation.calibration import calibration_error, reliability

PROBABILITIES = np.array([0.05, 0.08, 0.62, 0.68, 1.0])
RIGHT = np.array([False, True, True, True, True])


def test_bins_by_hand() -> None:
    low, middle, high = reliability(PROBABILITIES, RIGHT)
    assert low == pytest.approx((0.065, 0.5, 0.4))
    assert middle == pytest.approx((0.65, 1.0, 0.4))
    assert high == pytest.approx((1.0, 1.0, 0.2))
    error = 0.4 * abs(0.065 - 0.5) + 0.4 * 0.35
    assert calibration_error(PROBABILITIES, RIGHT) == pytest.approx(error)


def test_rows_are_weighed_as_in_a_crawl() -> None:
    """One wrong row counts as much as four right ones where half of the rows are right."""
    low, *_ = reliability(PROBABILITIES, RIGHT, 0.5)
    assert low == pytest.approx(((0.05 * 0.5 + 0.08 * 0.125) / 0.625, 0.125 / 0.625, 0.625))
    own = calibration_error(PROBABILITIES, RIGHT, 0.8)
    assert own == pytest.approx(calibration_error(PROBABILITIES, RIGHT))
    with pytest.raises(SettingsError, match="right and wrong rows are needed"):
        calibration_error(PROBABILITIES, np.ones(5, bool), 0.5)


def test_true_probabilities_have_no_error() -> None:
    chance = np.random.default_rng(1)
    probabilities = chance.random(100_000)
    right = chance.random(100_000) < probabilities
    assert calibration_error(probabilities, right) < 0.01
    assert calibration_error(probabilities**3, right) > 0.15
