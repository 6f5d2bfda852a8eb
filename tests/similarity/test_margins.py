"""CSLS, ratio and distance margins against double loops over the definition."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bitextfilter.arrays import Vectors
from bitextfilter.similarity.vectors import (
    MARGINS,
    csls,
    distance,
    highest_means,
    margin_matrix,
    ratio,
)

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
def test_agrees_with_a_double_loop(
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
