"""How far probabilities are from the shares of rows that are right."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bitextfilter.arrays import Floats, Mask
from bitextfilter.errors import SettingsError

BINS = 10


class Bin(NamedTuple):
    """Rows whose probabilities are in one tenth."""

    probability: float
    """The mean, 0 to 1."""
    right: float
    """The share of right rows, 0 to 1."""
    part: float
    """The part of all rows that is here, 0 to 1."""


def reliability(probabilities: Floats, right: Mask, right_share: float | None = None) -> list[Bin]:
    """Return the bins of ``n`` rows that hold any, in order: the points of a reliability diagram.

    Args:
        probabilities: that each row is right, 0 to 1, ``(n,)``.
        right: whether it is, ``(n,)``.
        right_share: right and wrong rows are weighed as in a crawl with this share of right rows;
            None: each row counts once.

    Raises SettingsError for rows of one kind alone, with a share.
    """
    weights = np.ones(len(right))
    if right_share is not None:
        if not 0 < right.sum() < len(right):
            raise SettingsError("right and wrong rows are needed")
        weights[right] = right_share / right.sum()
        weights[~right] = (1 - right_share) / (~right).sum()
    places = np.clip((probabilities * BINS).astype(np.int64), 0, BINS - 1)
    found = []
    for place in range(BINS):
        some = places == place
        total = float(weights[some].sum())
        if total:
            probable = float(np.sum(weights[some] * probabilities[some]) / total)
            good = float(np.sum(weights[some] * right[some]) / total)
            found.append(Bin(probable, good, total / float(weights.sum())))
    return found


def calibration_error(
    probabilities: Floats, right: Mask, right_share: float | None = None
) -> float:
    """Return the expected calibration error, 0 to 1: lower is better.

    The mean distance between probability and share of right rows in ten bins of equal width (Guo
    et al. 2017, On calibration of modern neural networks, eq. 3). Arguments and errors are those of
    :func:`reliability`.
    """
    bins = reliability(probabilities, right, right_share)
    return sum(each.part * abs(each.probability - each.right) for each in bins)
