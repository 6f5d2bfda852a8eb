"""Dropout with a generator of its own."""

from __future__ import annotations

import pytest
import torch

from bitextfilter.models.layers import ByteDropout, Dropout


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
