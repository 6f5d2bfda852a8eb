"""Log-probabilities against naive float64 loops, written from the papers' formulas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from translators import CASES, COPYING, network, rows, template, with_templates

from bitextfilter.models.device import trains_in_bfloat16
from bitextfilter.scoring.model_scorers import dual_cross_entropy
from bitextfilter.text.vocabulary import BEGIN, END
from bitextfilter.translation.network import Copier, Copies
from bitextfilter.translation.translator import log_probabilities

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


IDS = torch.tensor([[4, 7, 4, 4, 5], [6, 6, 7, 0, 0], [8, 0, 0, 0, 0]])
INSIDE = torch.tensor([[True] * 5, [True] * 3 + [False] * 2, [True] + [False] * 4])
VOCABULARY = 9


def made(kind: torch.dtype, spread: float = 1.0) -> tuple[Copier, Tensor, Tensor, Tensor]:
    """A copier; clues ``(3, 2, 4)``, scores ``(3, 2, 5)``, and logits ``(3, 2, 9)``."""
    torch.manual_seed(1)
    clues, scores = torch.randn(3, 2, 4, dtype=kind), torch.randn(3, 2, 5, dtype=kind)
    scores = (spread * scores).masked_fill(~INSIDE[:, None], float("-inf"))
    copier = Copier(4).to(kind)
    for parameter in copier.parameters():
        nn.init.normal_(parameter)
    return copier, spread * clues, scores, spread * torch.randn(3, 2, 9, dtype=kind)


def test_the_mixture_is_equation_9() -> None:
    copier, clues, scores, logits = made(torch.float64)
    with torch.no_grad():
        got = copier(clues, scores, IDS).mixed(logits.log_softmax(dim=2)).exp()
        gates = (clues @ copier.weight + copier.bias).sigmoid()
        shares = scores.softmax(dim=2)
    for row, ids in enumerate(IDS.tolist()):
        for step in (0, 1):
            gate = float(gates[row, step])
            generated = logits[row, step].softmax(dim=0).tolist()
            for word in range(VOCABULARY):
                copied = sum(float(shares[row, step, i]) for i in range(5) if ids[i] == word)
                expected = gate * generated[word] + (1 - gate) * copied
                assert float(got[row, step, word]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("spread", [1.0, 30.0, 1000.0])
def test_probabilities_sum_to_1_and_gradients_are_finite(spread: float) -> None:
    """Wide numbers have attention of exactly 0, and switches that are certain."""
    copier, clues, scores, logits = made(torch.float32, spread)
    inputs = [each.requires_grad_() for each in (clues, scores, logits)]
    logs = copier(clues, scores, IDS).mixed(logits.log_softmax(dim=2))
    np.testing.assert_allclose(logs.detach().exp().sum(dim=2), 1, atol=2e-6 * max(spread, 3))
    assert logs.isfinite().all()
    for gradient in torch.autograd.grad(logs.sum(), inputs):
        assert gradient.isfinite().all()


def test_gradients_are_those_of_finite_differences() -> None:
    copier, clues, scores, logits = made(torch.float64)

    def mixed(clues: Tensor, scores: Tensor, logits: Tensor) -> Tensor:
        scores = scores.masked_fill(~INSIDE[:, None], float("-inf"))
        return copier(clues, scores, IDS).mixed(logits.log_softmax(dim=2))

    inputs = [each.requires_grad_() for each in (clues, torch.randn_like(scores), logits)]
    assert torch.autograd.gradcheck(mixed, inputs)


def test_certain_switches_generate_or_copy() -> None:
    logs = torch.randn(1, VOCABULARY).log_softmax(dim=1)
    attention = torch.tensor([[0.75, 0.0, 0.25]]).log()
    ids = torch.tensor([[5, 5, 8]])
    generated = Copies(torch.tensor([40.0]), attention, ids).mixed(logs)
    torch.testing.assert_close(generated, logs)
    copied = Copies(torch.tensor([-40.0]), attention, ids).mixed(logs).exp()
    np.testing.assert_allclose(copied[0], [0, 0, 0, 0, 0, 0.75, 0, 0, 0.25], atol=1e-5)


@pytest.mark.parametrize("case", COPYING)
@pytest.mark.parametrize("bfloat16", ["", "by translating", "by training"])
def test_a_network_predicts_probabilities_and_copies(
    case: tuple[str, dict[str, object]], bfloat16: str
) -> None:
    """Pieces of the source are likelier than the network alone generates them."""
    one = network(*case, VOCABULARY)
    if bfloat16 == "by translating":
        one.narrow()
    narrow = bfloat16 == "by training" and trains_in_bfloat16(torch.device("cpu"))
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, narrow):
        decoded = one.states(with_templates(rows([4, 7, 4], [8])), torch.tensor([[BEGIN, 5]] * 2))
        logs = one.predict(decoded)
        alone = one.output(decoded.states).float().softmax(dim=2)
    assert decoded.copies is not None and logs.dtype == torch.float32
    np.testing.assert_allclose(logs.exp().sum(dim=2), 1, atol=1e-5)
    ratio = logs.exp() / alone
    gates = decoded.copies.switch.sigmoid()
    for row, source in enumerate(((4, 7), (8,))):
        for word in range(VOCABULARY):
            likelier = (ratio[row, :, word] > gates[row] + 1e-4).all()
            assert bool(likelier) == (word in source)
