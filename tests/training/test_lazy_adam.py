"""Lazy Adam against torch's own two: Adam where gradients are dense, SparseAdam where sparse."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from bitextfilter.training.loop import LazyAdam, clip_norm


def trained(sparse: bool, lazy: bool, whole: bool = False) -> tuple[nn.Embedding, nn.Linear]:
    torch.manual_seed(3)
    table, layer = nn.Embedding(9, 4, sparse=sparse), nn.Linear(4, 3)
    both = [*table.parameters(), *layer.parameters()]
    if lazy:
        optimisers: list[torch.optim.Optimizer] = [
            LazyAdam(both, 0.05, [table.weight] if whole else [])
        ]
    else:
        kind = torch.optim.SparseAdam if sparse else torch.optim.Adam
        optimisers = [
            kind(table.parameters(), lr=0.05),
            torch.optim.Adam(layer.parameters(), lr=0.05),
        ]
    generator = torch.Generator().manual_seed(4)
    for _ in range(12):
        ids = torch.randint(0, 9, (5,), generator=generator)
        for optimiser in optimisers:
            optimiser.zero_grad()
        layer(table(ids)).square().sum().backward()
        for optimiser in optimisers:
            optimiser.step()
    return table, layer


@pytest.mark.parametrize("sparse", [False, True])
def test_it_is_the_adam_of_torch(sparse: bool) -> None:
    table, layer = trained(sparse, lazy=True)
    same_table, same_layer = trained(sparse, lazy=False)
    torch.testing.assert_close(table.weight, same_table.weight)
    torch.testing.assert_close(layer.weight, same_layer.weight)
    torch.testing.assert_close(layer.bias, same_layer.bias)


def test_all_rows_of_a_whole_table_are_updated_by_sparse_gradients() -> None:
    table, layer = trained(sparse=True, lazy=True, whole=True)
    same_table, same_layer = trained(sparse=False, lazy=True)
    assert torch.equal(table.weight, same_table.weight)
    assert torch.equal(layer.weight, same_layer.weight)


@pytest.mark.parametrize("largest", [0.1, 1e6])
def test_clipping_is_that_of_torch(largest: float) -> None:
    def gradients(sparse: bool) -> list[nn.Parameter]:
        torch.manual_seed(3)
        table, layer = nn.Embedding(9, 4, sparse=sparse), nn.Linear(4, 3)
        layer(table(torch.tensor([1, 2, 1, 8]))).square().sum().backward()
        return [*table.parameters(), *layer.parameters()]

    ours, theirs = gradients(sparse=True), gradients(sparse=False)
    clip_norm(ours, largest)
    nn.utils.clip_grad_norm_(theirs, largest)
    for one, other in zip(ours, theirs, strict=True):
        assert one.grad is not None and other.grad is not None
        torch.testing.assert_close(one.grad.to_dense(), other.grad)
