"""Paraphrase detection: accuracy and F1 of decisions on sentence pairs.

The task of Sjöblom, Creutz & Aulamo 2018, "Paraphrase Detection on Noisy Subtitles in Six
Languages". Detectors are chosen on development pairs and measured on others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Mask
from bitextfilter.evaluation.bootstrap import Bootstrap, Estimate, estimates

_CELLS = 4
"""True and false negatives, false and true positives: label + 2 · found."""


@dataclass(frozen=True)
class Detection:
    """Figures of decisions, each from 0 to 1."""

    accuracy: Estimate
    """The part of right decisions."""
    f1: Estimate
    """F1 of the paraphrases; 0 if there are none and none are found."""
    pairs: int
    paraphrases: int
    """The number of paraphrases among them."""


def measure_detection(found: Mask, labels: Mask, bootstrap: Bootstrap) -> Detection:
    """Measure the decisions on ``n`` pairs, at least one, against their labels.

    Intervals are from pairs drawn anew with replacement, paraphrases or not. Raises ValueError for
    shapes that differ.
    """
    if found.shape != labels.shape or not found.size:
        raise ValueError(f"{found.shape} decisions on {labels.shape} pairs")
    cells = np.bincount(labels + 2 * found.astype(np.int64), minlength=_CELLS).astype(np.float64)
    figures = estimates([cells], _figures, bootstrap)
    accuracy, f1 = (Estimate(*figures[:, place].tolist()) for place in range(2))
    return Detection(accuracy, f1, len(labels), int(labels.sum()))


def _figures(strata: Sequence[Floats]) -> Floats:
    """Return accuracy and F1 of the counts of the cells."""
    right_none, missed, wrong, right_one = strata[0]
    decided = 2 * right_one + missed + wrong
    f1 = 2 * right_one / decided if decided else 0.0
    return np.array([(right_none + right_one) / strata[0].sum(), f1])


def majority(labels: Mask) -> bool:
    """Return the majority of the labels ``(n,)``; True for a tie."""
    return bool(2 * int(labels.sum()) >= len(labels))


def best_threshold(scores: NDArray[np.float32], labels: Mask) -> float:
    """Return the least score of paraphrases that gives the highest accuracy.

    Candidates are the distinct *scores* ``(n,)`` and the next number above them all, which finds no
    paraphrase. Of ties, the lowest wins.
    """
    cuts = np.unique(scores)
    cuts = np.append(cuts, np.nextafter(cuts[-1], np.float32(np.inf)))
    below = [np.searchsorted(np.sort(scores[part]), cuts, "left") for part in (labels, ~labels)]
    return float(cuts[np.argmax(below[1] - below[0])])
