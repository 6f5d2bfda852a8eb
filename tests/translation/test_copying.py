"""Copying: equation 9 against loops, its sums, and its extremes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from translators import COPYING, network, rows, with_templates

from bitextfilter.models.device import trains_in_bfloat16
from bitextfilter.text.vocabulary import BEGIN
from bitextfilter.translation.network import Copier, Copies

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
