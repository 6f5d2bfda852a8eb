"""Dropout with few random bits, and linear layers in bfloat16."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


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


class NarrowLinear(nn.Module):
    """A linear layer whose products are in bfloat16; what comes in and goes out is float32."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.register_buffer("weight", weight.detach().bfloat16())
        self.register_buffer("bias", None if bias is None else bias.detach().bfloat16())

    def forward(self, rows: Tensor) -> Tensor:
        """``(..., i)`` → ``(..., o)``."""
        weight, bias = self.get_buffer("weight"), self.bias
        assert bias is None or isinstance(bias, Tensor)
        return functional.linear(rows.bfloat16(), weight, bias).float()


def narrow_linear_layers(network: nn.Module) -> None:
    """Put a :class:`NarrowLinear` in the place of each linear layer: for inference alone."""
    assert not network.training, "there would be nothing to train"
    for module in list(network.modules()):
        for name, child in list(module.named_children()):
            if type(child) is nn.Linear:
                setattr(module, name, NarrowLinear(child.weight, child.bias).eval())
