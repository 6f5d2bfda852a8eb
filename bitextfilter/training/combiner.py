"""Training of a combiner of scores by scikit-learn, and how well it separates labelled rows.

``logistic`` is logistic regression with a ridge (scikit-learn: Pedregosa et al. 2011).
``monotone`` is gradient boosting of small trees on histograms (Ke et al. 2017), with constraints on
the direction of each score. A grade between 0 and 1 counts as that part of a
good row and the rest of a bad one.
``isolation-forest`` needs no grades: it tells how usual a row is (Liu, Ting & Zhou 2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan
from typing import Any

import numpy as np

from bitextfilter.arrays import Floats, Indices
from bitextfilter.errors import InputError, SettingsError, optional
from bitextfilter.evaluation.filtering import Labelled, measure_filtering, roc_auc
from bitextfilter.evaluation.result import Bootstrap, Estimate, Result, estimates, interval
from bitextfilter.io.rows import number_of
from bitextfilter.scoring.score_combiner import (
    CombinedColumn,
    Combiner,
    ForestPart,
    LogisticPart,
    MonotonePart,
    Part,
    Tree,
    forest_features,
)
from bitextfilter.settings import Settings, from_0, from_1, setting

KINDS = ("logistic", "monotone", "isolation-forest")

FOLDS = 5
"""Of cross-validation."""

_HUGE = float(np.finfo(np.float64).max)
"""In place of the infinite threshold of a split between rows with and without a score."""

_TOLERANCE = 1e-6
"""The most that our arithmetic may differ from scikit-learn's."""


@dataclass(frozen=True)
class CombinerSettings(Settings):
    """Settings of the training."""

    kind: str = setting(
        "logistic",
        "a weighted sum, trees that rise or fall with each score, or how usual a row is",
        choices=KINDS,
    )
    ridge: float = setting(
        1.0, "pull of the weights to 0, of standardised scores", within="> 0", needs="kind=logistic"
    )
    trees: int = setting(
        100, "number of trees", within=">= 1, <= 10000", needs="kind=monotone|isolation-forest"
    )
    leaves: int = setting(4, "leaves of a tree", within=">= 2, <= 1000", needs="kind=monotone")
    rate: float = setting(
        0.05, "share of each tree that is added", within="> 0, <= 1", needs="kind=monotone"
    )
    leaf_rows: int = from_1(10, "rows that a leaf has at least", needs="kind=monotone")

    tree_rows: int = setting(
        256, "rows drawn for a tree", within=">= 2, <= 100000", needs="kind=isolation-forest"
    )
    forest_seed: int = from_0(1, "seed of the trees", needs="kind=isolation-forest")


@dataclass(frozen=True)
class DirectedColumns:
    """The columns of scores."""

    names: tuple[int | str, ...]
    directions: tuple[int, ...]
    """Of each: 1 if higher is better, -1 if lower is, 0 to learn it."""


def train_combiner(
    scores: Floats, grades: Floats, columns: DirectedColumns, settings: CombinerSettings
) -> Combiner:
    """Fit a combiner to rows.

    Args:
        scores: ``(n, m)``, NaN for a missing one.
        grades: 0 for bad to 1 for good, ``(n,)``; an isolation forest has only the directions of
            columns from them.
        columns: the names of the ``m`` columns, and their directions.
        settings: the kind, and its own settings.

    Raises:
        DeviceError: scikit-learn is not installed.
        SettingsError: no column agrees with its direction.
    """
    fit = {"logistic": _logistic, "monotone": _monotone}.get(settings.kind, _forest)
    return fit(scores, grades, columns, settings)


def cross_validated(
    scores: Floats,
    grades: Floats,
    columns: DirectedColumns,
    settings: CombinerSettings,
    seed: int,
) -> Floats:
    """Combine each row by a combiner that was fitted to the other folds: ``(n,)``.

    A fold has as many good rows as the others, but for one. NaN as in ``Combiner``.
    """
    combined = np.full(len(grades), np.nan)
    folds = fold_of(grades >= 0.5, seed)
    for fold in range(FOLDS):
        out = folds == fold
        combiner = train_combiner(scores[~out], grades[~out], columns, settings)
        combined[out] = combiner(scores[out])
    return combined


