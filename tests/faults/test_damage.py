"""Damaged files of every kind, and model folders made to harm."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import damage
import pytest
import torch
from click.testing import Result
from toys import as_older, sentences, toy_model

from bitextfilter.commands import models, score
from bitextfilter.encoders.registry import ENCODERS
from bitextfilter.errors import InputError, ModelError
from bitextfilter.io.records import (
    DIGESTS,
    changed_files,
    folder_files,
    read_record,
    write_record,
)
from bitextfilter.models.checkpoint import load_tensors, save_tensors
from bitextfilter.models.folders import (
    NO_VERIFY,
    check_folder,
    read_config,
    shipped_models,
    write_config,
)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    rows = zip(*sentences(20, 5), strict=True)
    (tmp_path / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in rows))
    return toy_model(tmp_path / "model")


def scored(model: Path, *more: object) -> Result:
    pairs = model.parent / "pairs.tsv"
    with damage.limited():
        return damage.call(score.main, "--model", model, "-i", pairs, *more)


def refused(model: Path, place: Path, said: str) -> None:
    """Check that scoring stops with one line that names a file."""
    result = scored(model)
    assert (result.exit_code, result.stdout) == (65, ""), result.stderr
    (line,) = result.stderr.splitlines()
    assert f"{place}: " in line and said in line, line


def spoil(path: Path) -> None:
    """Change most bytes of the second half, or in text one digit."""
    content = bytearray(path.read_bytes())
    digits = [n for n, byte in enumerate(content) if 48 <= byte < 58]
    text = path.suffix in (".json", "") and content.isascii() and digits
    half, end = len(content) // 2, len(content)
    places = [digits[len(digits) // 2]] if text else range(half, end - end // 10)
    for place in places:
        content[place] ^= 1 if text else 0x55
    path.write_bytes(content)


NEVER_UNSEEN = {
    "a search by index": ["source.index"],
    "a training": ["0.state.safetensors", "1.state.safetensors"],
}
"""Files whose damage might show in no result: one of a case is an error."""


@pytest.mark.gate(4)
@pytest.mark.parametrize("name", damage.CASES)
def test_each_file_is_damaged_in_turn(name: str, tmp_path: Path) -> None:
    case, _ = damage.prepared(name)
    files = sorted(path for glob in case.files for path in case.home.glob(glob) if path.is_file())
    kinds = {}
    for number, path in enumerate(files):
        inside = path.relative_to(case.home)
        kinds[path.name] = damage.attack(
            name, tmp_path / str(number), lambda at, part=inside: spoil(at / part)
        )
    found = {file for file, kind in kinds.items() if kind == "errors"}
    assert found & set(NEVER_UNSEEN.get(name, files and found)), kinds


@pytest.mark.parametrize("name", damage.CASES)
def test_chosen_damage(name: str, tmp_path: Path) -> None:
    for seed in range(2):
        damage.attack_at_random(name, Random(seed), tmp_path / str(seed))


def test_shipped_models_are_as_their_digests_say() -> None:
    for folder in shipped_models().values():
        assert (folder / DIGESTS).is_file()
        assert list(changed_files(folder)) == []


def test_one_byte_of_a_shipped_model(tmp_path: Path) -> None:
    folder = shutil.copytree(shipped_models()["de-fr"], tmp_path / "model")
    for path in folder_files(folder).values():
        kept = path.read_bytes()
        spoil(path)
        failed = damage.call(models.main, "verify", folder)
        assert (failed.exit_code, failed.stdout) == (65, "")
        assert f"{path}: damaged: it has changed" in failed.stderr
        path.write_bytes(kept)
    check_folder(folder, pages=True)


def test_without_a_check(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = scored(model).stdout
    (model / "encoder.safetensors").touch()
    (model / "thresholds.json").write_text('{"format": 1, "thresholds": []}')
    refused(model, model / "thresholds.json", "digests.json does not list it")
    assert scored(model, "--no-verify").stdout == expected
    assert NO_VERIFY not in os.environ
    monkeypatch.setenv(NO_VERIFY, "1")
    assert scored(model).stdout == expected


def test_an_older_model_is_read_as_before(model: Path) -> None:
    expected = scored(model).stdout
    assert expected and scored(as_older(model)).stdout == expected


def test_people_may_edit_the_card(model: Path) -> None:
    (model / "card.md").write_text("# Mine\n")
    (model / ".hidden").touch()
    assert scored(model).exit_code == 0
    assert damage.call(models.main, "verify", model).exit_code == 0


def link_to_a_file(model: Path) -> Path:
    path = model / "encoder.safetensors"
    path.rename(model.parent / "elsewhere")
    path.symlink_to("../elsewhere")
    return path


def link_to_a_folder(model: Path) -> Path:
    (model / "more").symlink_to("/etc")
    return model / "more"


def pipe(model: Path) -> Path:
    path = model / "vocabulary.tsv"
    path.unlink()
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("change", [link_to_a_file, link_to_a_folder, pipe])
def test_no_way_out_of_the_folder(model: Path, change: Callable[[Path], Path]) -> None:
    place = change(as_older(model))
    refused(model, place, "neither a file" if change is pipe else "leads out of the model")


def test_a_model_by_a_link_and_links_within(model: Path) -> None:
    expected = scored(model).stdout
    (model / "encoder.safetensors").rename(model / "more")
    (model / "encoder.safetensors").symlink_to("more")
    link = model.with_name("link")
    link.symlink_to(as_older(model))
    assert scored(link).stdout == expected


@pytest.mark.parametrize("width", [10**6, 10**13])
def test_a_network_larger_than_its_tensors(model: Path, width: int) -> None:
    config = read_config(as_older(model))
    config["encoder"]["embedding"] = width
    write_config(model, config)
    with pytest.raises(ModelError, match="its network is too large for its tensors"):
        ENCODERS.load(model)  # torch's
    refused(model, model / "encoder.safetensors", f"32), the configuration says (104, {width})")


@pytest.mark.parametrize("number", [torch.nan, torch.inf, -torch.inf])
def test_tensors_that_are_not_finite(model: Path, number: float) -> None:
    path = as_older(model) / "encoder.safetensors"
    tensors = load_tensors(path)
    next(iter(tensors.values()))[-1] = number
    save_tensors(path, tensors)
    refused(model, path, "numbers that are not finite")


def npz(path: Path, shape: str, content: bytes, kind: str = "'|i1'") -> None:
    """Write two sides of neighbours, as one array of a shape and a type."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name in ("source.npy", "target.npy", "k.npy"):
            head = f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}".ljust(117)
            file.writestr(name, b"\x93NUMPY\x01\x00\x76\x00" + head.encode() + b"\n" + content)


