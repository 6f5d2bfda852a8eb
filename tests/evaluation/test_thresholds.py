"""Cuts against counting by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bitextfilter.evaluation.filtering import Labelled, measure_filtering
from bitextfilter.evaluation.result import Bootstrap
from bitextfilter.evaluation.thresholds import (
    CUT_FIGURES,
    RECALLS,
    Cut,
    CutSettings,
    estimate_cuts,
)

Row = tuple[float, int, int]
"""Score, label, words."""

SCORE = st.sampled_from([-math.inf, -1.5, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 2.0])
ROW = st.tuples(SCORE, st.integers(0, 2), st.integers(0, 9))
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
