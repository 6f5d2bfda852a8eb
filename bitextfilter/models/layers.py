"""Small layers: pooling over padded batches, dropout, and linear layers in bfloat16.

Letters: n rows, t positions, d width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


def rows_of(table: Tensor, places: Tensor) -> Tensor:
    """Return rows of a table: ``(v, d)``, ``(...)`` → ``(..., d)``.

    Equals ``table[places]``, whose gradient threads add up in any order.
    """
    return functional.embedding(places, table)


def padding_mask(lengths: Tensor, positions: int) -> Tensor:
    """Return True for the positions inside a sentence: ``(n, t)`` from lengths ``(n,)``."""
    return torch.arange(positions, device=lengths.device) < lengths[:, None]


def max_pool(states: Tensor, lengths: Tensor) -> Tensor:
    """Return the maximum over positions: ``(n, t, d)``, ``(n,)`` → ``(n, d)``.

    Kim et al. 2019, eq. 6.
    """
    mask = padding_mask(lengths, states.shape[1])
    return states.masked_fill(~mask[:, :, None], float("-inf")).amax(dim=1)


def mean_pool(states: Tensor, lengths: Tensor) -> Tensor:
    """Return the mean over positions: ``(n, t, d)``, ``(n,)`` → ``(n, d)``."""
    mask = padding_mask(lengths, states.shape[1])
    return (states * mask[:, :, None]).sum(dim=1) / lengths[:, None]


class Outputs(nn.Linear):
    """A linear layer of one or more outputs, each row of which depends on that row alone.

    A product with one column goes by another kernel, whose sums depend on the place of the row on
    some processors: a column of zeros is set beside it.
    """

    def forward(self, rows: Tensor) -> Tensor:
        """``(n, d)`` → ``(n, outputs)``."""
        if self.out_features > 1:
            return super().forward(rows)
        weight, bias = functional.pad(self.weight, (0, 0, 0, 1)), functional.pad(self.bias, (0, 1))
        return functional.linear(rows, weight, bias)[:, :1]


class Dropout(nn.Module):
    """``torch.nn.Dropout`` with a generator of its own.

    Networks trained side by side in threads then draw independently of each other.
    """

    generator: torch.Generator | None = None
    """None for torch's global one."""

    def __init__(self, part: float) -> None:
        """Set this share of the numbers to 0 in training, and scale up the others."""
        super().__init__()
        self.part = part

    def forward(self, numbers: Tensor) -> Tensor:
        """Return numbers of the same shape."""
        if not self.training:
            return numbers
        kept = torch.rand(numbers.shape, generator=self.generator) >= self.part
        return numbers * (kept / (1 - self.part))


class ByteDropout(nn.Module):
    """``torch.nn.Dropout`` with one random byte a number: faster on a CPU.

    The share is rounded to 256ths. ``benchmarks/train.py`` measures the gain.
    """

    def __init__(self, part: float) -> None:
        """Set this share of the numbers, 0 to 255/256, to 0 in training."""
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
    """A linear layer with products in bfloat16; its inputs and outputs are float32."""

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
    """Replace each linear layer by a :class:`NarrowLinear`: for inference only."""
    assert not network.training
    for module in list(network.modules()):
        for name, child in list(module.named_children()):
            if type(child) is nn.Linear:
                setattr(module, name, NarrowLinear(child.weight, child.bias).eval())
