"""How well scores tell clean rows from each kind of noise.

A row is kept if its score is high. Clean rows are the positives: precision is the part of what is
kept that is clean, recall the part of what is clean that is kept. Counts are by distinct score,
from the best down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from bitextfilter.evaluation.bootstrap import Bootstrap, Counts, Estimate, Figures, estimates

__all__ = [
    "ALL",
    "RANKING",
    "FilteringSettings",
    "Labelled",
    "Measured",
    "Scores",
    "average_precision",
    "measure_filtering",
    "roc_auc",
    "signature",
]

Scores = NDArray[np.float64]

ALL = "all"
"""The kind that stands for all noise together."""

RANKING = ("auc", "average_precision")
"""The measures that need no threshold."""

_AT_THRESHOLD = ("precision", "recall", "f1", "removed")


@dataclass(frozen=True)
class Labelled:
    """Scores of ``n`` rows and what the rows are."""

    scores: Scores
    """``(n,)``, higher is better; minus infinity, which is below all, for a row without one."""
    labels: NDArray[np.int64]
    """``(n,)``: 0 for clean, i for the kind ``kinds[i - 1]``."""
    kinds: Sequence[str]
    """The names of the kinds of noise."""

    def __post_init__(self) -> None:
        """Raise ValueError for numbers that differ, a score that is NaN, a label without rows."""
        if self.scores.shape != self.labels.shape or self.scores.ndim != 1:
            raise ValueError(f"{self.scores.shape} scores and {self.labels.shape} labels")
        if np.isnan(self.scores).any():
            raise ValueError("a score is not a number")
        rows = np.bincount(self.labels, minlength=len(self.kinds) + 1)
        if not self.kinds or len(rows) != len(self.kinds) + 1 or not rows.all():
            raise ValueError("clean rows and rows of each kind are needed")

    def of(self, label: int) -> NDArray[np.bool_]:
        """Say which rows have a label: ``(n,)``."""
        found: NDArray[np.bool_] = self.labels == label
        return found


@dataclass(frozen=True)
class FilteringSettings:
    """What to measure: at which threshold, if any, and how often to draw anew."""

    threshold: float | None = None
    """Rows that score at least so much are kept."""
    bootstrap: Bootstrap = field(default_factory=Bootstrap)


@dataclass(frozen=True)
class Measured:
    """One measure of clean rows against one kind of noise, from 0 to 1."""

    measure: str
    """``auc``, ``average_precision``, ``precision``, ``recall``, ``f1`` or ``removed``."""
    kind: str
    """The kind of noise, or ``all``."""
    estimate: Estimate
    clean: int
    """How many rows are clean."""
    noise: int
    """How many are of this kind."""


class _Contrast:
    """One kind of noise against the clean rows, whatever the counts."""

    def __init__(self, clean: Scores, noise: Scores) -> None:
        """Take the distinct scores of both, from the best down."""
        self._above = np.searchsorted(-clean, -noise, "left")
        self._not_below = np.searchsorted(-clean, -noise, "right")
        self._noise = np.searchsorted(-noise, -clean, "right")

    def auc(self, best: Counts, noise: Counts) -> float:
        """Return the part of the pairs in which the clean row scores higher, of :func:`_best`."""
        wins = noise @ (best[self._above] + best[self._not_below]) / 2
        return float(wins / (best[-1] * noise.sum()))

    def not_below(self, noise: Counts) -> Counts:
        """Return how many noisy rows score at least as much as each of the clean ``(cells,)``."""
        return _best(noise)[self._noise]


def roc_auc(clean: Scores, noise: Scores) -> float:
    """Return the part of all pairs of a clean and a noisy row in which the clean scores higher.

    A tie counts as half: the area under the ROC curve (Hanley & McNeil 1982), 0 to 1, exact.
    """
    (one, right), (other, wrong) = _cells(clean), _cells(noise)
    return _Contrast(one, other).auc(_best(right), wrong)


def average_precision(clean: Scores, noise: Scores) -> float:
    """Return the precision at each distinct score, weighted by the recall gained there, 0 to 1.

    The sum of (R_i - R_(i-1)) P_i from the highest score down, without interpolation, as
    scikit-learn has it: rows of equal score come in together, so their order does not count.
    """
    (one, right), (other, wrong) = _cells(clean), _cells(noise)
    return _precision(right, _best(right)[1:], _Contrast(one, other).not_below(wrong))


def _precision(clean: Counts, right: Counts, wrong: Counts) -> float:
    """Return the average precision, with *right* and *wrong* rows down to each clean cell."""
    # A resample may leave the best cells without a row, clean or noisy: they have no weight.
    return float(clean @ (right / np.maximum(right + wrong, 1)) / right[-1])


def _best(counts: Counts) -> Counts:
    """Return how many rows the best 0, 1, 2... cells have: ``(cells + 1,)``."""
    return np.concatenate([[0.0], np.cumsum(counts)])


def _cells(scores: Scores) -> tuple[Scores, Counts]:
    """Return the distinct scores from the best down, and how many rows have each."""
    distinct, counts = np.unique(scores, return_counts=True)
    return distinct[::-1], counts[::-1].astype(np.float64)


def measure_filtering(labelled: Labelled, settings: FilteringSettings) -> list[Measured]:
    """Measure all noise together and each kind against the clean rows, measure by measure.

    ``auc`` and ``average_precision`` (see the functions) need no threshold; with one there are
    ``precision``, ``recall`` and ``f1`` of keeping the clean rows, as if there were no other
    noise than that kind, and ``removed``, the part of the kind that goes. A threshold that keeps
    nothing has precision 0. Memory grows with kinds times distinct scores of clean rows.
    """
    cells = [_cells(labelled.scores[labelled.of(i)]) for i in range(len(labelled.kinds) + 1)]
    found = estimates(
        [counts for _, counts in cells],
        _Statistic([scores for scores, _ in cells], settings.threshold),
        settings.bootstrap,
    )
    clean, *noise = (int(counts.sum()) for _, counts in cells)
    kinds = [(ALL, sum(noise)), *zip(labelled.kinds, noise, strict=True)]
    measures = RANKING if settings.threshold is None else RANKING + _AT_THRESHOLD
    return [
        Measured(measure, kind, Estimate(*found[:, i, j].tolist()), clean, rows)
        for j, measure in enumerate(measures)
        for i, (kind, rows) in enumerate(kinds)
    ]


class _Statistic:
    """Makes the figures ``(kinds + 1, measures)``, all noise first, of counts by score."""

    def __init__(self, scores: Sequence[Scores], threshold: float | None) -> None:
        """Take the distinct scores of the clean rows and of each kind."""
        self._contrasts = [_Contrast(scores[0], noise) for noise in scores[1:]]
        self._kept: list[int] | None = None
        if threshold is not None:
            self._kept = [int(np.searchsorted(-each, -threshold, "right")) for each in scores]

    def __call__(self, strata: Sequence[Counts]) -> Figures:
        """Return the figures of the clean rows and of each kind."""
        clean, *noise = strata
        sizes = np.array([counts.sum() for counts in noise])
        best = _best(clean)
        aucs = [c.auc(best, n) for c, n in zip(self._contrasts, noise, strict=True)]
        wrong = [c.not_below(n) for c, n in zip(self._contrasts, noise, strict=True)]
        together = reduce(np.add, wrong)
        columns = [
            np.array([aucs @ sizes / sizes.sum(), *aucs]),
            np.array([_precision(clean, best[1:], each) for each in (together, *wrong)]),
        ]
        if self._kept is not None:
            columns += self._at_threshold(strata, self._kept)
        return np.stack(columns, axis=1)

    @staticmethod
    def _at_threshold(strata: Sequence[Counts], kept: Sequence[int]) -> list[Figures]:
        """Return precision, recall, F1 and the part removed, each of all noise and each kind."""
        rows = np.array([counts.sum() for counts in strata])
        right, *wrongs = (counts[:end].sum() for counts, end in zip(strata, kept, strict=True))
        wrong = np.array([sum(wrongs), *wrongs])
        return [
            right / np.maximum(right + wrong, 1),
            np.full(len(wrong), right / rows[0]),
            2 * right / (right + wrong + rows[0]),
            1 - wrong / np.array([rows[1:].sum(), *rows[1:]]),
        ]


def signature(result: Measured, **facts: str | int | float) -> str:
    """Return a measure in one line with how it was made.

    ``signature(result, boot=1000)`` is ``auc = 0.9870 | n=1500 clean:1000 kind:all boot:1000``.
    """
    made = " ".join(f"{name}:{fact}" for name, fact in facts.items())
    rows = f"n={result.clean + result.noise} clean:{result.clean} kind:{result.kind}"
    return f"{result.measure} = {result.estimate.value:.4f} | {rows} {made}".rstrip()
