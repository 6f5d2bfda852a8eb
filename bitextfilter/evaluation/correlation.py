"""Correlation of two series of numbers, and Welch's test of two means.

Pearson's correlation, and Spearman's, which is Pearson's of the ranks: values that tie have the
mean of their ranks. Either is undefined where a series has one value only.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
from numpy.typing import ArrayLike

from bitextfilter.errors import DeviceError
from bitextfilter.evaluation.bootstrap import Counts, Floats

__all__ = ["Paired", "pearson", "scipy_statistics", "spearman", "welch_test"]


class Paired:
    """Two numbers for each of ``n`` rows: their correlations, however often each row counts."""

    def __init__(self, one: ArrayLike, other: ArrayLike) -> None:
        """Take two series of finite numbers, each ``(n,)``.

        Raises ValueError where they differ in number, or hold what is not finite.
        """
        self._series = _Series(one), _Series(other)
        if self._series[0].values.shape != self._series[1].values.shape:
            raise ValueError("series of different lengths")

    def __call__(self, counts: Counts) -> Floats:
        """Return Pearson's and Spearman's correlation, ``(2,)``, -1 to 1; NaN for undefined.

        *counts* ``(n,)`` says how often each row is there: 1 each for the rows as they are.
        """
        ranks = self._series[0].ranks(counts), self._series[1].ranks(counts)
        if not all(np.ptp(each[counts > 0]) > 0 for each in ranks):
            return np.full(2, np.nan)
        one, other = (series.values for series in self._series)
        return np.array([_correlation(one, other, counts), _correlation(*ranks, counts)])


class _Series:
    """Numbers, and which of them are the same."""

    def __init__(self, numbers: ArrayLike) -> None:
        values = np.asarray(numbers, dtype=np.float64)
        if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
            raise ValueError("a series is one or more finite numbers")
        self.values: Floats = values / (np.abs(values).max() or 1.0)
        distinct, self._places = np.unique(values, return_inverse=True)
        self._distinct = len(distinct)

    def ranks(self, counts: Counts) -> Floats:
        """Return the rank from 1 of each number ``(n,)``, the mean rank of all that tie with it."""
        copies = np.bincount(self._places, counts, minlength=self._distinct)
        ranks: Floats = (np.cumsum(copies) - (copies - 1) / 2)[self._places]
        return ranks


def _correlation(one: Floats, other: Floats, counts: Counts) -> float:
    """Return Pearson's correlation of rows that count so often; NaN where there is no spread."""
    total = counts.sum()
    first, second = one - counts @ one / total, other - counts @ other / total
    spread = np.sqrt(counts @ first**2) * np.sqrt(counts @ second**2)
    if not spread > 0:
        return np.nan
    return float(np.clip((counts * first) @ second / spread, -1, 1))


def pearson(one: ArrayLike, other: ArrayLike) -> float | None:
    """Return Pearson's correlation of two series ``(n,)``, -1 to 1; None where it is undefined."""
    return _figure(one, other, 0)


def spearman(one: ArrayLike, other: ArrayLike) -> float | None:
    """Return Spearman's rank correlation of two series ``(n,)``; None where it is undefined."""
    return _figure(one, other, 1)


def _figure(one: ArrayLike, other: ArrayLike, place: int) -> float | None:
    figure = float(Paired(one, other)(np.ones(len(np.asarray(one))))[place])
    return None if np.isnan(figure) else figure


def scipy_statistics() -> ModuleType:
    """Return ``scipy.stats``, which is an extra. Raises DeviceError if it is not installed."""
    try:
        from scipy import stats
    except ImportError as error:
        remedy = "pip install 'bitextfilter[statistics]'"
        raise DeviceError(f"t-tests need SciPy: {remedy}") from error
    module: ModuleType = stats
    return module


def welch_test(one: Floats, other: Floats) -> float | None:
    """Return the two-sided p-value, 0 to 1, of two samples having one mean (Welch 1947).

    The samples may differ in size and variance. None where it is undefined: a sample of one, or
    two samples without any variance. Raises DeviceError without SciPy.
    """
    statistics = scipy_statistics()
    if min(len(one), len(other)) < 2:
        return None
    moments = [(each.mean(), each.std(ddof=1), len(each)) for each in (one, other)]
    with np.errstate(divide="ignore", invalid="ignore", under="ignore", over="ignore"):
        found = statistics.ttest_ind_from_stats(*moments[0], *moments[1], equal_var=False)
    p = float(found.pvalue)
    return p if max(np.ptp(one), np.ptp(other)) > 0 and np.isfinite(p) else None
