"""Filtering figures and cuts against definitions written out as loops."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bitextfilter.arrays import Floats
from bitextfilter.evaluation.filtering import (
    Contrast,
    FilteringFigure,
    Labelled,
    mean_precision,
    measure_filtering,
    roc_auc,
    score_cells,
)
from bitextfilter.evaluation.result import Bootstrap, resamples
from bitextfilter.evaluation.thresholds import CUT_FIGURES, RECALLS, Cut, CutSettings, estimate_cuts

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


def average_precision(clean: Floats, noise: Floats) -> float:
    (one, right), (other, wrong) = score_cells(clean), score_cells(noise)
    return mean_precision(right, Contrast(one, other).not_below(wrong), right.sum())


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
        ([1.0, math.nan], [0, 1], ["a"]), ([1.0, 2.0], [0], ["a"]), ([1.0, 2.0], [0, 0], ["a"]),
        ([1.0, 2.0], [1, 1], ["a"]), ([1.0, 2.0], [0, 2], ["a"]), ([1.0, 2.0], [0, 0], []),
    ],
)  # fmt: skip
def test_rows_that_cannot_be_measured(
    scores: list[float], labels: list[int], kinds: list[str]
) -> None:
    with pytest.raises(ValueError, match=r"score|label|rows"):
        Labelled(np.array(scores), np.array(labels), kinds)


Row = tuple[float, int, int]
"""Score, label, words."""

SOME_SCORE = st.sampled_from([-math.inf, -1.5, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 2.0])
ROW = st.tuples(SOME_SCORE, st.integers(0, 2), st.integers(0, 9))
ROWS = st.lists(ROW, max_size=30).map(lambda rows: [(0.2, 0, 3), (0.1, 1, 2), (0.3, 2, 1), *rows])

SEEKING = st.sampled_from([{}, {"precision": 0.8}, {"recall": 0.6}, {"precision": 0.999}])


def cuts_of(rows: list[Row], settings: CutSettings) -> list[Cut]:
    scores, labels, words = (np.array(column) for column in zip(*rows, strict=True))
    return estimate_cuts(Labelled(scores.astype(float), labels, ["one", "other"]), words, settings)


def naive(rows: list[Row], cut: float, share: float) -> dict[str, float]:
    """Figures of a corpus in which each clean row weighs so much, each noisy one so much."""
    clean = len([label for _, label, _ in rows if label == 0])
    weight = {True: (1 - share) / clean, False: share / (len(rows) - clean)}
    right = kept = words_kept = words = 0.0
    for score, label, count in rows:
        mass = weight[label == 0]
        words += mass * count
        if score >= cut:
            kept += mass
            words_kept += mass * count
            right += mass * (label == 0)
    recall = right / (1 - share)
    precision = right / kept
    return {
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / (precision + recall),
        "rows": kept,
        "words": words_kept / words,
    }


def naive_suggestion(rows: list[Row], share: float, wish: dict[str, float]) -> float | None:
    """Try every clean score."""
    candidates = sorted({score for score, label, _ in rows if label == 0 and score > -math.inf})
    figures = {cut: naive(rows, cut, share) for cut in candidates}
    if "precision" in wish:
        good = [cut for cut in candidates if figures[cut]["precision"] >= wish["precision"] - 1e-12]
        return min(good, default=None)
    if "recall" in wish:
        good = [cut for cut in candidates if figures[cut]["recall"] >= wish["recall"] - 1e-12]
        return max(good, default=None)
    best = max(figures[cut]["f1"] for cut in candidates)
    return min(cut for cut in candidates if figures[cut]["f1"] >= best - 1e-12)


@given(ROWS, st.sampled_from([0.3, 0.01, 0.75]), SEEKING)
@example([(0.2, 0, 3), (0.1, 1, 2), (0.3, 2, 1), (0.2, 0, 0), (0.2, 1, 0), (0.4, 0, 0)], 0.75, {})
def test_cuts_are_those_of_counting(rows: list[Row], share: float, wish: dict[str, float]) -> None:
    cuts = cuts_of(rows, CutSettings(share, bootstrap=Bootstrap(2), **wish))
    assert [cut.threshold for cut in cuts] == sorted({cut.threshold for cut in cuts})
    for cut in cuts:
        expected = naive(rows, cut.threshold, share)
        assert tuple(cut.figures) == CUT_FIGURES == tuple(expected)
        for name, estimate in cut.figures.items():
            assert estimate.value == pytest.approx(expected[name], abs=1e-12), name
    suggested = naive_suggestion(rows, share, wish)
    assert [cut.threshold for cut in cuts if cut.suggested] == (
        [suggested] if suggested is not None else []
    )


def sample(n: int) -> list[Row]:
    generator = np.random.default_rng(4)
    labels = generator.integers(0, 3, n)
    scores = generator.normal(2.0 * (labels == 0), 1).round(3)
    return list(
        zip(scores.tolist(), labels.tolist(), generator.integers(1, 40, n).tolist(), strict=True)
    )


def test_the_cuts_shown_are_spread_over_recall() -> None:
    rows = sample(3000)
    clean = sorted(score for score, label, _ in rows if label == 0)
    thresholds = {cut.threshold for cut in cuts_of(rows, CutSettings(bootstrap=Bootstrap(2)))}
    for recall in RECALLS:
        fitting = [s for s in clean if len([c for c in clean if c >= s]) >= recall * len(clean)]
        assert fitting[-1] in thresholds
    assert len(RECALLS) <= len(thresholds) <= len(RECALLS) + 1


def test_without_a_share_it_is_that_of_the_rows() -> None:
    rows = sample(300)
    scores, labels, words = (np.array(column) for column in zip(*rows, strict=True))
    labelled = Labelled(scores, labels, ["one", "other"])
    for cut in estimate_cuts(labelled, words, CutSettings(bootstrap=Bootstrap(2))):
        plain = measure_filtering(labelled, cut.threshold, Bootstrap(2))
        values = {r.measure: r.estimate.value for r in plain if r.kind == "all"}
        for name in ("precision", "recall", "f1"):
            assert cut.figures[name].value == pytest.approx(values[name], abs=1e-12)
        assert cut.figures["rows"].value == pytest.approx(np.mean(scores >= cut.threshold))


def test_more_noise_is_less_precision() -> None:
    rows = sample(300)
    few, many = (
        cuts_of(rows, CutSettings(s, recall=0.9, bootstrap=Bootstrap(2))) for s in (0.1, 0.6)
    )
    assert [cut.threshold for cut in few] == [cut.threshold for cut in many]
    for one, other in zip(few, many, strict=True):
        assert one.figures["recall"].value == other.figures["recall"].value
        assert one.figures["precision"].value >= other.figures["precision"].value


def test_intervals_are_as_wide_as_rows_are_few() -> None:
    """Recall and words are means over rows: the normal approximation is close."""
    rows = sample(2000)
    clean = [row for row in rows if row[1] == 0]
    cuts = cuts_of(rows, CutSettings(0.3, bootstrap=Bootstrap(2000)))
    (cut,) = (cut for cut in cuts if 0.79 < cut.figures["recall"].value < 0.81)
    value, low, high = cut.figures["recall"]
    half = 1.96 * math.sqrt(value * (1 - value) / len(clean))
    assert (value - low, high - value) == pytest.approx((half, half), rel=0.15)
    for name in CUT_FIGURES:
        estimate = cut.figures[name]
        assert estimate.low < estimate.value < estimate.high
    assert cut.figures["words"].high - cut.figures["words"].low > (
        cut.figures["rows"].high - cut.figures["rows"].low
    )
