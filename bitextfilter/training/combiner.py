"""Training of a combiner of scores, by scikit-learn.

``logistic`` is logistic regression with a ridge (scikit-learn: Pedregosa et al. 2011).
``monotone`` is gradient boosting of small trees on histograms (Ke et al. 2017), with constraints on
the direction of each score. A grade between 0 and 1 counts as that part of a
good row and the rest of a bad one.
``isolation-forest`` needs no grades: it tells how usual a row is (Liu, Ting & Zhou 2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bitextfilter.arrays import Floats, Indices
from bitextfilter.errors import DeviceError, SettingsError
from bitextfilter.evaluation.separation import roc_auc
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
from bitextfilter.settings import Settings, group_rows, setting

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
    leaf_rows: int = setting(
        10, "rows that a leaf has at least", within=">= 1", needs="kind=monotone"
    )

    tree_rows: int = setting(
        256,
        "rows drawn for a tree",
        within=">= 2, <= 100000",
        needs="kind=isolation-forest",
    )
    forest_seed: int = setting(1, "seed of the trees", within=">= 0", needs="kind=isolation-forest")

    @staticmethod
    def rows() -> list[tuple[str, str, str, str]]:
        """Every setting as a row."""
        return group_rows(CombinerSettings())


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


def fold_of(good: Any, seed: int) -> Indices:
    """Return the fold of each row ``(n,)``, drawn by *seed* among the good and the bad rows."""
    generator = np.random.default_rng(seed)
    folds = np.zeros(len(good), np.int64)
    for kind in (True, False):
        places = np.flatnonzero(good == kind)
        folds[generator.permutation(places)] = np.arange(len(places)) % FOLDS
    return folds


def column_direction(scores: Floats, grades: Floats) -> int:
    """Return 1 if the good rows among those with a score score higher, by the AUC; else -1."""
    known = ~np.isnan(scores)
    good, bad = scores[known & (grades >= 0.5)], scores[known & (grades < 0.5)]
    return -1 if len(good) and len(bad) and roc_auc(good, bad) < 0.5 else 1


def _sklearn() -> Any:
    try:
        import sklearn.ensemble
        import sklearn.linear_model
    except ImportError as error:
        remedy = "pip install 'bitextfilter[combiner]'"
        raise DeviceError(f"training a combiner needs scikit-learn: {remedy}") from error
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
