"""Calls that fail: some in every gate, and the defects that they have shown."""

from __future__ import annotations

import builtins
import errno
import fcntl
import gzip
import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, Mock

import injected
import numpy as np
import pytest
import torch
from injected import Fault, attack, clean, place_of, unsafe

from bitextfilter.errors import BitextError, OutputError
from bitextfilter.io.files import locked, open_outputs, write_whole
from bitextfilter.io.spill import Records, Scratch
from bitextfilter.io.work_folder import Shard, WorkFolder, kept_folder
from bitextfilter.models.folders import CONFIG, writing_folder
from bitextfilter.search.indexes import new_index
from bitextfilter.training.loop import PROGRESS, Progress, load_state, save_state

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
        ("fix", Fault("o", errno.EIO), ".out.tsv.1.partial"),
        ("align resumed", Fault("w", errno.ENOSPC, lasting=True), "kept"),
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
    attack(tmp_path / "trial", name, fault, found[:2][-1], old=True, clock=3600)


@pytest.mark.parametrize("total", [1, 2, 7, 100, 618])
def test_trials_go_through_all_calls(total: int) -> None:
    assert {place_of(number, total) for number in range(total)} == set(range(total))


@needs_preloading
def test_the_time_of_day_jumps_and_no_other_clock(tmp_path: Path) -> None:
    script = (
        "import os, time\n"
        "clocks = time.time, time.monotonic\n"
        "before = [clock() for clock in clocks]\n"
        "os.mkdir('folder')\n"
        "print([round((clock() - was) / 3600) for clock, was in zip(clocks, before)])"
    )
    where = {"LD_PRELOAD": str(injected.library()), "FAULTS_BELOW": f"{tmp_path}/"}
    line = [sys.executable, "-ISc", script]
    environment = {**os.environ, **where, "FAULTS_CLOCK": "3600"}
    done = subprocess.run(line, env=environment, cwd=tmp_path, capture_output=True, check=True)
    assert done.stdout == b"[1, 0]\n"


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
                name = () if isinstance(path, int) else (str(place),)  # as the system names it
                raise OSError(errno.EIO, os.strerror(errno.EIO), *name)

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
            if mode[0] != "w" or isinstance(path, int):
                return real(path, mode, *more, **options)
            self.count("o", path, "to write")
            binary = io.BufferedWriter(Raw(path, "wb"))
            return binary if "b" in mode else io.TextIOWrapper(binary, *more[1:], **options)

        patch.setattr(builtins, "open", opened)
        patch.setattr(io, "open", opened)  # of pathlib
        descriptor = os.open

        def opened_descriptor(path: Any, flags: int, *more: Any, **options: Any) -> int:
            self.count("o", path, "to write" if flags & (os.O_WRONLY | os.O_RDWR) else "")
            return descriptor(path, flags, *more, **options)

        patch.setattr(os, "open", opened_descriptor)


def pair(folder: Path, data: bytes) -> None:
    with open_outputs([folder / "out.gz", folder / "out.json"]) as streams:
        for stream in streams:
            stream.write(data * 9999)


def read_pair(folder: Path) -> list[bytes]:
    files = [(folder / "out.gz", gzip.decompress), (folder / "out.json", bytes)]
    found = [read(path.read_bytes()) for path, read in files if path.exists()]
    assert all(data == data[:1] * 9999 for data in found)
    return [data[:1] for data in found]


def model(folder: Path, data: bytes) -> None:
    with writing_folder(folder / "model") as draft:
        (draft / CONFIG).write_bytes(data)


def read_model(folder: Path) -> list[bytes]:
    return [(folder / "model" / CONFIG).read_bytes()]


def index(folder: Path, data: bytes) -> None:
    with new_index(folder / "index") as draft:
        write_whole(draft / "sentences", data)


def read_index(folder: Path) -> list[bytes]:
    made = (folder / "index").exists()
    return [(folder / "index" / "sentences").read_bytes()] if made else []


def state(folder: Path, data: bytes) -> None:
    network = torch.nn.Linear(1, 1)
    torch.nn.init.constant_(network.weight, int(data))
    save_state(folder, network, Mock(state_dict=lambda: {"state": {}}), Progress(int(data)))


def read_state(folder: Path) -> list[bytes]:
    network = torch.nn.Linear(1, 1)
    update = load_state(folder, network, MagicMock()).update
    assert int(network.weight) == update
    return [str(update).encode()]


WRITERS = {
    pair: (read_pair, {"out.gz", "out.json"}),
    model: (read_model, {"model"}),
    index: (read_index, {"index"}),
    state: (read_state, {"1.state.safetensors", "0.state.safetensors", PROGRESS}),
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="descriptors have paths in /proc")
@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
def test_every_call_of_a_writer_fails_once(
    write: Callable[[Path, bytes], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut spoils nothing; any call that fails leaves the old or the new, and no draft."""
    monkeypatch.setattr(os, "fsync", lambda _: None)  # no disk takes its time
    read, names = WRITERS[write]
    whole = begun(write, tmp_path / "whole")
    with monkeypatch.context() as patch:
        whole.enter(patch)
        write(whole.folder, b"2")
    assert not unsafe(whole.calls, whole.folder)
    assert len(whole.calls) > 5
    for number in range(1, len(whole.calls) + 1):
        layer, possible = begun(write, tmp_path / str(number), number), {b"1", b"2"}
        with monkeypatch.context() as patch, suppress(OutputError):
            layer.enter(patch)
            write(layer.folder, b"2")
            possible = {b"2"}
        left = {path.name for path in layer.folder.iterdir()}
        kind, _, _, how = layer.calls[number - 1]
        clears_up = kind == "u" or (kind == "o" and not how)
        assert left <= names or clears_up, (layer.calls, left)
        assert set(read(layer.folder)) <= possible, layer.calls
        shutil.rmtree(layer.folder / "index", ignore_errors=True)
        write(layer.folder, b"3")
        left = {path.name for path in layer.folder.iterdir()}
        assert left <= names, (layer.calls, left)
        assert set(read(layer.folder)) == {b"3"}


def begun(write: Callable[[Path, bytes], None], folder: Path, fails: int = 0) -> Layer:
    """A layer on a folder that holds the older output, if one may be there."""
    folder.mkdir()
    if write is not index:
        write(folder, b"1")
    return Layer(folder, fails)


def test_a_model_is_there_at_any_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another takes its place, too: a kill must not leave none."""
    model(tmp_path, b"1")

    def watch() -> None:
        assert (tmp_path / "model" / CONFIG).exists()

    layer = Layer(tmp_path, watch=watch)
    layer.enter(monkeypatch)
    model(tmp_path, b"1")
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
