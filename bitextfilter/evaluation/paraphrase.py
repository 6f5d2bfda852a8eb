"""Paraphrase detection: how often a yes or no about pairs of sentences is right.

The task of Sjöblom, Creutz & Aulamo 2018, "Paraphrase Detection on Noisy Subtitles in Six
Languages". What decides may have been chosen on development pairs; it is measured on others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Mask
from bitextfilter.evaluation.bootstrap import Bootstrap, Estimate, estimates

_CELLS = 4
"""Wrongly and rightly found none, wrongly and rightly found one: label + 2 · found."""


@dataclass(frozen=True)
class Detection:
    """How good decisions are, each figure from 0 to 1."""

    accuracy: Estimate
    """Part of the pairs that is decided rightly."""
    f1: Estimate
    """Harmonic mean of precision and recall of the paraphrases; 0 if there is and is found none."""
    pairs: int
    paraphrases: int
    """How many of the pairs are paraphrases."""


def measure_detection(found: Mask, labels: Mask, bootstrap: Bootstrap) -> Detection:
    """Measure decisions about ``n`` pairs, at least one, against what the pairs are.

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
    """Say what most of the pairs ``(n,)`` are; where it is half, that they are paraphrases."""
    return bool(2 * int(labels.sum()) >= len(labels))


def best_threshold(scores: NDArray[np.float32], labels: Mask) -> float:
    """Return the score from which on pairs are to be taken for paraphrases.

    The one of the highest accuracy among the distinct *scores* ``(n,)`` (those it equals count as
    paraphrases) and the next number above them all, by which there is none. Of several that are
    equally good, the lowest.
    """
    cuts = np.unique(scores)
    cuts = np.append(cuts, np.nextafter(cuts[-1], np.float32(np.inf)))
    below = [np.searchsorted(np.sort(scores[part]), cuts, "left") for part in (labels, ~labels)]
    return float(cuts[np.argmax(below[1] - below[0])])
