"""Separation of clean rows and noise by scores.

A row is kept if its score is high. Clean rows are the positives: precision is the part of the kept
rows that is clean, recall the part of the clean rows that is kept. The area under the ROC curve and
the average precision are computed from the distinct scores, called cells, and the number of rows in
each, so that a bootstrap only changes the numbers.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import inf

import numpy as np

from bitextfilter.arrays import Floats, Integers, Mask
from bitextfilter.errors import InputError
from bitextfilter.evaluation.result import Bootstrap, Estimate, Result, Statistic, estimates, record
from bitextfilter.io.files import stream_name


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


def mean_precision(found: Floats, wrong: Floats, total: float) -> float:
    """Return the precision at each cell, weighted by the recall gained there, 0 to 1.

    The sum of (R_i - R_(i-1)) P_i from the best cell down, without interpolation, as scikit-learn
    has it: rows of equal score come in together, so their order does not count.

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


ALL = "all"
"""The kind of all noise together."""

RANKING = ("auc", "average_precision")
"""The measures that need no threshold."""

_AT_THRESHOLD = ("precision", "recall", "f1", "removed")


@dataclass(frozen=True)
class Labelled:
    """Scores and labels of ``n`` rows."""

    scores: Floats
    """``(n,)``, higher is better; minus infinity, which is below all, for a row without one."""
    labels: Integers
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

    def of(self, label: int) -> Mask:
        """Return the rows with a label, ``(n,)``."""
        found: Mask = self.labels == label
        return found


_MOST_KINDS = 1000
"""With more kinds of noise, the column does not hold labels."""


class LabelledRows:
    """Collects scores, labels and words of rows: 24 bytes a row."""

    def __init__(self, clean_label: str) -> None:
        """Start with no rows; rows labelled *clean_label* are clean."""
        self._names = {clean_label: 0}
        self._scores, self._labels, self._words = array("d"), array("q"), array("q")

    def add(self, score: float, label: str, texts: Iterable[str] = ()) -> None:
        """Add a row, minus infinity for no score; the words of *texts* are counted."""
        self._scores.append(score)
        self._labels.append(self._names.setdefault(label, len(self._names)))
        self._words.append(sum(len(text.split()) for text in texts))

    @property
    def words(self) -> Integers:
        """The words of each row, ``(n,)``."""
        return np.array(self._words, dtype=np.int64)

    @property
    def clean(self) -> int:
        """The number of clean rows."""
        return self._labels.count(0)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._labels)

    def labelled(self, file: str) -> Labelled:
        """Return the rows of *file*, kinds in the order of their names; InputError if unusable."""
        clean, *kinds = self._names
        kinds.sort()
        if problem := self._problem(clean, kinds):
            message, remedy = problem
            raise InputError(message, file=stream_name(file), remedy=remedy)
        places = {name: place for place, name in enumerate([clean, *kinds])}
        sorted_places = np.array([places[name] for name in self._names])
        return Labelled(np.array(self._scores), sorted_places[np.array(self._labels)], kinds)

    def _problem(self, clean: str, kinds: list[str]) -> list[str] | None:
        """Return the first problem of the rows, and its remedy."""
        shown = ", ".join(kinds[:5]) + ", ..." * (len(kinds) > 5)
        many = f"{len(kinds)} different labels, such as {shown}"
        problems = (
            (not self._scores, "no rows", ""),
            (len(kinds) > _MOST_KINDS, many, "--labels says where they are"),
            (0 not in self._labels, f"no {clean!r} among the labels: {shown}", "see --clean-label"),
            (not kinds, f"no noise: every label is {clean!r}", "--clean-label names another"),
            (ALL in kinds, f"the label {ALL!r} would stand for all noise", "call it otherwise"),
            (max(self._scores, default=0) == -inf, "no row has a score", "--column says where"),
        )
        return next((problem for wrong, *problem in problems if wrong), None)


