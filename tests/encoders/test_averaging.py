"""The mean of rows of a table, against a loop, and what its gradient is."""

from __future__ import annotations

import pytest
import torch

from bitextfilter.encoders.combination import mean_of_rows

ROWS = torch.tensor([[3, 1, 3], [5, 0, 0], [0, 2, 0]])
LENGTHS = torch.tensor([3, 1, 2])


@pytest.mark.parametrize("sparse", [False, True])
def test_the_mean_of_rows_and_its_gradient(sparse: bool) -> None:
    table = torch.randn(7, 4, generator=torch.Generator().manual_seed(1), requires_grad=True)
    means = mean_of_rows(table, ROWS, LENGTHS, sparse=sparse)
    shares = torch.zeros(3, 7)
    for sentence, (ids, length) in enumerate(zip(ROWS, LENGTHS, strict=True)):
        for place in range(length):
            shares[sentence, ids[place]] += 1 / length
    torch.testing.assert_close(means, shares @ table)
    pull = torch.arange(12.0).reshape(3, 4)
    (means * pull).sum().backward()
    assert table.grad is not None and table.grad.is_sparse == sparse
    torch.testing.assert_close(table.grad.to_dense(), shares.T @ pull)
