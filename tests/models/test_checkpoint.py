"""Model folders: what is written comes back, what is damaged is named."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from bitextfilter.errors import ModelError, NotFoundError, OutputError
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
