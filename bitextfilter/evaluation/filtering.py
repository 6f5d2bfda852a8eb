"""Filtering: how well scores tell clean rows from noise, with bootstrap intervals.

Efron & Tibshirani 1993, chapter 13. Rows are drawn anew, with replacement, from each stratum by
itself, as many as it has: the numbers of clean and of noisy rows stay as they are, and intervals
are for samples of that make-up. Rows that are alike share a cell, and a statistic sees only how
many rows each cell got.

A row is kept if its score is high. Clean rows are the positives: precision is the part of what is
kept that is clean, recall the part of what is clean that is kept. Counts are by distinct score,
from the best down.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats
from bitextfilter.similarity.separation import Contrast, best_counts, cells, mean_precision

Statistic = Callable[[Sequence[Floats]], Floats]
"""Makes figures, in an array of any shape, of the counts of each stratum."""

CONFIDENCE = 0.95

_FEW_ROWS = 8
"""Up to so many rows a cell, drawing rows is faster than drawing how many each cell gets."""


@dataclass(frozen=True)
class Bootstrap:
    """How often to draw anew, and the seed of it."""

    resamples: int = 1000
    seed: int = 1

    @property
    def facts(self) -> dict[str, int]:
        """Both, as a signature names them."""
        return {"boot": self.resamples, "seed": self.seed}


class Estimate(NamedTuple):
    """A figure and its 95 % interval."""

    value: float
    low: float
    high: float


def resamples(strata: Sequence[Floats], bootstrap: Bootstrap) -> Iterator[list[Floats]]:
    """Yield the strata drawn anew, each with its own number of rows, one resample at a time."""
    generator = np.random.default_rng(bootstrap.seed)
    draws = [_drawer(counts, generator) for counts in strata]
    for _ in range(bootstrap.resamples):
        yield [draw() for draw in draws]


def _drawer(counts: Floats, generator: np.random.Generator) -> Callable[[], Floats]:
    """Return what draws the rows of a stratum anew: both ways have the same distribution."""
    cells, rows = len(counts), int(counts.sum())
    if rows > _FEW_ROWS * cells:
        return lambda: generator.multinomial(rows, counts / rows).astype(np.float64)
    cell_of = np.repeat(np.arange(cells), counts.astype(np.int64))
    return lambda: np.bincount(cell_of[generator.integers(0, rows, rows)], minlength=cells).astype(
        np.float64
    )


def estimates(strata: Sequence[Floats], statistic: Statistic, bootstrap: Bootstrap) -> Floats:
    """Return the figures of the strata, and the ends of their 95 % intervals.

    A figure that is NaN is undefined: draws of which it is are left out of its interval, and
    where all are, the ends are NaN.

    Args:
        strata: each one's rows by cell; none is without rows.
        statistic: makes figures, of shape ``(...)``, of them.
        bootstrap: how often to draw anew, and the seed.

    Returns:
        Value, low and high end: ``(3, ...)``.
    """
    drawn = np.stack([statistic(again) for again in resamples(strata, bootstrap)])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)
        ends = np.nanquantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    return np.concatenate([statistic(strata)[None], ends])


ALL = "all"
"""The kind that stands for all noise together."""

RANKING = ("auc", "average_precision")
"""The measures that need no threshold."""

_AT_THRESHOLD = ("precision", "recall", "f1", "removed")


@dataclass(frozen=True)
class Labelled:
    """Scores of ``n`` rows and what the rows are."""

    scores: Floats
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
class FilteringFigure:
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


def measure_filtering(labelled: Labelled, settings: FilteringSettings) -> list[FilteringFigure]:
    """Measure all noise together and each kind against the clean rows, measure by measure.

    ``auc`` and ``average_precision`` (see the functions) need no threshold; with one there are
    ``precision``, ``recall`` and ``f1`` of keeping the clean rows, as if there were no other
    noise than that kind, and ``removed``, the part of the kind that goes. A threshold that keeps
    nothing has precision 0. Memory grows with kinds times distinct scores of clean rows.
    """
    rows = [cells(labelled.scores[labelled.of(i)]) for i in range(len(labelled.kinds) + 1)]
    found = estimates(
        [counts for _, counts in rows],
        _Statistic([scores for scores, _ in rows], settings.threshold),
        settings.bootstrap,
    )
    clean, *noise = (int(counts.sum()) for _, counts in rows)
    kinds = [(ALL, sum(noise)), *zip(labelled.kinds, noise, strict=True)]
    measures = RANKING if settings.threshold is None else RANKING + _AT_THRESHOLD
    return [
        FilteringFigure(measure, kind, Estimate(*found[:, i, j].tolist()), clean, count)
        for j, measure in enumerate(measures)
        for i, (kind, count) in enumerate(kinds)
    ]


class _Statistic:
    """Makes the figures ``(kinds + 1, measures)``, all noise first, of counts by score."""

    def __init__(self, scores: Sequence[Floats], threshold: float | None) -> None:
        """Take the distinct scores of the clean rows and of each kind."""
        self._contrasts = [Contrast(scores[0], noise) for noise in scores[1:]]
        self._kept: list[int] | None = None
        if threshold is not None:
            self._kept = [int(np.searchsorted(-each, -threshold, "right")) for each in scores]

    def __call__(self, strata: Sequence[Floats]) -> Floats:
        """Return the figures of the clean rows and of each kind."""
        clean, *noise = strata
        sizes = np.array([counts.sum() for counts in noise])
        best = best_counts(clean)
        aucs = [c.auc(best, n) for c, n in zip(self._contrasts, noise, strict=True)]
        wrong = [c.not_below(n) for c, n in zip(self._contrasts, noise, strict=True)]
        together = reduce(np.add, wrong)
        columns = [
            np.array([aucs @ sizes / sizes.sum(), *aucs]),
            np.array([mean_precision(clean, each, best[-1]) for each in (together, *wrong)]),
        ]
        if self._kept is not None:
            columns += self._at_threshold(strata, self._kept)
        return np.stack(columns, axis=1)

    @staticmethod
    def _at_threshold(strata: Sequence[Floats], kept: Sequence[int]) -> list[Floats]:
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
