"""Sets, years and grades against what a few lines say of them."""

from __future__ import annotations

import numpy as np
import pytest

from bitextfilter.errors import SettingsError
from bitextfilter.evaluation.result import Bootstrap, Estimate
from bitextfilter.evaluation.sts import (
    Correlations,
    RatedSet,
    grade_means,
    measure_correlations,
    pearson,
    spearman,
    welch_test,
)

BOOTSTRAP = Bootstrap(200, 3)


def rated(name: str, rows: int = 60, seed: int = 1, noise: float = 1.0) -> RatedSet:
    generator = np.random.default_rng(seed)
    human = generator.integers(0, 6, rows).astype(np.float64)
    return RatedSet(name, human, human + noise * generator.normal(size=rows), skipped=seed)


def test_sets_years_and_all() -> None:
    sets = [rated("b.x", seed=1), rated("a.x", 30, 2), rated("b.y", 90, 3), rated("c", 40, 4)]
    found = {each.name: each for each in measure_correlations(sets, BOOTSTRAP)}
    assert list(found) == ["b.x", "a.x", "b.y", "c", "mean b", "mean"]
    for each in sets:
        result = found[each.name]
        assert (result.sets, result.pairs, result.skipped) == (
            (each.name,),
            len(each.human),
            each.skipped,
        )
        assert result.pearson and result.spearman
        assert result.pearson.value == 100 * (pearson(each.human, each.scores) or 0)
        assert result.spearman.value == 100 * (spearman(each.human, each.scores) or 0)
    assert (found["mean b"].sets, found["mean b"].pairs) == (("b.x", "b.y"), 150)
    assert (found["mean"].pairs, found["mean"].skipped) == (220, 10)
    for name, parts in (("mean b", ["b.x", "b.y"]), ("mean", ["a.x", "b.x", "b.y", "c"])):
        for kind in ("pearson", "spearman"):
            values = [getattr(found[part], kind).value for part in parts]
            assert getattr(found[name], kind).value == pytest.approx(sum(values) / len(values))


def test_one_set_has_no_mean_and_none_is_nothing() -> None:
    assert [each.name for each in measure_correlations([rated("b.x")], BOOTSTRAP)] == ["b.x"]
    with pytest.raises(ValueError, match="at least one"):
        measure_correlations([], BOOTSTRAP)


def test_sets_of_one_name_are_kept_apart() -> None:
    found = measure_correlations([rated("b.x", seed=1), rated("b.x", seed=2)], BOOTSTRAP)
    assert [each.name for each in found] == ["b.x", "b.x", "mean b", "mean"]
    assert found[0].pearson != found[1].pearson


def test_intervals_are_those_of_rows_drawn_anew() -> None:
    """The interval by Fisher's transformation is close, and a mean's is narrower than a set's."""
    generator = np.random.default_rng(8)
    sets = []
    for name in ("a.x", "a.y", "a.z", "a.u"):
        human = generator.normal(size=400)
        sets.append(RatedSet(name, human, human + generator.normal(size=400)))
    first, *_, mean, _ = (each.pearson for each in measure_correlations(sets, Bootstrap(1000, 1)))
    assert first and mean
    ends = np.tanh(np.arctanh(first.value / 100) + np.array([-1.96, 1.96]) / np.sqrt(397))
    assert (first.low, first.high) == pytest.approx(tuple(100 * ends), abs=1.5)
    assert (mean.high - mean.low) == pytest.approx((first.high - first.low) / 2, rel=0.25)


@pytest.mark.parametrize("constant", ["human scores", "scores"])
def test_a_constant_correlates_with_nothing(constant: str) -> None:
    values, same = np.arange(3.0), np.full(3, 0.1)
    pair = (same, values) if constant == "human scores" else (values, same)
    odd, good = RatedSet("a.odd", *pair), rated("a.good")
    assert (odd.constant, good.constant) == (constant, None)
    found = {each.name: each for each in measure_correlations([odd, good], BOOTSTRAP)}
    assert [found[name].pearson for name in ("a.odd", "mean a", "mean")] == [None] * 3
    assert [found[name].spearman for name in ("a.odd", "mean a", "mean")] == [None] * 3
    assert found["a.good"].pearson
    assert found["a.odd"].figure == "pearson = - spearman = -"


