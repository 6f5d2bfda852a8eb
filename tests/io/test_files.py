"""Inputs, outputs and their drafts."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import zstandard
from strikes import strike_after

from bitextfilter.errors import InputError, NotFoundError, OutputError
from bitextfilter.io.drafts import draft, temporary_folder
from bitextfilter.io.files import (
    locked,
    naming_output,
    open_input,
    open_output,
    open_outputs,
    read_lines,
    stream_name,
    write_whole,
)
from bitextfilter.io.lines import lines_of

UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
    ".zst": lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
}
DATA = "Zeile\u2028eins\r\nzwei\rx\ndrei".encode() * 2000


@pytest.mark.parametrize("ending", UNPACK)
def test_compression_goes_by_name(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"pairs.tsv{ending}"
    with open_output(path) as stream:
        stream.write(DATA)
    assert UNPACK[ending](path.read_bytes()) == DATA
    with open_input(path) as stream:
        assert b"".join(lines_of(stream, "x")) == DATA
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zst"])
def test_concatenated_archives_are_read_to_their_end(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"pairs.tsv{ending}"
    write_whole(path, DATA)
    path.write_bytes(path.read_bytes() * 3)
    with open_input(path) as stream:
        assert b"".join(lines_of(stream, "x")) == DATA * 3


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("damage", ["cut", "overwritten", "plain"])
def test_damaged_archives_are_bad_input(tmp_path: Path, ending: str, damage: str) -> None:
    path = tmp_path / f"pairs.tsv{ending}"
    with open_output(path) as stream:
        stream.write(b" ".join(b"%d" % (i * i) for i in range(50_000)))
    whole = path.read_bytes()
    middle = len(whole) // 2
    damaged = {
        "cut": whole[:middle],
        "overwritten": whole[:middle] + bytes(1000) + whole[middle + 1000 :],
        "plain": b"a\tb\n" * 100,
    }
    path.write_bytes(damaged[damage])
    said = "not .*, as its name says" if damage == "plain" else "cannot be read any further"
    with (
        pytest.raises(InputError, match=rf"pairs\.tsv.*: {said}") as caught,
        open_input(path) as stream,
    ):
        list(lines_of(stream, str(path)))
    assert "\n" not in str(caught.value)


def test_a_dash_is_the_standard_stream_and_stays_open() -> None:
    stdin, stdout = io.BytesIO(b"in"), io.BytesIO()
    with open_input("-", stdin) as stream:
        assert stream.read() == b"in"
    with open_output("-", stdout) as stream:
        stream.write(b"out")
    assert stdout.getvalue() == b"out"
    assert not stdin.closed
    assert stream_name("-") == "stdin"


@pytest.mark.parametrize("name", ["nothing.tsv", "nothing.tsv.gz", ".", "file/below.tsv"])
def test_an_input_that_is_not_there(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotFoundError, match="cannot be opened"), open_input(tmp_path / name):
        pass


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_an_error_leaves_the_old_file_alone(
    tmp_path: Path, error: type[BaseException], ending: str
) -> None:
    path = tmp_path / f"out{ending}"
    path.write_bytes(b"old")

    def fail() -> None:
        with open_output(path) as stream:
            stream.write(DATA)
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_stands_under_the_name_before_the_end(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with open_output(path) as stream:
        stream.write(b"x")
        stream.flush()
        assert not path.exists()
    assert path.read_bytes() == b"x"


@pytest.mark.parametrize("name", ["nowhere/out.tsv", "file/out.tsv", "nowhere/out.tsv.gz", "."])
def test_an_output_that_cannot_be_made(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    path = tmp_path / name
    with pytest.raises(OutputError, match="cannot be written") as caught, open_output(path):
        pass
    assert str(caught.value).startswith(f"{path}: ")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@contextmanager
def nobody() -> Iterator[None]:
    """Be a user who may not write everywhere, as root may."""
    user = os.geteuid()
    os.seteuid(user or 65534)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.mark.parametrize("mode", [0o555, 0o000])
def test_a_folder_that_may_not_be_written_or_entered(mode: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(mode)
        denied = pytest.raises(OutputError, match="Permission denied")
        with nobody(), denied, open_output(f"{folder}/out"):
            pass


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="no /dev/full here")
@pytest.mark.parametrize("size", [1, 1_000_000])
def test_a_full_disk_is_an_output_error_and_devices_stay(size: int) -> None:
    with (
        pytest.raises(OutputError, match="/dev/full: cannot be written: No space left"),
        open_output("/dev/full") as stream,
    ):
        stream.write(bytes(size))
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


def test_files_that_belong_together_appear_together(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other.gz"
    with open_outputs([one, other]) as (first, second):
        first.write(b"a\n")
        second.write(b"b\n")
        assert not one.exists() and not other.exists()
    assert one.read_bytes() == b"a\n"
    assert gzip.decompress(other.read_bytes()) == b"b\n"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="no /dev/full here")
@pytest.mark.parametrize("order", [1, -1])
def test_if_one_cannot_be_completed_neither_appears(tmp_path: Path, order: int) -> None:
    one = tmp_path / "one"
    one.write_bytes(b"old")
    paths = [one, Path("/dev/full")][::order]
    with pytest.raises(OutputError, match="/dev/full"), open_outputs(paths) as streams:
        _ = [stream.write(b"new") for stream in streams]
    assert one.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [one]


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    with open_output(tmp_path / "link") as stream:
        stream.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_new_files_have_the_usual_permissions(tmp_path: Path) -> None:
    write_whole(tmp_path / "out", b"x")
    (tmp_path / "plain").write_bytes(b"x")
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_named_pipe_is_written_directly(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with open_output(pipe) as stream:
        stream.write(b"through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)


def test_plain_sentences(tmp_path: Path) -> None:
    path = tmp_path / "sentences.gz"
    text = "\ufeffeins\r\n\nzwei\u2028\x85\rdrei\n\ufeffvier"
    path.write_bytes(gzip.compress(text.encode()))
    assert list(read_lines(path)) == ["eins", "", "zwei\u2028\x85\rdrei", "\ufeffvier"]


@pytest.mark.parametrize(
    ("bad", "message"), [(b"a\0b", "NUL byte"), (b"a\xff", "not UTF-8 at byte 2 of the line")]
)
def test_plain_sentences_are_strict(tmp_path: Path, bad: bytes, message: str) -> None:
    path = tmp_path / "sentences"
    path.write_bytes(b"good\n" + bad + b"\ngood\n")
    with pytest.raises(InputError) as caught:
        list(read_lines(path))
    assert str(caught.value) == f"{path}:2: {message}"


class Sip(io.RawIOBase):
    """An unbuffered stream that takes three bytes at a time."""

    def __init__(self) -> None:
        self.taken = b""

    def writable(self) -> bool:
        return True

    def write(self, data: bytes | memoryview) -> int:  # type: ignore[override]
        self.taken += bytes(data[:3])
        return min(3, len(data))


def test_an_unbuffered_stream_gets_everything() -> None:
    sip = Sip()
    with open_output("-", sip) as stream:  # type: ignore[arg-type]
        assert stream.write(b"more than three") == 15
        assert stream.write(b"") == 0
    assert sip.taken == b"more than three"


HOLD = """
import sys, time
from pathlib import Path
from typing import Any
from bitextfilter.io.drafts import draft, temporary_folder
with draft(Path(sys.argv[1]), folder=sys.argv[2] == "folder") as path:
    if path.is_dir():
        (path / "part").touch()
    print(path.name, flush=True)
    time.sleep(60)
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def holder(target: Path, kind: str) -> tuple[subprocess.Popen[str], str]:
    """A process that has a draft of *target*, and the name of that."""
    line = [sys.executable, "-c", HOLD, str(target), kind]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_a_killed_process_left_goes_and_the_draft_of_a_living_one_stays(
    tmp_path: Path, kind: str
) -> None:
    target = tmp_path / "out.tsv"
    first, one = holder(target, kind)
    second, two = holder(target, kind)
    with first, second:
        assert [one, two] == [".out.tsv.1.partial", ".out.tsv.2.partial"]
        for process, left in (second, [one]), (first, []):
            process.send_signal(signal.SIGKILL)
            process.wait()
            with open_output(target) as stream:
                stream.write(b"x")
            assert names(tmp_path) == [*left, "out.tsv"]