@pytest.mark.parametrize(
    ("shape", "content", "kind"),
    [
        ("(500000, 32)", bytes(32 * 500000), "'|i1'"),
        ("(1000000000000, 32)", bytes(32), "'|i1'"),
        ("(1, 32)", b"cos\nsystem\n(S'exit 1'\ntR.", "'|O'"),
        ("(1, -32)", bytes(32), "'|i1'"),
    ],
    ids=["much", "more than there is", "pickle", "negative"],
)
def test_neighbours_that_are_a_bomb(model: Path, shape: str, content: bytes, kind: str) -> None:
    npz(as_older(model) / "neighbours.npz", shape, content, kind)
    said = "bytes packed into" if len(content) > 100 else "damaged neighbours"
    refused(model, model / "neighbours.npz", said)


def test_a_header_that_declares_more_than_the_file_has(model: Path) -> None:
    path = as_older(model) / "encoder.safetensors"
    content = path.read_bytes()
    path.write_bytes((1 << 62).to_bytes(8, "little") + content[8:])
    refused(model, path, "damaged tensors")
    path.write_bytes(content[: 8 + int.from_bytes(content[:8], "little")])
    refused(model, path, "damaged tensors")


@pytest.mark.parametrize(
    "line",
    [
        "# bitextfilter unit=words lowercase=9",
        "ngram 1=" + "9" * 5000,
        "caf\xe9\t\x00",
    ],
)
def test_language_models(tmp_path: Path, line: str) -> None:
    def change(at: Path) -> None:
        lines = (at / "lm.arpa").read_bytes().split(b"\n")
        place = {"#": 0, "n": lines.index(b"\\data\\") + 1}.get(line[0], len(lines) // 2)
        lines[place] = line.encode("latin-1")
        (at / "lm.arpa").write_bytes(b"\n".join(lines))

    assert damage.attack("a language model", tmp_path / "home", change) == "errors"


def test_records_are_of_their_files(tmp_path: Path) -> None:
    """A record that was moved to another name is damaged."""
    write_record(tmp_path / "one.json", {"number": 1})
    assert read_record(tmp_path / "one.json") == {"number": 1}
    (tmp_path / "one.json").rename(tmp_path / "two.json")
    with pytest.raises(InputError, match=r"two\.json: damaged; mend it"):
        read_record(tmp_path / "two.json", "mend it")
    for text in ("[1]", "{}", '{"sha256": 1}', "[" * 100000, "\xff", '{"number": 2}'):
        (tmp_path / "two.json").write_text(text, "latin-1")
        with pytest.raises(InputError, match="damaged"):
            read_record(tmp_path / "two.json")
