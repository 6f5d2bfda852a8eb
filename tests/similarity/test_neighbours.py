"""Exact k-NN against sorting, with ties, the same in any company."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.arrays import Indices, Scores, Vectors
from bitextfilter.similarity import vectors as neighbours
from bitextfilter.similarity.vectors import (
    NO_ROW,
    Neighbours,
    cosine_matrix,
    csls,
    highest,
    highest_means,
    margin_matrix,
    matches,
    mean_similarity,
    merge_neighbours,
    neighbourhood_means,
    no_neighbours,
    scan,
    unit_rows,
)

GENERATOR = np.random.default_rng(0)
BASE = GENERATOR.standard_normal((500, 24)).astype(np.float32)
QUERIES = (BASE[:90] + 0.5 * GENERATOR.standard_normal((90, 24))).astype(np.float32)


def naive_nearest(queries: Vectors, base: Vectors, k: int) -> tuple[Scores, Indices]:
    """Sort every row of the cosine matrix by falling similarity, then by column."""
    matrix = cosine_matrix(queries, base)
    order = [sorted(range(len(base)), key=lambda j: (-row[j], j))[:k] for row in matrix]
    indices = np.array(order, dtype=np.int64)
    return np.take_along_axis(matrix, indices, axis=1), indices


@pytest.fixture(params=[(512, 4096), (7, 11), (16, 500), (5, 3)])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, base_rows = request.param
    monkeypatch.setattr(neighbours, "QUERY_ROWS", rows)
    monkeypatch.setattr(neighbours, "BASE_ROWS", base_rows)


def search(queries: Vectors, base: Vectors, k: int, threads: int) -> tuple[Scores, Indices]:
    """Scan, whatever the lengths of the vectors."""
    return scan(unit_rows(queries), unit_rows(base), k, threads)


@pytest.mark.gate(8)
@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("k", [1, 10, 37])
@pytest.mark.parametrize("threads", [1, 2])
def test_agrees_with_sorting_whatever_the_blocks(k: int, threads: int) -> None:
    similarities, indices = search(QUERIES, BASE, k, threads)
    expected = naive_nearest(QUERIES, BASE, k)
    assert np.array_equal(similarities, expected[0])
    assert np.array_equal(indices, expected[1])


@pytest.mark.gate(6)
@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("copies", [2, 6, 40])
def test_ties_go_to_the_lower_row(copies: int) -> None:
    base = np.repeat(BASE[:40], copies, axis=0)[GENERATOR.permutation(40 * copies)]
    similarities, indices = search(QUERIES, base, 15, 1)
    expected = naive_nearest(QUERIES, base, 15)
    assert np.array_equal(similarities, expected[0])
    assert np.array_equal(indices, expected[1])


@pytest.mark.usefixtures("blocks")
def test_all_alike() -> None:
    similarities, indices = search(QUERIES[:3], np.ones((30, 24), np.float32), 4, 1)
    assert np.array_equal(indices, np.tile(np.arange(4), (3, 1)))
    assert (similarities == similarities[:, :1]).all()


def test_zero_vectors_are_like_nothing() -> None:
    queries, base = QUERIES.copy(), BASE.copy()
    queries[::7] = 0
    base[::3] = 0
    similarities, indices = search(queries, base, 10, 2)
    expected = naive_nearest(queries, base, 10)
    assert np.array_equal(similarities, expected[0])
    assert np.array_equal(indices, expected[1])
    assert not similarities[::7].any()
    assert np.array_equal(indices[::7], np.tile(np.arange(10), (13, 1)))


@pytest.mark.parametrize("rows", [0, 1, 3, 10, 26, 27])
def test_small_bases(rows: int) -> None:
    similarities, indices = search(QUERIES, BASE[:rows], 10, 1)
    expected = naive_nearest(QUERIES, BASE[:rows], 10)
    assert similarities.shape == indices.shape == (90, min(10, rows))
    assert np.array_equal(similarities, expected[0])
    assert np.array_equal(indices, expected[1])
    assert search(QUERIES[:0], BASE[:rows], 10, 1)[0].shape == (0, min(10, rows))


@pytest.mark.usefixtures("blocks")
def test_mean_similarity_agrees_with_the_matrix() -> None:
    expected = highest_means(cosine_matrix(QUERIES, BASE), 10)
    assert np.array_equal(mean_similarity(QUERIES, BASE, 10), expected)
    assert not mean_similarity(QUERIES, BASE[:0]).any()


def test_a_query_does_not_depend_on_its_company() -> None:
    queries = GENERATOR.standard_normal((1300, 256)).astype(np.float32)
    base = GENERATOR.standard_normal((900, 256)).astype(np.float32)
    whole = mean_similarity(queries, base)
    for size in (1, 7, 512, 1300):
        rows = GENERATOR.permutation(1300)[:size]
        assert np.array_equal(mean_similarity(queries[rows], base, threads=2), whole[rows])
    assert np.array_equal(mean_similarity(queries, base[GENERATOR.permutation(900)]), whole)
    twice = np.repeat(queries[:50], 3, axis=0)
    assert np.array_equal(mean_similarity(twice, base), np.repeat(whole[:50], 3))


def test_highest_orders_equals_by_column() -> None:
    values = np.array([[1, 3, 3, 2, 3], [0, 0, 0, 0, 0], [5, 4, 3, 2, 1]], np.float32)
    chosen, columns = highest(values, 3)
    assert np.array_equal(columns, [[1, 2, 4], [0, 1, 2], [0, 1, 2]])
    assert np.array_equal(chosen, [[3, 3, 3], [0, 0, 0], [5, 4, 3]])


PAIRS = st.dictionaries(st.integers(0, 12), st.sampled_from([-0.5, 0.0, 0.25, 0.5]), max_size=6)


def as_found(rows: list[dict[int, float]]) -> Neighbours:
    """Each row's numbers and cosines, best first, filled up."""
    made = no_neighbours(len(rows), max(map(len, rows), default=0))
    for place, row in enumerate(rows):
        for column, (number, cosine) in enumerate(sorted(row.items(), key=lambda x: (-x[1], x[0]))):
            made[0][place, column], made[1][place, column] = cosine, number
    return made