def test_the_draft_of_another_file_stays(tmp_path: Path) -> None:
    (tmp_path / ".out.tsv.gz.1.partial").touch()
    with open_output(tmp_path / "out.tsv") as stream:
        stream.write(b"x")
    assert names(tmp_path) == [".out.tsv.gz.1.partial", "out.tsv"]


@pytest.mark.parametrize("folder", [False, True])
def test_a_draft_that_was_renamed_leaves_its_name_to_the_next(tmp_path: Path, folder: bool) -> None:
    target = tmp_path / "out"
    with draft(target, folder) as one:
        one.rename(target)
        with draft(target, folder) as other:
            assert other == one
        assert names(tmp_path) == ["out"]
    assert names(tmp_path) == ["out"]


ADD = """
import sys
from pathlib import Path
from typing import Any
from bitextfilter.io.files import locked
path = Path(sys.argv[1])
for _ in range(200):
    with locked(path):
        number = int(path.read_text())
        path.write_text(str(number + 1))
"""


def test_nothing_that_several_processes_add_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "count"
    path.write_text("0")
    line = [sys.executable, "-c", ADD, str(path)]
    running = [subprocess.Popen(line) for _ in range(4)]
    assert [process.wait(60) for process in running] == 4 * [0]
    assert path.read_text() == "800"
    assert names(tmp_path) == ["count"]


def fail_within(path: Path, lock: Path) -> None:
    with locked(path):
        assert lock.exists()
        raise KeyError


def test_the_lock_goes_with_an_error_and_a_stale_one_holds_nobody_up(tmp_path: Path) -> None:
    stale = tmp_path / ".table.lock"
    stale.touch()
    (tmp_path / "link").symlink_to(tmp_path / "table")
    with pytest.raises(KeyError):
        fail_within(tmp_path / "link", stale)
    assert names(tmp_path) == ["link"]


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "table"
    with pytest.raises(OutputError, match="table: cannot be written: No such file"), locked(path):
        pass


@pytest.mark.parametrize(
    ("error", "reason"),
    [(OSError(errno.EIO, "it broke"), "it broke"), (OSError("no number"), "no number")],
)
def test_an_error_without_a_file_name_names_the_output(error: OSError, reason: str) -> None:
    """As of a write, whose error knows the descriptor alone."""
    raises = pytest.raises(OutputError, match=f"^out: cannot be written: {reason}$")
    with raises, naming_output("out"):
        raise error


@pytest.mark.parametrize("step", ["mkdtemp", "unlink"])
def test_a_signal_while_a_temporary_folder_is_made_or_removed_leaves_none(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work() -> None:
        with temporary_folder(tmp_path) as folder:
            for name in "ab":
                (folder / name).touch()

    strike_after(monkeypatch, tempfile if step == "mkdtemp" else os, step)
    with pytest.raises(KeyboardInterrupt):
        work()
    assert names(tmp_path) == []
