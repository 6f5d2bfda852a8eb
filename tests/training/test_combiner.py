"""Combiners of scores: scikit-learn's own probabilities, directions, and missing scores."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from bitextfilter.arrays import Floats
from bitextfilter.errors import ModelError, SettingsError
from bitextfilter.io.records import json_bytes, parse_json
from bitextfilter.scoring.score_combiner import Combiner, MonotonePart, combiner_of
from bitextfilter.training.combiner import (
    FOLDS,
    CombinerSettings,
    DirectedColumns,
    cross_validated,
    fold_of,
    train_combiner,
    tree_settings,
)

pytest.importorskip("sklearn")

NAMES = ("a", "b", "c")


def task(rows: int = 300, seed: int = 1, missing: bool = True) -> tuple[Floats, Floats]:
    """A good score, a bad one that is lower for good rows, noise; grades, some between 0 and 1."""
    draw = np.random.default_rng(seed)
    grades = np.round(draw.random(rows) * 4) / 4
    noise = draw.normal(size=(rows, 3))
    scores = np.stack([3 * grades, -2 * grades, 0 * grades], axis=1) + noise
    if missing:
        scores[draw.random(rows) < 0.2, 1] = np.nan
    return scores, grades


def settings(kind: str, *directions: int) -> tuple[DirectedColumns, CombinerSettings]:
    return DirectedColumns(NAMES[: len(directions)], directions), CombinerSettings(kind)


def read_again(made: Combiner) -> Combiner:
    return combiner_of(made.to_json(), "c.json")


def expanded(scores: Floats, grades: Floats) -> tuple[Floats, Floats, Floats]:
    """Each row twice, as good and as bad, with the weight of its grade."""
    return (
        np.vstack([scores] * 2),
        np.r_[np.ones(len(grades)), 0 * grades],
        np.r_[grades, 1 - grades],
    )


def test_logistic_is_that_of_scikit_learn() -> None:
    from sklearn.linear_model import LogisticRegression

    scores, grades = task()
    made = read_again(train_combiner(scores, grades, *settings("logistic", 0, 0, 0)))
    known = ~np.isnan(scores[:, 1])
    means, deviations = np.nanmean(scores, axis=0), np.nanstd(scores, axis=0)
    features = np.nan_to_num((scores - means) / deviations)
    features = np.column_stack([features, ~known])
    x, y, w = expanded(features, grades)
    expected = LogisticRegression(tol=1e-8, max_iter=10_000).fit(x, y, w).predict_proba(features)
    np.testing.assert_allclose(made(scores), expected[:, 1], atol=1e-6)
    assert [column.direction for column in made.columns[:2]] == [1, -1]
    assert [column.missing for column in made.columns] == [False, True, False]


def test_monotone_is_that_of_scikit_learn() -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier

    scores, grades = task()
    made = read_again(train_combiner(scores, grades, *settings("monotone", 1, -1, 0)))
    x, y, w = expanded(scores, grades)
    used, third = w > 0, made.columns[2].direction
    model = HistGradientBoostingClassifier(
        monotonic_cst=[1, -1, third], **tree_settings(CombinerSettings())
    )
    model.fit(x[used], y[used], w[used])
    others, _ = task(seed=2)
    expected = model.predict_proba(others)[:, 1]
    np.testing.assert_allclose(made(others), expected, atol=1e-6)
    assert isinstance(made.part, MonotonePart) and len(made.part.trees) == 100


def test_isolation_forest_is_that_of_scikit_learn() -> None:
    from sklearn.ensemble import IsolationForest

    scores, grades = task()
    unknown = np.full(len(grades), np.nan)
    made = read_again(train_combiner(scores, unknown, *settings("isolation-forest", 0, 0, 0)))
    medians = np.nanmedian(scores, axis=0)

    def features(rows: Floats) -> Floats:
        return np.hstack([np.where(np.isnan(rows), medians, rows), np.isnan(rows)])

    model = IsolationForest(max_samples=256, random_state=1).fit(features(scores))
    others = 5 * task(seed=2)[0]
    np.testing.assert_allclose(
        made(others), 1 + model.score_samples(features(others)), rtol=0, atol=1e-12
    )
    assert made(others).max() < 0.65 and made(np.full((1, 3), 99.0))[0] < made(scores).min()
    scores[0, 0] = np.nan
    assert np.isnan(made(scores)[0])


@pytest.mark.parametrize(("score", "other"), [(1, 1e300), (1e308, 1e308)])
def test_a_forest_of_equal_or_huge_scores(score: float, other: float) -> None:
    equal = np.full((30, 1), score)
    made = read_again(train_combiner(equal, np.zeros(30), *settings("isolation-forest", 0)))
    assert made(equal)[0] == made(np.array([[other]]))[0] == pytest.approx(0.5)


def test_a_huge_seed() -> None:
    scores, grades = task(60)
    columns = DirectedColumns(NAMES, (0, 0, 0))
    made = [CombinerSettings("isolation-forest", forest_seed=seed) for seed in (1, 2**40, 2**40)]
    files = [train_combiner(scores, grades, columns, each).to_json() for each in made]
    assert files[0] != files[1] == files[2]


def naive(part: MonotonePart, row: Floats) -> float:
    """The logit of a row, node by node."""
    total = part.intercept
    for tree in part.trees:
        node = 0
        while tree.columns[node] >= 0:
            value = row[tree.columns[node]]
            left = tree.missing_left[node] if math.isnan(value) else value <= tree.thresholds[node]
            node = (tree.left if left else tree.right)[node]
        total += tree.values[node]
    return total


@cache
def combined(kind: str) -> Combiner:
    return train_combiner(*task(100), *settings(kind, 0, 0, 0))


@pytest.mark.parametrize("kind", ["logistic", "monotone", "isolation-forest"])
def test_a_row_does_not_depend_on_the_others(kind: str) -> None:
    scores, _ = task(100)
    made = combined(kind)
    whole = made(scores)
    assert whole[:30].tolist() == [made(row[None])[0] for row in scores[:30]]
    assert read_again(made)(scores).tolist() == whole.tolist()
    if isinstance(made.part, MonotonePart):
        expected = [1 / (1 + math.exp(-naive(made.part, row))) for row in scores]
        np.testing.assert_allclose(whole, expected, rtol=1e-12)


def test_trees_keep_directions() -> None:
    scores, grades = task()
    made = train_combiner(scores, grades, *settings("monotone", 1, 0, 0))
    assert [column.direction for column in made.columns[:2]] == [1, -1]
    grid = np.linspace(-6, 6, 200)
    for row in scores[:20]:
        for place, direction in ((0, 1), (1, -1)):
            moved = np.tile(row, (len(grid), 1))
            moved[:, place] = grid
            assert (np.diff(made(moved)) * direction >= -1e-12).all()


def test_logistic_leaves_out_what_is_against_its_direction() -> None:
    scores, grades = task()
    made = train_combiner(scores, grades, *settings("logistic", 1, 1, 1))
    assert made.columns[0].direction == 1 and made.columns[1].direction == 0
    other = scores.copy()
    other[:, 1] = np.nan
    assert made(other).tolist() == made(scores).tolist()
    with pytest.raises(SettingsError, match="no column agrees"):
        train_combiner(scores[:, :1], grades, *settings("logistic", -1))


@pytest.mark.parametrize("kind", ["logistic", "monotone"])
def test_a_score_that_was_never_missing(kind: str) -> None:
    scores, grades = task()
    made = train_combiner(scores, grades, *settings(kind, 1, -1, 0))
    scores[3, 0] = scores[4, 1] = np.nan
    found = np.isnan(made(scores))
    assert found[3] and found.sum() == 1
    assert ((made(scores)[~found] > 0) & (made(scores)[~found] < 1)).all()


def test_folds() -> None:
    good = np.arange(53) % 3 == 0
    folds = fold_of(good, 7)
    for kind in (True, False):
        counts = np.bincount(folds[good == kind], minlength=FOLDS)
        assert counts.max() - counts.min() <= 1
    assert folds.tolist() == fold_of(good, 7).tolist() != fold_of(good, 8).tolist()
    scores, grades = task(100)
    found = cross_validated(scores, grades, *settings("logistic", 0, 0, 0), 7)
    out = fold_of(grades >= 0.5, 7) == 2
    made = train_combiner(scores[~out], grades[~out], *settings("logistic", 0, 0, 0))
    assert found[out].tolist() == made(scores[out]).tolist()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["format"], 2), (["kind"], "neural"), (["columns"], []), (["columns", 0, "direction"], 3),
        (["columns", 0, "name"], "b"), (["columns", 0, "name"], None), (["columns", 0, "more"], 1),
        (["facts"], 1), (["intercept"], None), (["intercept"], True), (["intercept"], math.inf),
        (["weights", 0], math.nan), (["weights"], [1.0]), (["means", 0], "x"),
        (["deviations", 1], 0), (["trees", 0, "columns", 0], 3),
        (["trees", 0, "columns", 0], 0.5), (["trees", 0, "left", 0], 0),
        (["trees", 0, "right", 0], 99), (["trees", 0, "right", 0], -1),
        (["trees", 0, "values"], []), (["trees", 0, "missing_left", 0], 1), (["trees", 0], {}),
        (["trees"], 3), (["usual"], 0), (["usual"], None), (["medians"], [1.0]),
        (["medians", 0], math.nan), (["forest", "trees"], []),
        (["forest", "trees", 0, "columns", 0], 6), (["forest", "trees", 0, "values", -1], -1),
    ],
)  # fmt: skip
def test_damaged_files_are_refused(path: list[str | int], value: object) -> None:
    kind = "monotone" if path[0] == "trees" else "logistic"
    if path[0] in ("usual", "medians", "forest"):
        kind, path = "isolation-forest", path[path[0] == "forest" :]
    found = parse_json(combined(kind).to_json())
    place = found
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    with pytest.raises(ModelError, match=r"c\.json: damaged combiner: "):
        combiner_of(json_bytes(found), "c.json")


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"{}", b"\xff", b'{"kind": "logistic"}'])
def test_other_files_are_refused(text: bytes) -> None:
    with pytest.raises(ModelError, match=r"c\.json: damaged combiner: "):
        combiner_of(text, "c.json")
