"""A diverse order of rows: the best of each cluster, then the second best of each, and so on.

With one cluster this is the order of the scores. A budget of the first rows of the order is spread
over all clusters, so over all that the corpus is about. Equal scores are in random order, so that
coarse scores trade their finest differences for diversity.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np

from bitextfilter.arrays import Floats, Indices, Mask
from bitextfilter.io.workers import map_blocks
from bitextfilter.search.kmeans import UnitVectors, alike_rows, clusters_of, fit_centroids
from bitextfilter.similarity.neighbours import NO_ROW

_MOST = 4096
"""Clusters, unless more are asked for."""


@dataclass(frozen=True)
class SampleSettings:
    """Settings of the order."""

    clusters: int | None = None
    """None for three times the square root of the number of rows, at most 4096."""
    alike: float | None = None
    """The least cosine of pairs of which one is left out; None keeps all."""
    seed: int = 1
    threads: int = 1
    """No result depends on it."""

    def count(self, rows: int) -> int:
        """Return the number of clusters of so many rows, at least 1."""
        usual = min(3 * isqrt(rows), _MOST)
        return max(1, min(usual if self.clusters is None else self.clusters, rows))


@dataclass(frozen=True)
class DiverseOrder:
    """The places of ``n`` rows in the order."""

    places: Floats
    """From 0, ``(n,)``; NaN for a row that is like another one."""
    clusters: Indices
    """From 0, ``(n,)``."""
    like: Indices
    """The kept row that a row is like; ``NO_ROW`` for none: ``(n,)``."""


def diverse_order(vectors: UnitVectors, scores: Floats, settings: SampleSettings) -> DiverseOrder:
    """Order rows.

    Of each cluster the highest score comes first, and NaN last; equal ones are drawn by the seed.
    All rows of one turn, one a cluster, are ordered likewise.

    Args:
        vectors: of the rows, ``(n, d)``.
        scores: ``(n,)``, higher is better; NaN for none.
        settings: see there.
    """
    rows = len(scores)
    like = np.full(rows, NO_ROW, np.int64)
    if not rows:
        return DiverseOrder(np.zeros(0), like, like)
    threads = settings.threads
    centroids = fit_centroids(vectors, settings.count(rows), settings.seed, threads)
    clusters = clusters_of(vectors, centroids, threads)
    draw = np.random.default_rng((settings.seed, 1)).permutation(rows)
    order = np.lexsort((draw, -scores, clusters))
    if settings.alike is not None:
        parts = np.split(order, np.flatnonzero(np.diff(clusters[order])) + 1)
        least = settings.alike
        found = map_blocks(lambda part: alike_rows(vectors, part, least), parts, threads)
        like[order] = np.concatenate(found)
        order = order[like[order] == NO_ROW]
    turns = _turns(clusters[order])
    places = np.full(rows, np.nan)
    places[order[np.lexsort((draw[order], -scores[order], turns))]] = np.arange(len(order))
    return DiverseOrder(places, clusters, like)


def _turns(clusters: Indices) -> Indices:
    """Return the place of each row in its cluster, from 0; rows of a cluster stand together."""
    begins: Mask = np.diff(clusters, prepend=-1) != 0
    starts = np.flatnonzero(begins)
    return np.arange(len(clusters)) - np.repeat(starts, np.diff(starts, append=len(clusters)))
