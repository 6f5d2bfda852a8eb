"""The numbers behind the figures: quantiles, histograms, and what each threshold keeps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextfilter.reports.survey import Survey, blocks

__all__ = [
    "Cuts",
    "Spread",
    "counted",
    "cuts_of",
    "densities",
    "multiples",
    "nice_step",
    "quantiles",
    "spreads_of",
    "thresholds_of",
]

Floats = NDArray[np.floating[Any]]
Counts = NDArray[np.int64]

STEPS = 400
"""At most how many evenly spaced thresholds there are."""


def nice_step(width: float, most: int) -> float:
    """Return the least of 1, 2, 2.5 and 5 times a power of ten that splits *width* in *most*.

    *width* is positive. A step so small that it is lost in rounding is never asked for: float32
    scores have 7 digits.
    """
    rough = width / most
    power = 10.0 ** math.floor(math.log10(rough))
    return next(
        (factor * power for factor in (1, 2, 2.5, 5) if factor * power >= rough * (1 - 1e-9)),
        10 * power,
    )


def multiples(step: float, first: int, last: int) -> NDArray[np.float64]:
    """Return *first* to *last* times *step*, rounded so that 3 times 0.1 is 0.3."""
    digits = max(0, 3 - math.floor(math.log10(step)))
    return np.round(np.arange(first, last + 1) * step, digits)


def quantiles(ordered: Floats, portions: Floats) -> Floats:
    """Return the values at *portions* (0 to 1) of a sorted array (n,), n > 0: values that occur."""
    places = np.rint(portions * (len(ordered) - 1)).astype(np.int64)
    return ordered[places]


def thresholds_of(ordered: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return thresholds to choose from, ascending and distinct, for sorted scores (n,), n > 0.

    They are each hundredth of the corpus, and round values between its 0.1 and 99.9 % (at most
    402), so that neither a crowd of equal scores nor a few far outliers leave gaps.
    """
    hundredths = quantiles(ordered, np.linspace(0, 1, 101))
    low, high = quantiles(ordered, np.array([0.001, 0.999])).astype(float).tolist()
    if high <= low:
        return np.unique(hundredths)
    step = nice_step(high - low, STEPS)
    even = multiples(step, math.floor(low / step), math.ceil(high / step))
    inside = np.clip(even, float(ordered[0]), float(ordered[-1])).astype(np.float32)
    return np.unique(np.concatenate([hundredths, inside]))


@dataclass(frozen=True)
class Cuts:
    """What is kept by each of t thresholds: the rows whose score is at least as high.

    ``rows``, ``source`` and ``target`` (t,) count rows and their lengths; ``labels``
    (t, labels) the rows with each label.
    """

    thresholds: NDArray[np.float32]
    rows: Counts
    source: Counts
    target: Counts
    labels: Counts


def cuts_of(survey: Survey, score: int, thresholds: NDArray[np.float32]) -> Cuts:
    """Count what the ascending *thresholds* keep of one score's rows."""
    size, kinds = len(thresholds) + 1, max(1, len(survey.labels))
    totals = np.zeros((3, size))
    labels = np.zeros(size * kinds, dtype=np.int64)
    for block in blocks(len(survey)):
        passed = np.searchsorted(thresholds, survey.scores(score)[block], side="right")
        totals[0] += np.bincount(passed, minlength=size)
        for side in (0, 1):
            weights = survey.lengths(side)[block]
            totals[side + 1] += np.bincount(passed, weights, minlength=size)
        both = passed * kinds + survey.codes()[block]
        labels += np.bincount(both, minlength=size * kinds)
    from_above = totals[:, ::-1].cumsum(axis=1)[:, ::-1].astype(np.int64)
    by_label = labels.reshape(size, kinds)[::-1].cumsum(axis=0)[::-1]
    rows, source, target = from_above[:, 1:]
    return Cuts(thresholds, rows, source, target, by_label[1:])


@dataclass(frozen=True)
class Spread:
    """The scores of the rows with one label: how many, and their 5, 25, 50, 75 and 95 %."""

    place: int
    """That of the label in the survey's."""
    label: str
    rows: int
    levels: tuple[float, float, float, float, float]


def spreads_of(survey: Survey, score: int) -> list[Spread]:
    """Return the spread of one score for each label, the highest median first."""
    spreads = []
    for code, label in enumerate(survey.labels):
        ordered = np.sort(survey.scores(score)[survey.codes() == code])
        low, lower, middle, upper, high = quantiles(
            ordered, np.array([0.05, 0.25, 0.5, 0.75, 0.95])
        ).tolist()
        spreads.append(Spread(code, label, len(ordered), (low, lower, middle, upper, high)))
    return sorted(spreads, key=lambda spread: (-spread.levels[2], spread.label))


def counted(values: Floats | NDArray[np.uint32], edges: Floats) -> Counts:
    """Count the values between evenly spaced *edges* (k + 1,); those outside are left out.

    A value on an edge counts above it, one on the last edge below.
    """
    bins = len(edges) - 1
    counts = np.zeros(bins, dtype=np.int64)
    for block in blocks(len(values)):
        part = (values[block] - edges[0]) / (edges[-1] - edges[0])
        inside = part[(part >= 0) & (part <= 1)]
        places = np.minimum((inside * bins).astype(np.int64), bins - 1)
        counts += np.bincount(places, minlength=bins)
    return counts


def densities(survey: Survey, width: int, bins: int) -> Counts:
    """Count rows by the lengths of both sides: (source bins, target bins), bins *width* wide.

    The first bin starts at a length of 1; longer rows than the last bin holds are left out.
    """
    total = np.zeros(bins * bins, dtype=np.int64)
    for block in blocks(len(survey)):
        source, target = ((survey.lengths(side)[block] - 1) // width for side in (0, 1))
        inside = (source < bins) & (target < bins)
        total += np.bincount(
            source[inside].astype(np.int64) * bins + target[inside], minlength=bins * bins
        )
    return total.reshape(bins, bins)
