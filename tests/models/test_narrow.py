"""Linear layers whose products are in bfloat16."""

from __future__ import annotations

import torch
from torch import nn

from bitextfilter.models.layers import NarrowLinear, narrow_linear_layers


def test_products_are_those_of_rounded_numbers() -> None:
    torch.manual_seed(1)
    layer, rows = nn.Linear(20, 7), torch.randn(5, 3, 20)
    found = NarrowLinear(layer.weight, layer.bias)(rows)
    weight, bias, rounded = (part.bfloat16().double() for part in (layer.weight, layer.bias, rows))
    expected = torch.einsum("abi,oi->abo", rounded, weight) + bias
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected.bfloat16().float(), rtol=0.01, atol=0.01)
    assert torch.equal(found, found.bfloat16().float())


def test_every_linear_layer_is_replaced_and_nothing_else() -> None:
    inner = nn.Sequential(nn.Linear(4, 4, bias=False), nn.ReLU(), nn.LayerNorm(4))
    network = nn.Sequential(inner, nn.LSTM(4, 4), nn.Linear(4, 2)).eval()
    rows = torch.randn(6, 4)
    before = network[2](network[0](rows))
    narrow_linear_layers(network)
    kinds = [type(module) for module in network.modules()]
    assert kinds.count(NarrowLinear) == 2 and nn.Linear not in kinds
    assert kinds.count(nn.LSTM) == 1 == kinds.count(nn.LayerNorm)
    after = network[2](network[0](rows))
    torch.testing.assert_close(after, before, rtol=0.05, atol=0.05)
