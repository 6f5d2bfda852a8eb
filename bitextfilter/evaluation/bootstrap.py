"""Bootstrap intervals of figures (Efron & Tibshirani 1993, chapter 13).

The rows of each stratum are drawn anew with replacement, as many as it has, so that the numbers of
clean and noisy rows stay as they are. Equal rows share a cell: a statistic sees only the number of
rows in each cell.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bitextfilter.arrays import Floats

Statistic = Callable[[Sequence[Floats]], Floats]
"""Maps the counts of each stratum's cells to figures, in an array of any shape."""

CONFIDENCE = 0.95

_FEW_ROWS = 8
"""Up to this many rows a cell, drawing single rows is faster than drawing each cell's count."""


@dataclass(frozen=True)
class Bootstrap:
    """The number of resamples, and their seed."""

    resamples: int = 1000
    seed: int = 1

    @property
    def facts(self) -> dict[str, int]:
        """Both, as facts of a signature."""
        return {"boot": self.resamples, "seed": self.seed}


class Estimate(NamedTuple):
    """A figure and its 95 % interval."""

    value: float
    low: float
    high: float


def resamples(strata: Sequence[Floats], bootstrap: Bootstrap) -> Iterator[list[Floats]]:
    """Yield the strata drawn anew, each with its own number of rows, one resample at a time."""
    generator = np.random.default_rng(bootstrap.seed)
    draws = [_drawer(counts, generator) for counts in strata]
    for _ in range(bootstrap.resamples):
        yield [draw() for draw in draws]


def _drawer(counts: Floats, generator: np.random.Generator) -> Callable[[], Floats]:
    """Return a function that draws a stratum anew; both ways have the same distribution."""
    cells, rows = len(counts), int(counts.sum())
    if rows > _FEW_ROWS * cells:
        return lambda: generator.multinomial(rows, counts / rows).astype(np.float64)
    cell_of = np.repeat(np.arange(cells), counts.astype(np.int64))
    return lambda: np.bincount(cell_of[generator.integers(0, rows, rows)], minlength=cells).astype(
        np.float64
    )


def estimates(strata: Sequence[Floats], statistic: Statistic, bootstrap: Bootstrap) -> Floats:
    """Return the figures of the strata, and the ends of their 95 % intervals.

    An undefined figure is NaN. An interval leaves out the resamples in which its figure is
    undefined; where all are, its ends are NaN.

    Args:
        strata: the number of rows in each cell, for each stratum; none is without rows.
        statistic: returns figures of shape ``(...)``.
        bootstrap: resamples and seed.

    Returns:
        Value, low and high end: ``(3, ...)``.
    """
    drawn = np.stack([statistic(again) for again in resamples(strata, bootstrap)])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)
        ends = np.nanquantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    return np.concatenate([statistic(strata)[None], ends])
