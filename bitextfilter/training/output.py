"""The decoder's output layer and its loss over a large vocabulary."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bitextfilter.training.objectives import sampled_softmax_loss, softmax_loss
from bitextfilter.training.settings import TrainingSettings

SAMPLING_POWER = 0.75
"""Samples follow the unigram counts to this power (Mikolov et al. 2013, section 2.2)."""
ADAPTIVE_CUTOFFS = (2000, 10000)


class OutputLayer(nn.Module):
    """From decoder states to the loss of the words they should predict."""

    def __init__(self, dim: int, counts: NDArray[np.int64], settings: TrainingSettings) -> None:
        super().__init__()
        self.settings = settings
        size = len(counts)
        if settings.softmax == "adaptive":
            cutoffs = [c for c in ADAPTIVE_CUTOFFS if c < size - 1] or [max(1, size // 2)]
            self.layer: nn.Module = nn.AdaptiveLogSoftmaxWithLoss(dim, size, cutoffs)
            return
        self.layer = nn.Linear(dim, size)
        share = torch.from_numpy((counts + 1.0) ** SAMPLING_POWER)
        share = share / share.sum()
        self.register_buffer("share", share, persistent=False)
        expected = (share * settings.samples).log().float()
        self.register_buffer("log_expected", expected, persistent=False)

    def forward(self, states: Tensor, targets: Tensor) -> Tensor:
        """``(m, d)``, ``(m,)`` → mean loss in nats a token; sampled only while training."""
        layer = self.layer
        if isinstance(layer, nn.AdaptiveLogSoftmaxWithLoss):
            return layer(states.float(), targets).loss  # type: ignore[no-any-return]
        assert isinstance(layer, nn.Linear)
        if self.settings.softmax == "full" or not self.training:
            return softmax_loss(states, targets, layer.weight, layer.bias)
        share = self.get_buffer("share")
        samples = torch.multinomial(share, self.settings.samples, replacement=True)
        return sampled_softmax_loss(
            states, targets, (layer.weight, layer.bias), samples, self.get_buffer("log_expected")
        )


_ROWS = 1024
"""Rows of states whose logits are held at a time."""


def output_loss(
    states: Tensor, output: tuple[Tensor, Tensor], targets: Tensor, smoothing: float
) -> Tensor:
    """Mean cross-entropy of ``targets (m,)`` with label smoothing, from states ``(m, w)``.

    (1 - ε) (-log p_y) + ε · mean over the vocabulary of -log p (Szegedy et al. 2016, section 7).
    The gradients are computed with the loss, some rows at a time: several copies of the
    ``(m, v)`` logits would take most of the memory of a small translator's training.

    Args:
        states: of the decoder, ``(m, w)``, m of at least 1.
        output: weight ``(v, w)`` and bias ``(v,)`` of the output layer.
        targets: ids, ``(m,)``.
        smoothing: ε, from 0 to below 1.
    """
    loss: Tensor = _OutputLoss.apply(states, *output, targets, smoothing)  # type: ignore[no-untyped-call]
    return loss


class _OutputLoss(torch.autograd.Function):
    """Forward with all gradients; backward scales them."""

    @staticmethod
    def forward(context: Any, states: Tensor, *rest: Any) -> Tensor:
        weight, bias, targets, smoothing = rest
        kind = _product_type(states)
        matrix, offset = weight.to(kind), bias.to(kind)
        gradients = torch.empty_like(states), torch.zeros_like(weight), torch.zeros_like(bias)
        total = torch.zeros((), dtype=bias.dtype, device=states.device)
        with torch.autocast(states.device.type, enabled=False):
            for start in range(0, len(states), _ROWS):
                rows = slice(start, start + _ROWS)
                part, wanted = states[rows].to(kind), targets[rows, None]
                logs = torch.addmm(offset, part, matrix.t()).to(bias.dtype).log_softmax(dim=1)
                hit, mean = logs.gather(1, wanted), logs.mean(dim=1, keepdim=True)
                total -= ((1 - smoothing) * hit + smoothing * mean).sum()
                slopes = logs.exp_().sub_(smoothing / len(bias))
                slopes.scatter_add_(1, wanted, torch.full_like(hit, smoothing - 1))
                gradients[2].add_(slopes.sum(dim=0))
                narrow = slopes.to(kind)
                gradients[0][rows] = (narrow @ matrix).to(states.dtype)
                gradients[1].add_(narrow.t() @ part)
        context.save_for_backward(*(part.div_(len(states)) for part in gradients))
        return total / len(states)

    @staticmethod
    def backward(context: Any, *slope: Tensor) -> tuple[Tensor | None, ...]:
        return (*(part * slope[0].to(part.dtype) for part in context.saved_tensors), None, None)


def _product_type(states: Tensor) -> torch.dtype:
    """The number type of products of matrices: that of autocast, if it is on."""
    if torch.is_autocast_enabled(states.device.type):
        return torch.get_autocast_dtype(states.device.type)
    return states.dtype
