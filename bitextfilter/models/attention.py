"""Attention. Letters: n rows, q queries, t positions, w width, m width of what is attended to."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

__all__ = ["BilinearAttention", "KeysValues", "MultiHeadAttention", "plain_attention", "sinusoids"]

KeysValues = tuple[Tensor, Tensor]
"""What is attended to, projected: ``(n, heads, t, w / heads)`` each."""


def sinusoids(start: int, count: int, like: Tensor) -> Tensor:
    """Codes of the positions from *start* on, ``(count, w)``, of the width and kind of ``like``.

    Vaswani et al. 2017, section 3.5: sin and cos of p / 10000^(2i/w); here all sines stand first.
    """
    half = like.shape[-1] // 2
    places = torch.arange(start, start + count, device=like.device, dtype=torch.float64)
    rates = torch.arange(half, device=like.device, dtype=torch.float64) * (-math.log(1e4) / half)
    angles = places[:, None] * rates.exp()
    return torch.cat([angles.sin(), angles.cos()], dim=1).to(like.dtype)


def plain_attention(
    queries: Tensor, memory: KeysValues, mask: Tensor | None, causal: bool
) -> Tensor:
    """As torch's scaled_dot_product_attention: its backward pass in bfloat16 is 5 times as slow."""
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
        """Rows ``(n, t, w)`` as what can be attended to."""
        keys, values = self.memory(rows).chunk(2, dim=-1)
        return self._heads(keys), self._heads(values)

    def forward(
        self, queries: Tensor, memory: KeysValues, mask: Tensor | None = None, causal: bool = False
    ) -> Tensor:
        """``(n, q, w)`` → ``(n, q, w)``.

        ``mask``: True where a position may be seen, to be broadcast to ``(n, heads, q, t)``;
        ``causal``: query i sees the positions up to i.
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


class BilinearAttention(nn.Module):
    """softmax(qᵀ W m) over the positions m (Luong et al. 2015, eq. 8, "general")."""

    def __init__(self, width: int, memory: int) -> None:
        super().__init__()
        self.bilinear = nn.Linear(width, memory, bias=False)

    def forward(self, queries: Tensor, memory: Tensor, inside: Tensor) -> Tensor:
        """``(n, q, w)`` and ``(n, t, m)`` → ``(n, q, m)``; ``inside (n, t)``: what may be seen."""
        scores = torch.bmm(self.bilinear(queries), memory.transpose(1, 2))
        shares = scores.masked_fill(~inside[:, None], float("-inf")).softmax(dim=-1)
        return torch.bmm(shares.to(memory.dtype), memory)
