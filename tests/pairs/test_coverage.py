"""How words cover each other: against the definition, a number at a time."""

from __future__ import annotations

import math

import numpy as np
import torch

from bitextfilter.pairs.base import COVERAGE_FEATURES, COVERAGE_SCALARS
from bitextfilter.pairs.word_network import (
    Extent,
    coverage,
    density,
    pooled,
)

LENGTHS = ([4, 1, 3], [2, 5, 3])
WORDS = 6
COSINES = [-0.2 + 0.1 * point for point in range(13)]
PLACES = [-3 + 0.75 * point for point in range(9)]


def inputs() -> tuple[torch.Tensor, torch.Tensor, list[Extent]]:
    """Scores and likenesses of three pairs, and how long the sentences are."""
    chance = torch.Generator().manual_seed(3)
    shape = (3, WORDS, WORDS)
    equal = [(torch.rand(shape, generator=chance) < 0.3).float() for _ in range(2)]
    cosines = [torch.rand(shape, generator=chance) * 1.4 - 0.4 for _ in range(2)]
    extents = [Extent(torch.tensor(some, dtype=torch.float32), WORDS) for some in LENGTHS]
    for pair in range(3):
        for some in equal:  # nothing equals what is not there
            some[pair, LENGTHS[0][pair] :] = 0
            some[pair, :, LENGTHS[1][pair] :] = 0
    return torch.randn(shape, generator=chance), torch.stack([*equal, *cosines]), extents


def hats(value: float, points: list[float]) -> list[float]:
    width = points[1] - points[0]
    value = min(max(value, points[0]), points[-1])
    return [max(0.0, 1 - abs(value - point) / width) for point in points]


def naive(pair: int, word: int) -> tuple[list[float], list[float], list[float]]:
    """Attention, features and numbers of one word."""
    scores, alike, _ = inputs()
    words, others = LENGTHS[0][pair], LENGTHS[1][pair]

    def attention(row: int) -> list[float]:
        exps = [math.exp(2 * float(scores[pair, row, j])) for j in range(others)]
        return [e / sum(exps) for e in exps]

    def expected(row: int) -> float:
        return sum(j * a for j, a in enumerate(attention(row)))

    rows = [[float(some[pair, word, j]) for j in range(others)] for some in alike]
    weights = attention(word)
    attended = [sum(a * c for a, c in zip(weights, row, strict=True)) for row in rows[2:]]
    step = expected(word + 1) - expected(word) if word + 1 < words else 0.0
    lag = 6 * (expected(word) / others - word / words)
    spelling, figures, alone, within = (max(row) for row in rows)
    features = [number for value in (alone, within, *attended) for number in hats(value, COSINES)]
    features += [number for value in (step, lag) for number in hats(value, PLACES)]
    features += [spelling, figures, max(weights), min(abs(step), 4) / 4]
    scalars = [spelling, figures, max(weights), min(max(lag, -6), 6), min(max(step, -3), 3)]
    return weights, features, [*scalars, alone, within, *attended]


def test_covering_agrees_with_the_definition() -> None:
    scores, alike, (side, other) = inputs()
    found = coverage(scores, alike, side, other)
    assert found.features.shape == (3, WORDS, COVERAGE_FEATURES)
    assert found.scalars.shape == (3, WORDS, COVERAGE_SCALARS)
    for pair in range(3):
        for word in range(LENGTHS[0][pair]):
            weights, features, scalars = naive(pair, word)
            close = {"atol": 2e-5, "rtol": 0}
            np.testing.assert_allclose(
                found.attention[pair, word, : len(weights)], weights, **close
            )
            assert not found.attention[pair, word, len(weights) :].any()
            np.testing.assert_allclose(found.features[pair, word], features, **close)
            np.testing.assert_allclose(found.scalars[pair, word], scalars, **close)


def test_pooling_averages_over_the_words_of_a_kind() -> None:
    chance = torch.Generator().manual_seed(5)
    kinds = torch.rand((2, WORDS, 3), generator=chance)
    kinds[0, 4:] = 0
    features = torch.rand((2, WORDS, 5), generator=chance)
    lengths = torch.tensor([4.0, 6.0])
    found = pooled(kinds, features, lengths).view(2, 3, 5)
    for pair in range(2):
        for kind in range(3):
            weight = [float(kinds[pair, word, kind]) for word in range(WORDS)]
            for feature in range(5):
                total = sum(
                    w * float(features[pair, word, feature]) for word, w in enumerate(weight)
                )
                expected = total / (sum(weight) + 0.05 * float(lengths[pair]))
                assert abs(float(found[pair, kind, feature]) - expected) < 1e-6
    np.testing.assert_allclose(density(kinds), np.log1p(kinds.numpy().sum(axis=1)), rtol=1e-6)


def test_where_sentences_begin_and_end() -> None:
    extent = Extent(torch.tensor([1.0, 3.0]), 3)
    assert extent.inside.tolist() == [[1, 0, 0], [1, 1, 1]]
    assert extent.first.tolist() == [[1, 0, 0], [1, 0, 0]]
    assert extent.last.tolist() == [[1, 0, 0], [0, 0, 1]]
