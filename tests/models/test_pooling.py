"""Poolings against their definitions; whole and step by step; beside other rows and alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from bitextfilter.models.pooling import POOLINGS, Pooling, Standardisation, States
from bitextfilter.models.recurrent import reverse_padded

LENGTHS = torch.tensor([5, 1, 3])
WIDTH = 6


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    with torch.inference_mode():
        yield


@pytest.fixture
def states() -> torch.Tensor:
    torch.manual_seed(3)
    return torch.randn(3, 5, WIDTH)


def made(name: str) -> Pooling:
    torch.manual_seed(4)
    pooling = POOLINGS[name](WIDTH)
    for parameter in pooling.parameters():
        torch.nn.init.normal_(parameter)
    return pooling


def naive(name: str, pooling: Pooling, row: np.ndarray) -> np.ndarray:
    """The vector of one row ``(t, d)``, number by number."""
    if name == "max":
        return np.array([max(column) for column in row.T])
    if name == "mean":
        return np.array([sum(column) / len(row) for column in row.T])
    if name == "last":
        return np.concatenate([row[-1, : WIDTH // 2], row[0, WIDTH // 2 :]])
    own = {key: value.double().numpy() for key, value in pooling.state_dict().items()}
    inner = [np.tanh(own["inward.weight"] @ state + own["inward.bias"]) for state in row]
    weights = np.exp([own["query"] @ state for state in inner])
    return np.asarray(sum(w * state for w, state in zip(weights, row, strict=True)) / sum(weights))


def steps(states: torch.Tensor, lengths: torch.Tensor) -> list[States]:
    """The two directions as they are read; states behind a row's end are of any value."""
    ahead, back = states.chunk(2, dim=2)
    back = reverse_padded(back, lengths)
    return [list(enumerate(side.unbind(1))) for side in (ahead, back)]


@pytest.mark.parametrize("name", POOLINGS)
def test_a_pooling_is_its_definition(name: str, states: torch.Tensor) -> None:
    pooling = made(name)
    rows = zip(states.double().numpy(), LENGTHS.tolist(), strict=True)
    expected = [naive(name, pooling, row[:length]) for row, length in rows]
    for found in (pooling(states, LENGTHS), pooling.of_steps(steps(states, LENGTHS), LENGTHS)):
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", POOLINGS)
def test_padding_changes_no_bit(name: str, states: torch.Tensor) -> None:
    """Step by step: a row's vector hangs on the row alone, however long the others are."""
    pooling = made(name)
    whole = pooling.of_steps(steps(states, LENGTHS), LENGTHS)
    longer = torch.cat([states, torch.randn(3, 40, WIDTH)], dim=1)
    lengths = torch.tensor([5, 45, 3])
    more = pooling.of_steps(steps(longer, lengths), lengths)
    assert torch.equal(more[[0, 2]], whole[[0, 2]])


def test_attention_begins_as_the_mean(states: torch.Tensor) -> None:
    fresh = POOLINGS["attention"](WIDTH)
    mean = POOLINGS["mean"](WIDTH)(states, LENGTHS)
    torch.testing.assert_close(fresh(states, LENGTHS), mean)


def test_standardisation_learns_the_moments_and_then_keeps_them() -> None:
    """In training a mini-batch has mean 0 and variance 1; later a row does not depend on others."""
    generator = torch.Generator().manual_seed(5)
    mean, spread = torch.tensor([3.0, -1.0, 0.0]), torch.tensor([0.5, 2.0, 4.0])
    standard = Standardisation(3)
    for _ in range(1500):
        rows = mean + spread * torch.randn(40, 3, generator=generator)
        out = standard(rows)
    assert out.mean(0).tolist() == pytest.approx([0] * 3, abs=1e-5)
    assert out.var(0, unbiased=False).tolist() == pytest.approx([1] * 3, abs=1e-3)
    assert standard.mean.tolist() == pytest.approx(mean.tolist(), abs=0.2)
    assert standard.variance.tolist() == pytest.approx(spread.square().tolist(), rel=0.1)
    kept = standard.eval()(rows)
    expected = (rows - standard.mean) / standard.variance.sqrt()
    np.testing.assert_allclose(kept, expected, rtol=1e-3, atol=1e-4)
    assert torch.equal(standard(rows[7:8])[0], kept[7])
