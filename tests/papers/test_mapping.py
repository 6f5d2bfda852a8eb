"""Maps between word vectors against what they must give, and naive versions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Vectors
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.papers.mapping import (
    Adversarial,
    Discriminator,
    Induced,
    MappingSettings,
    adversarial_map,
    identical_pairs,
    induce,
    map_of_pairs,
    mapped,
    normalised,
    procrustes,
    refine,
    seed_pairs,
)
from bitextfilter.settings import from_mapping


def rotation(d: int, seed: int) -> Floats:
    """A random orthogonal matrix."""
    return np.asarray(np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0])


def vectors(n: int, d: int, seed: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=(n, d))


def unit(rows: NDArray[np.floating]) -> Vectors:
    return normalised(rows, "unit")


def quiet(_: int, __: Induced) -> None:
    """Take no notice."""


@pytest.mark.parametrize("d", [1, 2, 7])
def test_procrustes_finds_a_rotation_exactly(d: int) -> None:
    x, r = vectors(20, d, 1), rotation(d, 2)
    assert procrustes(x, x @ r) == pytest.approx(r, abs=1e-12)


def test_procrustes_is_orthogonal_and_no_other_rotation_is_closer() -> None:
    x, z = vectors(30, 4, 1), vectors(30, 4, 2)
    best = procrustes(x, z)
    assert best @ best.T == pytest.approx(np.eye(4), abs=1e-12)
    error = np.linalg.norm(x @ best - z)
    others = [rotation(4, seed) for seed in range(50)]
    nudged = [np.linalg.qr(best + 0.01 * vectors(4, 4, seed))[0] for seed in range(50)]
    signed = [q * np.sign(np.diag(q.T @ best)) for q in nudged]
    assert all(np.linalg.norm(x @ other - z) > error for other in [*others, *signed])


def naive_csls(a: Vectors, b: Vectors, k: int) -> list[list[float]]:
    """CSLS by the formula, a pair at a time."""
    cosine = [[float(x @ y) for y in b] for x in a]
    rows = [sum(sorted(row)[-k:]) / k for row in cosine]
    columns = [sum(sorted(column)[-k:]) / k for column in zip(*cosine, strict=True)]
    return [[2 * cosine[i][j] - rows[i] - columns[j] for j in range(len(b))] for i in range(len(a))]


def test_induced_pairs_and_criterion_against_a_double_loop() -> None:
    a, b = unit(vectors(40, 3, 1)), unit(vectors(50, 3, 2))
    settings = MappingSettings(words=30, neighbours=4)
    scores = np.array(naive_csls(a[:30], b[:30], 4))
    best = [int(row.argmax()) for row in scores]
    pairs = [[i, j] for i, j in enumerate(best) if int(scores[:, j].argmax()) == i]
    found = induce(a, b, settings)
    assert found.pairs.tolist() == pairs
    assert 3 < len(pairs) < 30
    cosines = [float(a[i] @ b[j]) for i, j in enumerate(best)]
    assert found.criterion == pytest.approx(np.mean(cosines), abs=1e-6)


def spoilt_pair() -> tuple[Vectors, Vectors, Floats]:
    """Vectors, their rotation with some noise, and the rotation."""
    x, r = vectors(300, 10, 5), rotation(10, 6)
    return unit(x), unit(x @ r + 0.2 * vectors(300, 10, 7)), r


def test_refinement_makes_a_poor_map_a_good_one() -> None:
    x, z, r = spoilt_pair()
    start = map_of_pairs(x, z, np.stack([np.arange(10)] * 2, axis=1))
    seen: list[tuple[int, float]] = []

    def notify(number: int, induced: Induced) -> None:
        seen.append((number, induced.criterion))

    found = refine(x, z, start, MappingSettings(refinements=20), notify)
    assert np.abs(start - r).max() > 0.2
    assert np.abs(found - r).max() < 0.05
    assert [number for number, _ in seen] == list(range(len(seen)))
    gains = np.diff([criterion for _, criterion in seen])
    assert (gains[:-1] >= 0.001).all() and gains[-1] < 0.001
    assert 2 < len(seen) < 20


def test_the_best_map_is_kept_and_none_is_made_where_none_is_asked_for() -> None:
    x, z, r = spoilt_pair()
    assert refine(x, z, r, MappingSettings(refinements=0), quiet) is r
    exact = unit(x @ r)
    assert refine(x, exact, r, MappingSettings(refinements=2), quiet) == pytest.approx(r, abs=1e-6)


def test_normalisation_steps() -> None:
    x = vectors(20, 4, 3) + 1
    x[3] = 0
    once = np.array([row / (np.linalg.norm(row) or 1) for row in x])
    centred = once - once.mean(axis=0)
    assert normalised(x, "unit") == pytest.approx(once, abs=1e-6)
    both = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    assert normalised(x, "unit,centre,unit") == pytest.approx(both, abs=1e-6)
    assert mapped(normalised(x, "unit"), rotation(4, 1)) == pytest.approx(
        once @ rotation(4, 1), abs=1e-6
    )


def test_seeds_are_entries_with_vectors_each_once() -> None:
    dictionary = [("a", "x"), ("b", "y"), ("c", "x"), ("a", "x"), ("a", "y"), ("a", "-")]
    assert seed_pairs(dictionary, ["a", "b"], ["x", "y"]).tolist() == [[0, 0], [1, 1], [0, 1]]
    assert identical_pairs(["a", "b", "c"], ["c", "x", "b"]).tolist() == [[1, 2], [2, 0]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: seed_pairs([("a", "x")], ["b"], ["x"]), "no entry of the dictionary"),
        (lambda: identical_pairs(["a"], ["b"]), "no word is the same in both languages"),
    ],
)
def test_no_seeds(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize(
    "wrong",
    [
        {"normalise": "unit,centre"}, {"normalise": "length,unit"}, {"normalise": ""}, {"words": 0},
        {"neighbours": 0}, {"refinements": -1}, {"gain": -0.1},
    ],
)  # fmt: skip
def test_settings_that_make_no_sense(wrong: dict[str, int]) -> None:
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        MappingSettings(**wrong)  # type: ignore[arg-type]


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
        {"units": 0}, {"starts": 0}, {"smoothing": 0.5}, {"input_dropout": 1.0},
        {"learning_rate": 0.0}, {"decay": 1.1}, {"leak": -0.1}, {"orthogonality": 0.6},
        {"seed": -1},
    ],
)  # fmt: skip
def test_adversarial_settings_that_make_no_sense(wrong: dict[str, float]) -> None:
    with pytest.raises(SettingsError, match=r"^adversarial\."):
        from_mapping(Adversarial, wrong, "adversarial")