@given(st.lists(st.tuples(PAIRS, PAIRS), min_size=1, max_size=5), st.integers(1, 8))
def test_joined_neighbours_against_sorting(
    rows: list[tuple[dict[int, float], dict[int, float]]], k: int
) -> None:
    """A number that is in both has one cosine."""
    second = [{n: one.get(n, c) for n, c in two.items()} for one, two in rows]
    found = merge_neighbours(as_found([one for one, _ in rows]), as_found(second), k)
    for place, one in enumerate(one for one, _ in rows):
        ranked = sorted((-cosine, number) for number, cosine in {**one, **second[place]}.items())
        ranked = (ranked + [(np.inf, NO_ROW)] * k)[:k]
        assert list(zip(-found[0][place], found[1][place], strict=True)) == ranked


@pytest.mark.parametrize("k", [1, 4])
def test_of_no_rows_and_of_nothing(k: int) -> None:
    assert merge_neighbours(no_neighbours(0, 2), no_neighbours(0, 3), k)[0].shape == (0, k)
    found = merge_neighbours(no_neighbours(3, 0), no_neighbours(3, 2), k)
    assert (found[1] == NO_ROW).all()
    assert (found[0] == -np.inf).all()


def sides(n: int = 23, m: int = 31) -> tuple[Vectors, Vectors]:
    generator = np.random.default_rng(4)
    return unit_rows(generator.normal(size=(n, 6))), unit_rows(generator.normal(size=(m, 6)))


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("k", [1, 4, 40])
def test_means_against_a_double_loop(k: int) -> None:
    a, b = sides()
    naive = [np.mean(sorted((float(x @ y) for y in b), reverse=True)[:k]) for x in a]
    assert neighbourhood_means(a, b, k) == pytest.approx(naive, abs=1e-6)


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("k", [1, 3, 40])
def test_matches_by_cosine_against_sorting(k: int) -> None:
    a, b = sides()
    naive = [sorted(range(len(b)), key=lambda j: -float(x @ b[j]))[:k] for x in a]
    assert matches(a, b, k).tolist() == naive


@pytest.mark.usefixtures("blocks")
def test_matches_by_csls_are_those_of_the_matrix() -> None:
    a, b = sides()
    means = neighbourhood_means(a, b, 3), neighbourhood_means(b, a, 3)
    naive = np.argsort(-margin_matrix(csls, a, b, 3), axis=1)[:, :2]
    found = matches(a, b, 2, means)
    assert found.tolist() == naive.tolist()
    assert found.tolist() != matches(a, b, 2).tolist()


@pytest.mark.usefixtures("blocks")
def test_the_lower_row_comes_first_among_equals() -> None:
    a = np.array([[1, 0]], dtype=np.float32)
    assert matches(a, np.repeat(a, 3, axis=0), 2).tolist() == [[0, 1]]


@pytest.mark.usefixtures("blocks")
def test_no_queries() -> None:
    a, b = sides()
    assert neighbourhood_means(a[:0], b).shape == (0,)
    assert matches(a[:0], b, 2).shape == (0, 2)
