"""Means and maxima over the positions of padded batches.

Letters: n rows, t positions, d width.
"""

from __future__ import annotations

import torch
from torch import Tensor


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
