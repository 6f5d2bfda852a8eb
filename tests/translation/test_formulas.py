"""Log-probabilities against naive float64 loops, written from the papers' formulas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from translators import CASES, network, rows, template, with_templates

from bitextfilter.text.vocabulary import BEGIN, END
from bitextfilter.translation.translator import dual_cross_entropy, log_probabilities

Array = NDArray[np.float64]
Weights = dict[str, Array]

SOURCES = [[4, 7, 5], [8], [6, 6, 5, 4, 7]]
TARGETS = [[5, 4], [7, 8, 8, 6], [1]]


def linear(weights: Weights, name: str, x: Array) -> Array:
    out = weights[f"{name}.weight"] @ x
    return out + weights[f"{name}.bias"] if f"{name}.bias" in weights else out


def normed(weights: Weights, name: str, x: Array) -> Array:
    centred = x - x.mean()
    scaled = centred / math.sqrt((centred**2).mean() + 1e-5)
    return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def softmax(x: list[float]) -> list[float]:
    highest = max(x)
    total = sum(math.exp(value - highest) for value in x)
    return [math.exp(value - highest) / total for value in x]


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def attended(w: Weights, name: str, query: Array, seen: list[Array], heads: int) -> Array:
    """One query, head by head."""
    width = len(query)
    d = width // heads
    q = linear(w, f"{name}.query", query)
    both = [linear(w, f"{name}.memory", x) for x in seen]
    parts = []
    for head in range(heads):
        own = slice(head * d, (head + 1) * d)
        scores = [float(q[own] @ m[:width][own]) / math.sqrt(d) for m in both]
        shares = softmax(scores)
        parts.append(sum(s * m[width:][own] for s, m in zip(shares, both, strict=True)))
    return linear(w, f"{name}.out", np.concatenate(parts))


def placed(w: Weights, ids: list[int]) -> list[Array]:
    """Scaled vectors of ids with the sinusoids of their positions."""
    width = w["table.weight"].shape[1]
    out = []
    for position, number in enumerate(ids):
        angles = [position / 10000 ** (2 * i / width) for i in range(width // 2)]
        code = np.array([*map(math.sin, angles), *map(math.cos, angles)])
        out.append(w["table.weight"][number] * math.sqrt(width) + code)
    return out


def fed(w: Weights, name: str, x: Array) -> Array:
    inner = linear(w, f"{name}.feed.0", normed(w, f"{name}.feed_norm", x))
    return x + linear(w, f"{name}.feed.3", np.maximum(inner, 0))


def transformer(w: Weights, shape: Any, source: list[int], inputs: list[int]) -> list[float]:
    """The probabilities of the next token after some inputs."""
    heads, layers = shape["heads"], shape["layers"]
    x = placed(w, source)
    for number in range(layers):
        name = f"encoder.{number}"
        n = [normed(w, f"{name}.own_norm", each) for each in x]
        x = [a + attended(w, f"{name}.own", b, n, heads) for a, b in zip(x, n, strict=True)]
        x = [fed(w, name, each) for each in x]
    memory = [normed(w, "encoder_norm", each) for each in x]
    y = placed(w, inputs)
    for number in range(layers):
        name = f"decoder.{number}"
        n = [normed(w, f"{name}.own_norm", each) for each in y]
        y = [a + attended(w, f"{name}.own", n[i], n[: i + 1], heads) for i, a in enumerate(y)]
        c = [normed(w, f"{name}.across_norm", each) for each in y]
        y = [a + attended(w, f"{name}.across", b, memory, heads) for a, b in zip(y, c, strict=True)]
        y = [fed(w, name, each) for each in y]
    return generated(w, normed(w, "decoder_norm", y[-1]))


def generated(w: Weights, state: Array) -> list[float]:
    return softmax((w["table.weight"] @ state + w["bias"]).tolist())


def cell(w: Weights, name: str, layer: int, x: Array, state: list[Array]) -> list[Array]:
    """One step of an LSTM (state of two) or a GRU (state of one), as torch defines them."""
    i = w[f"{name}.weight_ih_l{layer}"] @ x + w[f"{name}.bias_ih_l{layer}"]
    h = w[f"{name}.weight_hh_l{layer}"] @ state[0] + w[f"{name}.bias_hh_l{layer}"]
    if len(state) == 2:
        into, keep, new, out = np.split(i + h, 4)
        c = sigmoid(keep) * state[1] + sigmoid(into) * np.tanh(new)
        return [sigmoid(out) * np.tanh(c), c]
    (r, z, n), (hr, hz, hn) = np.split(i, 3), np.split(h, 3)
    gate = sigmoid(z + hz)
    return [(1 - gate) * np.tanh(n + sigmoid(r + hr) * hn) + gate * state[0]]


def both_ways(w: Weights, name: str, layer: int, x: list[Array], parts: int) -> list[Array]:
    """The states of a layer that reads forwards, beside those of one that reads backwards."""
    found: list[list[Array]] = []
    for way in ("forwards", "backwards"):
        hidden = w[f"{name}.{way}.{layer}.weight_hh_l0"].shape[1]
        state = [np.zeros(hidden)] * parts
        states = []
        for each in x if way == "forwards" else reversed(x):
            state = cell(w, f"{name}.{way}.{layer}", 0, each, state)
            states.append(state[0])
        found.append(states if way == "forwards" else states[::-1])
    return [np.concatenate(pair) for pair in zip(*found, strict=True)]


def recurrent(w: Weights, shape: Any, source: list[int], inputs: list[int]) -> list[float]:
    parts = 1 if shape.get("cell") == "gru" else 2
    x = [w["table.weight"][number] for number in source]
    for layer in range(shape.get("encoder_layers", 1)):
        x = both_ways(w, "encoder", layer, x, parts)
    read = [("attention", x)]
    if "symbols.weight" in w:
        symbols = [w["symbols.weight"][number] for number in template(source)]
        read.append(("template_attention", both_ways(w, "template_encoder", 0, symbols, parts)))
    means = [np.mean(states, axis=0) for _, states in read]
    first = np.tanh(linear(w, "first", np.concatenate(means)))
    hidden = [
        [each, np.zeros_like(each)][:parts] for each in np.split(first, shape["decoder_layers"])
    ]
    for number in inputs:
        below = w["table.weight"][number]
        for layer in range(shape["decoder_layers"]):
            hidden[layer] = cell(w, "decoder", layer, below, hidden[layer])
            below = hidden[layer][0]
    looks = [(attention(w, name, below, states), states) for name, states in read]
    contexts = [sum(a * m for a, m in zip(*look, strict=True)) for look in looks]
    shares = generated(w, np.tanh(linear(w, "combine", np.concatenate([*contexts, below]))))
    if not shape.get("copy"):
        return shares
    last = w["table.weight"][inputs[-1]]
    clues = np.concatenate([*contexts, below, last])
    gate = float(sigmoid(w["copier.weight"] @ clues + w["copier.bias"])[0])
    seen = list(zip(looks[0][0], source, strict=True))
    held = [[a for a, x in seen if x == word] for word in range(len(shares))]
    return [gate * p + (1 - gate) * sum(a) for p, a in zip(shares, held, strict=True)]


def attention(w: Weights, name: str, query: Array, seen: list[Array]) -> list[float]:
    """The softmax of qᵀ W m, or of vᵀ tanh(W q + b + U m)."""
    if f"{name}.bilinear.weight" in w:
        scores = [float(w[f"{name}.bilinear.weight"] @ query @ each) for each in seen]
    else:
        asked = linear(w, f"{name}.query", query)
        v = w[f"{name}.score.weight"][0]
        scores = [float(v @ np.tanh(asked + linear(w, f"{name}.key", each))) for each in seen]
    return softmax(scores)


def naive(name: str, shape: Any, w: Weights, source: list[int], target: list[int]) -> float:
    """The mean log-probability, one token at a time, each from scratch."""
    decode = transformer if name == "transformer" else recurrent
    total = 0.0
    for position, wanted in enumerate([*target, END]):
        total += math.log(decode(w, shape, source, [BEGIN, *target[:position]])[wanted])
    return total / (len(target) + 1)


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_the_cost_of_a_target_is_that_of_naive_loops(name: str, shape: dict[str, object]) -> None:
    made = network(name, shape)
    w = {n: t.detach().double().numpy() for n, t in made.state_dict().items()}
    expected = [naive(name, shape, w, s, t) for s, t in zip(SOURCES, TARGETS, strict=True)]
    with torch.no_grad():
        sources, targets = with_templates(rows(*SOURCES)), rows(*TARGETS)
        single = log_probabilities(made, sources, targets)
        double = log_probabilities(made.double(), sources, targets)
    np.testing.assert_allclose(double, expected, rtol=1e-10)
    np.testing.assert_allclose(single, expected, atol=1e-5)
    assert min(expected) < max(expected) - 0.1


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_a_step_at_a_time_predicts_as_the_whole_target_does(
    name: str, shape: dict[str, object]
) -> None:
    """Two hypotheses of each sentence; in the end they change places."""
    made = network(name, shape).double()
    sources, length = with_templates(rows(*SOURCES)), 40
    torch.manual_seed(3)
    inputs = torch.randint(4, 9, (3, 2, length))
    inputs[:, :, 0] = BEGIN
    with torch.no_grad():
        whole = [made.predict(made.states(sources, inputs[:, k])) for k in (0, 1)]
        state = made.start(sources, 2)
        for position in range(length - 1):
            found = made.predict(state.step(inputs[:, :, position]))
            for k in (0, 1):
                torch.testing.assert_close(found[:, k], whole[k][:, position])
        state.select(torch.tensor([[1, 0], [0, 0], [1, 1]]))
        last = [inputs[0, [1, 0], -1], inputs[1, [0, 0], -1], inputs[2, [1, 1], -1]]
        found = made.predict(state.step(torch.stack(last)))
    for row, parents in enumerate(([1, 0], [0, 0], [1, 1])):
        for place, parent in enumerate(parents):
            torch.testing.assert_close(found[row, place], whole[parent][row, -1])


def test_dual_cross_entropy_is_what_the_paper_says() -> None:
    pairs = [(-1.0, -1.0), (-0.5, -2.5), (-2.5, -0.5), (0.0, 0.0), (-90.0, -100.0)]
    expected = []
    for one, other in pairs:
        here, there = -one, -other
        expected.append(math.exp(-(abs(here - there) + 0.5 * (here + there))))
    got = dual_cross_entropy(*np.array(pairs).T)
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    assert got[3] == 1 and got[0] > got[1] == got[2] > got[4]
