"""A combiner trained on labelled rows, and how well it separates them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan

import numpy as np

from bitextfilter.arrays import Floats, Mask
from bitextfilter.errors import InputError
from bitextfilter.evaluation.filtering import Labelled, measure_filtering
from bitextfilter.evaluation.result import Bootstrap, Estimate, Result, estimates, interval
from bitextfilter.io.rows import number_of
from bitextfilter.scoring.score_combiner import (
    CombinedColumn,
    Combiner,
    LogisticPart,
    MonotonePart,
)
from bitextfilter.training.combiner import (
    FOLDS,
    CombinerSettings,
    DirectedColumns,
    cross_validated,
    train_combiner,
)

FEWEST = 2 * FOLDS
"""The fewest good rows, and bad rows."""

COMBINED = "combined"
_LEAST = 1e-12
"""Probabilities nearer to 0 or 1 count as this one in the log-loss."""


class Grader:
    """Turns labels into grades: 0 for bad to 1 for good.

    The first label says what they are: numbers of a scale, or words, of which one is good.
    """

    def __init__(self, clean_label: str, scale: tuple[float, float] | None) -> None:
        """Read numbers of a *scale*, by default 0 to 1, or words; *clean_label* is good."""
        self._clean, self._scale = clean_label, scale
        self._words: bool | None = None

    def fault(self, label: str) -> tuple[str, str] | None:
        """Return the fault of a label and its remedy, or None."""
        number = number_of(label.encode())
        if self._words is None:
            self._words = isnan(number) and self._scale is None
        if self._words:
            return None if isnan(number) else (f"the label {label!r} is not a word", _ONE_KIND)
        low, high = self._scale or (0.0, 1.0)
        if low <= number <= high:
            return None
        reason = f"the label {label[:40]!r} is not a number from {low:g} to {high:g}"
        return reason, "--scale LOW,HIGH names other ends" if not isnan(number) else _ONE_KIND

    def grade(self, label: str) -> float:
        """Return the grade of a label without a fault."""
        if self._words:
            return float(label == self._clean)
        low, high = self._scale or (0.0, 1.0)
        return (float(label) - low) / (high - low)


_ONE_KIND = "labels are all numbers, or all words"


@dataclass(frozen=True)
class GradedScores:
    """Scores and grades of ``n`` rows."""

    scores: Floats
    """``(n, m)``, NaN for a missing one."""
    grades: Floats
    """0 for bad to 1 for good, ``(n,)``; all NaN without labels."""

    @property
    def labelled(self) -> bool:
        """Whether there are labels."""
        return not np.isnan(self.grades).all()

    def check(self, names: Sequence[int | str], file: str) -> None:
        """Raise InputError, naming the *file*, for too few rows or scores to learn from."""
        good = self.grades >= 0.5
        counts = {"good ": good.sum(), "bad ": (~good).sum()}
        remedy = "label more rows; --clean-label and --scale say which are good"
        if not self.labelled:
            counts, remedy = {"": len(good)}, ""
        for kind, count in counts.items():
            if count < FEWEST:
                message = f"{count} {kind}rows, expected at least {FEWEST}"
                raise InputError(message, file=file, remedy=remedy)
        for name, known in zip(names, (~np.isnan(self.scores)).sum(axis=0), strict=True):
            if not known:
                remedy = "leave the column out"
                raise InputError(f"no row has a score in column {name}", file=file, remedy=remedy)


class TrainedCombiner:
    """A combiner, and its combined scores of the rows by cross-validation."""

    def __init__(
        self,
        rows: GradedScores,
        columns: DirectedColumns,
        settings: CombinerSettings,
        bootstrap: Bootstrap,
    ) -> None:
        """Train it; raises as ``train_combiner`` does."""
        self._rows, self._bootstrap = rows, bootstrap
        material = (rows.scores, rows.grades, columns, settings)
        self._settings = settings
        self._whole = train_combiner(*material)
        self._combined = self._whole(rows.scores)
        if rows.labelled:
            self._combined = cross_validated(*material, bootstrap.seed)
        self._likely = isinstance(self._whole.part, LogisticPart | MonotonePart)
        """Whether the combined score is a probability."""

    @cached_property
    def combiner(self) -> Combiner:
        """The combiner, trained on all rows."""
        facts: dict[str, object] = {
            "rows": len(self._rows.grades),
            "settings": vars(self._settings),
        }
        if auc := self._auc(self._combined):
            facts |= {"good": int((self._rows.grades >= 0.5).sum()), "folds": FOLDS}
            facts |= {"auc": list(auc), **self._bootstrap.facts}
        if loss := self._log_loss():
            facts["log_loss"] = list(loss)
        return replace(self._whole, facts=facts)

    def result(self) -> Result:
        """Return a record of each column alone, and of the combined score by cross-validation."""
        records = []
        for place, column in enumerate(self._whole.columns):
            values = self._rows.scores[:, place] * (column.direction or 1)
            cells = _facts(column) if self._rows.labelled else {**_facts(column), "direction": "-"}
            records.append({**self._record(values, str(column.name)), **cells})
        whole = self._record(self._combined, COMBINED)
        records.append({**whole, "log_loss": self._log_loss(), "direction": "-", "missing": "-"})
        columns = {"score": "", "direction": "", "missing": "", "rows": ""}
        columns |= interval("auc", "log_loss", form=".4f")
        facts = {"kind": self._settings.kind, **self._bootstrap.facts}
        return Result("combiner", columns, {"results": records}, facts)

    def _record(self, scores: Floats, name: str) -> dict[str, object]:
        rows = int((~np.isnan(scores)).sum())
        return {"score": name, "rows": rows, "auc": self._auc(scores), "log_loss": None}

    def _auc(self, scores: Floats) -> Estimate | None:
        """Return the AUC of the rows with a score; a row of grade .5 or more is good.

        None without labels.
        """
        if not self._rows.labelled:
            return None
        known = ~np.isnan(scores)
        labels = (self._rows.grades[known] < 0.5).astype(np.int64)
        if len(set(labels.tolist())) < 2:
            return Estimate(*[float("nan")] * 3)
        figures = measure_filtering(Labelled(scores[known], labels, ["bad"]), None, self._bootstrap)
        return next(one.estimate for one in figures if one.measure == "auc")

    def _log_loss(self) -> Estimate | None:
        """Return the mean of -(g ln p + (1 - g) ln(1 - p)) over the rows with a combined score.

        None where it is no probability.
        """
        if not self._likely:
            return None
        known = ~np.isnan(self._combined)
        grades = self._rows.grades[known]
        likely = np.clip(self._combined[known], _LEAST, 1 - _LEAST)
        losses = -(grades * np.log(likely) + (1 - grades) * np.log(1 - likely))
        sides = [losses[_is(grades >= 0.5, kind)] for kind in (True, False)]
        every = np.concatenate(sides)

        def mean(strata: Sequence[Floats]) -> Floats:
            counts = np.concatenate(strata)
            return np.asarray(counts @ every / counts.sum())

        found = estimates(
            [np.ones(len(side)) for side in sides if len(side)], mean, self._bootstrap
        )
        return Estimate(*found.tolist())


def _is(good: Mask, kind: bool) -> Mask:
    return good if kind else ~good


def _facts(column: CombinedColumn) -> dict[str, str]:
    """Return the cells of a column."""
    direction = {1: "higher", -1: "lower", 0: "unused"}[column.direction]
    return {"direction": direction, "missing": "yes" if column.missing else "no"}
