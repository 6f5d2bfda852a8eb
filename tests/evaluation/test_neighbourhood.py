"""Nearest lines and histograms against the whole matrix, however the lines come."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from bitextfilter.arrays import Vectors
from bitextfilter.evaluation import neighbourhood
from bitextfilter.evaluation.neighbourhood import EDGES, Histograms, NearestLines
from bitextfilter.similarity.vectors import cosine_matrix

GENERATOR = np.random.default_rng(4)
LINES = GENERATOR.standard_normal((300, 10)).astype(np.float32)
LINES[GENERATOR.integers(0, 300, 90)] = LINES[7]  # many equally near lines
QUERIES = np.concatenate([LINES[5:9], GENERATOR.standard_normal((9, 10)).astype(np.float32)])
QUERIES[-1] = 0


def windows(size: int) -> Iterator[tuple[Vectors, list[int]]]:
    for first in range(0, len(LINES), size):
        part = LINES[first : first + size]
        yield part, list(range(first, first + len(part)))


@pytest.fixture(params=[(512, 4096), (4, 7)], ids=["large", "small"], autouse=True)
def tiles(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbourhood, "QUERY_ROWS", request.param[0])
    monkeypatch.setattr(neighbourhood, "BASE_ROWS", request.param[1])


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("size", [1, 11, 64, 300])
@pytest.mark.parametrize("k", [1, 10, 400])
def test_the_nearest_are_those_of_the_whole_matrix(size: int, k: int, threads: int) -> None:
    nearest = NearestLines(QUERIES, k, threads)
    for vectors, numbers in windows(size):
        nearest.add(vectors, numbers)
    found = list(nearest)
    assert len(found) == len(QUERIES)
    for row, lines in zip(cosine_matrix(QUERIES, LINES).tolist(), found, strict=True):
        order = sorted(range(len(row)), key=lambda line: (-row[line], line))[:k]
        assert lines == [(row[line], line) for line in order]


def test_lines_that_are_not_near_are_let_go() -> None:
    nearest = NearestLines(QUERIES, 3)
    for vectors, numbers in windows(20):
        nearest.add(vectors, numbers)
        assert len(nearest._lines) <= 3 * len(QUERIES)
        assert all(best.values.shape[1] == 3 for best in nearest._best)
    assert set(nearest._lines) == {line for lines in nearest for _, line in lines}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("size", [1, 11, 300])
def test_histograms_count_every_line_once(size: int, threads: int) -> None:
    histograms = Histograms(QUERIES, threads)
    for vectors, _ in windows(size):
        histograms.add(vectors)
    for row, counts in zip(cosine_matrix(QUERIES, LINES), histograms.counts, strict=True):
        naive = [0] * 100
        for cosine in row.tolist():
            place = next(i for i in range(100) if cosine < EDGES[i + 1] or i == 99)
            naive[place] += 1
        assert counts.tolist() == naive
        assert sum(naive) == len(LINES)
    assert histograms.counts[-1, 50] == len(LINES)  # the cosine of nothing is 0


def test_edges_and_both_ends() -> None:
    assert [f"{edge:.2f}" for edge in EDGES[[0, 1, 50, 99, 100]]] == [
        "-1.00",
        "-0.98",
        "0.00",
        "0.98",
        "1.00",
    ]
    one = np.array([[1.0, 0.0]], dtype=np.float32)
    histograms = Histograms(one)
    histograms.add(np.array([[2, 0], [-3, 0], [0, 1]], dtype=np.float32))
    assert np.flatnonzero(histograms.counts[0]).tolist() == [0, 50, 99]