def test_draws_without_variance_are_left_out() -> None:
    """Two rows correlate perfectly or, drawn as one, not at all; one draw may say nothing."""
    pair = RatedSet("two", np.array([1.0, 2.0]), np.array([5.0, 3.0]))
    (found,) = measure_correlations([pair], BOOTSTRAP)
    assert found.pearson == pytest.approx((-100, -100, -100))
    highs = []
    for seed in range(20):
        (found,) = measure_correlations([pair], Bootstrap(1, seed))
        assert found.pearson and found.pearson[:2] == pytest.approx((-100, -100))
        highs.append(round(found.pearson.high))
    assert set(highs) == {-100, 100}


@pytest.mark.parametrize(
    ("human", "scores"),
    [([1.0], [1.0]), ([1.0, 2.0], [1.0]), ([1.0, np.nan], [1.0, 2.0]), ([1.0, 2.0], [1.0, np.inf])],
)
def test_what_is_no_set(human: list[float], scores: list[float]) -> None:
    with pytest.raises(ValueError, match="score"):
        RatedSet("x", np.array(human), np.array(scores))


def test_few_grades_are_as_they_are() -> None:
    pytest.importorskip("scipy")
    human = np.array([2.5, 1.0, 2.5, 1.0, 4.0, 2.5, 1.0])
    scores = np.array([0.4, 0.1, 0.6, 0.3, 0.9, 0.8, 0.2])
    low, middle, high = grade_means(RatedSet("x", human, scores))
    assert (low.grade, low.pairs, low.p, low.differs) == (1.0, 3, None, None)
    assert (middle.grade, middle.pairs, middle.mean) == (2.5, 3, pytest.approx(0.6))
    assert middle.deviation == pytest.approx(0.2)
    assert middle.p == welch_test(scores[human == 1.0], scores[human == 2.5])
    assert (high.grade, high.pairs, high.mean) == (4.0, 1, 0.9)
    assert (high.deviation, high.p, high.differs) == (None, None, None)


def test_many_grades_are_rounded() -> None:
    pytest.importorskip("scipy")
    human = np.arange(0, 3, 0.25)
    found = grade_means(RatedSet("x", human, human))
    assert [(each.grade, each.pairs) for each in found] == [(0, 2), (1, 4), (2, 4), (3, 2)]
    found = grade_means(RatedSet("x", human[:4], human[:4]), step=0.3)
    assert [(each.grade, each.pairs) for each in found] == [(0, 1), (0.3, 1), (0.6, 1), (0.9, 1)]
    with pytest.raises(SettingsError, match="too small"):
        grade_means(RatedSet("x", 1e300 * human, human), step=1e-300)


def test_neighbouring_grades_differ_or_not() -> None:
    pytest.importorskip("scipy")
    generator = np.random.default_rng(6)
    human = np.repeat([1.0, 2.0, 3.0], 50)
    scores = np.repeat([0.1, 0.1, 0.9], 50) + generator.normal(0, 0.1, 150)
    assert [each.differs for each in grade_means(RatedSet("x", human, scores))] == [
        None,
        False,
        True,
    ]


def test_signature() -> None:
    both = Estimate(71.234, 70, 72), Estimate(-1.0, -2, 2)
    one = Correlations("a.x", ("a.x",), 750, 2, *both)
    assert one.figure == "pearson = 71.23 spearman = -1.00"
    assert one.facts == {"n": 750, "skipped": 2, "set": "a.x"}
    mean = Correlations("mean a", ("a.x", "a.y"), 750, 2, *both)
    assert mean.facts == {"n": 750, "skipped": 2, "sets": 2}
