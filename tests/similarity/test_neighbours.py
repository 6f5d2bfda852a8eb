"""Exact k-NN, with faiss and without: against sorting, with ties, the same in any company."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from bitextfilter.errors import DeviceError
from bitextfilter.similarity import neighbours
from bitextfilter.similarity.margins import highest_means
from bitextfilter.similarity.neighbours import (
    Indices,
    highest,
    load_faiss,
    mean_similarity,
    nearest,
    scan,
)
from bitextfilter.similarity.vectors import Scores, Vectors, cosine_matrix, unit_rows

Search = Callable[[Vectors, Vectors, int, int], tuple[Scores, Indices]]

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
    monkeypatch.setattr(neighbours, "SEARCH_ROWS", 8 * rows)
    monkeypatch.setattr(neighbours, "CANDIDATE_ROWS", base_rows)


@pytest.fixture(params=[nearest, scan])
def search(request: pytest.FixtureRequest) -> Search:
    """Either search, of vectors of any length."""

    def of_units(queries: Vectors, base: Vectors, k: int, threads: int) -> tuple[Scores, Indices]:
        found: tuple[Scores, Indices] = request.param(
            unit_rows(queries), unit_rows(base), k, threads
        )
        return found

    return of_units


@pytest.fixture
def scanned(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many queries each call of ``scan`` was for."""
    numbers: list[int] = []

    def spy(queries: Vectors, *others: object) -> tuple[Scores, Indices]:
        numbers.append(len(queries))
        return scan(queries, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(neighbours, "scan", spy)
    return numbers


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("k", [1, 10, 37])
@pytest.mark.parametrize("threads", [1, 2])
def test_agrees_with_sorting_whatever_the_blocks(search: Search, k: int, threads: int) -> None:
    similarities, indices = search(QUERIES, BASE, k, threads)
    expected = naive_nearest(QUERIES, BASE, k)
    assert np.array_equal(similarities, expected[0])
    assert np.array_equal(indices, expected[1])


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("copies", [2, 6, 40])
def test_ties_go_to_the_lower_row(search: Search, copies: int) -> None:
    base = np.repeat(BASE[:40], copies, axis=0)[GENERATOR.permutation(40 * copies)]
    similarities, indices = search(QUERIES, base, 15, 1)
    expected = naive_nearest(QUERIES, base, 15)
    assert np.array_equal(similarities, expected[0])
    assert np.array_equal(indices, expected[1])


@pytest.mark.usefixtures("blocks")
def test_all_alike(search: Search) -> None:
    similarities, indices = search(QUERIES[:3], np.ones((30, 24), np.float32), 4, 1)
    assert np.array_equal(indices, np.tile(np.arange(4), (3, 1)))
    assert (similarities == similarities[:, :1]).all()


def test_zero_vectors_are_like_nothing(search: Search) -> None:
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
def test_small_bases(search: Search, rows: int) -> None:
    similarities, indices = search(QUERIES, BASE[:rows], 10, 1)
    expected = naive_nearest(QUERIES, BASE[:rows], 10)
    assert similarities.shape == indices.shape == (90, min(10, rows))
    assert np.array_equal(similarities, expected[0])
    assert np.array_equal(indices, expected[1])
    assert search(QUERIES[:0], BASE[:rows], 10, 1)[0].shape == (0, min(10, rows))


def test_faiss_finds_nearly_all(scanned: list[int]) -> None:
    done: list[int] = []
    found = nearest(unit_rows(QUERIES), unit_rows(BASE), progress=done.append)
    assert sum(scanned) == 0
    assert sum(done) == 90
    assert found[1].dtype == np.int64


def test_what_faiss_cannot_tell_apart_is_scanned(scanned: list[int]) -> None:
    """200 cosines of the first query differ by less than the rounding of an inner product."""
    base = GENERATOR.standard_normal((300, 512)).astype(np.float32)
    base[100:] = base[100] + 1e-6 * GENERATOR.standard_normal((200, 512))
    queries = base[[100, 1, 2]] + base[[3, 4, 5]]
    similarities, indices = nearest(unit_rows(queries), unit_rows(base))
    expected = naive_nearest(queries, base, 10)
    assert np.array_equal(similarities, expected[0])
    assert np.array_equal(indices, expected[1])
    assert scanned == [1]


@pytest.mark.parametrize("dim", [3, 64, 1000])
def test_the_bound_holds_and_lets_through(dim: int) -> None:
    """No float32 sum is further off than is allowed for, and a cosine just above is surely so."""
    a, b = unit_rows(GENERATOR.standard_normal((2, 500 * dim)).reshape(1000, dim)).reshape(
        2, 500, dim
    )
    exact = (a.astype(np.float64) * b).sum(axis=1)
    rounded = np.cumsum(a * b, axis=1, dtype=np.float32)[:, -1]
    assert not neighbours._surely_above(exact.astype(np.float32), rounded, dim).any()
    above = (rounded.astype(np.float64) + 2 * dim * 2.0**-24).astype(np.float32)
    assert not neighbours._surely_above(above, rounded, dim).any()
    assert neighbours._surely_above(np.nextafter(above, np.float32(2)), rounded, dim).all()


def test_faiss_keeps_its_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    faiss = load_faiss()
    before, asked = faiss.omp_get_max_threads(), []
    set_threads = faiss.omp_set_num_threads
    monkeypatch.setattr(faiss, "omp_set_num_threads", lambda n: (asked.append(n), set_threads(n)))
    nearest(unit_rows(QUERIES), unit_rows(BASE), 10, before + 1)
    assert asked == [before + 1, before]
    assert faiss.omp_get_max_threads() == before


def test_only_nearest_needs_faiss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(DeviceError, match=r"pip install 'bitextfilter\[cpu\]'"):
        nearest(unit_rows(QUERIES[:1]), unit_rows(BASE[:1]))
    assert mean_similarity(QUERIES, BASE).shape == (90,)


def test_importing_faiss_gives_no_warning() -> None:
    code = "from bitextfilter.similarity.neighbours import load_faiss; print(load_faiss().__name__)"
    line = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("faiss\n", "")


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
