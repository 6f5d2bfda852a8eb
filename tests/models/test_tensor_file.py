"""Tensors that numpy reads: torch's numbers, and torch's complaints."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from bitextfilter.errors import BitextError, ModelError
from bitextfilter.models.checkpoint import load_tensors, save_tensors
from bitextfilter.models.tensor_file import SCALE, open_tensors, read_tensors


def tensors() -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    table = torch.randn(7, 16) * torch.logspace(-3, 3, 7)[:, None]
    bytes_ = torch.arange(12, dtype=torch.uint8).reshape(2, 6)
    return {"table": table, "bias": torch.randn(5), "empty": torch.zeros(0, 4), "counts": bytes_}


@pytest.mark.parametrize("bits", [32, 8, 4, 3])
def test_the_numbers_are_torchs(tmp_path: Path, bits: int) -> None:
    path = tmp_path / "t.safetensors"
    save_tensors(path, tensors(), bits)
    found, expected = open_tensors(path), load_tensors(path)
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        array = found[name].array()
        assert (array.shape, found[name].shape) == (tensor.shape, tensor.shape)
        assert array.dtype == tensor.numpy().dtype and np.array_equal(array, tensor.numpy())
        assert found[name].size == tensor.numel() and found[name].is_finite()


@pytest.mark.parametrize(
    "kind",
    [torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int16, torch.bool],
)
def test_other_types_of_numbers(tmp_path: Path, kind: torch.dtype) -> None:
    tensor = (torch.randn(5, 3) * 9).to(kind)
    save_file({"a": tensor, "odd": torch.ones(3, dtype=torch.int8)}, tmp_path / "t")
    found = open_tensors(tmp_path / "t")
    wide = tensor.float().numpy() if kind == torch.bfloat16 else tensor.numpy()
    assert np.array_equal(found["a"].array(), wide) and found["odd"].array().tolist() == [1, 1, 1]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def begin_with_nothing(path: Path) -> None:
    path.write_bytes(b"")


def claim_a_long_header(path: Path) -> None:
    path.write_bytes(b"\xff" * 8 + path.read_bytes()[8:])


def claim_other_places(path: Path) -> None:
    whole = path.read_bytes()
    size = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + size])
    header["table"]["data_offsets"][1] += 4
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + whole[8 + size :])


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    "damage",
    [cut, begin_with_nothing, claim_a_long_header, claim_other_places, make_folder, Path.unlink],
)
def test_damage_is_what_it_is_to_torch(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    path = tmp_path / "t.safetensors"
    save_tensors(path, tensors(), 8)
    damage(path)
    kinds = []
    for read in (load_tensors, open_tensors):
        with pytest.raises(BitextError, match=r"t\.safetensors: ") as error:
            read(path)
        kinds.append(error.type)
    assert kinds[0] is kinds[1]


@pytest.mark.parametrize(
    ("matrix", "scales"),
    [
        (torch.zeros(3, 4, dtype=torch.int8), torch.ones(2, 1)),
        (torch.zeros(3, 4, dtype=torch.int8), torch.ones(3)),
        (torch.zeros(3, 4), torch.ones(3, 1)),
        (torch.zeros(3, dtype=torch.uint8), torch.ones(3, 1)),
    ],
)
def test_scales_fit(tmp_path: Path, matrix: torch.Tensor, scales: torch.Tensor) -> None:
    save_file({"table": matrix, f"table{SCALE}": scales}, tmp_path / "t")
    for read in (load_tensors, open_tensors):
        with pytest.raises(ModelError, match="the scales of table do not fit it"):
            read(tmp_path / "t")


@pytest.mark.parametrize("number", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("quantised", [False, True])
def test_numbers_are_finite(tmp_path: Path, number: float, quantised: bool) -> None:
    table, scales = torch.ones(3, 4), torch.ones(3, 1)
    (scales if quantised else table)[1] = number
    given = (
        {"table": table.to(torch.int8), f"table{SCALE}": scales} if quantised else {"table": table}
    )
    save_file(given, tmp_path / "t")
    with pytest.raises(ModelError, match="table holds numbers that are not finite"):
        read_tensors(tmp_path / "t", {"table": (3, 4)})


@pytest.mark.parametrize("bits", [0, 8, 9, 32])
def test_bits_that_no_table_has(tmp_path: Path, bits: int) -> None:
    parts = {"t": torch.zeros(5, bits, 2, dtype=torch.uint8), f"t{SCALE}": torch.ones(5, 1)}
    save_file(parts, tmp_path / "t")
    with pytest.raises(ModelError, match="the scales of t do not fit it"):
        open_tensors(tmp_path / "t")


def test_wide_numbers_too_large_for_narrow_ones(tmp_path: Path) -> None:
    save_file({"t": torch.full((2, 3), 1e300, dtype=torch.float64)}, tmp_path / "t")
    assert not open_tensors(tmp_path / "t")["t"].is_finite()
