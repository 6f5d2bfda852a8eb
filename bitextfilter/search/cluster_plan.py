"""Clusters that the rows of two vector files share, so that few pairs of them are compared.

The axes of all rows are made more even first (``search.compiled.even_axes``): else the few
of most variance decide alone which rows meet, and most rows meet in few clusters. Centroids are
learnt from rows of both sides. Each row *visits* the clusters of its nearest
centroids. Two rows that visit a cluster in common are compared
(:mod:`bitextfilter.search.cluster_tasks`). The number of clusters that each row visits is chosen
on a sample of either side, whose nearest rows are found exactly, so that the recall asked for is
reached.

Clusters near each other belong to one *task*: their rows are read together.

Letters: n rows of a side, K clusters, p clusters that each row visits.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Indices, Scores, Vectors
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.files import write_whole
from bitextfilter.io.records import file_digest, read_record, write_record
from bitextfilter.io.workers import map_blocks
from bitextfilter.search.bidirectional import (
    SearchRequest,
    search_turned,
    turned_rows,
    turning_for,
)
from bitextfilter.search.compiled import even_axes
from bitextfilter.search.kmeans import fit_centroids, fit_many_centroids, rounding
from bitextfilter.search.tasks import BLOCK, Blocks, Sides, nearest_in_file
from bitextfilter.similarity.vectors import unit_rows

KIND = "clusters"
"""The name of this search, beside ``exact`` and ``search.faiss_index.INDEX_KINDS``."""
_CLUSTERS, _MOST_CLUSTERS = 16, 1 << 14
"""Clusters for each square root of the rows of the larger side, and at most."""
_FEWEST_ROWS = 32
"""Rows of a side for each cluster."""
_LEARNT, _FEWEST_POINTS, _MOST_POINTS = 50, 4, 12
"""One in so many rows of a side is learnt from, but no fewer and no more for each centroid."""
_SAMPLE = 2048
"""Rows of a side that recall is measured on."""
_MOST_VISITS = 64
_TASK_NUMBERS = 1 << 29
"""Numbers of the rows of both sides for each task, which take 3 GB of memory."""
_HEADS, _NEAR = 128, 512
"""Groups of centroids, and centroids near the head of a group among which a row's first floor is
sought. With few more centroids than that, there are no groups."""
_NEVER = 2.0
"""Above any cosine."""
DEVIATIONS = 6.0
"""Of the likely bound of rounding, for each row of a pair. Where both rows lose alike, that makes
8.5 deviations of the sum of their errors, which exceed them in one of 10**15 pairs at most."""
_TURNED = 512
"""Rows turned at a time."""
_ROWS = 1 << 14
"""Rows whose visits are counted at a time."""

Visits = NDArray[np.uint16]
"""Clusters that each row visits, nearest first: ``(n, p)``."""


class ClusterTask(NamedTuple):
    """Rows to compare: those of some clusters, cluster by cluster."""

    clusters: list[int]
    first: tuple[int, int] = (0, 0)
    """First row of either side that belongs to it."""
    last: tuple[int, int] | None = None
    """The rows behind the last; None for all rows."""
    rows: int = 0
    """Rows of both sides that it compares."""


class ClusterSearch(NamedTuple):
    """Plan of a search in clusters."""

    clusters: int
    visits: int
    """Clusters that each row visits."""
    recalls: tuple[float, float]
    """Share of a sample of sources, and of targets, whose nearest row is found, 0 to 1."""
    share: float
    """Pairs compared, to all pairs; those in several clusters count several times."""
    tasks: list[ClusterTask]
    digests: tuple[str, str]
    """Of the files of visits."""


def visits_path(sides: Sides, side: int) -> Path:
    """Return the file of the clusters that the rows of a side visit."""
    return sides.neighbours.folder / f"{('source', 'target')[side]}.clusters"


def read_visits(sides: Sides, side: int, search: ClusterSearch) -> Visits:
    """Open the visits of a side. Raises NotFoundError, and InputError if they are damaged."""
    path = visits_path(sides, side)
    if file_digest(path) != search.digests[side]:
        raise InputError("damaged", file=str(path), remedy="remove the folder")
    rows = sides.neighbours.sizes[side]
    return np.asarray(np.memmap(path, "<u2", "r", shape=(rows, search.visits)))


def plan_clusters(
    sides: Sides, recall: float, advance: Callable[[int], object] = repr
) -> ClusterSearch:
    """Divide the rows of both sides into clusters, or read how an earlier run did.

    *advance* is called with the number of rows just divided, of either side.

    Raises SettingsError where clusters cannot reach the recall, or compare more pairs than there
    are; InputError where the earlier plan is damaged.
    """
    path = sides.neighbours.folder / "clusters.json"
    if path.exists():
        return _read_plan(path)
    router = _Router(sides)
    visits, recalls = _choose_visits(sides, router, recall)
    found = router.visits(0, visits, advance), router.visits(1, visits, advance)
    digests = []
    for side, visited in enumerate(found):
        write_whole(visits_path(sides, side), visited.astype("<u2").tobytes())
        digests.append(file_digest(visits_path(sides, side)))
    counts = [np.bincount(visited.ravel(), minlength=len(router.centroids)) for visited in found]
    share = float(counts[0] @ counts[1].astype(np.float64)) / len(found[0]) / len(found[1])
    if share >= 1:
        raise SettingsError(
            f"clusters would compare {share:.1f} times as many pairs as there are, to find"
            f" {recall:g} of the nearest: take --index exact, or a lower --recall"
        )
    tasks = _Grouping(router.centroids, found, counts, sides).tasks()
    search = ClusterSearch(
        len(router.centroids), visits, recalls, share, tasks, (digests[0], digests[1])
    )
    write_record(path, search._asdict())
    return search


def _read_plan(path: Path) -> ClusterSearch:
    known = read_record(path, "remove the folder")
    known["tasks"] = [
        ClusterTask(own, tuple(first), last and tuple(last), rows)
        for own, first, last, rows in known["tasks"]
    ]
    known["recalls"], known["digests"] = tuple(known["recalls"]), tuple(known["digests"])
    return ClusterSearch(**known)


class _Router:
    """Finds the clusters of the nearest centroids of rows."""

    def __init__(self, sides: Sides) -> None:
        """Learn the centroids."""
        self._sides, self._threads = sides, sides.threads
        sizes = sides.neighbours.sizes
        most = min(_MOST_CLUSTERS, int(_CLUSTERS * max(sizes) ** 0.5), min(sizes) // _FEWEST_ROWS)
        rows = self._even_sample(max(1, most))
        self.centroids = fit_many_centroids(rows, max(1, most), threads=self._threads)
        samples, compared = (rows, self.centroids), (sum(sizes), len(self.centroids))
        self._turning = turning_for(samples, compared, _MOST_VISITS, deviations=DEVIATIONS)
        self._turned = turned_rows(self.centroids, self._turning, 1, sides.threads)
        self._heads = self.centroids[:0]
        if len(self.centroids) > 4 * _NEAR:
            self._heads = fit_centroids(self.centroids, _HEADS, threads=sides.threads)
            apart = -self._heads @ self.centroids.T
            self._near = np.argpartition(apart, _NEAR, axis=1)[:, :_NEAR]

    def _even_sample(self, clusters: int) -> Vectors:
        """Learn to make axes even, and return rows of both sides to learn centroids from."""
        files = self._sides.file(0), self._sides.file(1)
        one, other = (unit_rows(file[_learnt(len(file), clusters)]) for file in files)
        self._axes = even_axes((one, other))
        one = self._even(one, 0)
        other = self._even(other, 1)
        return np.concatenate([one, other])

    def _even(self, units: Vectors, side: int) -> Vectors:
        """Return unit rows of a side with even axes, ``(n, d)``, as unit rows."""
        even = np.empty_like(units)

        def turn(first: int) -> None:
            some = slice(first, first + _TURNED)
            even[some] = unit_rows(self._axes.turn(units[some], side))

        map_blocks(turn, range(0, len(units), _TURNED), self._threads)
        return even

    def nearest(self, units: Vectors, side: int, count: int) -> Visits:
        """Return the nearest centroids of unit rows of a side ``(n, d)``: ``(n, count)``."""
        threads, none = self._threads, np.full(len(self.centroids), _NEVER, np.float32)
        rows = turned_rows(self._even(units, side), self._turning, 0, threads)
        parts = [rows.units[first : first + _ROWS] for first in range(0, len(rows.units), _ROWS)]
        floors = map_blocks(lambda units: self._floors(units, count), parts, threads)
        wanted = SearchRequest(count, (np.concatenate(floors), none), threads)
        return search_turned(rows, self._turned, wanted)[0][1].astype(np.uint16)

    def _floors(self, units: Vectors, count: int) -> Scores:
        """Return cosines that *count* centroids reach at least, of unit rows: ``(n,)``.

        Without them, the search looks closer at twice as many pairs.
        """
        floors = np.full(len(units), -np.inf, np.float32)
        if len(self._heads):
            head = (units @ self._heads.T).argmax(axis=1)
            order = np.argsort(head, kind="stable")
            for rows in np.split(order, np.flatnonzero(np.diff(head[order])) + 1):
                near = self.centroids[self._near[head[rows[0]]]]
                cosines = np.partition(units[rows] @ near.T, _NEAR - count, axis=1)
                floors[rows] = cosines[:, _NEAR - count] - 2 * rounding(self._sides.dim)
        return floors

    def visits(self, side: int, count: int, advance: Callable[[int], object]) -> Visits:
        """Return the nearest centroids of all rows of a side."""
        rows = self._sides.neighbours.sizes[side]
        blocks = Blocks(self._sides.file(side), self._threads)
        found = np.empty((rows, count), np.uint16)
        for block in range(-(-rows // BLOCK)):
            nearest = self.nearest(blocks.read(block).units, side, count)
            found[block * BLOCK : (block + 1) * BLOCK] = nearest
            advance(len(nearest))
        return found


def _learnt(size: int, clusters: int) -> Indices:
    """Return the places of the rows of a side that centroids are learnt from."""
    points = min(max(size // (_LEARNT * clusters), _FEWEST_POINTS), _MOST_POINTS)
    return _spaced(size, points * clusters)


def _spaced(size: int, count: int) -> Indices:
    """Return the places of some rows, evenly spaced."""
    return np.unique(np.linspace(0, max(0, size - 1), min(size, count)).astype(np.int64))


def _choose_visits(sides: Sides, router: _Router, recall: float) -> tuple[int, tuple[float, float]]:
    """Return the fewest clusters to visit for the recall, and the recall of either side with them.

    Raises SettingsError where the recall cannot be reached.
    """
    needed = [_visits_needed(sides, router, side) for side in (0, 1)]
    for visits in range(1, _MOST_VISITS + 1):
        found = [float((own <= visits).mean()) for own in needed]
        if min(found) >= recall:
            return visits, (found[0], found[1])
    raise SettingsError(
        f"clusters find {min(found):.4f} of the nearest at most, not {recall:g}: take --index"
        " exact, or a lower --recall"
    )


def _visits_needed(sides: Sides, router: _Router, side: int) -> Indices:
    """Return how many clusters each row of a sample must visit to meet its nearest row."""
    queries, base = sides.file(side), sides.file(1 - side)
    sample = queries[_spaced(len(queries), _SAMPLE)]
    nearest = nearest_in_file(sample, base, 1, sides.threads)[1][:, 0]
    most = min(_MOST_VISITS, len(router.centroids))
    one = router.nearest(unit_rows(sample), side, most)
    other = router.nearest(unit_rows(base[nearest]), 1 - side, most)
    needed = np.full(len(sample), _MOST_VISITS + 1)
    for place in range(most):
        at, there = np.nonzero(other == one[:, place, None])
        needed[at] = np.minimum(needed[at], np.maximum(place, there) + 1)
    return needed


class _Grouping:
    """Divides clusters into tasks of a bounded number of rows."""

    def __init__(
        self,
        centroids: Vectors,
        visits: tuple[Visits, Visits],
        counts: list[Indices],
        sides: Sides,
    ) -> None:
        """Take the visits of either side, and how many rows of either side visit each cluster."""
        self._centroids, self._visits, self._counts = centroids, visits, counts
        self._threads, self._most_rows = sides.threads, max(2, _TASK_NUMBERS // sides.dim)

    def tasks(self) -> list[ClusterTask]:
        """Halve groups of clusters until each has few enough rows; the rows of a cluster, too."""
        groups, found = [np.arange(len(self._centroids))], []
        while groups:
            rows = self._rows(groups)
            large = []
            for group, count in zip(groups, rows.tolist(), strict=True):
                if count <= self._most_rows:
                    found.append(ClusterTask(group.tolist(), rows=count))
                elif len(group) == 1:
                    found += self._pieces(int(group[0]))
                else:
                    large.append(group)
            groups = [half for group in large for half in self._halves(group)]
        return found

    def _rows(self, groups: list[Indices]) -> Indices:
        """Return how many rows of both sides visit a cluster of each group."""
        group_of = np.full(len(self._centroids), len(groups), np.int64)
        for number, group in enumerate(groups):
            group_of[group] = number

        def count(some: Visits) -> Indices:
            visited = np.sort(group_of[some], axis=1)
            again = visited[:, 1:] == visited[:, :-1]
            visited[:, 1:][again] = len(groups)
            return np.bincount(visited.ravel(), minlength=len(groups) + 1)

        parts = [
            visits[first : first + _ROWS]
            for visits in self._visits
            for first in range(0, len(visits), _ROWS)
        ]
        return np.asarray(sum(map_blocks(count, parts, self._threads)))[:-1]

    def _halves(self, group: Indices) -> tuple[Indices, Indices]:
        """Cut a group in two of about as many visits, across the axis of most variance."""
        centroids = self._centroids[group].astype(np.float64)
        centroids -= centroids.mean(axis=0)
        axis = np.linalg.eigh(centroids.T @ centroids)[1][:, -1]
        order = group[np.argsort(centroids @ axis, kind="stable")]
        visits = np.cumsum(self._counts[0][order] + self._counts[1][order])
        half = int(np.searchsorted(visits, visits[-1] / 2))
        half = min(max(half, 1), len(order) - 1)
        return order[:half], order[half:]

    def _pieces(self, cluster: int) -> list[ClusterTask]:
        """Cut the rows of a large cluster into pieces, each of one side with each of the other."""
        most, pieces = self._most_rows // 2, []
        for visits in self._visits:
            rows = np.flatnonzero((visits == cluster).any(axis=1))
            starts = rows[::most].tolist()
            counts = [min(most, len(rows) - place) for place in range(0, len(rows), most)]
            pieces.append([*zip(starts, [*starts[1:], len(visits)], counts, strict=True)])
        return [
            ClusterTask([cluster], (own[0], other[0]), (own[1], other[1]), own[2] + other[2])
            for own in pieces[0]
            for other in pieces[1]
        ]
