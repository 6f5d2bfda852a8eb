"""The search in clusters, against the exact nearest among the rows that share a cluster."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from searches import map_here, written_sides

from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.compiled import NO_COMPILED
from bitextfilter.search import bidirectional, clusters
from bitextfilter.search import tasks as search
from bitextfilter.search.clusters import (
    ClusterSearch,
    ClusterTask,
    cluster_tasks,
    plan_clusters,
    read_visits,
    search_clusters,
)
from bitextfilter.search.compiled import kernel
from bitextfilter.search.tasks import Sides, find_neighbours
from bitextfilter.similarity.vectors import NO_ROW, Neighbours, scan, unit_products, unit_rows

K, DIM = 3, 64
GENERATOR = np.random.default_rng(5)
TOPICS = 4 * GENERATOR.standard_normal((30, DIM)).astype(np.float32)
B = TOPICS[GENERATOR.integers(30, size=1900)] + GENERATOR.standard_normal((1900, DIM))
A = B[300:1700] + 0.8 * GENERATOR.standard_normal((1400, DIM))
A[100:120] = A[0]
B[7] = 0


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several blocks, and the compiled search of few rows, too."""
    monkeypatch.delenv(NO_COMPILED, raising=False)
    for module in (search, clusters):
        monkeypatch.setattr(module, "BLOCK", 600)
    monkeypatch.setattr(bidirectional, "LEARNING", (0, 0, 0))
    monkeypatch.setattr(bidirectional, "TURNING", 0)


def sides_of(folder: Path, form: str = "float32") -> Sides:
    return written_sides(folder, (A, B), K, form)


def found(sides: Sides, plan: ClusterSearch) -> tuple[Neighbours, Neighbours]:
    prepare = partial(search_clusters, sides, plan)
    return find_neighbours(sides.neighbours, cluster_tasks(plan), prepare, map_here, repr)


def visitors(sides: Sides, side: int, plan: ClusterSearch) -> np.ndarray:
    """Whether each row visits each cluster."""
    visits = read_visits(sides, side, plan)
    whether = np.zeros((len(visits), plan.clusters), np.bool_)
    np.put_along_axis(whether, visits.astype(int), values=True, axis=1)
    assert (whether.sum(axis=1) == plan.visits).all(), "no cluster is visited twice"
    return whether


def check(sides: Sides, plan: ClusterSearch, results: tuple[Neighbours, Neighbours]) -> None:
    """Compare with all cosines, of which those without a common cluster count nothing."""
    units = unit_rows(sides.file(0)[:]), unit_rows(sides.file(1)[:])
    one, other = (visitors(sides, side, plan).astype(int) for side in (0, 1))
    cosines = np.where(one @ other.T > 0, unit_products(*units), -np.inf)
    for (values, numbers), table in zip(results, (cosines, cosines.T), strict=True):
        order = np.argsort(-table, axis=1, kind="stable")[:, :K]
        nearest = np.take_along_axis(table, order, axis=1)
        assert np.array_equal(values, nearest)
        assert np.array_equal(numbers, np.where(nearest > -np.inf, order, NO_ROW))


@pytest.mark.parametrize("form", ["float32", "float16", "int8"])
def test_rows_of_a_common_cluster_are_compared(tmp_path: Path, form: str) -> None:
    sides = sides_of(tmp_path, form)
    plan = plan_clusters(sides, 0.8)
    assert 1 <= plan.visits < plan.clusters == len(A) // 32
    results = found(sides, plan)
    check(sides, plan, results)
    assert (results[0][0] == -np.inf).sum() < len(A) / 10, "else nothing is tested"


def test_the_plan_says_what_the_search_does(tmp_path: Path) -> None:
    """All rows are in the sample here, so that its recall is that of all."""
    sides = sides_of(tmp_path)
    plan = plan_clusters(sides, 0.9)
    results = found(sides, plan)
    units = unit_rows(sides.file(0)[:]), unit_rows(sides.file(1)[:])
    for recall, (cosines, _), (queries, base) in zip(
        plan.recalls, results, (units, units[::-1]), strict=True
    ):
        assert 0.9 <= recall < 1
        nearest = scan(queries, base, 1)[0][:, 0]
        assert (cosines[:, 0] == nearest).mean() == pytest.approx(recall, abs=0.003)
    fewer = [clusters._visits_needed(sides, clusters._Router(sides), side) for side in (0, 1)]
    assert min((own < plan.visits).mean() for own in fewer) < 0.9, "no visit is superfluous"
    compared = visitors(sides, 0, plan).astype(int) @ visitors(sides, 1, plan).T.astype(int)
    assert plan.share == pytest.approx(compared.mean())