@dataclass(frozen=True)
class FilteringFigure:
    """One measure of clean rows against one kind of noise, from 0 to 1."""

    measure: str
    """``auc``, ``average_precision``, ``precision``, ``recall``, ``f1`` or ``removed``."""
    kind: str
    """The kind of noise, or ``all``."""
    estimate: Estimate
    clean: int
    """Clean rows."""
    noise: int
    """Rows of this kind."""


def measure_filtering(
    labelled: Labelled, threshold: float | None, bootstrap: Bootstrap
) -> list[FilteringFigure]:
    """Measure all noise together and each kind against the clean rows, measure by measure.

    ``auc`` and ``average_precision`` need no threshold. With one, the rows that score at least as
    high are kept, and there are also ``precision``, ``recall`` and ``f1`` of the clean rows, as if
    that kind were the only noise, and ``removed``, the part of the kind that is dropped. A
    threshold that keeps nothing has precision 0. Memory grows with kinds times distinct scores of
    clean rows.
    """
    rows = [score_cells(labelled.scores[labelled.of(i)]) for i in range(len(labelled.kinds) + 1)]
    found = estimates(
        [counts for _, counts in rows],
        _statistic([scores for scores, _ in rows], threshold),
        bootstrap,
    )
    clean, *noise = (int(counts.sum()) for _, counts in rows)
    kinds = [(ALL, sum(noise)), *zip(labelled.kinds, noise, strict=True)]
    measures = RANKING if threshold is None else RANKING + _AT_THRESHOLD
    return [
        FilteringFigure(measure, kind, Estimate(*found[:, i, j].tolist()), clean, count)
        for j, measure in enumerate(measures)
        for i, (kind, count) in enumerate(kinds)
    ]


def _statistic(scores: Sequence[Floats], threshold: float | None) -> Statistic:
    """Return a function from counts by score to the figures ``(kinds + 1, measures)``.

    All noise comes first. *scores*: the distinct ones of the clean rows and of each kind.
    """
    contrasts = [Contrast(scores[0], noise) for noise in scores[1:]]
    ends = [int(np.searchsorted(-each, -(threshold or 0.0), "right")) for each in scores]

    def figures(strata: Sequence[Floats]) -> Floats:
        clean, *noise = strata
        sizes, best = np.array([counts.sum() for counts in noise]), best_counts(clean)
        pairs = [*zip(contrasts, noise, strict=True)]
        aucs = [contrast.auc(best, counts) for contrast, counts in pairs]
        wrong = [contrast.not_below(counts) for contrast, counts in pairs]
        every = [reduce(np.add, wrong), *wrong]
        columns = [
            np.array([aucs @ sizes / sizes.sum(), *aucs]),
            np.array([mean_precision(clean, each, best[-1]) for each in every]),
        ]
        if threshold is not None:
            right, *wrongs = (counts[:end].sum() for counts, end in zip(strata, ends, strict=True))
            kept, rows = np.array([sum(wrongs), *wrongs]), best[-1]
            columns += [
                right / np.maximum(right + kept, 1),
                np.full(len(kept), right / rows),
                2 * right / (right + kept + rows),
                1 - kept / np.array([sizes.sum(), *sizes]),
            ]
        return np.stack(columns, axis=1)

    return figures


def filtering_result(
    labelled: Labelled, threshold: float | None, bootstrap: Bootstrap, file: str
) -> Result:
    """Return a record for each measure and kind of noise, of the rows of *file*."""
    records = []
    for each in measure_filtering(labelled, threshold, bootstrap):
        facts: dict[str, str | float] = {"clean": each.clean, "kind": each.kind}
        if threshold is not None and each.measure not in RANKING:
            facts["threshold"] = threshold
        figure = f"{each.measure} = {each.estimate.value:.4f}"
        n = each.clean + each.noise
        records.append(record(each, figure, n=n, **facts, **bootstrap.facts))
    columns = dict.fromkeys(records[0], ".4f")
    return Result("filtering", columns, {"results": records}, {"file": file})
