"""Dropout that may draw from a generator of its own."""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["Dropout"]


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
