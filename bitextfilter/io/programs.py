"""A program of the user's that answers lines: one line of stdout for each line of its stdin.

The program is started in a shell, with all that it starts in a process group of its own, which is
ended with it. It may answer each line at once or all at the end, so lines are written while answers
are read.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from typing import IO

from bitextfilter.errors import WorkerError
from bitextfilter.io.interruptions import undisturbed

_BYTES = 1 << 16
"""Bytes read or written at once."""

_KEPT_BYTES = 1 << 12
"""The end of stderr that is kept."""

_MERCY = 2.0
"""Seconds between SIGTERM and SIGKILL."""

LONGEST_ANSWER = 1 << 20
"""Bytes of the longest line that is taken for an answer."""


class Program(AbstractContextManager["Program"]):
    """A run of a program; ended, with all that it has started, when the context is left."""

    def __init__(self, command: str, timeout: float | None = None) -> None:
        """Start *command* in a shell; *timeout*: the most seconds between two answers."""
        self._command, self._timeout = command, timeout
        self._said = b""
        self._ended = False
        with undisturbed():
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

    def answers(self, lines: Sequence[bytes]) -> Iterator[bytes]:
        """Write *lines*, each with its ``\\n``, and yield the answer to each, without its own.

        Raises WorkerError where the program prints too few or too many lines, prints nothing for
        the timeout, or ends with another exit code than 0.
        """
        count, answer = 0, b""
        for answer in self._output(b"".join(lines)):
            if count == len(lines):
                raise self._error(f"more than {len(lines)} lines for {len(lines)} rows")
            count += 1
            yield answer
        code = self._code()
        if code:
            ended = f"exit code {code}" if code > 0 else f"signal {-code}"
            raise self._error(f"ended with {ended} after {count} of {len(lines)} rows")
        if count < len(lines):
            raise self._error(f"answered {count} of {len(lines)} rows")

    def _streams(self) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        process = self._process
        assert process.stdin and process.stdout and process.stderr
        return process.stdin, process.stdout, process.stderr

    def _output(self, data: bytes) -> Iterator[bytes]:
        """Write *data*, and yield the lines of stdout until it is closed."""
        stdin, stdout, stderr = self._streams()
        rest, place = b"", 0
        with selectors.DefaultSelector() as selector:
            selector.register(stdin, selectors.EVENT_WRITE)
            selector.register(stdout, selectors.EVENT_READ)
            selector.register(stderr, selectors.EVENT_READ)
            deadline = self._deadline()
            while True:
                ready = {key.fileobj for key, _ in selector.select(self._left(deadline))}
                if stdin in ready:
                    place = self._write(stdin, data, place, selector)
                if stderr in ready and not self._hear():
                    selector.unregister(stderr)
                if stdout not in ready:
                    continue
                more = stdout.read(_BYTES)
                if not more:
                    break
                *lines, rest = (rest + more).split(b"\n")
                deadline = self._deadline() if lines else deadline
                yield from (line.removesuffix(b"\r") for line in lines)
                if len(rest) > LONGEST_ANSWER:
                    raise self._error(f"a line longer than {LONGEST_ANSWER >> 20} MiB")
        if rest:
            yield rest

    def _deadline(self) -> float | None:
        return None if self._timeout is None else time.monotonic() + self._timeout

    def _left(self, deadline: float | None) -> float | None:
        """Return the seconds to wait for an answer; raises WorkerError if there are none."""
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise self._error(f"no answer for {self._timeout:g} s")
        return left

    def _write(
        self, stdin: IO[bytes], data: bytes, place: int, selector: selectors.BaseSelector
    ) -> int:
        """Write a part of *data* from *place* on; return the place after it."""
        try:
            place += stdin.write(data[place : place + _BYTES]) or 0
        except BrokenPipeError:  # it reads no more, and its answers tell why
            place = len(data)
        if place == len(data):
            selector.unregister(stdin)
            with suppress(BrokenPipeError):
                stdin.close()
        return place

    def _hear(self) -> bool:
        """Keep the end of what stderr has now; return whether there may be more later."""
        while more := self._streams()[2].read(_BYTES):
            self._said = (self._said + more)[-_KEPT_BYTES:]
        return more is None

    def _code(self) -> int:
        """Return the exit code, after waiting for the end; negative for a signal."""
        deadline, flags = self._deadline(), os.WEXITED | os.WNOWAIT | os.WNOHANG
        while (status := os.waitid(os.P_PID, self._process.pid, flags)) is None:
            self._hear()
            self._left(deadline)
            time.sleep(0.01)
        return status.si_status if status.si_code == os.CLD_EXITED else -status.si_status

    def _error(self, reason: str) -> WorkerError:
        """Return the error of this run, with the last line of stderr."""
        with suppress(OSError, ValueError):
            self._hear()
        last = self._said.decode("utf-8", "replace").strip().split("\n")[-1].strip()
        said = f"; its stderr ends: {last}" if last else ""
        return WorkerError(f"{self._command}: {reason}{said}")

    def _end(self) -> None:
        """End the program and what it has started, and wait for it."""
        if self._ended:
            return
        self._ended = True
        pid = self._process.pid
        # As long as nobody has waited for the shell, its number belongs to no other process.
        self._signal(signal.SIGTERM)
        limit = time.monotonic() + _MERCY
        while time.monotonic() < limit:
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                break
            time.sleep(0.01)
        self._signal(signal.SIGKILL)
        self._process.wait()
        for stream in self._streams():
            with suppress(OSError):
                stream.close()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)
