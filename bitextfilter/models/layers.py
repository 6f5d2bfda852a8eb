"""Small layers: pooling over padded batches, dropout, attention, and linear layers in bfloat16.

Letters: n rows, t positions, d width; of attention q queries, t positions, w width of queries, m of
the memory, a of its keys.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.functional import scaled_dot_product_attention


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


KeysValues = tuple[Tensor, Tensor]
"""Keys and values of the memory: ``(n, heads, t, w / heads)`` each."""


def sinusoids(start: int, count: int, like: Tensor) -> Tensor:
    """Return position codes from *start* on, ``(count, w)``, of the width and type of ``like``.

    Vaswani et al. 2017, section 3.5: sin and cos of p / 10000^(2i/w); here all sines come first.
    """
    half = like.shape[-1] // 2
    places = torch.arange(start, start + count, device=like.device, dtype=torch.float64)
    rates = torch.arange(half, device=like.device, dtype=torch.float64) * (-math.log(1e4) / half)
    angles = places[:, None] * rates.exp()
    return torch.cat([angles.sin(), angles.cos()], dim=1).to(like.dtype)


def plain_attention(
    queries: Tensor, memory: KeysValues, mask: Tensor | None, causal: bool
) -> Tensor:
    """Compute torch's scaled_dot_product_attention: faster in training on a CPU in bfloat16.

    ``benchmarks/train.py`` measures the gain.
    """
    scores = queries @ memory[0].transpose(2, 3) * queries.shape[3] ** -0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    if causal:
        after = torch.ones(scores.shape[2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(after, float("-inf"))
    out: Tensor = scores.softmax(dim=3).to(memory[1].dtype) @ memory[1]
    return out


class MultiHeadAttention(nn.Module):
    """softmax(QKᵀ / √d) V in several heads of width d (Vaswani et al. 2017, section 3.2)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.memory = nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)

    def project(self, rows: Tensor) -> KeysValues:
        """Return keys and values of rows ``(n, t, w)``."""
        keys, values = self.memory(rows).chunk(2, dim=-1)
        return self._heads(keys), self._heads(values)

    def forward(
        self, queries: Tensor, memory: KeysValues, mask: Tensor | None = None, causal: bool = False
    ) -> Tensor:
        """``(n, q, w)`` → ``(n, q, w)``.

        ``mask``: True where a position is visible, broadcast to ``(n, heads, q, t)``; ``causal``:
        query i sees the positions up to i.
        """
        heads = self._heads(self.query(queries))
        if self.training and heads.device.type == "cpu":
            found = plain_attention(heads, memory, mask, causal)
        else:
            found = scaled_dot_product_attention(heads, *memory, attn_mask=mask, is_causal=causal)
        out: Tensor = self.out(found.transpose(1, 2).flatten(2))
        return out

    def _heads(self, rows: Tensor) -> Tensor:
        return rows.reshape(*rows.shape[:2], self.heads, -1).transpose(1, 2)


class Memory(NamedTuple):
    """The memory of single-headed attention."""

    values: Tensor
    """``(n, t, m)``"""
    keys: Tensor
    """Keys, ``(n, t, a)``."""
    inside: Tensor
    """True for visible positions, ``(n, t)``."""


class Attention(nn.Module, ABC):
    """One head: the mean of the values, weighted by the softmax of scores over positions."""

    @abstractmethod
    def keys(self, values: Tensor) -> Tensor:
        """Return keys: ``(n, t, m)`` → ``(n, t, a)``."""

    @abstractmethod
    def scores(self, queries: Tensor, keys: Tensor) -> Tensor:
        """``(n, q, w)`` and ``(n, t, a)`` → ``(n, q, t)``."""

    def memory(self, values: Tensor, inside: Tensor) -> Memory:
        """Return the memory of ``(n, t, m)``; ``inside (n, t)``: True for visible positions."""
        return Memory(values, self.keys(values), inside)

    def forward(self, queries: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """``(n, q, w)`` → the means ``(n, q, m)``, and the scores, -inf outside: ``(n, q, t)``."""
        scores = self.scores(queries, memory.keys)
        scores = scores.masked_fill(~memory.inside[:, None], float("-inf"))
        return torch.bmm(scores.softmax(dim=-1).to(memory.values.dtype), memory.values), scores


class BilinearAttention(Attention):
    """Scores qᵀ W m (Luong et al. 2015, eq. 8, "general")."""

    def __init__(self, width: int, memory: int) -> None:
        super().__init__()
        self.bilinear = nn.Linear(width, memory, bias=False)

    def keys(self, values: Tensor) -> Tensor:
        """See :meth:`Attention.keys`."""
        return values

    def scores(self, queries: Tensor, keys: Tensor) -> Tensor:
        """See :meth:`Attention.scores`."""
        return torch.bmm(self.bilinear(queries), keys.transpose(1, 2))


class AdditiveAttention(Attention):
    """Scores vᵀ tanh(W q + U m + b) (Bahdanau et al. 2015, A.1.2; b is ours), as wide as m."""

    QUERIES = 8
    """Queries compared with all positions at once, which bounds the memory."""

    def __init__(self, width: int, memory: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, memory)
        self.key = nn.Linear(memory, memory, bias=False)
        self.score = nn.Linear(memory, 1, bias=False)

    def keys(self, values: Tensor) -> Tensor:
        """See :meth:`Attention.keys`."""
        out: Tensor = self.key(values)
        return out

    def scores(self, queries: Tensor, keys: Tensor) -> Tensor:
        """See :meth:`Attention.scores`."""
        parts = self.query(queries).split(self.QUERIES, dim=1)
        sums = [self.score(torch.tanh(part[:, :, None] + keys[:, None])) for part in parts]
        return torch.cat(sums, dim=1)[..., 0]


ATTENTIONS: dict[str, type[BilinearAttention] | type[AdditiveAttention]] = {
    "bilinear": BilinearAttention,
    "additive": AdditiveAttention,
}
