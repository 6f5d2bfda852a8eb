"""Which compiled libraries are opened, and that a manifest tells."""

from __future__ import annotations

import ctypes
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from console import ROOT, run

from bitextfilter.io.compiled import INTEGER, NO_COMPILED, CompiledLibrary, Record, array_of, opened
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


def named(name: str, layout: int) -> CompiledLibrary:
    return CompiledLibrary("/a/module.py", name, layout)


def test_the_libraries_that_were_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", Library)
    before = {*opened}
    monkeypatch.setenv(NO_COMPILED, "1")
    assert named("made_up", 3).open() is None
    monkeypatch.delenv(NO_COMPILED)
    for name, layout in ("missing", 3), ("other", 3), ("made_up", 4):
        assert named(name, layout).open() is None
    assert opened == before
    library = named("made_up", 3)
    assert library.path == Path("/a/_made_up.so")
    assert isinstance(library.open(), Library) and library.needed() is library.open()
    assert opened == before | {"made_up"}
    opened.remove("made_up")


WRONG = [
    (np.zeros(3, np.int32), "an array of int64 is needed, not of int32"),
    ([1, 2, 3], "an array of int64 is needed, not of <class 'list'>"),
    (None, "an array of int64 is needed, not of <class 'NoneType'>"),
    (np.zeros(6, np.int64)[::2], "an array of int64 in one piece is needed"),
    (np.zeros((3, 2), np.int64).T, "an array of int64 in one piece is needed"),
]


@pytest.mark.parametrize(("array", "message"), WRONG)
def test_an_array_of_other_numbers_or_in_pieces_never_reaches_a_library(
    array: Any, message: str
) -> None:
    class Rows(Record):
        _fields_ = (("flat", array_of(np.int64)), ("count", INTEGER))

    for call in (array_of(np.int64).from_param, lambda given: Rows(flat=given, count=3)):
        with pytest.raises(TypeError, match=re.escape(message)):
            call(array)


def test_arrays_reach_a_library_by_their_addresses() -> None:
    class Rows(Record):
        _fields_ = (("flat", array_of(np.int64)), ("count", INTEGER))

    array, rows = np.arange(3), np.zeros((4, 6), np.float32)[:, 2:5]
    given = Rows(flat=array, count=3)
    assert (given.flat.value, given.count) == (array.ctypes.data, 3)
    assert given.values["flat"] is array
    assert array_of(np.float32, pitched=True).address(rows) == rows.ctypes.data
    assert array_of().address(array) == array.ctypes.data
    assert array_of(np.int64, optional=True).address(None) is None


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


@pytest.mark.gate(0)
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
