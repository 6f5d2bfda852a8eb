"""Calls that fail: some in every gate, and the defects that they have shown."""

from __future__ import annotations

import builtins
import errno
import fcntl
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import injected
import numpy as np
import pytest
import torch
from injected import Fault, attack, clean, unsafe

from bitextfilter.errors import BitextError, OutputError
from bitextfilter.io.files import locked, open_outputs, write_whole
from bitextfilter.io.shards import Shard
from bitextfilter.io.spill import Records, Scratch
from bitextfilter.io.work_folder import WorkFolder, kept_folder
from bitextfilter.mining.index import new_index
from bitextfilter.models.folders import CONFIG, writing_folder
from bitextfilter.training.loop import PROGRESS, Progress, save_state

needs_preloading = pytest.mark.skipif(
    not sys.platform.startswith("linux") or injected.library() is None,
    reason="calls are failed by a library that needs Linux and a C compiler",
)


@needs_preloading
@pytest.mark.parametrize(
    ("name", "fault", "path"),
    [
        ("score", Fault("w", errno.ENOSPC, lasting=True), ".out.tsv.gz.1.partial"),
        ("score", Fault("o", errno.EACCES), "classifier.safetensors"),
        ("fix", Fault("n", errno.EACCES), ".out.tsv.1.partial"),
        ("fix", Fault("w", 0), ".out.tsv.1.partial"),
        ("fix", Fault("o", errno.EIO), ".out.tsv.1.partial"),
        ("rank", Fault("w", errno.ENOSPC), "tmp"),
        ("rank", Fault("r", errno.EIO), "tmp"),
        ("segment", Fault("wosnmt", errno.ENOSPC, lasting=True), ".segmenter.json.1.partial"),
        # An index that was put before its pairs would be refused by the next run.
        ("align with an index", Fault("w", errno.EIO), ".out.tsv.1.partial"),
    ],
    ids=str,
)
def test_a_call_that_fails(name: str, fault: Fault, path: str, tmp_path: Path) -> None:
    """The second call on the file, or the only one."""
    calls = [call for call in clean(name).calls if call[0] in fault.kinds]
    found = [number for number, call in enumerate(calls, 1) if f"/{path}" in call[2]]
    attack(tmp_path / "trial", name, fault, found[:2][-1], old=True)


class Layer:
    """Counts the calls of Python on files below a folder, and fails one."""

    def __init__(
        self, folder: Path, fails: int = 0, watch: Callable[[], None] = lambda: None
    ) -> None:
        """Call *watch* before each call."""
        self.calls: list[list[str]] = []
        self.folder, self._fails, self._watch = folder, fails, watch

    def count(self, kind: str, path: Any, other: Any = "") -> None:
        """Count a call, or fail it."""
        place = Path(f"/proc/self/fd/{path}").readlink() if isinstance(path, int) else Path(path)
        if place.is_relative_to(self.folder):
            self._watch()
            self.calls.append([kind, "0", str(place), str(other)])
            if len(self.calls) == self._fails:
                raise OSError(errno.EIO, os.strerror(errno.EIO), str(place))

    def enter(self, patch: pytest.MonkeyPatch) -> None:
        """Take the place of the calls."""

        def counted(kind: str, real: Any) -> Any:
            def call(path: Any, *more: Any, **options: Any) -> Any:
                self.count(kind, path, more[0] if kind == "n" else "")
                return real(path, *more, **options)

            return call

        kinds = {"fsync": "s", "replace": "n", "rename": "n", "unlink": "u", "rmdir": "u"}
        for name in ("fsync", "replace", "rename", "unlink", "mkdir", "rmdir"):
            patch.setattr(os, name, counted(kinds.get(name, "m"), getattr(os, name)))
        patch.setattr(fcntl, "flock", counted("l", fcntl.flock))
        real, layer = builtins.open, self

        class Raw(io.FileIO):
            def write(self, data: Any) -> int:
                layer.count("w", self.fileno())
                return super().write(data)

        def opened(path: Any, mode: str = "r", *more: Any, **options: Any) -> Any:
            if mode != "wb" or isinstance(path, int):
                return real(path, mode, *more, **options)
            self.count("o", path, "to write")
            return io.BufferedWriter(Raw(path, "wb"))

        patch.setattr(builtins, "open", opened)


