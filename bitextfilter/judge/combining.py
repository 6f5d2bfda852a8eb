"""A combiner of a sample's scores that learns from its labels, and how many labels it needs.

The curve: combiners learn from n labels of four folds and score the rows of the fifth, whose AUC is
judged by the labels, and by people's where there are some. Rows that a rule drops take no part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from bitextfilter.arrays import Floats, Indices
from bitextfilter.errors import InputError
from bitextfilter.evaluation.result import Bootstrap, Estimate, Result, estimates, interval
from bitextfilter.judge.evaluation import (
    JudgedRows,
    Standard,
    grades_of,
    judged_rows,
    weighted_auc,
)
from bitextfilter.judge.judgements import RULE, Judgements
from bitextfilter.training.combiner import (
    FOLDS,
    CombinerSettings,
    DirectedColumns,
    GradedScores,
    TrainedCombiner,
    column_direction,
    fold_of,
    train_combiner,
)

SIZES = (25, 50, 100, 200, 400, 800, 1600, 3200)
"""Numbers of labels to learn from, and last all of four folds."""
_DRAWS = 5
"""Draws of folds and labels, over which an AUC is the mean."""
_LITTLE = 0.005
"""A gain of AUC that is worth no labels."""


@dataclass(frozen=True)
class Judge:
    """Labels of the sample that judge a combiner."""

    name: str
    judgements: Judgements
    standard: Standard
    file: str


@dataclass(frozen=True)
class LearningCurve:
    """A combiner of the scores *names* of a sample, and its AUC by the number of labels."""

    judges: Sequence[Judge]
    """The first are the labels that it learns from."""
    names: Sequence[str]
    settings: CombinerSettings
    bootstrap: Bootstrap = field(default_factory=Bootstrap)

    @cached_property
    def _scores(self) -> Floats:
        """The scores of all rows of the sample, ``(rows, names)``, NaN for a missing one."""
        sample = self.judges[0].judgements.sample
        chosen = [sample.scores.index(name) for name in self.names]
        scores = np.array([row.scores for row in sample.rows])[:, chosen]
        if np.isinf(scores).any():
            remedy = "an empty field says that it is missing"
            raise InputError("a score is not finite", file=sample.name, remedy=remedy)
        return scores

    @cached_property
    def _grades(self) -> Floats:
        """The grades of all rows of the sample, NaN without a label or where a rule drops it."""
        rows = self.judges[0].judgements.sample.rows
        grades = np.full(len(rows), np.nan)
        places, known = grades_of(self.judges[0].judgements, self.judges[0].standard)
        grades[places] = known
        grades[[row.reason.startswith(RULE) for row in rows]] = np.nan
        return grades

    @cached_property
    def _columns(self) -> DirectedColumns:
        return DirectedColumns(tuple(self.names), (0,) * len(self.names))

    def trained(self) -> TrainedCombiner:
        """Return the combiner that learns from all labels.

        Raises InputError for fewer than 10 good or bad ones or an infinite score, DeviceError
        without scikit-learn.
        """
        known = ~np.isnan(self._grades)
        rows = GradedScores(self._scores[known], self._grades[known])
        rows.check(self.names, self.judges[0].file)
        return TrainedCombiner(rows, self._columns, self.settings, self.bootstrap)

    @cached_property
    def _held_out(self) -> dict[int, list[Floats]]:
        """The scores of all rows by combiners of so many labels of other rows, for each draw."""
        known = ~np.isnan(self._grades)
        kinds = np.where(known, self._grades >= 0.5, -1)
        fewest = 2 * known.sum() / min((kinds == kind).sum() for kind in (0, 1))
        found: dict[int, list[Floats]] = {}
        for draw in range(_DRAWS):
            folds = fold_of(kinds, self.bootstrap.seed + draw)
            most = min(int((known & (folds != fold)).sum()) for fold in range(FOLDS))
            for size in [*(size for size in SIZES if fewest <= size < most), most]:
                found.setdefault(size, []).append(np.full(len(kinds), np.nan))
            for fold in range(FOLDS):
                own = np.flatnonzero(known & (folds != fold))
                order = _mixed(kinds, own, self.bootstrap.seed + draw)
                for size, parts in found.items():
                    learnt = self._scores[order[:size]], self._grades[order[:size]]
                    combiner = train_combiner(*learnt, self._columns, self.settings)
                    parts[-1][folds == fold] = combiner(self._scores[folds == fold])
        return found

    def result(self) -> Result:
        """Return the AUC of each score alone, and of combiners by the number of labels."""
        records = [record for judge in self.judges for record in self._records(judge)]
        columns = {"score": "", "judge": "", "rows": "", "labels": ""}
        columns |= {**interval("auc", "less", form=".4f"), "enough": ""}
        facts = {"kind": self.settings.kind, "draws": _DRAWS, **self.bootstrap.facts}
        return Result("combiner", columns, {"results": records}, facts)

    def _records(self, judge: Judge) -> list[dict[str, Any]]:
        rows = judged_rows(judge.judgements, judge.standard, judge.file)
        sample = judge.judgements.sample.rows
        order = sorted(judge.judgements.judged, key=lambda place: sample[place].reason)
        known = ~np.isnan(self._grades)
        alone: dict[str, list[Floats]] = {
            name: [column * column_direction(column[known], self._grades[known])]
            for name, column in zip(self.names, self._scores.T, strict=True)
        }
        every = {**dict[Any, list[Floats]](alone), **self._held_out}
        found = _aucs(
            rows, {key: [s[order] for s in each] for key, each in every.items()}, self.bootstrap
        )
        enough, records = True, []
        for key, (auc, less) in reversed(found.items()):
            labels = key if isinstance(key, int) else 0
            same = bool(less.low <= _LITTLE)
            enough = enough and same if labels else same
            facts = {"score": "combined" if labels else key, "labels": labels or None}
            facts |= {"judge": judge.name, "rows": int((~rows.ruled).sum())}
            records.append({**facts, "auc": auc, "less": less, "enough": enough})
        return records[::-1]


def _mixed(kinds: Indices, places: Indices, seed: int) -> Indices:
    """Return places in random order, of which each first part has the same share of each kind."""
    places = np.random.default_rng(seed).permutation(places)
    parts = np.empty(len(places))
    for kind in np.unique(kinds[places]):
        own = kinds[places] == kind
        parts[own] = (np.arange(own.sum()) + 0.5) / own.sum()
    return places[np.argsort(parts, kind="stable")]


def _aucs(
    rows: JudgedRows, scores: Mapping[Any, Sequence[Floats]], bootstrap: Bootstrap
) -> dict[Any, tuple[Estimate, Estimate]]:
    """Return for each key the mean AUC of its scores, and how much less it is than the last's."""
    free = ~rows.ruled
    parts = [
        [weighted_auc(np.nan_to_num(each[free], nan=-np.inf), rows.good[free]) for each in own]
        for own in scores.values()
    ]

    def statistic(drawn: Sequence[Floats]) -> Floats:
        weights = [rows.drawn(drawn)[free]]
        means = np.array([np.mean([auc(weights) for auc in own]) for own in parts])
        return np.stack([means, means[-1] - means])

    found = estimates(rows.strata(), statistic, bootstrap)
    return {
        key: (Estimate(*map(float, found[:, 0, n])), Estimate(*map(float, found[:, 1, n])))
        for n, key in enumerate(scores)
    }
