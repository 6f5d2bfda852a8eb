"""Sets, years and grades against what a few lines say of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fractions import Fraction
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.errors import DeviceError, InputError, SettingsError
from bitextfilter.evaluation.result import Bootstrap, Estimate
from bitextfilter.evaluation.sts import (
    Correlations,
    Paired,
    RatedColumns,
    RatedSet,
    grade_means,
    measure_correlations,
    pearson,
    read_rated_pairs,
    spearman,
    welch_test,
)
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import Row, WantedColumn

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


def test_a_file_is_read_without_the_rows_that_have_no_score(tmp_path: Path) -> None:
    path = tmp_path / "sts.tsv"
    path.write_text("1.5\ta\tb\textra\n\tc\td\n 2e0 \te\tf\n \tg\th\n")
    assert read_rated_pairs(str(path)) == ([1.5, 2.0], ["a", "e"], ["b", "f"], 2)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("good\ta\tb", "the human score 'good' is no number"),
        ("inf\ta\tb", "the human score 'inf' is no number"),
        ("3\ta\t ", "the target is empty"),
        ("3\ta", r"2 columns, expected at least 3 \(column 3\)"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, row: str, message: str) -> None:
    path = tmp_path / "sts.tsv"
    path.write_text(f"1\ta\tb\n{row}\n2\ta\tb\n3\ta\tb\n")
    with pytest.raises(InputError, match=rf"sts.tsv:2: {message}; .*mend the row"):
        read_rated_pairs(str(path))


def test_faults_of_rows() -> None:
    columns = RatedColumns(first=(WantedColumn("score", "--column", 2),))
    reader = RowReader([b"x\t1\n", b"x\t?\n", b"x\t\n"], "rows", columns)
    good, bad, blank = (row for row in reader if isinstance(row, Row))
    assert columns.fault(good) is None and columns.complete(good)
    assert columns.fault(blank) is None and not columns.complete(blank)
    reason, remedy = columns.fault(bad) or ("", "")
    assert reason == "the score '?' is no number" and "--column says where it is" in remedy


SERIES = st.integers(1, 9).flatmap(
    lambda n: st.tuples(*2 * [st.lists(st.integers(-3, 3), min_size=n, max_size=n)])
)


def naive_pearson(one: Sequence[Fraction], other: Sequence[Fraction]) -> float | None:
    """Straight from the definition, in exact fractions but for the root."""
    n = len(one)
    first, second = sum(one) / Fraction(n), sum(other) / Fraction(n)
    product = sum((a - first) * (b - second) for a, b in zip(one, other, strict=True))
    squares = sum((a - first) ** 2 for a in one) * sum((b - second) ** 2 for b in other)
    return None if squares == 0 else float(product) / sqrt(squares)


def naive_ranks(values: Sequence[int]) -> list[Fraction]:
    """The mean of the places that a value's copies would take."""
    ordered = sorted(values)
    places = [[i for i, other in enumerate(ordered, 1) if other == value] for value in values]
    return [Fraction(sum(each), len(each)) for each in places]


@given(SERIES)
def test_as_the_naive_loops(series: tuple[list[int], list[int]]) -> None:
    one, other = series
    exact = [[Fraction(value) for value in each] for each in series]
    expected = naive_pearson(*exact)
    assert pearson(one, other) == (expected if expected is None else pytest.approx(expected))
    expected = naive_pearson(naive_ranks(one), naive_ranks(other))
    assert spearman(one, other) == (expected if expected is None else pytest.approx(expected))


@given(SERIES, st.data())
def test_a_row_that_counts_twice_is_two_rows(
    series: tuple[list[int], list[int]], data: st.DataObject
) -> None:
    n = len(series[0])
    counts = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any))
    one, other = (np.repeat(np.array(each), counts) for each in series)
    found = Paired(*series)(np.array(counts, dtype=np.float64))
    expected = [pearson(one, other), spearman(one, other)]
    assert [None if np.isnan(figure) else figure for figure in found] == [
        None if figure is None else pytest.approx(figure) for figure in expected
    ]


def test_as_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    generator = np.random.default_rng(5)
    one = generator.normal(size=300).round(1)
    other = (one + generator.normal(size=300)).round(1)
    assert pearson(one, other) == pytest.approx(stats.pearsonr(one, other).statistic, abs=1e-12)
    assert spearman(one, other) == pytest.approx(stats.spearmanr(one, other).statistic, abs=1e-12)


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1.0, 1e200, 1e307])
def test_the_scale_does_not_matter(scale: float) -> None:
    one, other = np.array([1.0, 2.0, 4.0, 7.0]), np.array([2.0, 1.0, 5.0, 6.0])
    assert pearson(scale * one, other) == pytest.approx(pearson(one, other))
    assert spearman(scale * one, other) == pytest.approx(spearman(one, other))


def test_what_is_constant_is_undefined() -> None:
    """Though the mean of 0.1 thrice is not 0.1 in floating point."""
    assert pearson([0.1, 0.1, 0.1], [1, 2, 3]) is None
    assert spearman([1, 2, 3], [0.1, 0.1, 0.1]) is None
    assert pearson([1], [2]) is None


def test_perfect_is_one_and_no_more() -> None:
    values = np.random.default_rng(2).normal(size=50)
    assert pearson(values, 3 * values + 1) == pytest.approx(1, abs=1e-15)
    assert abs(pearson(values, -values) or 0) <= 1
    assert spearman(values, np.exp(values)) == 1


@pytest.mark.parametrize("other", [[1, 2], [1, 2, np.nan], [1, 2, np.inf], [[1, 2, 3]]])
def test_what_is_no_series(other: list[float]) -> None:
    with pytest.raises(ValueError, match="series"):
        pearson([1, 2, 3], other)


def test_welch_as_scipy_and_as_the_formula() -> None:
    stats = pytest.importorskip("scipy.stats")
    generator = np.random.default_rng(4)
    one, other = generator.normal(0, 1, 12), generator.normal(0.8, 3, 40)
    expected = stats.ttest_ind(one, other, equal_var=False)
    assert welch_test(one, other) == pytest.approx(expected.pvalue)
    parts = one.var(ddof=1) / 12, other.var(ddof=1) / 40
    t = (one.mean() - other.mean()) / sqrt(sum(parts))
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / 11 + parts[1] ** 2 / 39)
    assert welch_test(one, other) == pytest.approx(2 * stats.t.sf(abs(t), freedom))


def test_welch_where_it_is_undefined() -> None:
    pytest.importorskip("scipy.stats")
    same, more = np.full(4, 0.1), np.array([1.0, 2.0, 3.0])
    assert welch_test(more[:1], more) is None
    assert welch_test(same, np.full(3, 0.2)) is None
    assert 0 < (welch_test(same, more) or 0) < 1


def test_welch_without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(DeviceError, match=r"pip install 'bitextfilter\[statistics\]'"):
        welch_test(np.arange(3.0), np.arange(4.0))
