"""Sentence vectors against their definitions, one sentence and one number at a time."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from bitextfilter.encoders.base import Network, Padded
from bitextfilter.encoders.expressions import PARTS
from bitextfilter.encoders.registry import ENCODERS
from bitextfilter.text.ragged import PIECES, TRIGRAMS, Ragged

VOCABULARY = 20
SENTENCES = [[4, 7, 4, 11], [5], [6, 19, 6, 6, 8, 9, 10]]


def network(name: str, **shape: object) -> Network:
    torch.manual_seed(7)
    made = ENCODERS.build(name, ENCODERS.settings(name, shape), {"pieces": VOCABULARY})
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
def test_standardised_states_have_the_moments_of_their_language(side: int) -> None:
    """One encoder for both languages; each number less the mean, over the standard deviation."""
    made = network("autoencoder", embedding=6, hidden=4, composition="shared", standardise=True)
    for name, buffer in made.named_buffers():
        torch.nn.init.uniform_(buffer, *((-1, 1) if name.endswith("mean") else (0.5, 2)))
    mean, variance = (
        made.state_dict()[f"standards.{side}.{name}"].numpy() for name in ("mean", "variance")
    )
    expected = [
        (highest_states(made, sentence, 0, 4) - mean) / np.sqrt(variance) for sentence in SENTENCES
    ]
    np.testing.assert_allclose(vectors(made, side), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("side", [0, 1])
def test_the_average_beside_the_highest_states(side: int) -> None:
    made = network("autoencoder", embedding=8, hidden=4, average=True)
    gain, offset = (made.state_dict()[name].numpy() for name in ("gain", "offset"))
    expected = [
        weighted_average(made, sentence) + gain * highest_states(made, sentence, side, 4) + offset
        for sentence in SENTENCES
    ]
    np.testing.assert_allclose(vectors(made, side), expected, rtol=1e-5, atol=1e-6)


# The parts, each a loop over one sentence in float64. ``x`` are its token vectors, ``p`` the
# parameters of the part by name.

Parameters = dict[str, np.ndarray]
Rows = list[np.ndarray]


def sigmoid(values: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-values))


def lstm(p: Parameters, prefix: str, x: Rows) -> Rows:
    """States of torch's LSTM (its documentation's equations), a position at a time."""
    w, u = p[f"{prefix}weight_ih_l0"], p[f"{prefix}weight_hh_l0"]
    b = p[f"{prefix}bias_ih_l0"] + p[f"{prefix}bias_hh_l0"]
    hidden = cell = np.zeros(u.shape[1])
    states = []
    for row in x:
        i, f, g, o = np.split(w @ row + u @ hidden + b, 4)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        hidden = sigmoid(o) * np.tanh(cell)
        states.append(hidden)
    return states


def leaky_gru(p: Parameters, x: Rows) -> Rows:
    """States of Sjöblom et al. 2018, section 4, equation by equation."""
    w_r, w_z, w_h = np.split(p["cells.inward.weight"], 3)
    b_r, b_z, b_h = np.split(p["cells.inward.bias"], 3)
    u_r, u_z = np.split(p["cells.gates.weight"], 2)
    u_h = p["cells.candidate.weight"]
    hidden = np.zeros(len(u_h))
    states = []
    for row in x:
        r = sigmoid(w_r @ row + u_r @ hidden + b_r)
        z = sigmoid(w_z @ row + u_z @ hidden + b_z)
        inner = w_h @ row + u_h @ (r * hidden) + b_h
        hidden = (1 - z) * hidden + z * np.where(inner > 0, inner, 0.01 * inner)
        states.append(hidden)
    return states


def gated(p: Parameters, x: Rows, states: Rows) -> np.ndarray:
    """Mean of a = x ⊙ σ(W_x x + W_h h + b) (Wieting et al. 2017, eq. 1)."""
    gates = [
        sigmoid(p["from_vector.weight"] @ row + p["from_state.weight"] @ h + p["from_vector.bias"])
        for row, h in zip(x, states, strict=True)
    ]
    return np.mean([row * gate for row, gate in zip(x, gates, strict=True)], axis=0)


def highest(p: Parameters, x: Rows) -> np.ndarray:
    ahead = lstm(p, "layers.forwards.0.", x)
    back = lstm(p, "layers.backwards.0.", x[::-1])
    return np.concatenate([np.max(ahead, axis=0), np.max(back, axis=0)])


def weighted(p: Parameters, x: Rows, ids: list[int]) -> np.ndarray:
    scalars = np.exp(p["average.log_weight"][ids])
    return np.mean([scalar * row for scalar, row in zip(scalars, x, strict=True)], axis=0)


NAIVE: dict[str, Callable[[Parameters, Rows, list[int]], np.ndarray]] = {
    "word": lambda p, x, ids: np.mean(x, axis=0),
    "trigram": lambda p, x, ids: np.mean(x, axis=0),
    "weighted": weighted,
    "lstm": lambda p, x, ids: np.mean(lstm(p, "cells.", x), axis=0),
    "blstm": lambda p, x, ids: np.mean([*lstm(p, "ahead.", x), *lstm(p, "back.", x[::-1])], axis=0),
    "max-blstm": lambda p, x, ids: highest(p, x),
    "gran": lambda p, x, ids: gated(p, x, lstm(p, "cells.", x)),
    "gran-gru": lambda p, x, ids: gated(p, x, leaky_gru(p, x)),
}


def naive(made: Network, expression: str, sentences: dict[str, list[int]]) -> np.ndarray:
    """The vector of one sentence, given as ids in each view, by the expression."""
    state = {name: value.double().numpy() for name, value in made.state_dict().items()}
    beside = []
    for added in expression.split(","):
        total = np.zeros(6)
        for name in added.split("+"):
            ids = sentences[PARTS[name].view]
            x = list(state[f"vectors.0.{PARTS[name].view}.weight"][ids])
            prefix = f"parts.0.{name}."
            own = {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}
            total = total + NAIVE[name](own, x, ids)
        beside.append(total)
    return np.concatenate(beside)


@pytest.mark.parametrize("expression", [*PARTS, "word+lstm,trigram", "gran,weighted+blstm"])
def test_parts_sums_and_concatenations(expression: str) -> None:
    torch.manual_seed(7)
    sizes = {PIECES: VOCABULARY, TRIGRAMS: VOCABULARY}
    made = ENCODERS.build(expression, ENCODERS.settings(expression, {"embedding": 6}), sizes)
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    made.eval()
    read = {PIECES: SENTENCES, TRIGRAMS: [[3, 3, 9], [17, 2, 5, 6, 8], [1]]}
    inputs = {}
    for view in made.views:
        ids, lengths = Ragged.of(np.array(row, np.int32) for row in read[view]).padded(np.arange(3))
        inputs[view] = Padded(torch.from_numpy(ids), torch.from_numpy(lengths))
    with torch.inference_mode():
        found = made(inputs, 1).numpy()
    expected = [
        naive(made, expression, {view: read[view][i] for view in made.views}) for i in range(3)
    ]
    assert set(NAIVE) == set(PARTS)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("side", [0, 1])
def test_gains_are_factors_of_the_numbers_of_recurrent_parts(side: int) -> None:
    """Of each language its own, where the composition is separate."""
    shape = {"embedding": 6, "gain": 0.3, "composition": "separate"}
    scaled = network("word,lstm", **shape)
    plain = network("word,lstm", **{**shape, "gain": 0.0})
    state = scaled.state_dict()
    plain.load_state_dict({name: state[name] for name in plain.state_dict()})
    gains = state[f"gains.{side}.lstm"].numpy()
    assert set(state) - set(plain.state_dict()) == {"gains.0.lstm", "gains.1.lstm"}
    whole = np.concatenate([np.ones(6), gains])
    np.testing.assert_allclose(vectors(scaled, side), vectors(plain, side) * whole, rtol=1e-5)
    fresh = ENCODERS.build("word,lstm", ENCODERS.settings("word,lstm", shape), {"pieces": 20})
    assert fresh.state_dict()[f"gains.{side}.lstm"].tolist() == pytest.approx([0.3] * 6)
