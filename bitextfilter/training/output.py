"""The last layer of the decoder: from its states to the loss of the words it should write."""

from __future__ import annotations

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
