"""What is added to CSLS."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bitextfilter.mining.comparable import joint_evidence

PROBABILITIES = np.array([[0.0, 0.5, 1.0], [0.9, 0.2, 0.00011]], dtype=np.float32)
CHARACTERS = [50, 7], [60, 0, 1000]


def test_it_is_the_logit_and_the_length_of_the_shorter_side() -> None:
    asked: list[int] = []

    def probabilities(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        asked.append(len(i))
        return PROBABILITIES[i, j]

    score = joint_evidence(probabilities, tuple(map(np.array, CHARACTERS)))
    pairs = [(i, j) for i in range(2) for j in range(3)]
    found = score(*np.array(pairs).T)
    for (i, j), value in zip(pairs, found.tolist(), strict=True):
        p = min(max(float(PROBABILITIES[i, j]), 1e-4), 1 - 1e-4)
        c = min(max(min(CHARACTERS[0][i], CHARACTERS[1][j]), 1), 150)
        assert value == pytest.approx(math.log(p / (1 - p)) / 32 + math.log(c / 50) / 6, abs=1e-5)
    assert asked == [6]
    assert found.dtype == np.float32


def test_nothing_outweighs_everything_else() -> None:
    sides = (np.array([0, 10_000]), np.array([0, 10_000]))
    for place, probability, bound in ((0, 0.0, -0.940), (1, 1.0, 0.471)):
        known = np.full((2, 2), probability, np.float32)
        score = joint_evidence(lambda i, j, known=known: known[i, j], sides)
        np.testing.assert_allclose(score(*np.array([[place]] * 2)), [bound], atol=1e-3)
