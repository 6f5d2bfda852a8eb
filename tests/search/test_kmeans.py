"""K-means and rows that are alike, against naive loops; the same in blocks of any size."""

from __future__ import annotations

import numpy as np
import pytest

from bitextfilter.arrays import Indices, Vectors
from bitextfilter.search import kmeans as clusters
from bitextfilter.search.kmeans import (
    PairVectors,
    alike_rows,
    clusters_of,
    distant_rows,
    fit_centroids,
    nearest_centroids,
)
from bitextfilter.similarity.vectors import NO_ROW, cosine_matrix, unit_rows

GENERATOR = np.random.default_rng(3)
CENTRES = GENERATOR.standard_normal((5, 16))
TOPICS = GENERATOR.integers(0, 5, 400)
NOISE = GENERATOR.standard_normal((400, 16))
ROWS = unit_rows((CENTRES[TOPICS] + 0.3 * NOISE).astype(np.float32))


def naive_round(rows: Vectors, centroids: Vectors) -> tuple[list[int], Vectors]:
    """Labels and means, by one row at a time."""
    cosines = cosine_matrix(rows, centroids)
    labels = [max(range(len(centroids)), key=lambda c: (row[c], -c)) for row in cosines]
    means = []
    for place, old in enumerate(centroids):
        own = [row for row, label in zip(rows, labels, strict=True) if label == place]
        means.append(np.sum(own, axis=0, dtype=np.float64) if own else old)
    return labels, unit_rows(np.stack(means))


@pytest.fixture(params=[1024, 37])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "_BLOCK", request.param)


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("count", [1, 5, 60])
def test_k_means(count: int, threads: int) -> None:
    rows = np.vstack([ROWS, ROWS[:7], np.zeros((2, 16), np.float32)])
    found = fit_centroids(rows, count, 2, threads)
    draw = np.random.default_rng(2)
    sample = draw.permutation(len(rows))[: 32 * count]
    starts = rows[np.sort(sample[: 4 * count])]
    centroids, before = starts[distant_rows(starts, count, draw)], [-1]
    for _ in range(10):
        labels, means = naive_round(rows[np.sort(sample)], centroids)
        if labels == before:
            break
        before, centroids = labels, means
    assert np.array_equal(found, centroids)
    assert clusters_of(rows, found, threads).tolist() == naive_round(rows, found)[0]


def test_starts_are_drawn_by_their_distance() -> None:
    rows = unit_rows(np.array([[1, 0, 0], [1, 0, 0], [1, 0.5, 0], [0, 1, 0], [0, 0, 1]]))
    found = [distant_rows(rows, 3, np.random.default_rng(seed)).tolist() for seed in range(1500)]
    of_two = [places[1] for places in found if places[0] == 0]
    gaps = 1 - rows.astype(np.float64) @ rows[0]
    shares = np.bincount(of_two, minlength=5) / len(of_two)
    np.testing.assert_allclose(shares, gaps / gaps.sum(), atol=0.08)
    assert all({0, 1} - set(places) for places in found)  # never two equal ones
    every = distant_rows(rows, 5, np.random.default_rng(1)).tolist()
    assert sorted(every) == [0, 1, 2, 3, 4] and every[-1] in (0, 1)


def test_clusters_are_topics() -> None:
    centroids = fit_centroids(ROWS, 12)
    found = clusters_of(ROWS, centroids)
    pure = sum(np.bincount(TOPICS[found == one]).max() for one in np.unique(found))
    assert pure > 390


def test_the_nearest_of_almost_equals_is_exact() -> None:
    row = unit_rows(GENERATOR.standard_normal((1, 512)).astype(np.float32))
    steps = np.zeros((40, 512), np.float32)
    steps[np.arange(40), np.arange(40)] = 2.0**-24 * np.arange(40)
    centroids = unit_rows(row + GENERATOR.standard_normal((1, 512)) / 22) + steps
    exact = row.astype(np.float64) @ centroids.astype(np.float64).T
    assert nearest_centroids(row, centroids) == [exact.astype(np.float32).argmax()]
    assert nearest_centroids(row, centroids[[3, 5, 3, 5]])[0] in (0, 1)


def naive_alike(members: Indices, least: float) -> list[int]:
    cosines, kept, found = cosine_matrix(ROWS, ROWS), list[int](), []
    for row in members.tolist():
        like = next((one for one in kept if cosines[row, one] >= least), NO_ROW)
        found.append(like)
        if like == NO_ROW:
            kept.append(row)
    return found


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("least", [-1.0, 0.5, 0.9, 0.97, 1.0])
def test_alike_rows(least: float) -> None:
    members = np.random.default_rng(1).permutation(len(ROWS))[:300]
    assert alike_rows(ROWS, members, least).tolist() == naive_alike(members, least)


def test_equal_rows_are_alike_at_one() -> None:
    rows = unit_rows(np.vstack([ROWS[:50], ROWS[:50]]))
    found = alike_rows(rows, np.arange(100), 1.0)
    assert found.tolist() == [NO_ROW] * 50 + list(range(50))


def test_vectors_of_pairs_are_means_of_their_sides() -> None:
    sources, targets = GENERATOR.standard_normal((2, 30, 16)).astype(np.float32)
    targets[3] = 0
    with PairVectors(16) as vectors:
        vectors.add(sources[:20], targets[:20])
        vectors.add(sources[20:], targets[20:])
        assert len(vectors) == 30
        both = sources / np.linalg.norm(sources, axis=1)[:, None]
        both[targets.any(axis=1)] += (
            targets / np.linalg.norm(targets, axis=1).clip(1e-9)[:, None]
        )[targets.any(axis=1)]
        expected = both / np.linalg.norm(both, axis=1)[:, None]
        np.testing.assert_allclose(vectors[:], expected, atol=1e-3)
        assert np.array_equal(vectors[np.array([25, 2])], vectors[:][[25, 2]])
