"""Margins: a pair's cosine compared with the cosines of either sentence to its neighbours.

A *hub* is a sentence that is close to everything; its cosines say little. Margins take the mean
cosine of each side to its k nearest neighbours on the other side (k = 10 unless said) as the
yardstick. The elementwise forms take cosines and means of any shapes that broadcast together; the
matrix forms take the vectors of both sides, and each side is the other's neighbourhood.

Sources: CSLS is eq. 16-18 of Kim et al. 2019 (from Conneau et al. 2018); ratio and distance are
Artetxe & Schwenk 2019, "Margin-based Parallel Corpus Mining". The distance margin is half of CSLS.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bitextfilter.arrays import Scores, Vectors
from bitextfilter.similarity.vectors import cosine_matrix

NEIGHBOURS = 10
"""Default number of neighbours that a mean is taken over."""

SMALLEST_MEAN = 0.01
"""The ratio margin divides by no less than this."""


def csls(cosine: Scores, mean_source: Scores, mean_target: Scores) -> Scores:
    """Return 2·cosine − mean_source − mean_target, in [-4, 4]; nothing special is about 0."""
    return np.asarray(2.0 * cosine - mean_source - mean_target, dtype=np.float32)


def ratio(cosine: Scores, mean_source: Scores, mean_target: Scores) -> Scores:
    """Return cosine / ((mean_source + mean_target) / 2), in [-100, 100]; plain is 1.

    A mean of zero or less would turn the order round, so the divisor is never below 0.01 (our
    addition: the paper's sentences all have positive means).
    """
    mean = np.maximum(0.5 * (mean_source + mean_target), SMALLEST_MEAN)
    return np.asarray(cosine / mean, dtype=np.float32)


def distance(cosine: Scores, mean_source: Scores, mean_target: Scores) -> Scores:
    """Return cosine − (mean_source + mean_target) / 2, in [-2, 2]; nothing special is about 0."""
    return np.asarray(cosine - 0.5 * (mean_source + mean_target), dtype=np.float32)


Margin = Callable[[Scores, Scores, Scores], Scores]

MARGINS: dict[str, Margin] = {"csls": csls, "ratio": ratio, "distance": distance}
"""The margins by name, in their elementwise forms."""


def csls_matrix(a: Vectors, b: Vectors, k: int = NEIGHBOURS) -> Scores:
    """CSLS of every row of ``a`` with every row of ``b`` → ``(n, m)``."""
    return margin_matrix(csls, a, b, k)


def ratio_matrix(a: Vectors, b: Vectors, k: int = NEIGHBOURS) -> Scores:
    """Ratio margin of every row of ``a`` with every row of ``b`` → ``(n, m)``."""
    return margin_matrix(ratio, a, b, k)


def distance_matrix(a: Vectors, b: Vectors, k: int = NEIGHBOURS) -> Scores:
    """Distance margin of every row of ``a`` with every row of ``b`` → ``(n, m)``."""
    return margin_matrix(distance, a, b, k)


def margin_matrix(margin: Margin, a: Vectors, b: Vectors, k: int = NEIGHBOURS) -> Scores:
    """Apply a margin to every row of ``a`` with every row of ``b`` → ``(n, m)``.

    Row i's neighbours are sought in all of ``b``, column j's in all of ``a``, the pair itself
    among them. Where there are fewer than k, all there are count.
    """
    cosines = cosine_matrix(a, b)
    rows, columns = highest_means(cosines, k), highest_means(cosines.T, k)
    return margin(cosines, rows[:, None], columns[None, :])


def highest_means(similarities: Scores, k: int) -> Scores:
    """Return each row's mean ``(n,)`` of its k highest values, or of all ``(n, m)`` has if fewer.

    They are added from the lowest up, so that their mean does not depend on their places. -inf
    does not count; a row without values has the mean 0.
    """
    k = min(k, similarities.shape[1])
    if k == 0:
        return np.zeros(len(similarities), dtype=np.float32)
    highest = np.sort(np.partition(similarities, -k, axis=1)[:, -k:], axis=1)
    total, count = np.zeros((2, len(similarities)))
    for column in highest.T:
        there = column > -np.inf
        total += np.where(there, column, 0.0)
        count += there
    return np.asarray(total / np.maximum(count, 1), dtype=np.float32)
