"""The frame on real streams: pipes, full disks, signals, and the progress on a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import counting
import pytest

from bitextfilter.io.files import open_output

PROGRAM = [sys.executable, str(counting.__file__)]
ROWS = [f"a{number}\tb\n".encode() for number in range(40_000)]


def shell(line: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of bash, as from a terminal of colours, in which ``count`` is the command."""
    start = f"unset PYTHONUNBUFFERED NO_COLOR\nexport TERM=xterm\ncount() {{ {PROGRAM[0]} "
    words = ["bash", "-c", f'{start}{PROGRAM[1]} count "$@"; }}\n{line}']
    return subprocess.run(words, capture_output=True, timeout=60, check=False)


@pytest.mark.parametrize("nobody", ["/dev/full", ">(:)"])
def test_it_works_on_where_nobody_hears_it(nobody: str) -> None:
    done = shell(f"echo $'a\tb' | {{ sleep .1; count; }} 2> {nobody}; echo $?")
    assert done.stdout == b"a\tb\t1\n0\n"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("yes $'a\\tb' | head -20000 | count > /dev/full", "stdout: cannot be written: "),
        (
            "echo $'a\\tb' | count -o /dev/full",
            "/dev/full: cannot be written: ",
        ),  # at the last flush
        ("count --help > /dev/full", "[Errno 28] "),
        ("count --version > /dev/full", "[Errno 28] "),
    ],
)
def test_a_full_disk_is_told_in_one_line(line: str, told: str) -> None:
    """And without colours, as in every pipe."""
    done = shell(line)
    assert done.returncode == 74
    assert done.stderr == f"bitext-count: {told}No space left on device\n".encode()


def test_a_closed_pipe_is_a_quiet_end() -> None:
    done = shell("yes $'a\\tb' | count | head -1; echo ${PIPESTATUS[1]}; count --help > >(:)")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"a\tb\t1\n0\n", b"")


def test_a_closed_standard_stream_is_told() -> None:
    done = shell("count <&-; echo $?; echo $'a\\tb' | count >&-; echo $?; count 2>&- < /dev/null")
    assert done.stdout == b"66\n74\n"
    assert done.stderr == (b"bitext-count: stdin is closed\nbitext-count: stdout is closed\n")
    assert done.returncode == 0


def test_a_signal_ends_the_run_and_leaves_nothing(tmp_path: Path) -> None:
    """Of a run whose output is half written."""
    words = ["--on-error", "reject", "--rejects", str(tmp_path / "rejects.tsv")]
    words = [*PROGRAM, "count", "--slow", "-o", str(tmp_path / "out.tsv"), *words]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stderr is not None
        process.stdin.write(b"a\tb\nbad\n" + b"c\td\n" * 1000)
        process.stdin.flush()
        assert process.stderr.readline() == b"bitext-count: waiting\n"
        assert {path.suffix for path in tmp_path.iterdir()} == {".partial"}
        process.terminate()
        assert process.stderr.read() == b"bitext-count: terminated\n"
    assert process.returncode == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


def test_windows_reach_a_slow_pipe_as_they_are_done() -> None:
    words = [*PROGRAM, "count", "-q"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(b"a\tb\ncc\td\neee\tf\n")
        process.stdin.flush()
        assert [process.stdout.readline()[-2:] for _ in range(3)] == [b"1\n", b"2\n", b"3\n"]
        process.stdin.close()
        assert process.stdout.read() == b""
    assert process.returncode == 0


class Terminal:
    """A terminal of 80 columns, which several commands may share."""

    def __init__(self) -> None:
        self._master, self.end = pty.openpty()
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))

    def start(
        self, *words: str, stdin: int = subprocess.PIPE, **own: str
    ) -> subprocess.Popen[bytes]:
        """Start a command that writes messages here, without colours unless told."""
        own = {**os.environ, "TERM": "xterm", "NO_COLOR": "1", **own}
        line = [*PROGRAM, *words]
        out = subprocess.PIPE if words[0] == "count" else None
        return subprocess.Popen(line, stdin=stdin, stdout=out, stderr=self.end, env=own)

    def count(self, *words: str, code: int = 0, **own: str) -> tuple[bytes, bytes]:
        """What ``count`` writes to stdout and here, reading five rows from here."""
        os.write(self._master, b"a\tb\n" * 5 + b"\x04")
        process = self.start("count", *words, stdin=self.end, **own)
        out, _ = process.communicate(timeout=60)
        assert process.returncode == code
        return out, self.shown()

    def shown(self, until: bytes = b"the end") -> bytes:
        """What it got, up to some text."""
        if until == b"the end":
            os.write(self.end, until)
        text = b""
        while until not in text:
            text += os.read(self._master, 10_000)
        return text

    def close(self) -> None:
        os.close(self._master)
        os.close(self.end)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    opened = Terminal()
    yield opened
    opened.close()


