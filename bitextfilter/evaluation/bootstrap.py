"""How far figures may be off: percentile bootstrap intervals of what is computed from counts.

Efron & Tibshirani 1993, chapter 13. Rows are drawn anew, with replacement, from each stratum by
itself, as many as it has: the numbers of clean and of noisy rows stay as they are, and intervals
are for samples of that make-up. Rows that are alike share a cell, and a statistic sees only how
many rows each cell got.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bootstrap", "Counts", "Estimate", "Floats", "Statistic", "estimates", "resamples"]

Counts = NDArray[np.float64]
"""How many rows each cell of a stratum has: whole numbers, ``(cells,)``."""

Floats = NDArray[np.float64]
"""An array of numbers, of any shape."""

Statistic = Callable[[Sequence[Counts]], Floats]
"""Makes figures, in an array of any shape, of the counts of each stratum."""

CONFIDENCE = 0.95

_FEW_ROWS = 8
"""Up to so many rows a cell, drawing rows is faster than drawing how many each cell gets."""


@dataclass(frozen=True)
class Bootstrap:
    """How often to draw anew, and the seed of it."""

    resamples: int = 1000
    seed: int = 1

    @property
    def facts(self) -> dict[str, int]:
        """Both, as a signature names them."""
        return {"boot": self.resamples, "seed": self.seed}


class Estimate(NamedTuple):
    """A figure and its 95 % interval."""

    value: float
    low: float
    high: float


def resamples(strata: Sequence[Counts], bootstrap: Bootstrap) -> Iterator[list[Counts]]:
    """Yield the strata drawn anew, each with its own number of rows, one resample at a time."""
    generator = np.random.default_rng(bootstrap.seed)
    draws = [_drawer(counts, generator) for counts in strata]
    for _ in range(bootstrap.resamples):
        yield [draw() for draw in draws]


def _drawer(counts: Counts, generator: np.random.Generator) -> Callable[[], Counts]:
    """Return what draws the rows of a stratum anew: both ways have the same distribution."""
    cells, rows = len(counts), int(counts.sum())
    if rows > _FEW_ROWS * cells:
        return lambda: generator.multinomial(rows, counts / rows).astype(np.float64)
    cell_of = np.repeat(np.arange(cells), counts.astype(np.int64))
    return lambda: np.bincount(cell_of[generator.integers(0, rows, rows)], minlength=cells).astype(
        np.float64
    )


def estimates(strata: Sequence[Counts], statistic: Statistic, bootstrap: Bootstrap) -> Floats:
    """Return the figures of the strata, and the ends of their 95 % intervals.

    A figure that is NaN is undefined: draws of which it is are left out of its interval, and
    where all are, the ends are NaN.

    Args:
        strata: each one's rows by cell; none is without rows.
        statistic: makes figures, of shape ``(...)``, of them.
        bootstrap: how often to draw anew, and the seed.

    Returns:
        Value, low and high end: ``(3, ...)``.
    """
    drawn = np.stack([statistic(again) for again in resamples(strata, bootstrap)])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)
        ends = np.nanquantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    return np.concatenate([statistic(strata)[None], ends])
