"""Approximate search of two vector files: rows are compared within clusters that both visit.

The axes of all rows are made more even first (``search.compiled.even_axes``): else the few
of most variance decide alone which rows meet, and most rows meet in few clusters. Centroids are
learnt from rows of both sides. Each row *visits* the clusters of its nearest
centroids. All rows of the source side that visit a cluster are compared with all of the target side
that do: exactly, and for both directions at once. The number of clusters that each row visits is
chosen on a sample of either side, whose nearest rows are found exactly, so that the recall asked
for is reached.

Clusters near each other belong to one *task*: their rows are read together.

Letters: n rows of a side, k neighbours, K clusters, p clusters that each row visits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Indices, Scores, Vectors
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.files import write_whole
from bitextfilter.io.records import file_digest, read_record, write_record
from bitextfilter.io.workers import map_blocks
from bitextfilter.search.bidirectional import (
    Group,
    SearchRequest,
    search_turned,
    turned_rows,
    turning_for,
)
from bitextfilter.search.compiled import Turning, even_axes, sample_rows
from bitextfilter.search.kmeans import fit_centroids, fit_many_centroids, rounding
from bitextfilter.search.tasks import (
    BLOCK,
    BlockNeighbours,
    Blocks,
    SearchTask,
    Sides,
    TaskId,
    nearest_in_file,
    sides_turning,
    spaced_places,
)
from bitextfilter.similarity.vectors import (
    NO_ROW,
    Neighbours,
    merge_neighbours,
    no_neighbours,
    unit_rows,
)

KIND = "clusters"
"""The name of this search, beside ``exact`` and ``search.indexes.INDEX_KINDS``."""
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
DEVIATIONS = 6.0
"""Of the likely bound of rounding, for each row of a pair. Where both rows lose alike, that makes
8.5 deviations of the sum of their errors, which exceed them in one of 10**15 pairs at most."""
_TURNED, _READ = 512, 2048
"""Rows turned, and rows read, at a time."""
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
        samples = []
        for file in (self._sides.file(0), self._sides.file(1)):
            points = min(max(len(file) // (_LEARNT * clusters), _FEWEST_POINTS), _MOST_POINTS)
            samples.append(unit_rows(file[spaced_places(len(file), points * clusters)]))
        self._axes = even_axes((samples[0], samples[1]))
        return np.concatenate([self._even(own, side) for side, own in enumerate(samples)])

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
        threads, above = self._threads, np.full(len(self.centroids), 2.0, np.float32)
        rows = turned_rows(self._even(units, side), self._turning, 0, threads)
        parts = [rows.units[first : first + _ROWS] for first in range(0, len(rows.units), _ROWS)]
        floors = map_blocks(lambda units: self._floors(units, count), parts, threads)
        wanted = SearchRequest(count, (np.concatenate(floors), above), threads)
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


def _choose_visits(sides: Sides, router: _Router, recall: float) -> tuple[int, tuple[float, float]]:
    """Return the fewest clusters to visit for the recall, and the recall of either side with them.

    Raises SettingsError where the recall cannot be reached.
    """
    one, other = (_visits_needed(sides, router, side) for side in (0, 1))
    for visits in range(1, _MOST_VISITS + 1):
        found = float((one <= visits).mean()), float((other <= visits).mean())
        if min(found) >= recall:
            return visits, found
    raise SettingsError(
        f"clusters find {min(found):.4f} of the nearest at most, not {recall:g}: take --index"
        " exact, or a lower --recall"
    )


def _visits_needed(sides: Sides, router: _Router, side: int) -> Indices:
    """Return how many clusters each row of a sample must visit to meet its nearest row."""
    queries, base = sides.file(side), sides.file(1 - side)
    sample = queries[spaced_places(len(queries), _SAMPLE)]
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


def cluster_tasks(search: ClusterSearch) -> list[TaskId]:
    """Return the tasks of a search: the number of each, and its number of clusters."""
    return [(number, len(task.clusters)) for number, task in enumerate(search.tasks)]


def search_clusters(sides: Sides, search: ClusterSearch) -> SearchTask:
    """Return the function that does a task of a search that ``plan_clusters`` planned.

    Neighbours found before only make it faster: the result of all tasks is the same, in any
    order and place. Memory: some 3 GB. Raises NotFoundError, and InputError
    for damaged files.
    """
    visits = [read_visits(sides, side, search) for side in (0, 1)]
    turning = sides_turning(sides, _common_group(sides, search, visits), DEVIATIONS)

    def work(number: TaskId) -> list[BlockNeighbours]:
        task = search.tasks[number[0]]
        one, other = (_TaskRows(sides, side, task, visits[side], turning) for side in (0, 1))
        threads = sides.threads if len(task.clusters) == 1 else 1
        lock = Lock()

        def compare(cluster: int) -> None:
            a, b = one.members[cluster], other.members[cluster]
            with lock:
                reached = one.floors(a), other.floors(b)
            wanted = SearchRequest(sides.neighbours.k, reached, threads)
            forward, backward = search_turned(one.turned.take(a), other.turned.take(b), wanted)
            with lock:
                one.join(a, forward, other.rows[b])
                other.join(b, backward, one.rows[a])

        both = [
            cluster
            for cluster in range(len(task.clusters))
            if len(one.members[cluster]) and len(other.members[cluster])
        ]
        map_blocks(compare, both, sides.threads)
        return [*one.found(), *other.found()]

    return work


def _common_group(sides: Sides, search: ClusterSearch, visits: Sequence[Visits]) -> Group | None:
    """Return rows of the cluster of median size, where each counts by its pairs; None for none."""
    counts = [np.bincount(own.ravel(), minlength=search.clusters) for own in visits]
    order = np.argsort(pairs := counts[0] * counts[1], kind="stable")
    total = np.cumsum(pairs[order])
    if not total[-1]:
        return None
    cluster = int(order[np.searchsorted(total, total[-1] / 2)])
    rows = [_visitors(own, [cluster], sides.threads)[0] for own in visits]
    some = [own[sample_rows(len(own))] for own in rows]
    one, other = (unit_rows(sides.file(side)[own]) for side, own in enumerate(some))
    return Group((one, other), (len(rows[0]), len(rows[1])))


class _TaskRows:
    """The rows of a side that a task compares, and their nearest so far."""

    def __init__(
        self, sides: Sides, side: int, task: ClusterTask, visits: Visits, turning: Turning | None
    ) -> None:
        """Read the rows, and the neighbours that earlier tasks found."""
        self._sides, self._side = sides, side
        first, last = task.first[side], len(visits) if task.last is None else task.last[side]
        rows, clusters = _visitors(visits[first:last], task.clusters, sides.threads)
        self.rows, places = np.unique(rows, return_inverse=True)
        """Their numbers, ascending."""
        order = np.argsort(clusters, kind="stable")
        counts = np.bincount(clusters, minlength=len(task.clusters))
        self.members: list[Indices] = np.split(places[order], np.cumsum(counts)[:-1])
        """The places in ``rows`` of those that visit each of the task's clusters."""
        self.rows += first
        file = sides.file(side)
        units = np.empty((len(self.rows), sides.dim), np.float32)

        def read(start: int) -> None:
            some = slice(start, start + _READ)
            units[some] = unit_rows(file[self.rows[some]])

        map_blocks(read, range(0, len(units), _READ), sides.threads)
        self.turned = turned_rows(units, turning, side, sides.threads)
        self._best, self._new = self._known(), np.zeros(len(units), np.bool_)

    def _blocks(self) -> Iterator[tuple[int, slice]]:
        """Yield each block that has some of the rows, and their places."""
        blocks = self._sides.neighbours.blocks(self._side)
        bounds = np.searchsorted(self.rows, [block * BLOCK for block in [*blocks, len(blocks)]])
        for block in blocks:
            if bounds[block] < bounds[block + 1]:
                yield block, slice(int(bounds[block]), int(bounds[block + 1]))

    def _known(self) -> Neighbours:
        """Return the neighbours that earlier tasks found."""
        best = no_neighbours(len(self.rows), self._sides.neighbours.k)

        def read(block: int, places: slice) -> None:
            known = self._sides.neighbours.read(self._side, block)
            rows = self.rows[places] - block * BLOCK
            best[0][places], best[1][places] = known[0][rows], known[1][rows]

        map_blocks(lambda own: read(*own), self._blocks(), self._sides.threads)
        return best

    def floors(self, places: Indices) -> Scores:
        """Return the k-th highest cosines so far of the rows at some places."""
        floors: Scores = self._best[0][places, -1]
        return floors

    def join(self, places: Indices, found: Neighbours, others: Indices) -> None:
        """Keep the k nearest of the known and the found of the rows at some places.

        *others*: rows of the other side by the numbers in *found*.
        """
        cosines, numbers = found
        some = np.flatnonzero(cosines[:, 0] > -np.inf)
        numbers = np.where(numbers[some] == NO_ROW, NO_ROW, others[numbers[some]])
        known = self._best[0][places[some]], self._best[1][places[some]]
        merged = merge_neighbours(known, (cosines[some], numbers), self._sides.neighbours.k)
        self._best[0][places[some]], self._best[1][places[some]] = merged
        self._new[places[some]] = True

    def found(self) -> Iterator[BlockNeighbours]:
        """Yield the neighbours of the rows that have new ones, block by block."""
        for block, places in self._blocks():
            new = np.flatnonzero(self._new[places]) + places.start
            if len(new):
                best = self._best[0][new], self._best[1][new]
                yield BlockNeighbours(self._side, block, best, self.rows[new] - block * BLOCK)


def _visitors(visits: Visits, clusters: list[int], threads: int) -> tuple[Indices, Indices]:
    """Return the rows that visit some clusters, ascending, and the place of each cluster."""
    place = np.full(np.iinfo(np.uint16).max + 1, NO_ROW, np.int16)
    place[clusters] = np.arange(len(clusters))

    def visitors(first: int) -> tuple[Indices, Indices]:
        places = place[visits[first : first + BLOCK]]
        rows, columns = np.nonzero(places != NO_ROW)
        return rows + first, places[rows, columns].astype(np.int64)

    parts = map_blocks(visitors, range(0, len(visits), BLOCK), threads)
    none = np.zeros(0, np.int64)
    rows, found = (np.concatenate(part) for part in zip((none, none), *parts, strict=True))
    return rows, found
