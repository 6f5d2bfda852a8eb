"""Pooling against loops."""

from __future__ import annotations

import torch

from bitextfilter.models.pooling import max_pool, mean_pool


def test_pooling_sees_no_padding() -> None:
    torch.manual_seed(0)
    values, lengths = torch.randn(3, 4, 5), torch.tensor([4, 1, 3])
    for i, length in enumerate(lengths):
        row = values[i, :length]
        torch.testing.assert_close(max_pool(values, lengths)[i], row.max(dim=0).values)
        torch.testing.assert_close(mean_pool(values, lengths)[i], row.mean(dim=0))
