"""Compare what two sentences look like: figures, names and words that one or both have."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from bitextfilter.text.surface import FIGURES, NAMES, WORDS

__all__ = ["COMPARISONS", "compare"]

COMPARISONS = 13
"""Numbers that a comparison has."""

_MOST = 256 * 3
_LOGS = torch.tensor([math.log1p(count) for count in range(_MOST + 1)], dtype=torch.float64)


def compare(a: Tensor, b: Tensor) -> Tensor:
    """Compare two times ``n`` descriptions ``(n, WIDTH)`` → ``(n, COMPARISONS)``.

    The logarithm of 1 + how many figures, names (against the names and the words of the other
    side) and words are in both, or in one side only; and the words in both as parts of either
    side's, from 0 to 2. Exact: a row does not depend on the others.
    """
    words, others = a[:, WORDS], b[:, WORDS]
    counts = torch.cat(
        [
            _shared(a[:, FIGURES], b[:, FIGURES]),
            _shared(a[:, NAMES], others),
            _shared(b[:, NAMES], words)[:, :2],
            _shared(words, others),
        ],
        dim=1,
    )
    both = counts[:, -3:-2]
    parts = [2 * both / side.sum(dim=1, keepdim=True).clamp(min=1) for side in (words, others)]
    return torch.cat([_LOGS[counts.long()].to(a.dtype), *parts], dim=1)


def _shared(a: Tensor, b: Tensor) -> Tensor:
    """How much is in both bags, in the first only, and in the second only → ``(n, 3)``."""
    both = torch.minimum(a, b).sum(dim=1)
    return torch.stack([both, a.sum(dim=1) - both, b.sum(dim=1) - both], dim=1)
