"""A program of the user's that answers lines: one line of stdout for each line of its stdin.

The program is started in a shell, with all that it starts in a process group of its own, which is
ended with it. ``io/program_pool.py`` asks programs.
"""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import time
from contextlib import AbstractContextManager, suppress
from typing import IO

from bitextfilter.io.files import in_utf_8
from bitextfilter.io.interruptions import undisturbed

_BYTES = 1 << 16
"""Bytes read or written at once."""

_KEPT_BYTES = 1 << 12
"""The end of stderr that is kept."""

_MERCY = 2.0
"""Seconds between SIGTERM and SIGKILL."""

_LINE_ENDS = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def question_line(source: str, target: str) -> bytes:
    """Return the line for a pair: source, tab, target; a line break in them becomes a space."""
    return in_utf_8("\t".join(_LINE_ENDS.sub(" ", text) for text in (source, target)) + "\n")


class Program(AbstractContextManager["Program"]):
    """A run of a program; ended, with all that it has started, when the context is left.

    Nothing of it waits: ``give`` keeps what the pipe does not take, and ``watch`` has a selector
    say when the program takes more, and when it has said something.
    """

    def __init__(self, command: str) -> None:
        """Start *command* in a shell; ``undisturbed`` until it is where somebody ends it."""
        self._command = command
        self._said = b""
        self._ended = False
        self._limit: float | None = None
        """When its time to end is over, once it is asked to."""
        self._unwritten = b""
        self._last = False
        """Whether nothing more will be given."""
        self.lines: list[bytes] = []
        """The lines of stdout, without their ends, that the caller has not taken yet."""
        self.rest = b""
        """The end of stdout after the last line end."""
        self.silent = False
        """Whether stdout has been closed."""
        self.active = True
        """Whether it has read or written since the caller set this to False."""
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
        for stream in self._streams():
            os.set_blocking(stream.fileno(), False)

    def __exit__(self, *_: object) -> None:
        with undisturbed():
            self._end()

    @property
    def hungry(self) -> bool:
        """Whether it has taken all that it was given, and may be given more."""
        return not (self._unwritten or self._last or self.silent)

    def give(self, data: bytes) -> None:
        """Write *data* to its stdin."""
        self._unwritten += data
        self._write()

    def close_input(self) -> None:
        """Close its stdin, once all that was given is written."""
        if not self._last:
            self._last = True
            self._write()

    def watch(self, selector: selectors.BaseSelector) -> None:
        """Register its streams; the data of each key is a function to call when it is ready."""
        stdin, stdout, stderr = self._streams()
        if self._unwritten:
            selector.register(stdin, selectors.EVENT_WRITE, self._write)
        if not self.silent:
            selector.register(stdout, selectors.EVENT_READ, self._read)
        if not stderr.closed:
            selector.register(stderr, selectors.EVENT_READ, self._hear)

    def code(self) -> int | None:
        """Return the exit code, None while it runs; negative for a signal."""
        if not hasattr(os, "waitid"):  # on macOS, before Python 3.13
            # From now on, its number is kept for its group alone, as long as that has members.
            return self._process.poll()
        flags = os.WEXITED | os.WNOWAIT | os.WNOHANG
        status = os.waitid(os.P_PID, self._process.pid, flags)
        if status is None:
            return None
        return status.si_status if status.si_code == os.CLD_EXITED else -status.si_status

    def report(self, reason: str) -> str:
        """Return the message of a failure, with the last line of stderr."""
        with suppress(OSError, ValueError):
            self._hear()
        last = self._said.decode("utf-8", "replace").strip().split("\n")[-1].strip()
        said = f"; its stderr ends: {last}" if last else ""
        return f"{self._command}: {reason}{said}"

    def terminate(self) -> None:
        """Ask it to end; leaving the context waits for it."""
        # As long as nobody has waited for the shell, its number belongs to no other process.
        if self._limit is None:
            self._limit = time.monotonic() + _MERCY
            self._signal(signal.SIGTERM)

    def _streams(self) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        process = self._process
        assert process.stdin and process.stdout and process.stderr
        return process.stdin, process.stdout, process.stderr

    def _write(self) -> None:
        """Write what the pipe takes."""
        stdin = self._streams()[0]
        try:
            if self._unwritten:
                written = stdin.write(self._unwritten[:_BYTES]) or 0
                self._unwritten = self._unwritten[written:]
                self.active |= written > 0
            if self._last and not self._unwritten:
                stdin.close()
        except BrokenPipeError:  # it reads no more, and its answers tell why
            self._unwritten, self._last = b"", True
            with suppress(BrokenPipeError):
                stdin.close()

    def _read(self) -> None:
        """Read lines of stdout."""
        more: bytes | None = self._streams()[1].read(_BYTES)
        if more is None:
            return
        self.active = True
        self.silent = not more
        *lines, self.rest = (self.rest + more).split(b"\n")
        self.lines += (line.removesuffix(b"\r") for line in lines)

    def _hear(self) -> None:
        """Keep the end of what stderr has now."""
        stderr = self._streams()[2]
        more: bytes | None = b""
        while more := stderr.read(_BYTES):
            self._said = (self._said + more)[-_KEPT_BYTES:]
        if more is not None:
            stderr.close()

    def _end(self) -> None:
        """End the program and what it has started, and wait for it."""
        if self._ended:
            return
        self._ended = True
        self.terminate()
        assert self._limit is not None
        while time.monotonic() < self._limit and self.code() is None:
            time.sleep(0.01)
        self._signal(signal.SIGKILL)
        self._process.wait()
        for stream in self._streams():
            with suppress(OSError):
                stream.close()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)