def pair(folder: Path) -> None:
    with open_outputs([folder / "out.gz", folder / "out.json"]) as streams:
        for stream in streams:
            stream.write(b"new" * 9999)


def model(folder: Path) -> None:
    with writing_folder(folder / "model") as draft:
        (draft / CONFIG).write_bytes(b"new")


def index(folder: Path) -> None:
    with new_index(folder / "index") as draft:
        write_whole(draft / "sentences", b"new")


def state(folder: Path) -> None:
    optimiser = Mock(state_dict=lambda: {"state": {}})
    save_state(folder, torch.nn.Linear(2, 1), optimiser, Progress(update=1))


WRITERS = {
    pair: {"out.gz", "out.json"},
    model: {"model"},
    index: {"index"},
    state: {"1.state.safetensors", "0.state.safetensors", PROGRESS},
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="descriptors have paths in /proc")
@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
def test_every_call_of_a_writer_fails_once(
    write: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut spoils nothing; any call that fails leaves the old or the new, and no draft."""
    monkeypatch.setattr(os, "fsync", lambda _: None)  # no disk takes its time
    whole = begun(write, tmp_path / "whole")
    with monkeypatch.context() as patch:
        whole.enter(patch)
        write(whole.folder)
    assert not unsafe(whole.calls, whole.folder)
    assert len(whole.calls) > 5
    for number in range(1, len(whole.calls) + 1):
        layer = begun(write, tmp_path / str(number), number)
        with monkeypatch.context() as patch, suppress(OutputError):
            layer.enter(patch)
            write(layer.folder)
        left = {path.name for path in layer.folder.iterdir()}
        assert left <= WRITERS[write] or layer.calls[number - 1][0] == "u", (layer.calls, left)
        shutil.rmtree(layer.folder / "index", ignore_errors=True)
        write(layer.folder)
        left = {path.name for path in layer.folder.iterdir()}
        assert left <= WRITERS[write], (layer.calls, left)


def begun(write: Callable[[Path], None], folder: Path, fails: int = 0) -> Layer:
    """A layer on a folder that holds the older output, if one may be there."""
    folder.mkdir()
    if write is not index:
        write(folder)
    return Layer(folder, fails)


def test_a_model_is_there_at_any_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another takes its place, too: a kill must not leave none."""
    model(tmp_path)

    def watch() -> None:
        assert (tmp_path / "model" / CONFIG).exists()

    layer = Layer(tmp_path, watch=watch)
    layer.enter(monkeypatch)
    model(tmp_path)
    assert len(layer.calls) > 3


def test_the_error_of_a_write_is_told_and_not_that_of_clearing_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(path: Any, **_: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    def write() -> None:
        with locked(tmp_path / "out"), open_outputs([tmp_path / "out"]):
            raise BitextError("the first")

    monkeypatch.setattr(os, "unlink", fails)
    with pytest.raises(BitextError, match="the first"):
        write()
    monkeypatch.undo()
    write_whole(tmp_path / "out", b"new")
    with locked(tmp_path / "out"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_that_is_half_emptied_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record says that its output is there."""
    shards = [Shard(n, "x", "x", 0, 1, 1, n, n, digest="") for n in range(3)]
    with kept_folder(tmp_path, {}) as folder:
        for shard in shards:
            folder.file(shard.index, "output").write_bytes(b"x")
            folder.finish(shard, {})
    unlink = Path.unlink

    def fails(path: Path, **options: Any) -> None:
        found = [s for s in shards if WorkFolder(tmp_path).finished(s) is not None]
        assert all(folder.file(shard.index, "output").exists() for shard in found)
        unlink(path, **options)

    monkeypatch.setattr(Path, "unlink", fails)
    folder.empty()
    assert not tmp_path.exists()


def test_space_for_what_is_written_through_memory_is_reserved() -> None:
    """A full disk would end the process by a signal, later."""
    with Scratch() as scratch:
        scratch.zeros(np.uint8, 1 << 20)
        assert os.fstat(scratch.stream().fileno()).st_blocks * 512 >= 1 << 20


def test_a_temporary_file_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    with Records() as records:
        records.extend([b"x"])
        monkeypatch.setattr(os, "pread", fails)
        with pytest.raises(OutputError, match=f"temporary file in {tempfile.gettempdir()} .* read"):
            records[0]