def test_a_terminal_gets_a_progress_bar_and_a_hint(terminal: Terminal) -> None:
    out, shown = terminal.count()
    assert out == b"a\tb\t1\n" * 5
    assert b"bitext-count: reading from the terminal: end with Ctrl-D" in shown
    assert b"\rbitext-count: 0 rows" in shown
    assert b"bitext-count: 5 rows, 0 rejected, " in shown
    assert re.search(rb"\x1b\[\d*m", shown) is None
    out, shown = terminal.count("-q")
    assert out == b"a\tb\t1\n" * 5
    assert b"bitext-count" not in shown


@pytest.mark.gate(1)
@pytest.mark.parametrize(
    ("words", "colour", "text", "code"),
    [
        ([], 32, b"5 rows, 0 rejected, ", 0),
        (["--scol", "9", "--on-error", "reject"], 33, b"warning: every row is bad: ", 0),
        (["--scol", "9"], 31, b"stdin:1: 2 columns, expected at least 9", 65),
        (["--scol", "0"], 31, b"Invalid value for '--scol'", 2),
    ],
)
def test_a_terminal_gets_colours_unless_it_wants_none(
    terminal: Terminal, words: list[str], colour: int, text: bytes, code: int
) -> None:
    out, shown = terminal.count(*words, code=code, NO_COLOR="")
    assert b"\x1b[%dmbitext-count:\x1b[0m " % colour + text in shown
    assert b"\x1b" not in out
    _, plain = terminal.count(*words, code=code, NO_COLOR="", TERM="dumb")
    assert b"bitext-count: " + text in plain
    assert re.search(rb"\x1b\[\d*m", plain) is None


@pytest.mark.gate(1)
@pytest.mark.parametrize("suffix", [".gz", "", ".bz2", ".xz", ".zst"])
def test_the_bar_of_a_file_has_its_share(suffix: str, tmp_path: Path, terminal: Terminal) -> None:
    path = tmp_path / f"pairs.tsv{suffix}"
    with open_output(path) as stream:
        stream.writelines(ROWS)
    terminal.start("read", "-i", str(path), "--batch-size", "20000").communicate(timeout=60)
    assert b"\rbitext-read: 100%|" in terminal.shown()


def test_the_share_is_of_the_rows_done_of_all_files(tmp_path: Path, terminal: Terminal) -> None:
    paths = [tmp_path / name for name in ("one.tsv", "two.tsv")]
    for path in paths:
        path.write_bytes(b"".join(ROWS))
    line = ["read", *map(str, paths), "--batch-size", "20000"]
    terminal.start(*line).communicate(timeout=60)
    found = re.findall(
        rb"read: +(\d+)%\|[^|]*\| (\d+) rows \[\d\d:\d\d<\d\d:\d\d, ", terminal.shown()
    )
    shares = {int(rows): int(share) for share, rows in found}
    assert {40000, 60000, 80000} <= {*shares}
    # Some KiB are read ahead.
    assert all(abs(share - rows / 800) <= 4 for rows, share in shares.items())


def test_one_command_at_a_time_has_a_bar(terminal: Terminal) -> None:
    """And none of a pipe has a share."""
    first = terminal.start("read", "--batch-size", "1")
    assert first.stdin is not None
    first.stdin.write(b"a\tb\n")
    first.stdin.flush()
    terminal.shown(b"bitext-read: ")
    terminal.start("read").communicate(b"".join(ROWS), timeout=60)
    shown = terminal.shown()
    assert b" 40000 rows [" not in shown and b" 0 rows [" not in shown
    assert b"\r\x1b[Kbitext-read: 40000 rows, 0 rejected" in shown
    terminal.start("read", "-i", "none").communicate(timeout=60)
    assert b"\r\x1b[Kbitext-read: none: cannot be opened" in terminal.shown()
    first.communicate(timeout=60)
    terminal.start("read").communicate(b"".join(ROWS), timeout=60)
    shown = terminal.shown()
    assert b" 0 rows [" in shown and b"\x1b[K" not in shown
    assert b"bitext-read: 20000 rows [" in shown and b"%" not in shown
