"""Ratings from vectors: the distributions, the loss, and what is learnt."""

from __future__ import annotations

import numpy as np
import pytest

from bitextfilter.papers.paraphrases import (
    RatedVectors,
    RatingRegression,
    rating_distributions,
)

SCALE = np.arange(1, 6.0)


@pytest.mark.parametrize(
    ("rating", "expected"),
    [
        (1.0, [1, 0, 0, 0, 0]),
        (3.2, [0, 0, 0.8, 0.2, 0]),
        (4.75, [0, 0, 0, 0.25, 0.75]),
        (5.0, [0, 0, 0, 0, 1]),
        (0.2, [1, 0, 0, 0, 0]),
        (9.0, [0, 0, 0, 0, 1]),
    ],
)
def test_a_rating_is_shared_by_its_neighbours(rating: float, expected: list[float]) -> None:
    """Tai et al. 2015, eq. 15; its mean is the rating."""
    [found] = rating_distributions(np.array([rating]), SCALE)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert found @ SCALE == pytest.approx(np.clip(rating, 1, 5))


def taught(count: int, seed: int) -> RatedVectors:
    """Ratings that fall with the distance of the first numbers alone."""
    random = np.random.default_rng(seed)
    source, target = random.standard_normal((2, count, 4)).astype(np.float32)
    distance = np.abs(source[:, 0] - target[:, 0])
    return RatedVectors(source, target, np.clip(5 - 2.5 * distance, 1, 5).astype(np.float64))


def learnt(seed: int = 1, count: int = 700) -> tuple[RatingRegression, list[float], int]:
    pairs, others = taught(count, 0), taught(500, 1)
    regression, errors = RatingRegression(4, SCALE), list[float]()

    def error() -> float:
        found = regression.predict(others.source, others.target)
        errors.append(-float(np.corrcoef(found, others.ratings)[0, 1]))
        return errors[-1]

    return regression, errors, regression.fit(pairs, error, seed)


def test_ratings_are_learnt_and_the_best_epoch_is_kept() -> None:
    """The cosine knows nothing of them."""
    regression, errors, epoch = learnt()
    test = taught(500, 2)
    found = regression.predict(test.source, test.target)
    assert np.corrcoef(found, test.ratings)[0, 1] > 0.9
    assert found.min() >= 1 and found.max() <= 5
    assert errors[epoch - 1] == min(errors)
    others = taught(500, 1)
    kept = regression.predict(others.source, others.target)
    assert -np.corrcoef(kept, others.ratings)[0, 1] == pytest.approx(min(errors))


def test_the_same_seed_learns_the_same() -> None:
    one, two, other = (learnt(seed, count=200)[0] for seed in (1, 1, 2))
    test = taught(50, 3)
    found = [each.predict(test.source, test.target) for each in (one, two, other)]
    np.testing.assert_array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


def test_without_learning_every_rating_is_as_likely() -> None:
    """The weights start at 0; the order of a pair does not matter."""
    regression, pairs = RatingRegression(4, SCALE), taught(9, 4)
    regression.fit(RatedVectors(pairs.source, pairs.target, pairs.ratings), lambda: 0.0, 1)
    one = regression.predict(pairs.source, pairs.target)
    np.testing.assert_array_equal(one, regression.predict(pairs.target, pairs.source))
