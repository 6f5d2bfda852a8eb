"""Model folders and tensors: what is written comes back, what is damaged is named."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from bitextfilter.errors import BitextError, ModelError, NotFoundError, OutputError
from bitextfilter.models import checkpoint
from bitextfilter.models.checkpoint import load_into, load_tensors, quantise_rows, save_tensors
from bitextfilter.models.folders import (
    CONFIG,
    FORMAT,
    model_digest,
    read_config,
    write_config,
    writing_folder,
)
from bitextfilter.models.tensor_file import SCALE, open_tensors, read_tensors


def tensors() -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    return {"table": torch.randn(7, 5) * torch.logspace(-3, 3, 7)[:, None], "bias": torch.randn(5)}


def test_tensors_come_back_bit_for_bit(tmp_path: Path) -> None:
    save_tensors(tmp_path / "t.safetensors", tensors())
    back = load_tensors(tmp_path / "t.safetensors")
    assert back.keys() == tensors().keys()
    assert all(torch.equal(back[name], value) for name, value in tensors().items())


def test_int8_is_off_by_half_a_step_of_its_row_at_most(tmp_path: Path) -> None:
    save_tensors(tmp_path / "t.safetensors", tensors(), bits=8)
    back, table = load_tensors(tmp_path / "t.safetensors"), tensors()["table"]
    step = table.abs().amax(dim=1, keepdim=True) / 127
    assert ((back["table"] - table).abs() <= step * 0.5001).all()
    assert torch.equal(back["bias"], tensors()["bias"])
    assert not torch.equal(back["table"], table)


def test_a_row_of_zeros_survives_int8() -> None:
    rounded, scale = quantise_rows(torch.zeros(2, 3))
    assert torch.equal(rounded * scale, torch.zeros(2, 3))


@pytest.mark.gate(3)
@pytest.mark.parametrize("bits", [3, 4])
@pytest.mark.parametrize("width", [8, 7, 64])
def test_few_bits_a_number(tmp_path: Path, width: int, bits: int) -> None:
    path, table = tmp_path / "t.safetensors", torch.randn(50, width)
    table[3] = 0
    save_tensors(path, {"table": table, "bias": table[0]}, bits=bits)
    back = load_tensors(path)
    assert torch.equal(back["bias"], table[0])
    raw = load_file(path)["table"]
    assert raw.dtype == (torch.int8 if width % 8 else torch.uint8)
    assert raw.shape == ((50, width) if width % 8 else (50, bits, width // 8))
    steps = [place - (2**bits - 1) / 2 for place in range(2**bits)]
    if width % 8 == 0:
        for row, found in zip(table, back["table"], strict=True):  # a naive search
            errors = []
            for factor in (1, 0.9, 0.8, 0.7, 0.6):
                scale = float(row.abs().max()) / steps[-1] * factor
                rounded = [min((abs(x - s * scale), s * scale) for s in steps)[1] for x in row]
                errors.append(sum((a - b) ** 2 for a, b in zip(rounded, row.tolist(), strict=True)))
            assert float((found - row).square().sum()) == pytest.approx(min(errors), abs=1e-6)
    save_tensors(path, back, bits=bits)
    assert torch.allclose(load_tensors(path)["table"], back["table"], atol=1e-6)
    assert torch.equal(load_file(path)["table"], raw)


def test_no_folder_no_file_and_no_configuration_are_not_found(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(NotFoundError, match="no model here"):
            read_config(folder)
    with pytest.raises(NotFoundError, match="missing"):
        load_tensors(tmp_path / "t.safetensors")


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"format": "1"}', "\xff"])
def test_a_damaged_configuration_is_said_to_be(tmp_path: Path, text: str) -> None:
    (tmp_path / CONFIG).write_bytes(text.encode("latin-1"))
    with pytest.raises(ModelError, match=r"config\.json"):
        read_config(tmp_path)


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / CONFIG).write_text(json.dumps({"format": FORMAT + 1}))
    with pytest.raises(ModelError, match="newer"):
        read_config(tmp_path)


def test_truncated_tensors_are_damaged(tmp_path: Path) -> None:
    path = tmp_path / "t.safetensors"
    save_tensors(path, tensors())
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(ModelError, match="damaged"):
        load_tensors(path)


def test_tensors_that_do_not_fit_are_named(tmp_path: Path) -> None:
    layer = nn.Linear(3, 2)
    good = layer.state_dict()
    with pytest.raises(ModelError, match="bias is missing"):
        load_into(layer, {"weight": good["weight"]}, tmp_path)
    with pytest.raises(ModelError, match=r"weight has shape \(2, 4\)"):
        load_into(layer, {**good, "weight": torch.zeros(2, 4)}, tmp_path)
    with pytest.raises(ModelError, match="unknown tensor more"):
        load_into(layer, {**good, "more": torch.zeros(1)}, tmp_path)


def test_the_digest_follows_the_content_but_for_the_card(tmp_path: Path) -> None:
    write_config(tmp_path, {"a": 1})
    before = model_digest(tmp_path)
    (tmp_path / "card.md").write_text("new words")
    assert model_digest(tmp_path) == before
    write_config(tmp_path, {"a": 2})
    assert model_digest(tmp_path) != before
    assert len(before) == 12


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    model = tmp_path / "models" / "one"
    with writing_folder(model) as draft:
        write_config(draft, {"a": 1})
        assert not model.exists()
    assert read_config(model)["a"] == 1

    def fail() -> None:
        with writing_folder(model) as draft:
            write_config(draft, {"a": 2})
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert read_config(model)["a"] == 1
    with writing_folder(model) as draft:
        write_config(draft, {"a": 3})
    assert read_config(model)["a"] == 3
    assert [path.name for path in model.parent.iterdir()] == ["one"]


def test_the_older_model_stays_if_the_new_one_cannot_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "model"
    with writing_folder(model) as draft:
        write_config(draft, {"a": 1})
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: object())  # without renameat2
    rename = Path.rename

    def stop(path: Path, target: Path) -> Path:
        if target == model and not path.name.endswith(".old"):
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", stop)
    with pytest.raises(KeyboardInterrupt), writing_folder(model) as draft:
        write_config(draft, {"a": 2})
    assert read_config(model)["a"] == 1
    assert list(tmp_path.iterdir()) == [model]


def test_tensors_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"x\.safetensors: cannot be written"):
        save_tensors(tmp_path / "nowhere" / "x.safetensors", {"a": torch.ones(2)})


def test_tensors_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch maps the file, and has an error of its own."""

    def fail(_: str) -> None:
        raise RuntimeError("unable to open file <x> in read-only mode: Permission denied (13)")

    save_tensors(tmp_path / "x.safetensors", {"a": torch.ones(2)})
    monkeypatch.setattr(checkpoint, "load_file", fail)
    with pytest.raises(ModelError, match=r"x\.safetensors: cannot be read: .* denied"):
        load_tensors(tmp_path / "x.safetensors")


def test_what_is_no_model_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("x")
    for path in (tmp_path, tmp_path / "precious.txt"):
        with pytest.raises(OutputError, match="not a model"), writing_folder(path):
            pass
    assert (tmp_path / "precious.txt").read_text() == "x"


def some_tensors() -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    table = torch.randn(7, 16) * torch.logspace(-3, 3, 7)[:, None]
    bytes_ = torch.arange(12, dtype=torch.uint8).reshape(2, 6)
    return {"table": table, "bias": torch.randn(5), "empty": torch.zeros(0, 4), "counts": bytes_}


@pytest.mark.parametrize("bits", [32, 8, 4, 3])
def test_the_numbers_are_torchs(tmp_path: Path, bits: int) -> None:
    path = tmp_path / "t.safetensors"
    save_tensors(path, some_tensors(), bits)
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
    save_tensors(path, some_tensors(), 8)
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
