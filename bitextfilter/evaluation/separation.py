"""Separation of positives and negatives by scores: area under the ROC curve, average precision.

Both are computed from the distinct scores, called cells, and the number of rows in each, so that a
bootstrap only changes the numbers.
"""

from __future__ import annotations

import numpy as np

from bitextfilter.arrays import Floats


class Contrast:
    """The order of clean and noisy cells, from which measures follow for any row counts."""

    def __init__(self, clean: Floats, noise: Floats) -> None:
        """Take the distinct scores of both, from the best down."""
        self._above = np.searchsorted(-clean, -noise, "left")
        self._not_below = np.searchsorted(-clean, -noise, "right")
        self._noise = np.searchsorted(-noise, -clean, "right")

    def auc(self, best: Floats, noise: Floats) -> float:
        """Return the part of the pairs in which the positive scores higher.

        *best* is the ``best_counts`` of the positives, *noise* the rows of each negative cell.
        """
        wins = noise @ (best[self._above] + best[self._not_below]) / 2
        return float(wins / (best[-1] * noise.sum()))

    def not_below(self, noise: Floats) -> Floats:
        """Count the noisy rows that score at least as high as each clean cell: ``(cells,)``."""
        return best_counts(noise)[self._noise]


def roc_auc(clean: Floats, noise: Floats) -> float:
    """Return the part of all pairs of a clean and a noisy row in which the clean scores higher.

    A tie counts as half: the area under the ROC curve (Hanley & McNeil 1982), 0 to 1, exact.
    """
    (one, right), (other, wrong) = score_cells(clean), score_cells(noise)
    return Contrast(one, other).auc(best_counts(right), wrong)


def average_precision(clean: Floats, noise: Floats) -> float:
    """Return the precision at each distinct score, weighted by the recall gained there, 0 to 1.

    The sum of (R_i - R_(i-1)) P_i from the highest score down, without interpolation, as
    scikit-learn has it: rows of equal score come in together, so their order does not count.
    """
    (one, right), (other, wrong) = score_cells(clean), score_cells(noise)
    return mean_precision(right, Contrast(one, other).not_below(wrong), right.sum())


def mean_precision(found: Floats, wrong: Floats, total: float) -> float:
    """Return the average precision of cells from the best down, 0 to 1.

    Args:
        found: the positives in each cell ``(cells,)``.
        wrong: the negatives down to the end of each cell ``(cells,)``.
        total: all positives, those in no cell too.
    """
    # A resample may leave the best cells without a row, of either kind: they have no weight.
    right = np.cumsum(found)
    return float(found @ (right / np.maximum(right + wrong, 1)) / total)


def best_counts(counts: Floats) -> Floats:
    """Return how many rows the best 0, 1, 2... cells have: ``(cells + 1,)``."""
    return np.concatenate([[0.0], np.cumsum(counts)])


def score_cells(scores: Floats) -> tuple[Floats, Floats]:
    """Return the distinct scores from the best down, and the number of rows of each."""
    distinct, counts = np.unique(scores, return_counts=True)
    return distinct[::-1], counts[::-1].astype(np.float64)
