"""Clusters of vectors by spherical k-means, and rows of a cluster that are alike.

K-means of unit vectors by cosine (Dhillon & Modha 2001): each row belongs to the centroid of the
highest cosine, and a centroid is the mean of its rows, scaled to length 1. Rows that are alike,
within a cluster alone, are the semantic duplicates of Abbas et al. 2023 (SemDeDup, algorithm 1).

Vectors are on the grid of :mod:`bitextfilter.similarity.vectors`, so cosines and means have no
rounding that depends on blocks or threads.

Letters: n rows, k centroids, d dimensions.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from threading import Lock
from typing import Protocol

import numpy as np

from bitextfilter.arrays import Indices, Mask, Vectors
from bitextfilter.io.spill import Scratch
from bitextfilter.io.workers import map_blocks
from bitextfilter.similarity.vectors import NO_ROW, unit_products, unit_rows

_BLOCK = 1024
"""Rows that are compared at a time."""
_POINTS = 32
"""Rows a centroid that the centroids are learnt from."""
_START_POINTS = 4
"""Rows a centroid of which learning starts with one."""
_ROUNDS, _FEW_ROUNDS = 10, 2
"""The most rounds of learning, of a few centroids and of thousands."""
_SLACK = 1e-6
"""Rounding of a cosine of equal vectors."""


class UnitVectors(Protocol):
    """Vectors of length 1 or 0, on the grid, by their places."""

    def __len__(self) -> int: ...

    def __getitem__(self, places: slice | Indices) -> Vectors:
        """Return vectors ``(m, d)`` made by ``unit_rows``."""


class PairVectors(AbstractContextManager["PairVectors"]):
    """Vectors of pairs in a temporary file: 2 d bytes a pair.

    The vector of a pair is the mean of those of its sides, all of length 1.
    """

    def __init__(self, dim: int) -> None:
        """Expect vectors of *dim* numbers."""
        self._file, self._dim, self._count = Scratch(), dim, 0

    def __exit__(self, *_: object) -> None:
        self._file.__exit__()

    def __len__(self) -> int:
        return self._count

    def add(self, sources: Vectors, targets: Vectors) -> None:
        """Add pairs: the vectors of either side, ``(n, d)``. Raises OutputError."""
        means = unit_rows(unit_rows(sources) + unit_rows(targets))
        self._file.write(means.astype(np.float16).data)
        self._count += len(means)

    def __getitem__(self, places: slice | Indices) -> Vectors:
        """Return the vectors of pairs ``(m, d)``, of length 1."""
        rows = self._file.array(np.float16).reshape(-1, self._dim)
        return unit_rows(rows[places].astype(np.float32))


def fit_centroids(vectors: UnitVectors, count: int, seed: int = 1, threads: int = 1) -> Vectors:
    """Learn *count* centroids ``(k, d)``, of length 1 or 0, from a sample of the rows.

    Args:
        vectors: ``(n, d)``, at least *count* rows.
        count: how many.
        seed: draws the sample, and its rows that learning starts from, by ``distant_rows``.
        threads: blocks side by side; the result does not depend on it.
    """
    draw = np.random.default_rng(seed)
    wanted = min(len(vectors), _POINTS * count)
    places = draw.permutation(len(vectors))[:wanted]
    starts = vectors[np.sort(places[: _START_POINTS * count])]
    centroids = starts[distant_rows(starts, count, draw)]
    return _learn(vectors, np.sort(places), centroids, _ROUNDS, threads)


def fit_many_centroids(vectors: Vectors, count: int, seed: int = 1, threads: int = 1) -> Vectors:
    """Learn thousands of centroids ``(k, d)``, of length 1 or 0: from any rows, in two rounds.

    The arguments are those of :func:`fit_centroids`; all rows are learnt from.
    """
    starts = np.random.default_rng(seed).permutation(len(vectors))[:count]
    places = np.arange(len(vectors))
    return _learn(vectors, places, vectors[np.sort(starts)], _FEW_ROUNDS, threads)


def _learn(
    vectors: UnitVectors, places: Indices, centroids: Vectors, rounds: int, threads: int
) -> Vectors:
    """Let centroids follow the rows at *places* until they stay, or for so many rounds."""
    before = np.zeros(0, np.int64)
    for _ in range(rounds):
        labels, means = _round(vectors, places, centroids, threads)
        if np.array_equal(labels, before):
            break
        before, centroids = labels, means
    return centroids


def distant_rows(rows: Vectors, count: int, draw: np.random.Generator) -> Indices:
    """Draw rows that are far from each other (k-means++, Arthur & Vassilvitskii 2007).

    The first is any; each next one is drawn by its squared distance to the nearest so far. Rows
    without a distance come last.

    Args:
        rows: ``(n, d)``, of length 1 or 0.
        count: how many, at most n.
        draw: draws them.

    Returns:
        Their places ``(k,)``.
    """
    exact = rows.astype(np.float64)
    left = np.ones(len(rows), bool)
    chosen = [int(draw.integers(len(rows)))]
    gaps = np.full(len(rows), np.inf)
    while len(chosen) < count:
        left[chosen[-1]] = False
        gaps = np.minimum(gaps, 1 - exact @ exact[chosen[-1]])  # half the squared distance
        weights = np.where(left & (gaps > _SLACK), gaps, 0.0)
        able = np.flatnonzero(weights if weights.any() else left)
        bounds = np.cumsum(weights[able])
        place = np.searchsorted(bounds, draw.random() * bounds[-1], "right")
        chosen.append(int(able[min(place, len(able) - 1)]))
    return np.array(chosen)


def _round(
    vectors: UnitVectors, places: Indices, centroids: Vectors, threads: int
) -> tuple[Indices, Vectors]:
    """Return the nearest centroid of rows at *places*, and the means of each one's rows.

    A centroid without rows stays.
    """
    sums, lock = np.zeros(centroids.shape), Lock()

    def add(first: int) -> Indices:
        rows = vectors[places[first : first + _BLOCK]]
        labels = nearest_centroids(rows, centroids)
        order = np.argsort(labels, kind="stable")
        found, starts = np.unique(labels[order], return_index=True)
        part = np.add.reduceat(rows[order].astype(np.float64), starts, axis=0)
        with lock:  # sums on the grid have no rounding, so their order does not matter
            sums[found] += part
        return labels

    labels = np.concatenate(map_blocks(add, range(0, len(places), _BLOCK), threads))
    means = unit_rows(sums)
    lost = ~means.any(axis=1)
    means[lost] = centroids[lost]
    return labels, means


def nearest_centroids(rows: Vectors, centroids: Vectors) -> Indices:
    """Return the centroid of the highest cosine of each row ``(n,)``, the first of equals.

    Cosines are rounded first; only where another may be the highest, they are computed exactly.
    """
    rounded = rows @ centroids.T
    highest = rounded.max(axis=1, keepdims=True)
    found: Indices = rounded.argmax(axis=1)
    unclear = np.flatnonzero((rounded >= highest - 2 * rounding(rows.shape[1])).sum(axis=1) > 1)
    found[unclear] = unit_products(rows[unclear], centroids).argmax(axis=1)
    return found


def rounding(dim: int) -> float:
    """Return the most that a cosine in float32 is off: a sum of d products has d + 1 roundings."""
    return (dim + 2) * 2.0**-24


def clusters_of(vectors: UnitVectors, centroids: Vectors, threads: int = 1) -> Indices:
    """Return the cluster of every row ``(n,)``: the place of its nearest centroid."""

    def block(first: int) -> Indices:
        return nearest_centroids(vectors[first : first + _BLOCK], centroids)

    found = map_blocks(block, range(0, len(vectors), _BLOCK), threads)
    return np.concatenate([np.zeros(0, np.int64), *found])


def alike_rows(vectors: UnitVectors, members: Indices, least: float) -> Indices:
    """Find rows like a better one that is kept.

    The first is kept, and each other one whose cosine to all that are kept is below *least*.

    Args:
        vectors: of all rows.
        members: the rows to compare ``(m,)``, best first.
        least: of a cosine, to be alike.

    Returns:
        For each member the first kept row that it is like, ``NO_ROW`` if it is kept: ``(m,)``.
    """
    found = np.full(len(members), NO_ROW, np.int64)
    for first in range(0, len(members), _BLOCK):
        rows = vectors[members[first : first + _BLOCK]]
        kept = members[:first][found[:first] == NO_ROW]
        mine = found[first : first + _BLOCK]
        for start in range(0, len(kept), _BLOCK):
            some = kept[start : start + _BLOCK]
            like = _alike(rows, vectors[some], least - _SLACK)
            new = like.any(axis=1) & (mine == NO_ROW)
            mine[new] = some[like[new].argmax(axis=1)]
        like = _alike(rows, rows, least - _SLACK)
        for place in range(len(rows)):
            others = np.flatnonzero(like[place, :place] & (mine[:place] == NO_ROW))
            if mine[place] == NO_ROW and len(others):
                mine[place] = members[first + others[0]]
    return found


def _alike(rows: Vectors, others: Vectors, least: float) -> Mask:
    """Return whether the cosine of rows ``(n, d)`` and others ``(m, d)`` is *least* or more.

    Cosines are rounded first; those near *least* are computed exactly. Returns ``(n, m)``.
    """
    rounded = rows @ others.T
    like: Mask = rounded >= least
    unclear = np.abs(rounded - least) <= rounding(rows.shape[1])
    if unclear.sum() > len(rows):
        return unit_products(rows, others) >= least
    places, columns = np.nonzero(unclear)
    exact = np.einsum("nd,nd->n", rows[places], others[columns], dtype=np.float64)
    like[places, columns] = exact.astype(np.float32) >= least
    return like
