"""Cosines, Euclidean similarity and margins against double loops, the same in any company."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bitextfilter.arrays import Scores, Vectors
from bitextfilter.io.compiled import NO_COMPILED
from bitextfilter.similarity.vectors import (
    MARGINS,
    cosine_matrix,
    cosine_pairs,
    cosine_pairs_at,
    csls,
    distance,
    euclidean_matrix,
    euclidean_pairs,
    highest_means,
    margin_matrix,
    on_grid,
    ratio,
    unit_products,
    unit_products_at,
    unit_rows,
)

Matrix = Callable[[Vectors, Vectors], Scores]

PAIRS: list[Matrix] = [cosine_pairs, euclidean_pairs]
MATRICES: list[Matrix] = [cosine_matrix, euclidean_matrix]


def random_vectors(rows: int, dim: int, seed: int, spread: float = 1.0) -> Vectors:
    """Vectors whose rows differ in length by the factor ``spread`` and more."""
    generator = np.random.default_rng(seed)
    lengths = np.exp(np.log(spread) * generator.standard_normal((rows, 1)))
    vectors: Vectors = (generator.standard_normal((rows, dim)) * lengths).astype(np.float32)
    return vectors


def naive_cosine(x: Vectors, y: Vectors) -> float:
    left, right = [float(v) for v in x], [float(v) for v in y]
    squares = math.fsum(v * v for v in left) * math.fsum(v * v for v in right)
    product = math.fsum(v * w for v, w in zip(left, right, strict=True))
    return product / math.sqrt(squares) if squares else 0.0


def naive_euclidean(x: Vectors, y: Vectors) -> float:
    return -math.sqrt(math.fsum((float(v) - float(w)) ** 2 for v, w in zip(x, y, strict=True)))


@pytest.mark.parametrize("dim", [1, 3, 512])
@pytest.mark.parametrize(
    ("pairs", "matrix", "naive"),
    [
        (cosine_pairs, cosine_matrix, naive_cosine),
        (euclidean_pairs, euclidean_matrix, naive_euclidean),
    ],
)
def test_agrees_with_a_double_loop(
    pairs: Matrix, matrix: Matrix, naive: Callable[[Vectors, Vectors], float], dim: int
) -> None:
    a, b = random_vectors(7, dim, 1, 30.0), random_vectors(7, dim, 2, 30.0)
    expected = np.array([[naive(x, y) for y in b] for x in a])
    scale = 1.0 if pairs is cosine_pairs else float(np.abs(expected).max())
    np.testing.assert_allclose(matrix(a, b) / scale, expected / scale, atol=3e-7)
    np.testing.assert_allclose(pairs(a, b) / scale, np.diag(expected) / scale, atol=3e-7)


@pytest.mark.parametrize(("pairs", "matrix"), list(zip(PAIRS, MATRICES, strict=True)))
def test_rows_and_matrix_agree_to_the_bit(pairs: Matrix, matrix: Matrix) -> None:
    a, b = random_vectors(50, 300, 3), random_vectors(50, 300, 4)
    assert np.array_equal(np.diag(matrix(a, b)), pairs(a, b))


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("dim", [5, 64, 511, 512])
def test_a_value_does_not_depend_on_its_company(matrix: Matrix, dim: int) -> None:
    a, b = random_vectors(130, dim, 5, 3.0), random_vectors(70, dim, 6, 3.0)
    whole = matrix(a, b)
    generator = np.random.default_rng(7)
    for rows, columns in [(1, 1), (1, 70), (130, 1), (17, 33), (64, 64), (130, 70)]:
        i, j = generator.permutation(130)[:rows], generator.permutation(70)[:columns]
        assert np.array_equal(matrix(a[i], b[j]), whole[np.ix_(i, j)])
    assert np.array_equal(matrix(np.asfortranarray(a), b[:, :]), whole)
    assert np.array_equal(matrix(b, a), whole.T)


@pytest.mark.parametrize("pairs", PAIRS)
def test_a_pair_does_not_depend_on_its_company(pairs: Matrix) -> None:
    a, b = random_vectors(513, 96, 8, 3.0), random_vectors(513, 96, 9, 3.0)
    whole = pairs(a, b)
    order = np.random.default_rng(10).permutation(513)
    assert np.array_equal(pairs(a[order], b[order]), whole[order])
    for row in (0, 1, 255, 512):
        assert pairs(a[row : row + 1], b[row : row + 1])[0] == whole[row]


def test_no_order_of_the_elements_changes_a_sum() -> None:
    a, b = on_grid(random_vectors(40, 512, 11, 9.0)), on_grid(random_vectors(40, 512, 12, 9.0))
    exact = [[math.fsum(x * y) for y in b] for x in a]
    order = np.random.default_rng(13).permutation(512)
    assert np.array_equal(a @ b.T, exact)
    assert np.array_equal(a[:, order] @ b[:, order].T, exact)
    assert np.array_equal(np.cumsum(a[:, order] * b[:, order], axis=1)[:, -1], np.diag(exact))


numbers = st.floats(-1e6, 1e6, width=32, allow_subnormal=False)


@given(arrays(np.float32, (4, 6), elements=numbers))
def test_products_on_the_grid_are_exact_for_any_numbers(rows: Vectors) -> None:
    grid = on_grid(rows)
    exact = [[math.fsum(x * y) for y in grid] for x in grid]
    assert np.array_equal(grid @ grid.T, exact)
    bound = np.abs(rows).max(axis=1, keepdims=True).astype(np.float64) * math.sqrt(6)
    assert (np.abs(grid - rows) <= bound * 2.0**-26).all()


def test_unit_rows_have_length_one_and_fit_the_grid() -> None:
    units = unit_rows(random_vectors(100, 512, 14, 50.0))
    np.testing.assert_allclose(np.linalg.norm(units.astype(np.float64), axis=1), 1.0, atol=1e-6)
    assert np.array_equal(units * 2.0**24, np.rint(units * 2.0**24))


@pytest.mark.parametrize("second", [1.0, 0.01])
def test_unit_rows_are_as_near_as_said(second: float) -> None:
    rows = random_vectors(500, 512, 16, 1.0) * np.where(np.arange(512) == 3, 1, second)
    lengths = [math.sqrt(math.fsum(row * row)) for row in rows.astype(np.float64)]
    errors = np.abs(unit_rows(rows) - rows / np.array(lengths)[:, None])
    assert errors.max() <= math.sqrt(512) * 2.0**-25


def test_products_at_are_those_of_the_matrix() -> None:
    a, b = (unit_rows(random_vectors(n, 33, n, 2.0)) for n in (20, 70))
    columns = np.random.default_rng(17).integers(0, 70, (20, 9))
    expected = np.take_along_axis(unit_products(a, b), columns, axis=1)
    assert np.array_equal(unit_products_at(a, b, columns), expected)


@pytest.mark.parametrize("measure", PAIRS + MATRICES)
def test_zero_vectors_and_no_rows(measure: Matrix) -> None:
    zero, other = np.zeros((1, 4), np.float32), np.ones((1, 4), np.float32)
    assert np.ravel(measure(zero, zero)) == [0.0]
    expected = 0.0 if measure in (cosine_pairs, cosine_matrix) else -2.0
    assert np.ravel(measure(zero, other)) == [expected]
    assert measure(zero[:0], other[:0]).size == 0


@pytest.mark.parametrize("measure", PAIRS + MATRICES)
def test_a_vector_is_most_similar_to_itself(measure: Matrix) -> None:
    a = random_vectors(30, 37, 15, 4.0)
    values = measure(a, a)
    own = values if values.ndim == 1 else np.diag(values)
    if measure in (cosine_pairs, cosine_matrix):
        np.testing.assert_allclose(own, 1.0, atol=1e-6)
    else:
        assert (own == 0.0).all()
    assert values.dtype == np.float32
    assert values.max() <= 1.0


@pytest.mark.parametrize("pairs", PAIRS)
def test_pairs_need_one_shape(pairs: Matrix) -> None:
    with pytest.raises(ValueError, match=r"not \(1, 4\) and \(2, 4\)"):
        pairs(np.ones((1, 4), np.float32), np.ones((2, 4), np.float32))


@pytest.mark.parametrize("dim", [1, 7, 16, 513])
@pytest.mark.parametrize("scale", [1, 1e-44, 1e-38, 1e30])
def test_the_compiled_numbers_are_numpys(
    dim: int, scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = random_vectors(60, dim, 8) * np.float32(scale), random_vectors(90, dim, 9, 1e4)
    a[5] = 0
    chance = np.random.default_rng(3)
    i, j = chance.integers(0, 60, 200), chance.integers(0, 90, 200)
    found = unit_rows(a), cosine_pairs_at(a, b, i, j)
    monkeypatch.setenv(NO_COMPILED, "1")
    expected = unit_rows(a), cosine_pairs_at(a, b, i, j)
    assert all(map(np.array_equal, found, expected))
    assert np.array_equal(found[1], cosine_pairs(a[i], b[j]))
    assert np.array_equal(found[0][::-1], unit_rows(a[::-1]))
    assert cosine_pairs_at(a, b, i[:0], j[:0]).shape == (0,)


@pytest.mark.parametrize("place", [3, -4])
def test_places_without_a_row_are_errors(place: int) -> None:
    rows = np.ones((3, 2), np.float32)
    with pytest.raises(IndexError):
        cosine_pairs_at(rows, rows, np.array([place]), np.array([0]))


GENERATOR = np.random.default_rng(0)
SOURCE = (GENERATOR.standard_normal((9, 6)) + 0.8).astype(np.float32)
TARGET = (GENERATOR.standard_normal((7, 6)) + 0.8).astype(np.float32)


def cosine(x: Vectors, y: Vectors) -> float:
    wide, other = x.astype(np.float64), y.astype(np.float64)
    return float(wide @ other / np.sqrt(wide @ wide) / np.sqrt(other @ other))


def mean_of_nearest(x: Vectors, others: Vectors, k: int) -> float:
    nearest = sorted((cosine(x, other) for other in others), reverse=True)[:k]
    return sum(nearest) / len(nearest)


def naive_matrix(margin: Callable[[float, float, float], float], k: int) -> list[list[float]]:
    return [
        [
            margin(cosine(x, y), mean_of_nearest(x, TARGET, k), mean_of_nearest(y, SOURCE, k))
            for y in TARGET
        ]
        for x in SOURCE
    ]


@pytest.mark.parametrize("k", [1, 4, 10])
@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("csls", lambda c, s, t: 2 * c - s - t),
        ("ratio", lambda c, s, t: c / ((s + t) / 2)),
        ("distance", lambda c, s, t: c - (s + t) / 2),
    ],
)
def test_margins_agree_with_a_double_loop(
    name: str, formula: Callable[[float, float, float], float], k: int
) -> None:
    expected = naive_matrix(formula, k)
    values = margin_matrix(MARGINS[name], SOURCE, TARGET, k)
    np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-6)
    assert values.dtype == np.float32


@pytest.mark.parametrize("name", MARGINS)
def test_lines_of_a_matrix_follow_its_vectors(name: str) -> None:
    whole = margin_matrix(MARGINS[name], SOURCE, TARGET, 3)
    i, j = np.random.default_rng(1).permutation(9), np.random.default_rng(2).permutation(7)
    assert np.array_equal(
        margin_matrix(MARGINS[name], SOURCE[i], TARGET[j], 3), whole[np.ix_(i, j)]
    )


def test_known_values() -> None:
    one = np.array([0.6], np.float32)
    means = np.array([0.3], np.float32), np.array([0.5], np.float32)
    assert csls(one, *means)[0] == pytest.approx(0.4)
    assert ratio(one, *means)[0] == pytest.approx(1.5)
    assert distance(one, *means)[0] == pytest.approx(0.2)


def test_the_hub_correction_points_the_right_way() -> None:
    """A cosine of .6 among neighbours at .95 is poor, among neighbours at .30 excellent."""
    one, near, far = (np.array([value], np.float32) for value in (0.6, 0.95, 0.30))
    for margin in MARGINS.values():
        assert margin(one, near, near)[0] < margin(one, far, far)[0]


def test_ratio_keeps_its_order_and_range_where_means_are_not_positive() -> None:
    cosines = np.array([-1.0, -0.1, 0.0, 0.1, 1.0], np.float32)
    for mean in (-0.5, 0.0, 1e-9):
        values = ratio(cosines, np.float32(mean), np.float32(mean))
        assert (np.diff(values) > 0).all()
        assert np.abs(values).max() <= 100.001


def test_means_of_the_highest() -> None:
    values = np.array([[0.1, 0.9, 0.5, -1.0], [0.0, 0.0, 0.0, 0.0]], np.float32)
    np.testing.assert_allclose(highest_means(values, 2), [0.7, 0.0])
    np.testing.assert_allclose(highest_means(values, 99), [0.125, 0.0], atol=1e-7)
    assert np.array_equal(highest_means(values[:, :0], 2), [0.0, 0.0])


def test_means_do_not_depend_on_places() -> None:
    values = GENERATOR.standard_normal((40, 200)).astype(np.float32)
    order = GENERATOR.permutation(200)
    assert np.array_equal(highest_means(values, 13), highest_means(values[:, order], 13))


def test_what_is_no_value_does_not_count() -> None:
    none = -np.inf
    values = np.array([[none, 0.6, none, 0.2], [none] * 4, [-0.5, none, none, none]], np.float32)
    for k, expected in ((1, [0.6, 0.0, -0.5]), (3, [0.4, 0.0, -0.5]), (9, [0.4, 0.0, -0.5])):
        found = highest_means(values, k)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert found.dtype == np.float32


def test_means_are_summed_in_double_precision() -> None:
    values = np.full((1, 3000), 0.1, np.float32)
    values[0, 1] = 1e8
    expected = (1e8 + 2999 * float(np.float32(0.1))) / 3000
    assert highest_means(values, 3000)[0] == np.float32(expected)
