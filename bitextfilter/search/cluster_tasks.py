"""Approximate search of two vector files: rows are compared within the clusters that both visit.

All rows of the source side that visit a cluster are compared with all of the target side that do:
exactly, and for both directions at once. :mod:`bitextfilter.search.cluster_plan` makes the plan.

Letters: n rows of a side, k neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Lock

import numpy as np

from bitextfilter.arrays import Indices, Scores
from bitextfilter.io.workers import map_blocks
from bitextfilter.search.bidirectional import (
    Group,
    SearchRequest,
    search_turned,
    turned_rows,
)
from bitextfilter.search.cluster_plan import (
    DEVIATIONS,
    ClusterSearch,
    ClusterTask,
    Visits,
    read_visits,
)
from bitextfilter.search.compiled import Turning, sample_rows
from bitextfilter.search.tasks import (
    BLOCK,
    BlockNeighbours,
    SearchTask,
    Sides,
    TaskId,
    sides_turning,
)
from bitextfilter.similarity.neighbours import (
    NO_ROW,
    Neighbours,
    merge_neighbours,
    no_neighbours,
)
from bitextfilter.similarity.vectors import unit_rows

_READ = 2048
"""Rows read at a time."""


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
