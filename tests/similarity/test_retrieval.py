"""Retrieval by cosine and CSLS against double loops."""

from __future__ import annotations

import numpy as np
import pytest

from bitextfilter.arrays import Vectors
from bitextfilter.similarity import neighbours
from bitextfilter.similarity.neighbours import csls, margin_matrix, matches, neighbourhood_means
from bitextfilter.similarity.vectors import unit_rows


def sides(n: int = 23, m: int = 31) -> tuple[Vectors, Vectors]:
    generator = np.random.default_rng(4)
    return unit_rows(generator.normal(size=(n, 6))), unit_rows(generator.normal(size=(m, 6)))


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "QUERY_ROWS", 5)


@pytest.mark.parametrize("k", [1, 4, 40])
def test_means_against_a_double_loop(k: int) -> None:
    a, b = sides()
    naive = [np.mean(sorted((float(x @ y) for y in b), reverse=True)[:k]) for x in a]
    assert neighbourhood_means(a, b, k) == pytest.approx(naive, abs=1e-6)


@pytest.mark.parametrize("k", [1, 3, 40])
def test_matches_by_cosine_against_sorting(k: int) -> None:
    a, b = sides()
    naive = [sorted(range(len(b)), key=lambda j: -float(x @ b[j]))[:k] for x in a]
    assert matches(a, b, k).tolist() == naive


def test_matches_by_csls_are_those_of_the_matrix() -> None:
    a, b = sides()
    means = neighbourhood_means(a, b, 3), neighbourhood_means(b, a, 3)
    naive = np.argsort(-margin_matrix(csls, a, b, 3), axis=1)[:, :2]
    found = matches(a, b, 2, means)
    assert found.tolist() == naive.tolist()
    assert found.tolist() != matches(a, b, 2).tolist()


def test_the_lower_row_comes_first_among_equals() -> None:
    a = np.array([[1, 0]], dtype=np.float32)
    assert matches(a, np.repeat(a, 3, axis=0), 2).tolist() == [[0, 1]]


def test_no_queries() -> None:
    a, b = sides()
    assert neighbourhood_means(a[:0], b).shape == (0,)
    assert matches(a[:0], b, 2).shape == (0, 2)
