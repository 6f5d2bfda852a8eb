"""Correlations against naive loops and SciPy."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.errors import DeviceError
from bitextfilter.evaluation.sts import (
    Paired,
    pearson,
    spearman,
    welch_test,
)

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
