"""Calibration of a classifier's probabilities, and their quality."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Scores
from bitextfilter.similarity.separation import roc_auc

Numbers = NDArray[np.floating]
"""``(n,)``, float32 or float64."""

TENTHS = 10
_COLDEST, _HOTTEST = 0.05, 100.0
_FARTHEST = 100.0
"""Offset at most."""
_ROUNDS, _STILL = 20, 1e-4
_ROUNDING = 1e-6
_HALVINGS = 40


@dataclass(frozen=True)
class Metrics:
    """Quality of the probabilities of ``n`` pairs."""

    accuracy: float
    """Part on the right side of .5."""
    auc: float
    """Chance that a positive scores above a negative; a tie counts half."""
    calibration_error: float
    """Expected calibration error (Guo et al. 2017) over tenths: the mean difference between the
    probability and the part of positives among the pairs with about that probability, where
    positives weigh as much as negatives. A negative counts as its quality of a positive."""
    positives: tuple[int, ...]
    """Positives with a score in 0-.1, .1-.2, ..., .9-1."""
    negatives: tuple[int, ...]
    """Negatives likewise."""


def measure(logits: Numbers, qualities: Scores, temperature: float = 1.0) -> Metrics:
    """Measure the probabilities of logits ``(n,)`` against qualities ``(n,)``, 1 for a positive.

    A negative has a quality below 1/2; others between are left out. Raises ValueError if either
    class is missing.
    """
    clear = (qualities == 1) | (qualities < 0.5)
    logits, qualities = logits[clear], qualities[clear]
    labels = qualities == 1
    if labels.all() or not labels.any():
        raise ValueError("metrics need positives and negatives")
    probabilities = _sigmoid(logits / temperature)
    tenths = np.minimum((probabilities * TENTHS).astype(np.int64), TENTHS - 1)
    excess = np.bincount(tenths, balance(labels) * (probabilities - qualities), TENTHS)
    counts = np.stack([np.bincount(tenths[labels == kind], minlength=TENTHS) for kind in (1, 0)])
    return Metrics(
        accuracy=float(np.mean((probabilities > 0.5) == labels)),
        auc=roc_auc(logits[labels], logits[~labels]),
        calibration_error=float(np.abs(excess).sum()),
        positives=tuple(counts[0].tolist()),
        negatives=tuple(counts[1].tolist()),
    )


def balance(labels: NDArray[np.bool_]) -> Floats:
    """Return weights ``(n,)`` of sum 1/2 for each of two classes."""
    positives = int(np.count_nonzero(labels))
    each = np.array([0.5 / max(1, len(labels) - positives), 0.5 / max(1, positives)])
    return np.asarray(each[labels.astype(np.int64)])


def fit_calibration(
    logits: Callable[[float], Numbers], qualities: Scores, minor_error_quality: float = 0.0
) -> tuple[float, float]:
    """Return an offset and a temperature T that make sigmoid(logits(offset) / T) most probable.

    As many translations as others are assumed: so 1/2 says that a pair is as likely one as not.
    Platt scaling (1999) with his targets: of p positives (quality 1) each counts as
    (p + 1) / (p + 2), of q others each as 1 / (q + 2) or its quality, so that T stays above 0 even
    where no pair is on the wrong side.

    Args:
        logits: an offset → logits ``(n,)`` that rise with it, at about the same rate.
        qualities: ``(n,)``; pairs between *minor_error_quality* and 1 are left out: they are
            neither.
        minor_error_quality: see :class:`ClassifierSettings`.
    """
    clear = (qualities == 1) | (qualities <= minor_error_quality + _ROUNDING)
    labels = qualities[clear] == 1
    positives = int(np.count_nonzero(labels))
    least = np.maximum(qualities[clear], 1 / (2 + len(labels) - positives))
    targets = np.where(labels, (positives + 1) / (positives + 2), least)
    offset, temperature = 0.0, 1.0
    for _ in range(_ROUNDS):
        step, temperature = _likeliest(logits(offset)[clear], targets, balance(labels))
        offset += step
        if abs(step) < _STILL:
            break
    return offset, temperature


def _likeliest(logits: Numbers, targets: Floats, weights: Floats) -> tuple[float, float]:
    """Return the most probable offset and temperature of some logits.

    The likelihood is concave in the offset and, with the best one, in 1 / T: slopes are followed
    to 0.
    """

    def surplus(levels: Numbers, factors: Numbers | float = 1.0) -> float:
        return float((weights * factors * (targets - _sigmoid(levels))).sum())

    def best_offset(cold: float) -> float:
        return _root(lambda x: surplus((logits + x) * cold), -_FARTHEST, _FARTHEST)

    cold = _root(
        lambda x: surplus((logits + best_offset(x)) * x, logits), 1 / _HOTTEST, 1 / _COLDEST
    )
    return best_offset(cold), 1 / cold


def _root(falling: Callable[[float], float], low: float, high: float) -> float:
    """Return where a falling function is 0, by bisection between two ends."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return (low + high) / 2


def _sigmoid(logits: Numbers) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * logits)))
