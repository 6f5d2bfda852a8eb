"""How good probabilities are, and the temperature that makes them better."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bitextfilter.similarity.separation import roc_auc

__all__ = ["TENTHS", "Figures", "figures", "fit_temperature"]

Numbers = NDArray[np.float64]
Worths = NDArray[np.float32]

TENTHS = 10
_COLDEST, _HOTTEST = 0.05, 100.0


@dataclass(frozen=True)
class Figures:
    """What the probabilities of ``n`` pairs are worth."""

    accuracy: float
    """Part that is on the right side of .5."""
    auc: float
    """Chance that a positive scores above a negative; a tie counts half."""
    calibration_error: float
    """Expected calibration error (Guo et al. 2017) over tenths: by how much a probability differs
    from the part of positives among the pairs with about that probability. What is worth a part of
    a positive counts as that."""
    positives: tuple[int, ...]
    """Positives with a score in 0-.1, .1-.2, ..., .9-1."""
    negatives: tuple[int, ...]
    """Negatives likewise."""


def figures(logits: Numbers, worths: Worths, temperature: float = 1.0) -> Figures:
    """Measure the probabilities of logits ``(n,)`` against worths ``(n,)``, 1 for a positive.

    A negative is worth less than 1/2. Raises ValueError if either kind is missing.
    """
    labels = worths > 0.5
    if labels.all() or not labels.any():
        raise ValueError("figures need positives and negatives")
    probabilities = _sigmoid(logits / temperature)
    tenths = np.minimum((probabilities * TENTHS).astype(np.int64), TENTHS - 1)
    counts = np.stack([np.bincount(tenths[labels == kind], minlength=TENTHS) for kind in (1, 0)])
    said = np.bincount(tenths, weights=probabilities - worths, minlength=TENTHS)
    return Figures(
        accuracy=float(np.mean((probabilities > 0.5) == labels)),
        auc=roc_auc(logits[labels], logits[~labels]),
        calibration_error=float(np.abs(said).sum() / len(labels)),
        positives=tuple(counts[0].tolist()),
        negatives=tuple(counts[1].tolist()),
    )


def fit_temperature(logits: Numbers, worths: Worths) -> float:
    """Return the T that makes sigmoid(logit / T) most probable, between .05 and 100.

    Temperature scaling (Guo et al. 2017) with Platt's targets (1999): a positive, worth 1, counts
    as (p + 1) / (p + 2) and a negative of no worth as 1 / (q + 2), where p and q are their numbers,
    so that T stays above 0 even where no pair is on the wrong side; others count as what they are
    worth. The likelihood is concave in 1 / T: its slope is followed to 0 by bisection.
    """
    positives, negatives = np.count_nonzero(worths == 1), np.count_nonzero(worths == 0)
    targets = worths.astype(np.float64)
    targets[worths == 1] = (positives + 1) / (positives + 2)
    targets[worths == 0] = 1 / (negatives + 2)
    low, high = 1 / _HOTTEST, 1 / _COLDEST
    for _ in range(60):
        middle = (low + high) / 2
        slope = ((targets - _sigmoid(logits * middle)) * logits).sum()
        low, high = (middle, high) if slope > 0 else (low, middle)
    return 2 / (low + high)


def _sigmoid(logits: Numbers) -> Numbers:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * logits)))
