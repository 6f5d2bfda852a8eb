"""Filtering figures against definitions written out as loops."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.arrays import Floats
from bitextfilter.evaluation.filtering import (
    FilteringFigure,
    Labelled,
    average_precision,
    measure_filtering,
    roc_auc,
)
from bitextfilter.evaluation.result import Bootstrap, resamples

SCORE = st.sampled_from([-math.inf, -2.0, -0.5, 0.0, 0.25, 0.5, 1.0, 3.0])
SOME = st.lists(SCORE, min_size=1, max_size=25)


def naive_auc(clean: Sequence[float], noise: Sequence[float]) -> float:
    wins = 0.0
    for one in clean:
        for other in noise:
            wins += 1.0 if one > other else 0.5 if one == other else 0.0
    return wins / (len(clean) * len(noise))


def naive_average_precision(clean: Sequence[float], noise: Sequence[float]) -> float:
    total, recall_before = 0.0, 0.0
    for threshold in sorted({*clean, *noise}, reverse=True):
        right = len([score for score in clean if score >= threshold])
        wrong = len([score for score in noise if score >= threshold])
        recall = right / len(clean)
        total += (recall - recall_before) * right / (right + wrong)
        recall_before = recall
    return total


def naive_cut(clean: Sequence[float], noise: Sequence[float], cut: float) -> dict[str, float]:
    right = len([score for score in clean if score >= cut])
    wrong = len([score for score in noise if score >= cut])
    precision = right / (right + wrong) if right + wrong else 0.0
    recall = right / len(clean)
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    removed = len([score for score in noise if score < cut]) / len(noise)
    return {"precision": precision, "recall": recall, "f1": f1, "removed": removed}


def labelled(*groups: Sequence[float]) -> Labelled:
    """Clean scores, then those of each kind, in an order that mixes them."""
    scores = np.concatenate([np.array(group, dtype=np.float64) for group in groups])
    labels = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    order = np.random.default_rng(1).permutation(len(scores))
    return Labelled(scores[order], labels[order], [f"kind{i}" for i in range(1, len(groups))])


def by_name(results: list[FilteringFigure]) -> dict[tuple[str, str], FilteringFigure]:
    return {(result.measure, result.kind): result for result in results}


@given(SOME, SOME)
def test_auc_and_average_precision_are_those_of_the_definition(
    clean: list[float], noise: list[float]
) -> None:
    arrays = np.array(clean), np.array(noise)
    assert roc_auc(*arrays) == pytest.approx(naive_auc(clean, noise), abs=1e-12)
    naive = naive_average_precision(clean, noise)
    assert average_precision(*arrays) == pytest.approx(naive, abs=1e-12)


@given(SOME, SOME)
def test_auc_the_other_way_round_is_the_rest(clean: list[float], noise: list[float]) -> None:
    arrays = np.array(clean), np.array(noise)
    assert roc_auc(*arrays) + roc_auc(*arrays[::-1]) == pytest.approx(1, abs=1e-12)


@given(SOME, SOME)
def test_only_the_order_of_scores_counts(clean: list[float], noise: list[float]) -> None:
    before = np.array(clean), np.array(noise)
    after = tuple(np.arctan(scores) * 7 - 100 for scores in before)
    assert roc_auc(*before) == roc_auc(*after)
    assert average_precision(*before) == average_precision(*after)


def test_known_figures() -> None:
    clean, noise = np.array([0.35, 0.8]), np.array([0.1, 0.4])
    assert roc_auc(clean, noise) == 0.75
    assert average_precision(clean, noise) == pytest.approx(0.5 * 1 + 0.5 * 2 / 3)
    assert roc_auc(np.ones(3), np.ones(4)) == 0.5
    assert average_precision(np.ones(3), np.ones(1)) == 0.75


@given(SOME, SOME, SOME, st.sampled_from([-math.inf, -1.0, 0.25, 9.0, math.inf]))
def test_each_kind_and_all_of_them(
    clean: list[float], one: list[float], other: list[float], cut: float
) -> None:
    rows = labelled(clean, one, other)
    found = by_name(measure_filtering(rows, cut, Bootstrap(2)))
    assert len(found) == 6 * 3
    for kind, noise in (("all", [*one, *other]), ("kind1", one), ("kind2", other)):
        expected = {
            "auc": naive_auc(clean, noise),
            "average_precision": naive_average_precision(clean, noise),
            **naive_cut(clean, noise, cut),
        }
        for measure, value in expected.items():
            result = found[measure, kind]
            assert result.estimate.value == pytest.approx(value, abs=1e-12), (measure, kind)
            assert (result.clean, result.noise) == (len(clean), len(noise))


def test_measures_are_in_order() -> None:
    plain = measure_filtering(labelled([1], [0], [0]), None, Bootstrap(2))
    assert [(r.measure, r.kind) for r in plain] == [
        (measure, kind)
        for measure in ("auc", "average_precision")
        for kind in ("all", "kind1", "kind2")
    ]


def cells(scores: Sequence[float]) -> tuple[list[float], Floats]:
    """Distinct scores from the best down, and how many rows have each."""
    distinct = sorted(set(scores), reverse=True)
    return distinct, np.array([float(list(scores).count(score)) for score in distinct])


@pytest.mark.parametrize("digits", [1, 9], ids=["few scores", "all scores distinct"])
def test_intervals_are_those_of_rows_drawn_anew(digits: int) -> None:
    """The same resamples, row by row, through the naive definitions."""
    generator = np.random.default_rng(3)
    sizes = ((40, 1.5), (25, 0.0), (12, 0.5))
    groups = [generator.normal(mean, 1, n).round(digits).tolist() for n, mean in sizes]
    bootstrap = Bootstrap(60, seed=5)
    found = by_name(measure_filtering(labelled(*groups), 0.7, bootstrap))
    distinct, counts = zip(*(cells(group) for group in groups), strict=True)
    drawn: dict[tuple[str, str], list[float]] = {}
    for resample in resamples(counts, bootstrap):
        clean, one, other = (
            [score for score, n in zip(scores, column, strict=True) for _ in range(int(n))]
            for scores, column in zip(distinct, resample, strict=True)
        )
        assert [len(clean), len(one), len(other)] == [40, 25, 12]
        for kind, noise in (("all", [*one, *other]), ("kind1", one), ("kind2", other)):
            drawn.setdefault(("auc", kind), []).append(naive_auc(clean, noise))
            average = naive_average_precision(clean, noise)
            drawn.setdefault(("average_precision", kind), []).append(average)
            for measure, value in naive_cut(clean, noise, 0.7).items():
                drawn.setdefault((measure, kind), []).append(value)
    assert drawn.keys() == found.keys()
    for key, values in drawn.items():
        estimate = found[key].estimate
        ends = np.quantile(values, [0.025, 0.975])
        assert (estimate.low, estimate.high) == pytest.approx(tuple(ends), abs=1e-12), key


@pytest.mark.gate(0)
def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    """Normal scores a unit apart: the AUC is known, 95 % of the intervals hold it."""
    truth = 0.5 * (1 + math.erf(1 / 2))
    generator = np.random.default_rng(11)
    held = 0
    for seed in range(200):
        rows = labelled(generator.normal(1, 1, 80).tolist(), generator.normal(0, 1, 80).tolist())
        results = measure_filtering(rows, None, Bootstrap(200, seed))
        (estimate,) = (r.estimate for r in results if (r.measure, r.kind) == ("auc", "all"))
        held += estimate.low <= truth <= estimate.high
    assert 0.90 <= held / 200 <= 0.98


def test_a_seed_gives_the_same_intervals() -> None:
    generator = np.random.default_rng(2)
    rows = labelled(generator.normal(1, 1, 50).tolist(), generator.normal(0, 1, 50).tolist())
    one, same, other = (measure_filtering(rows, 0.5, Bootstrap(50, seed)) for seed in (1, 1, 2))
    assert one == same
    assert one != other


@pytest.mark.parametrize(
    ("scores", "labels", "kinds"),
    [
        ([1.0, math.nan], [0, 1], ["a"]),
        ([1.0, 2.0], [0], ["a"]),
        ([1.0, 2.0], [0, 0], ["a"]),
        ([1.0, 2.0], [1, 1], ["a"]),
        ([1.0, 2.0], [0, 2], ["a"]),
        ([1.0, 2.0], [0, 0], []),
    ],
)
def test_rows_that_cannot_be_measured(
    scores: list[float], labels: list[int], kinds: list[str]
) -> None:
    with pytest.raises(ValueError, match=r"score|label|rows"):
        Labelled(np.array(scores), np.array(labels), kinds)
