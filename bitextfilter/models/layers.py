"""Small layers: pooling over padded batches, dropout, and linear layers in bfloat16.

Letters: n rows, t positions, d width.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

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


def _narrowed(rows: Tensor) -> Tensor:
    """Return rows as bfloat16, with rows of zeros up to one of few numbers.

    For each shape of a product, torch makes and keeps code, which takes longer than the product.
    """
    step = max(_FEWEST_ROWS, (1 << len(rows).bit_length()) // _SIZES)
    narrow = rows.new_zeros(-(-len(rows) // step) * step, rows.shape[1], dtype=torch.bfloat16)
    narrow[: len(rows)] = rows
    return narrow


_FEWEST_ROWS, _SIZES = 32, 16


class _NarrowProduct(torch.autograd.Function):
    """Rows ``(n, i)`` times a weight ``(o, i)``, and its gradients, by products in bfloat16."""

    @staticmethod
    def forward(context: Any, rows: Tensor, weight: Tensor) -> Tensor:
        narrow = _narrowed(rows), weight.bfloat16()
        context.save_for_backward(*narrow)
        return (narrow[0] @ narrow[1].t())[: len(rows)].float()

    @staticmethod
    def backward(context: Any, *slopes: Tensor) -> tuple[Tensor | None, Tensor]:
        rows, weight = context.saved_tensors
        slope, count = _narrowed(slopes[0]), len(slopes[0])
        of_rows = (slope @ weight)[:count].float() if context.needs_input_grad[0] else None
        return of_rows, (slope.t() @ rows).float()


def _narrow(layer: nn.Linear, rows: Tensor) -> Tensor:
    """Apply a linear layer to rows ``(..., i)``; in training by products in bfloat16."""
    if not layer.training:
        return functional.linear(rows, layer.weight, layer.bias)
    product: Tensor = _NarrowProduct.apply(rows.flatten(0, -2), layer.weight)  # type: ignore[no-untyped-call]
    product = product if layer.bias is None else product + layer.bias
    return product.view(*rows.shape[:-1], -1)


@contextmanager
def narrow_training(*networks: nn.Module) -> Iterator[None]:
    """Train the linear layers of some networks by products in bfloat16.

    Weights, inputs, outputs and gradients stay float32: it is faster on processors that have
    instructions for bfloat16, see ``trains_in_bfloat16``. In evaluation nothing changes.
    """
    layers = [module for each in networks for module in each.modules() if type(module) is nn.Linear]
    for layer in layers:
        layer.forward = partial(_narrow, layer)  # type: ignore[method-assign]
    try:
        yield
    finally:
        for layer in layers:
            del layer.forward


def narrow_linear_layers(network: nn.Module) -> None:
    """Replace each linear layer by a :class:`NarrowLinear`: for inference only."""
    assert not network.training
    for module in list(network.modules()):
        for name, child in list(module.named_children()):
            if type(child) is nn.Linear:
                setattr(module, name, NarrowLinear(child.weight, child.bias).eval())
