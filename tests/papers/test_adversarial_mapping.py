"""Adversarial maps: a rotation is found again without a single pair."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Vectors
from bitextfilter.errors import SettingsError
from bitextfilter.papers.mapping import (
    Adversarial,
    Discriminator,
    Induced,
    MappingSettings,
    adversarial_map,
    normalised,
    refine,
)
from bitextfilter.settings import from_mapping

MAPPING = MappingSettings(normalise="unit", refinements=5, gain=0.0)
TINY = Adversarial(
    units=64,
    batch_size=128,
    discriminator_updates=2,
    starts=2,
    epochs=2,
    updates=100,
    learning_rate=0.2,
    input_dropout=0.0,
)


def quiet(_: int, __: Induced | None) -> None:
    """Take no notice."""


def languages() -> tuple[Vectors, Vectors, Floats]:
    """Words in four unlike clusters, the same words rotated and in another order, the rotation."""
    generator = np.random.default_rng(0)
    centres = generator.normal(size=(4, 4)) * np.linspace(1.5, 0.5, 4)
    centres += centres[0]
    shares = np.linspace(2, 0.5, 4)
    cluster = generator.choice(4, 600, p=shares / shares.sum())
    x = normalised(centres[cluster] + 0.3 * generator.normal(size=(600, 4)), "unit")
    rotation = np.linalg.qr(generator.normal(size=(4, 4)))[0]
    if np.linalg.det(rotation) < 0:
        rotation[:, 0] *= -1
    z = normalised(x.astype(np.float64) @ rotation, "unit")
    return x, z[generator.permutation(600)], rotation


def off(found: Floats, right: NDArray[np.float64]) -> float:
    return float(np.abs(found - right).max())


def test_a_rotation_is_recovered() -> None:
    x, z, rotation = languages()
    told: list[tuple[int, float]] = []
    updates: list[int] = []

    def notify(epoch: int, induced: Induced | None) -> None:
        updates.append(epoch) if induced is None else told.append((epoch, induced.criterion))

    found = adversarial_map(x, z, (TINY, MAPPING), notify)
    assert found @ found.T == pytest.approx(np.eye(4), abs=1e-6)
    assert off(found, rotation) < 0.3
    assert off(refine(x, z, found, MAPPING, quiet), rotation) < 1e-5
    assert off(refine(x, z, np.eye(4), MAPPING, quiet), rotation) > 0.5
    assert [epoch for epoch, _ in told] == [1, 2, 3, 4]
    assert Counter(updates) == dict.fromkeys((1, 2, 3, 4), TINY.updates)
    assert max(told, key=lambda pair: pair[1])[0] == 4


def test_the_same_seed_gives_the_same_map_whatever_went_before() -> None:
    x, z, _ = languages()
    short = Adversarial(units=8, updates=5, epochs=1, seed=3)
    first = adversarial_map(x, z, (short, MAPPING), quiet)
    torch.manual_seed(99)
    state = torch.get_rng_state()
    again = adversarial_map(x, z, (short, MAPPING), quiet)
    other = adversarial_map(x, z, (Adversarial(units=8, updates=5, epochs=1), MAPPING), quiet)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert torch.equal(torch.get_rng_state(), state)


def test_the_discriminator_is_that_of_the_paper() -> None:
    network = Discriminator(300, Adversarial())
    assert [str(layer) for layer in network] == [
        "Dropout(p=0.1, inplace=False)",
        "Linear(in_features=300, out_features=2048, bias=True)",
        "LeakyReLU(negative_slope=0.2)",
        "Linear(in_features=2048, out_features=2048, bias=True)",
        "LeakyReLU(negative_slope=0.2)",
        "Linear(in_features=2048, out_features=1, bias=True)",
    ]


def test_divergence_is_said() -> None:
    x, z, _ = languages()
    wild = Adversarial(units=8, updates=60, epochs=1, learning_rate=1e6)
    with pytest.raises(SettingsError, match="learning_rate lower"):
        adversarial_map(x, z, (wild, MAPPING), quiet)


@pytest.mark.parametrize(
    "wrong",
    [
        {"units": 0},
        {"starts": 0},
        {"smoothing": 0.5},
        {"input_dropout": 1.0},
        {"learning_rate": 0.0},
        {"decay": 1.1},
        {"leak": -0.1},
        {"orthogonality": 0.6},
        {"seed": -1},
    ],
)
def test_settings_that_make_no_sense(wrong: dict[str, float]) -> None:
    with pytest.raises(SettingsError, match=r"^adversarial\."):
        from_mapping(Adversarial, wrong, "adversarial")
