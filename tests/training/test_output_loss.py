"""The loss of the output layer, against torch's cross-entropy on whole logits."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from bitextfilter.training import objectives as module
from bitextfilter.training.objectives import output_loss


def made(kind: torch.dtype) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    states = torch.randn(23, 6, dtype=kind, requires_grad=True)
    weight = torch.randn(11, 6, dtype=torch.float64 if kind == torch.float64 else torch.float32)
    bias = torch.randn(11, dtype=weight.dtype)
    targets = torch.randint(0, 11, (23,))
    return states, weight.requires_grad_(), bias.requires_grad_(), targets


@pytest.mark.parametrize("rows", [1, 7, 23, 100])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_loss_and_gradients_are_those_of_whole_logits(
    rows: int, smoothing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_ROWS", rows)
    states, weight, bias, targets = made(torch.float64)
    found = output_loss(states, (weight, bias), targets, smoothing)
    expected = functional.cross_entropy(
        functional.linear(states, weight, bias), targets, label_smoothing=smoothing
    )
    torch.testing.assert_close(found, expected)
    inputs = (states, weight, bias)
    for one, other in zip(
        torch.autograd.grad(3 * found, inputs), torch.autograd.grad(3 * expected, inputs),
        strict=True,
    ):  # fmt: skip
        torch.testing.assert_close(one, other)


def test_in_bfloat16_it_is_nearly_so() -> None:
    states, weight, bias, targets = made(torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = output_loss(states, (weight, bias), targets, 0.1)
    logits = functional.linear(states.float(), weight, bias)
    expected = functional.cross_entropy(logits, targets, label_smoothing=0.1)
    torch.testing.assert_close(found, expected, rtol=0.02, atol=0.02)
    one, other = (torch.autograd.grad(loss, weight)[0] for loss in (found, expected))
    assert one.dtype == torch.float32
    torch.testing.assert_close(one, other, rtol=0.05, atol=0.02)
