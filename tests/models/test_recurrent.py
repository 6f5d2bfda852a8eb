"""Recurrent layers against torch's packed sequences; cached steps against torch's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import nn

from bitextfilter.models import device, recurrent
from bitextfilter.models.layers import max_pool, mean_pool
from bitextfilter.models.pooling import MaxPooling, mean_of_steps
from bitextfilter.models.recurrent import (
    BidirectionalRecurrent,
    CachedDirection,
    LeakyGru,
    Product,
    RecurrentDecoder,
    in_blocks,
    in_order,
    reverse_padded,
    steps_of,
)

LENGTHS = torch.tensor([4, 1, 3])
IDS = torch.tensor([[2, 0, 1, 2], [1, 0, 0, 0], [4, 3, 3, 0]])
CELLS = {
    "lstm": lambda: nn.LSTM(6, 5, batch_first=True),
    "gru": lambda: nn.GRU(6, 5, batch_first=True),
    "leaky": lambda: LeakyGru(6, 5),
}


def rows(width: int = 5) -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(3, 4, width)


def test_reversal_leaves_the_padding_at_the_end() -> None:
    values = torch.arange(12.0).reshape(3, 4, 1)
    reversed_ = reverse_padded(values, LENGTHS)[:, :, 0].tolist()
    assert reversed_ == [[3, 2, 1, 0], [4, 5, 6, 7], [10, 9, 8, 11]]


@pytest.mark.parametrize(("cell", "kind"), [("lstm", nn.LSTM), ("gru", nn.GRU)])
@pytest.mark.parametrize("layers", [1, 2])
def test_states_are_those_of_torch_on_packed_sequences(
    cell: str, kind: type[nn.LSTM], layers: int
) -> None:
    ours = BidirectionalRecurrent(cell, 5, 6, layers)
    theirs = kind(5, 6, layers, batch_first=True, bidirectional=True)
    weights = {}
    for layer in range(layers):
        for suffix, side in (("", ours.forwards), ("_reverse", ours.backwards)):
            for name, value in side[layer].state_dict().items():
                weights[name.replace("l0", f"l{layer}") + suffix] = value
    theirs.load_state_dict(weights)
    packed = nn.utils.rnn.pack_padded_sequence(rows(), LENGTHS, True, enforce_sorted=False)
    expected, _ = nn.utils.rnn.pad_packed_sequence(theirs(packed)[0], batch_first=True)
    states = ours(rows(), LENGTHS)
    for i, length in enumerate(LENGTHS):
        torch.testing.assert_close(states[i, :length], expected[i, :length])


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_the_decoder_sees_the_embedding_and_the_past_only(cell: str) -> None:
    torch.manual_seed(0)
    decoder = RecurrentDecoder(cell, 5, 6)
    embedding, inputs = torch.randn(3, 6), rows()
    states = decoder(embedding, inputs)
    later = inputs.clone()
    later[:, 2:] += 1
    torch.testing.assert_close(decoder(embedding, later)[:, :2], states[:, :2])
    assert not torch.allclose(decoder(embedding, later)[:, 2:], states[:, 2:])
    assert not torch.allclose(decoder(embedding + 1, inputs)[:, 0], states[:, 0])


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    with torch.inference_mode():
        yield


def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recurrent, "product_type", lambda _: torch.float32)


def highest(direction: CachedDirection) -> torch.Tensor:
    return MaxPooling(5).of_direction(direction.states(IDS, LENGTHS), LENGTHS)


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
    torch.testing.assert_close(highest(direction), max_pool(expected, LENGTHS))
    mean = mean_of_steps(direction.states(IDS, LENGTHS), LENGTHS)
    torch.testing.assert_close(mean, mean_pool(expected, LENGTHS))


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_bfloat16_rounds_the_factors_of_products_only(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells, vectors = made(name)
    exact(monkeypatch)
    before = highest(CachedDirection(cells, vectors))
    monkeypatch.setattr(recurrent, "product_type", lambda _: torch.bfloat16)
    after = highest(CachedDirection(cells, vectors))
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
    device.product_type.cache_clear()
    assert device.trains_in_bfloat16(torch.device("cpu")) == (kind == torch.bfloat16)
    assert device.trains_in_bfloat16(torch.device("cuda"))
    device.product_type.cache_clear()


def test_an_older_torch_says_nothing_of_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    assert device.product_type.__wrapped__(torch.device("cpu")) == torch.float32
