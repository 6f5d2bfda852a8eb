"""Sentence vectors against their definitions, one sentence and one number at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from bitextfilter.encoders.network import Network, Padded
from bitextfilter.encoders.registry import architecture_settings, build_network
from bitextfilter.text.processor import PIECES

VOCABULARY = 20
SENTENCES = [[4, 7, 4, 11], [5], [6, 19, 6, 6, 8, 9, 10]]


def network(name: str, **shape: object) -> Network:
    torch.manual_seed(7)
    made = build_network(name, architecture_settings(name, shape), {"pieces": VOCABULARY})
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return made.eval()


def vectors(made: Network, side: int) -> np.ndarray:
    lengths = torch.tensor([len(row) for row in SENTENCES])
    ids = torch.zeros(len(SENTENCES), int(lengths.max()), dtype=torch.int64)
    for row, sentence in zip(ids, SENTENCES, strict=True):
        row[: len(sentence)] = torch.tensor(sentence)
    with torch.inference_mode():
        return made({PIECES: Padded(ids, lengths)}, side).numpy()


def weighted_average(made: Network, sentence: list[int]) -> np.ndarray:
    """Each token's vector times e to its scalar, summed, over the number of tokens."""
    state = made.state_dict()
    total = np.zeros(made.embedding.embedding_dim)
    for token in sentence:
        weight = math.exp(state["average.log_weight"][token])
        total += weight * state["embedding.weight"][token].double().numpy()
    return total / len(sentence)


def highest_states(made: Network, sentence: list[int], side: int, hidden: int) -> np.ndarray:
    """Element-wise maximum over the states of both directions (Kim et al. 2019, eq. 3 and 6)."""
    state = made.state_dict()
    rows = state["embedding.weight"][sentence][None]
    halves = []
    for way, inputs in (("forwards", rows), ("backwards", rows.flip(1))):
        cells = torch.nn.LSTM(rows.shape[2], hidden, batch_first=True)
        prefix = f"encoders.{side}.{way}.0."
        cells.load_state_dict(
            {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}
        )
        with torch.inference_mode():
            halves.append(cells(inputs)[0][0].amax(dim=0).numpy())
    return np.concatenate(halves)


@pytest.mark.parametrize("side", [0, 1])
def test_averaging(side: int) -> None:
    made = network("averaging", embedding=6)
    expected = [weighted_average(made, sentence) for sentence in SENTENCES]
    np.testing.assert_allclose(vectors(made, side), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("side", [0, 1])
def test_the_highest_states(side: int) -> None:
    made = network("autoencoder", embedding=6, hidden=4)
    expected = [highest_states(made, sentence, side, 4) for sentence in SENTENCES]
    np.testing.assert_allclose(vectors(made, side), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("side", [0, 1])
def test_the_average_beside_the_highest_states(side: int) -> None:
    made = network("autoencoder", embedding=8, hidden=4, average=True)
    gain, offset = (made.state_dict()[name].numpy() for name in ("gain", "offset"))
    expected = [
        weighted_average(made, sentence) + gain * highest_states(made, sentence, side, 4) + offset
        for sentence in SENTENCES
    ]
    np.testing.assert_allclose(vectors(made, side), expected, rtol=1e-5, atol=1e-6)
