"""Which compiled libraries are opened, and that a manifest tells."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from console import ROOT, run

from bitextfilter.io.compiled import NO_COMPILED, compiled_library, opened
from bitextfilter.io.workers import map_in_order


class Library:
    """Stands for a library that is there, named made_up, of layout 3."""

    def __init__(self, path: str) -> None:
        if "missing" in path:
            raise OSError(path)

    def __getitem__(self, name: str) -> Callable[[], int]:
        if name != "made_up_layout":
            raise AttributeError(name)
        return lambda: 3


def test_the_libraries_that_were_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", Library)
    before = {*opened}
    monkeypatch.setenv(NO_COMPILED, "1")
    assert compiled_library(Path("/a/_made_up.so"), 3) is None
    monkeypatch.delenv(NO_COMPILED)
    for path, layout in ("/a/_missing.so", 3), ("/a/_other.so", 3), ("/a/_made_up.so", 4):
        assert compiled_library(Path(path), layout) is None
    assert opened == before
    assert isinstance(compiled_library(Path("/a/_made_up.so"), 3), Library)
    assert opened == before | {"made_up"}
    opened.remove("made_up")


def open_there(number: int) -> int:
    opened.add(f"number_{number}")
    return os.getpid()


def test_those_of_worker_processes() -> None:
    before = {*opened}
    assert os.getpid() not in map_in_order(open_there, range(3), 2)
    new = {f"number_{number}" for number in range(3)}
    assert opened == before | new
    opened.difference_update(new)


@pytest.mark.parametrize("unwanted", ["", "1"])
def test_a_manifest_names_them(unwanted: str, tmp_path: Path) -> None:
    pairs, manifest = tmp_path / "pairs.tsv", tmp_path / "run.json"
    pairs.write_text("A house.\tEin Haus.\n")
    words = ["bitext-score", "-i", pairs, "-o", tmp_path / "out", "--manifest", manifest]
    done = run([*map(str, words)], **{NO_COMPILED: unwanted})
    assert done.returncode == 0, done.stderr
    names = json.loads(manifest.read_bytes())["compiled"]
    built = {path.stem[1:] for path in ROOT.glob("bitextfilter/*/_*.so")}
    assert names == sorted(names) and {*names} <= built
    assert ("tokens" in names) == ("tokens" in built and not unwanted)


def test_a_resumed_run_names_those_of_the_run_before(tmp_path: Path) -> None:
    pairs, manifest = tmp_path / "pairs.tsv", tmp_path / "run.json"
    words = ["bitext-score", "-i", pairs, "-o", tmp_path / "out", "--manifest", manifest]
    words += ["--resume", tmp_path / "kept", "--shard-rows", 1, "--threads", 1]
    pairs.write_text("A house.\tEin Haus.\nBad.\n")
    assert run([*map(str, words)], **{NO_COMPILED: ""}).returncode == 65
    pairs.write_text("A house.\tEin Haus.\nA tree.\tEin Baum.\n")
    done = run([*map(str, words)], **{NO_COMPILED: "1"})
    assert done.returncode == 0, done.stderr
    built = {path.stem[1:] for path in ROOT.glob("bitextfilter/*/_*.so")}
    assert ("tokens" in json.loads(manifest.read_bytes())["compiled"]) == ("tokens" in built)