@pytest.mark.parametrize("heads", [0, 4])
def test_nearest_centroids_are_visited(
    tmp_path: Path, heads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With first floors from centroids near the heads of groups, and without."""
    if heads:
        monkeypatch.setattr(clusters, "_HEADS", heads)
        monkeypatch.setattr(clusters, "_NEAR", 10)
        monkeypatch.setattr(clusters, "_MOST_VISITS", 10)
    sides = sides_of(tmp_path)
    plan, router = plan_clusters(sides, 0.8), clusters._Router(sides)
    assert len(router._heads) == heads
    for side in (0, 1):
        even = unit_rows(router._axes.turn(unit_rows(sides.file(side)[:]), side))
        cosines = unit_products(even, router.centroids)
        nearest = np.argsort(-cosines, axis=1, kind="stable")[:, : plan.visits]
        assert np.array_equal(read_visits(sides, side, plan), nearest)


@pytest.mark.parametrize("rows", [80, 500])
def test_tasks_of_any_size_find_the_same(
    tmp_path: Path, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clusters of more rows than a task may have are cut in pieces."""
    monkeypatch.setattr(clusters, "_TASK_NUMBERS", rows * DIM)
    sides = sides_of(tmp_path)
    plan = plan_clusters(sides, 0.8)
    members = [visitors(sides, side, plan) for side in (0, 1)]
    whole = [cluster for task in plan.tasks if not task.last for cluster in task.clusters]
    cut = {task.clusters[0] for task in plan.tasks if task.last}
    assert sorted([*whole, *cut]) == [*range(plan.clusters)]
    for task in plan.tasks:
        visiting = [own[:, task.clusters].any(axis=1) for own in members]
        last = task.last or (len(A), len(B))
        compared = [
            own[first:end].sum() for own, first, end in zip(visiting, task.first, last, strict=True)
        ]
        assert task.rows == sum(compared) <= rows
    assert bool(cut) == (rows < 500)
    check(sides, plan, found(sides, plan))


def test_with_and_without_compiled_code_and_by_any_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results, plans = [], []
    for threads, compiled in ((1, True), (3, True), (2, False)):
        if not compiled:
            monkeypatch.setenv(NO_COMPILED, "1")
            assert not kernel()
        folder = tmp_path / f"{threads}"
        folder.mkdir()
        sides = replace(sides_of(folder), threads=threads)
        plans.append(plan_clusters(sides, 0.8))
        results.append(found(sides, plans[-1]))
    assert plans[0] == plans[1] == plans[2]
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            assert np.array_equal(one[0], two[0])
            assert np.array_equal(one[1], two[1])


def test_tasks_in_any_order_and_twice_find_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after kills, or on several machines."""
    monkeypatch.setattr(clusters, "_TASK_NUMBERS", 500 * DIM)
    sides = sides_of(tmp_path)
    plan = plan_clusters(sides, 0.8)
    tasks = cluster_tasks(plan)
    work = search_clusters(sides, plan)
    early = work(tasks[2])
    for task in tasks[::-1]:
        for part in work(task):
            sides.neighbours.join(part)
    for part in early:
        sides.neighbours.join(part)
    check(sides, plan, (sides.neighbours.read_side(0), sides.neighbours.read_side(1)))


def test_an_earlier_plan_is_kept(tmp_path: Path) -> None:
    sides = sides_of(tmp_path)
    plan = plan_clusters(sides, 0.8)
    assert plan_clusters(sides, 0.99) == plan
    assert all(isinstance(task, ClusterTask) for task in plan.tasks)
    path = clusters.visits_path(sides, 1)
    kept = path.read_bytes()
    path.write_bytes(kept[:-1])
    with pytest.raises(InputError, match="remove the folder"):
        search_clusters(sides, plan)
    path.write_bytes(kept)
    (tmp_path / "clusters.json").write_text("{")
    with pytest.raises(InputError, match="remove the folder"):
        plan_clusters(sides, 0.8)


def test_what_clusters_cannot_do_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_topics = [GENERATOR.standard_normal((2000, 20)).astype(np.float32) for _ in "ab"]
    sides = written_sides(tmp_path, (no_topics[0], no_topics[1]), K, "float32")
    with pytest.raises(SettingsError, match="times as many pairs as there are, to find 1 of"):
        plan_clusters(sides, 1.0)
    monkeypatch.setattr(clusters, "_MOST_VISITS", 1)
    with pytest.raises(SettingsError, match=r"find 0.\d{4} of the nearest at most, not 0.99: take"):
        plan_clusters(sides, 0.99)
