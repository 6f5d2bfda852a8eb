"""Cells a step at a time against torch's own, in either type of products; pooling over them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import nn

from bitextfilter.models import cached_projections, device
from bitextfilter.models.cached_projections import (
    CachedDirection,
    Product,
    in_blocks,
    in_order,
    steps_of,
)
from bitextfilter.models.pooling import max_pool, mean_pool
from bitextfilter.models.recurrent import LeakyGru, reverse_padded

LENGTHS = torch.tensor([4, 1, 3])
IDS = torch.tensor([[2, 0, 1, 2], [1, 0, 0, 0], [4, 3, 3, 0]])
CELLS = {
    "lstm": lambda: nn.LSTM(6, 5, batch_first=True),
    "gru": lambda: nn.GRU(6, 5, batch_first=True),
    "leaky": lambda: LeakyGru(6, 5),
}


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    with torch.inference_mode():
        yield


def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cached_projections, "product_type", lambda _: torch.float32)


def made(name: str) -> tuple[nn.Module, torch.Tensor]:
    """Cells, and the vectors of five tokens."""
    torch.manual_seed(5)
    return CELLS[name](), torch.randn(5, 6)


def states_of(cells: nn.Module, rows: torch.Tensor) -> torch.Tensor:
    states = cells(rows)
    return states if isinstance(states, torch.Tensor) else states[0]


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("name", CELLS)
def test_states_are_those_of_the_whole_layer(
    name: str, backward: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact(monkeypatch)
    cells, vectors = made(name)
    rows = reverse_padded(vectors[IDS], LENGTHS) if backward else vectors[IDS]
    expected = states_of(cells, rows)
    direction = CachedDirection(cells, vectors, backward)
    for step, hidden in direction.states(IDS, LENGTHS):
        for row, length in enumerate(LENGTHS):
            if step < length:
                torch.testing.assert_close(hidden[row], expected[row, step])
    torch.testing.assert_close(direction.highest(IDS, LENGTHS), max_pool(expected, LENGTHS))
    torch.testing.assert_close(direction.mean(IDS, LENGTHS), mean_pool(expected, LENGTHS))


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_bfloat16_rounds_the_factors_of_products_only(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells, vectors = made(name)
    exact(monkeypatch)
    before = CachedDirection(cells, vectors).highest(IDS, LENGTHS)
    monkeypatch.setattr(cached_projections, "product_type", lambda _: torch.bfloat16)
    after = CachedDirection(cells, vectors).highest(IDS, LENGTHS)
    assert after.dtype == torch.float32
    assert not torch.equal(before, after)
    torch.testing.assert_close(before, after, atol=0.01, rtol=0)


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_a_product_is_added_in_place(kind: torch.dtype) -> None:
    matrix, rows, sums = torch.randn(6, 8), torch.randn(3, 6), torch.randn(3, 8)
    expected = sums.double() + rows.double() @ matrix.double()
    assert Product(matrix.to(kind), 3).add_to(sums, rows) is sums
    tolerance = 1e-5 if kind == torch.float32 else 0.1
    torch.testing.assert_close(sums.double(), expected, atol=tolerance, rtol=0)


def test_steps_start_anew_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    exact(monkeypatch)
    cells, vectors = made("lstm")
    direction = CachedDirection(cells, vectors)
    first, other = direction.states(IDS, LENGTHS), direction.states(IDS, LENGTHS)
    for (_, one), (_, two) in zip(first, other, strict=True):
        torch.testing.assert_close(one, two)
    assert steps_of(cells).start(2).hidden.tolist() == [[0.0] * 5] * 2


def test_rows_in_order_of_reading() -> None:
    assert in_order(IDS, LENGTHS, False).tolist() == IDS.T.tolist()
    assert in_order(IDS, LENGTHS, True).T[0].tolist() == [2, 1, 0, 2]
    assert in_order(IDS, LENGTHS, True).T[2, :3].tolist() == [3, 3, 4]


@pytest.mark.parametrize("rows", [1, 255, 256, 257])
def test_blocks_are_always_of_as_many_rows(rows: int) -> None:
    seen = []

    def double(block: torch.Tensor, out: torch.Tensor) -> None:
        seen.append(len(block))
        out.copy_(2 * block)

    vectors = torch.randn(rows, 3)
    torch.testing.assert_close(in_blocks(double, vectors, 3), 2 * vectors)
    assert seen == [256] * (1 + (rows - 1) // 256)


@pytest.mark.parametrize(
    ("abilities", "kind"),
    [
        ({"avx512_bf16": True}, torch.bfloat16),
        ({"avx512_bf16": False, "amx_bf16": True}, torch.bfloat16),
        ({"avx512_f": True, "avx512_bf16": False}, torch.float32),
        ({}, torch.float32),
    ],
)
def test_the_type_of_products_is_what_the_processor_is_good_at(
    abilities: dict[str, bool], kind: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: abilities, raising=False)
    assert device.product_type.__wrapped__(torch.device("cpu")) == kind
    assert device.product_type.__wrapped__(torch.device("cuda")) == torch.float32


def test_an_older_torch_says_nothing_of_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    assert device.product_type.__wrapped__(torch.device("cpu")) == torch.float32
