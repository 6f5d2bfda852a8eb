"""The progress on a terminal: its share of the input, and one bar at a time."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import row_options
from bitextfilter.commands.frame.run import Run
from bitextfilter.io.files import open_output

ROWS = [f"a{number}\tb\n".encode() for number in range(40_000)]


@command("bitext-read", row_options("pairs files"), batch_size=10_000, uses="batch_size")
def main(run: Run) -> None:
    """Read all rows, slowly enough to be seen."""
    for _ in run.windows(run.rows()):
        time.sleep(0.3)  # three times as long as a bar stays as it is


class Terminal:
    """A terminal of 80 columns, which several commands share."""

    def __init__(self) -> None:
        self._master, self.stderr = pty.openpty()
        fcntl.ioctl(self.stderr, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        line = [sys.executable, __file__, *words]
        own = {**os.environ, "TERM": "xterm", "NO_COLOR": "1"}
        return subprocess.Popen(line, stdin=subprocess.PIPE, stderr=self.stderr, env=own)

    def shown(self, until: bytes = b"the end") -> bytes:
        """What it got, up to some text."""
        if until == b"the end":
            os.write(self.stderr, until)
        text = b""
        while until not in text:
            text += os.read(self._master, 10_000)
        return text

    def close(self) -> None:
        os.close(self._master)
        os.close(self.stderr)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    opened = Terminal()
    yield opened
    opened.close()


@pytest.mark.gate(2)
@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_the_bar_of_a_file_has_its_share(suffix: str, tmp_path: Path, terminal: Terminal) -> None:
    path = tmp_path / f"pairs.tsv{suffix}"
    with open_output(path) as stream:
        stream.writelines(ROWS)
    terminal.start("-i", str(path), "--batch-size", "20000").communicate(timeout=60)
    assert b"\rbitext-read: 100%|" in terminal.shown()


def test_the_share_is_of_the_rows_done_of_all_files(tmp_path: Path, terminal: Terminal) -> None:
    paths = [tmp_path / name for name in ("one.tsv", "two.tsv")]
    for path in paths:
        path.write_bytes(b"".join(ROWS))
    terminal.start(*map(str, paths), "--batch-size", "20000").communicate(timeout=60)
    shown = terminal.shown()
    found = re.findall(rb"read: +(\d+)%\|[^|]*\| (\d+) rows \[\d\d:\d\d<\d\d:\d\d, ", shown)
    shares = {int(rows): int(share) for share, rows in found}
    assert {40000, 60000, 80000} <= {*shares}
    assert all(abs(share - rows / 800) <= 2 for rows, share in shares.items())


def test_a_pipe_has_no_share(terminal: Terminal) -> None:
    terminal.start().communicate(b"".join(ROWS), timeout=60)
    shown = terminal.shown()
    assert b"bitext-read: 20000 rows [" in shown and b"%" not in shown


def test_one_command_at_a_time_has_a_bar(terminal: Terminal) -> None:
    first = terminal.start("--batch-size", "1")
    assert first.stdin is not None
    first.stdin.write(b"a\tb\n")
    first.stdin.flush()
    terminal.shown(b"bitext-read: ")
    terminal.start().communicate(b"".join(ROWS), timeout=60)
    shown = terminal.shown()
    assert b" 40000 rows [" not in shown and b" 0 rows [" not in shown
    assert b"\r\x1b[Kbitext-read: 40000 rows, 0 rejected" in shown
    terminal.start("-i", "none").communicate(timeout=60)
    assert b"\r\x1b[Kbitext-read: none: cannot be opened" in terminal.shown()
    first.communicate(timeout=60)
    terminal.start().communicate(b"".join(ROWS), timeout=60)
    shown = terminal.shown()
    assert b" 0 rows [" in shown and b"\x1b[K" not in shown


if __name__ == "__main__":
    main()
