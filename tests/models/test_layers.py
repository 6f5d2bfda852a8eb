"""Pooling against loops, dropout and linear layers."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from bitextfilter.models.layers import (
    ByteDropout,
    Dropout,
    NarrowLinear,
    max_pool,
    mean_pool,
    narrow_linear_layers,
    narrow_training,
)


def test_a_part_is_dropped_and_made_up_for() -> None:
    torch.manual_seed(1)
    numbers = torch.full((200, 100), 3.0)
    found = Dropout(0.25)(numbers)
    assert set(found.flatten().tolist()) == {0.0, 4.0}
    assert float((found == 0).float().mean()) == pytest.approx(0.25, abs=0.02)


def test_nothing_is_dropped_but_in_training() -> None:
    numbers = torch.ones(50)
    assert torch.equal(Dropout(0.5).eval()(numbers), numbers)
    assert torch.equal(Dropout(0.0)(numbers), numbers)


def test_its_own_generator_draws_whatever_others_do() -> None:
    numbers, found = torch.ones(100), []
    for others in (0, 7):
        layer = Dropout(0.5)
        layer.generator = torch.Generator().manual_seed(5)
        torch.rand(others)
        state = torch.get_rng_state()
        found.append(layer(numbers))
        assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(*found)


def test_gradients_pass_where_numbers_do() -> None:
    numbers = torch.ones(100, requires_grad=True)
    found = Dropout(0.5)(numbers)
    found.sum().backward()
    assert numbers.grad is not None
    assert torch.equal(numbers.grad, found.detach())


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_a_random_byte_drops_256ths(kind: torch.dtype) -> None:
    torch.manual_seed(1)
    numbers = torch.full((301, 303), 3.0, dtype=kind)
    found = ByteDropout(0.2502)(numbers)
    assert found.dtype == kind and set(found.flatten().tolist()) == {0.0, 4.0}
    assert float((found == 0).float().mean()) == pytest.approx(0.25, abs=0.006)
    for axis in (0, 1):
        assert float((found == 0).float().mean(axis).std()) == pytest.approx(0.025, rel=0.2)


def test_bytes_drop_nothing_but_in_training_and_pass_gradients() -> None:
    numbers = torch.ones(1001, requires_grad=True)
    assert ByteDropout(0.5).eval()(numbers) is numbers
    assert ByteDropout(0.0)(numbers) is numbers
    found = ByteDropout(0.5)(numbers)
    found.sum().backward()
    assert numbers.grad is not None and torch.equal(numbers.grad, found.detach())
    assert bool(ByteDropout(0.999)(torch.ones(10000)).any())


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


def test_pooling_sees_no_padding() -> None:
    torch.manual_seed(0)
    values, lengths = torch.randn(3, 4, 5), torch.tensor([4, 1, 3])
    for i, length in enumerate(lengths):
        row = values[i, :length]
        torch.testing.assert_close(max_pool(values, lengths)[i], row.max(dim=0).values)
        torch.testing.assert_close(mean_pool(values, lengths)[i], row.mean(dim=0))


@pytest.mark.parametrize("rows", [1, 31, 33, 300])
def test_narrow_training_has_nearly_the_gradients_of_float32(rows: int) -> None:
    torch.manual_seed(1)
    layer = nn.Sequential(nn.Linear(24, 16), nn.Linear(16, 8, bias=False))
    numbers = torch.randn(rows, 3, 24, requires_grad=True)
    found = []
    for networks in ([], [layer]):
        layer.zero_grad()
        numbers.grad = None
        with narrow_training(*networks):
            out = layer(numbers)
            out.square().sum().backward()
        assert out.dtype == torch.float32 and out.shape == (rows, 3, 8)
        found.append([out, numbers.grad, *(weight.grad for weight in layer.parameters())])
    for wide, narrow in zip(*found, strict=True):
        assert wide is not None and narrow is not None and narrow.dtype == torch.float32
        assert not torch.equal(wide, narrow)
        largest = float(wide.detach().abs().max())
        torch.testing.assert_close(wide, narrow, rtol=0.05, atol=0.05 * largest)


def test_narrow_training_is_for_training_and_ends() -> None:
    torch.manual_seed(1)
    layer, numbers = nn.Linear(24, 16), torch.randn(5, 24)
    wide = layer(numbers)
    with narrow_training(layer):
        assert not torch.equal(layer(numbers), wide)
        assert torch.equal(layer.eval()(numbers), wide)
        layer.train()
    assert torch.equal(layer(numbers), wide) and "forward" not in vars(layer)
