"""Attention, multi-headed and single-headed.

Letters: n rows, q queries, t positions, w width of queries, m of the memory, a of its keys.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

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