def fold_of(kinds: Any, seed: int) -> Indices:
    """Return the fold of each row ``(n,)``, drawn by *seed* among the rows of each kind."""
    generator = np.random.default_rng(seed)
    folds = np.zeros(len(kinds), np.int64)
    for kind in np.unique(kinds)[::-1]:
        places = np.flatnonzero(kinds == kind)
        folds[generator.permutation(places)] = np.arange(len(places)) % FOLDS
    return folds


def column_direction(scores: Floats, grades: Floats) -> int:
    """Return 1 if the good rows among those with a score score higher, by the AUC; else -1."""
    known = ~np.isnan(scores)
    good, bad = scores[known & (grades >= 0.5)], scores[known & (grades < 0.5)]
    return -1 if len(good) and len(bad) and roc_auc(good, bad) < 0.5 else 1


def _sklearn() -> Any:
    with optional("training a combiner needs scikit-learn:", "combiner"):
        import sklearn.ensemble
        import sklearn.linear_model
    return sklearn


def _weighted(features: Floats, grades: Floats) -> tuple[Floats, Indices, Floats]:
    """Return features, labels and weights: a row of a grade between counts as good and as bad."""
    labels = np.repeat([1, 0], len(grades))
    weights = np.concatenate([grades, 1 - grades])
    used = weights > 0
    return np.vstack([features, features])[used], labels[used], weights[used]


def _logistic(
    scores: Floats, grades: Floats, columns: DirectedColumns, settings: CombinerSettings
) -> Combiner:
    missing = np.isnan(scores)
    counts = np.maximum((~missing).sum(axis=0), 1)
    known = np.where(missing, 0.0, scores)
    means = known.sum(axis=0) / counts
    deviations = np.sqrt(np.where(missing, 0.0, (scores - means) ** 2).sum(axis=0) / counts)
    deviations[deviations == 0] = 1.0
    standard = np.where(missing, 0.0, (scores - means) / deviations)
    features = np.hstack([standard, missing.astype(np.float64)])
    used = np.ones(len(columns.names), bool)
    while True:
        both = np.concatenate([used, used & missing.any(axis=0)])
        kind = _sklearn().linear_model.LogisticRegression
        model = kind(C=1 / settings.ridge, tol=1e-8, max_iter=10_000)
        model.fit(*_weighted(features[:, both], grades))
        found = np.zeros(2 * len(used))
        found[both] = model.coef_[0]
        weights, missing_weights = np.split(found, 2)
        against = weights * columns.directions
        if against.min() >= 0:
            break
        used[against.argmin()] = False
        if not used.any():
            raise SettingsError(
                "no column agrees with the direction given for it: --column learns it"
            )
    numbers = (weights, means, deviations, missing_weights)
    part = LogisticPart(float(model.intercept_[0]), *(each.tolist() for each in numbers))
    _check_equal(part, scores, model.predict_proba(features[:, both])[:, 1])
    return _combiner(part, np.sign(weights).astype(int).tolist(), scores, columns)


def _monotone(
    scores: Floats, grades: Floats, columns: DirectedColumns, settings: CombinerSettings
) -> Combiner:
    directions = [
        given or column_direction(scores[:, place], grades)
        for place, given in enumerate(columns.directions)
    ]
    kind = _sklearn().ensemble.HistGradientBoostingClassifier
    model = kind(monotonic_cst=directions, **tree_settings(settings))
    model.fit(*_weighted(scores, grades))
    trees = [_boosted_tree(predictor.nodes) for (predictor,) in model._predictors]
    part = MonotonePart(float(np.ravel(model._baseline_prediction)[0]), trees)
    _check_equal(part, scores, model.predict_proba(scores)[:, 1])
    return _combiner(part, directions, scores, columns)


def tree_settings(settings: CombinerSettings) -> dict[str, Any]:
    """Return the settings of trees by scikit-learn's names."""
    return {
        "max_iter": settings.trees,
        "learning_rate": settings.rate,
        "max_leaf_nodes": settings.leaves,
        "min_samples_leaf": settings.leaf_rows,
        "l2_regularization": 1.0,
        "early_stopping": False,
        "random_state": 1,
    }


