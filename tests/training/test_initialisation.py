"""Starting values lie where the papers draw them."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from bitextfilter.training.start import start_matrix_, start_small


def assert_uniform(values: Tensor, bound: float) -> None:
    """Within the bound, near it, with the variance bound² / 3."""
    assert bound * 0.99 < values.abs().max().item() <= bound
    assert values.var().item() == pytest.approx(bound**2 / 3, rel=0.1)


def test_embeddings_start_within_a_hundredth() -> None:
    table, again = nn.Embedding(200, 20), nn.Embedding(200, 20)
    start_small(table, 1), start_small(again, 1)
    assert_uniform(table.weight, 0.01)
    assert table.weight.requires_grad and table.weight.grad_fn is None
    assert again.weight.equal(table.weight)


@pytest.mark.parametrize("gates", [1, 3, 4])
def test_matrices_start_within_the_bound_of_their_gate(gates: int) -> None:
    matrix = nn.Parameter(torch.zeros(gates * 60, 40))
    start_matrix_(matrix, torch.Generator().manual_seed(1), gates)
    assert_uniform(matrix, math.sqrt(6 / (60 + 40)))


@pytest.mark.parametrize(("kind", "gates"), [(nn.LSTM, 4), (nn.GRU, 3), (nn.RNN, 1)])
def test_recurrent_layers_start_gate_by_gate(kind: type[nn.RNNBase], gates: int) -> None:
    layer = kind(30, 50, bidirectional=True)  # type: ignore[call-arg, arg-type]
    start_small(layer, 1)
    named = dict(layer.named_parameters())
    assert len(named["weight_ih_l0"]) == gates * 50
    assert_uniform(named["weight_ih_l0"], math.sqrt(6 / 80))
    assert_uniform(named["weight_hh_l0_reverse"], math.sqrt(6 / 100))
    assert all(not values.any() for name, values in named.items() if name.startswith("bias"))
