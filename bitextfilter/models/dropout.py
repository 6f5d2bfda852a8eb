"""Dropout that draws fewer random bits, or from a generator of its own."""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["ByteDropout", "Dropout"]


class Dropout(nn.Module):
    """As ``torch.nn.Dropout``, but parts that are trained side by side can each have a generator.

    Then what one draws does not depend on how far the others are.
    """

    generator: torch.Generator | None = None
    """None for the one that all of torch shares."""

    def __init__(self, part: float) -> None:
        """Set this part of the numbers to 0 in training, and make the others up for it."""
        super().__init__()
        self.part = part

    def forward(self, numbers: Tensor) -> Tensor:
        """Return numbers of the same shape."""
        if not self.training:
            return numbers
        kept = torch.rand(numbers.shape, generator=self.generator) >= self.part
        return numbers * (kept / (1 - self.part))


class ByteDropout(nn.Module):
    """As ``torch.nn.Dropout``, with a random byte a number: faster on a processor.

    (``benchmarks/train.py`` measures what it is worth.)

    The part that is set to 0 is rounded to a whole number of 256ths.
    """

    def __init__(self, part: float) -> None:
        """Set this part of the numbers to 0 in training, from 0 to 255/256."""
        super().__init__()
        self.part = part

    def forward(self, numbers: Tensor) -> Tensor:
        """Return numbers of the same shape."""
        dropped = min(255, round(256 * self.part))
        if not self.training or not dropped:
            return numbers
        words = torch.empty(-(-numbers.numel() // 8), dtype=torch.int64, device=numbers.device)
        drawn = words.random_(-(2**63), None).view(torch.uint8)[: numbers.numel()]
        kept = (drawn >= dropped).to(numbers.dtype).mul_(256 / (256 - dropped))
        return numbers * kept.view(numbers.shape)