def _forest(
    scores: Floats, grades: Floats, columns: DirectedColumns, settings: CombinerSettings
) -> Combiner:
    directions = [column_direction(column, grades) for column in scores.T]
    with np.errstate(over="ignore"):  # infinite, which becomes the largest number again
        medians = np.nan_to_num(np.nanmedian(scores, axis=0))
    features = forest_features(scores, medians)
    kind = _sklearn().ensemble.IsolationForest
    rows = min(settings.tree_rows, len(scores))
    seed = settings.forest_seed % 2**32  # scikit-learn takes no larger one
    model = kind(n_estimators=settings.trees, max_samples=rows, random_state=seed)
    model.fit(features)
    trees = [_isolation_tree(each.tree_) for each in model.estimators_]
    part = ForestPart(float(_splits(np.array([rows]))[0]), medians.tolist(), trees)
    _check_equal(part, scores, 1 + model.score_samples(features))
    return _combiner(part, directions, scores, columns)


def _isolation_tree(tree: Any) -> Tree:
    """Return a tree of scikit-learn's; a leaf has its depth, and the splits of its rows."""
    left, right = tree.children_left, tree.children_right
    depths = np.zeros(len(left))
    for node in np.flatnonzero(left >= 0):  # parents come before their children
        depths[[left[node], right[node]]] = depths[node] + 1
    leaf = left < 0
    return Tree(
        columns=np.where(leaf, -1, tree.feature).tolist(),
        thresholds=np.where(leaf, 0.0, tree.threshold).tolist(),
        left=np.where(leaf, 0, left).tolist(),
        right=np.where(leaf, 0, right).tolist(),
        missing_left=[False] * len(leaf),
        values=np.where(leaf, depths + _splits(tree.n_node_samples), 0.0).tolist(),
    )


def _splits(rows: Indices) -> Floats:
    """Return the mean number of random splits that isolate one of so many rows (eq. 1 there)."""
    many = np.maximum(rows, 3).astype(np.float64)
    mean = 2 * (np.log(many - 1) + np.euler_gamma) - 2 * (many - 1) / many
    return np.asarray(np.select([rows < 2, rows == 2], [0.0, 1.0], mean))


def _boosted_tree(nodes: Any) -> Tree:
    """Return a tree of scikit-learn's nodes."""
    leaf = nodes["is_leaf"].astype(bool)
    return Tree(
        columns=np.where(leaf, -1, nodes["feature_idx"]).tolist(),
        thresholds=np.clip(np.where(leaf, 0.0, nodes["num_threshold"]), -_HUGE, _HUGE).tolist(),
        left=np.where(leaf, 0, nodes["left"]).tolist(),
        right=np.where(leaf, 0, nodes["right"]).tolist(),
        missing_left=nodes["missing_go_to_left"].astype(bool).tolist(),
        values=np.where(leaf, nodes["value"], 0.0).tolist(),
    )


def _check_equal(part: Part, scores: Floats, expected: Floats) -> None:
    """Raise AssertionError where our arithmetic is not scikit-learn's: its trees are private."""
    gap = np.abs(part.combined(scores) - expected).max()
    assert gap <= _TOLERANCE, f"scikit-learn's results differ by {gap}"


def _combiner(
    part: Part,
    directions: Sequence[int],
    scores: Floats,
    columns: DirectedColumns,
) -> Combiner:
    missing = (np.isnan(scores).sum(axis=0) > 0).tolist()
    return Combiner(
        [CombinedColumn(*each) for each in zip(columns.names, directions, missing, strict=True)],
        part,
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
        remedy = "label more rows, or see which count as good"
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
        sides = [losses[grades >= 0.5], losses[grades < 0.5]]
        every = np.concatenate(sides)

        def mean(strata: Sequence[Floats]) -> Floats:
            counts = np.concatenate(strata)
            return np.asarray(counts @ every / counts.sum())

        found = estimates(
            [np.ones(len(side)) for side in sides if len(side)], mean, self._bootstrap
        )
        return Estimate(*found.tolist())


def _facts(column: CombinedColumn) -> dict[str, str]:
    """Return the cells of a column."""
    direction = {1: "higher", -1: "lower", 0: "unused"}[column.direction]
    return {"direction": direction, "missing": "yes" if column.missing else "no"}
