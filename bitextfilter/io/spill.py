"""Lines that wait on disk in runs, and are read back run by run, each from its start."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from bitextfilter.errors import OutputError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["Spill"]

T = TypeVar("T")

WRITE_BYTES = 1 << 18

READ_BYTES = 1 << 26
"""What all runs together may buffer while they are read."""

LEAST_BUFFER = 1 << 12
MOST_BUFFER = 1 << 20


class Spill:
    """A temporary file of runs of lines, in TMPDIR; it is gone when it is closed.

    However many runs there are, reading them side by side goes forwards through each, with some
    64 MiB of buffers in all.
    """

    def __init__(self) -> None:
        """Open the file. Raises OutputError where TMPDIR takes none."""
        self._file = self._trying(lambda: tempfile.TemporaryFile(buffering=WRITE_BYTES))
        self._starts: list[int] = []

    def __enter__(self) -> Spill:
        """Return the spill itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close and thereby remove the file; what a full disk did not take is no matter now."""
        with suppress(OSError):
            self._file.close()

    def begin_run(self) -> None:
        """Let the lines that follow be a run of their own."""
        self._starts.append(self._file.tell())

    def write(self, lines: Iterable[bytes]) -> None:
        """Append *lines*, each with its newline, to the run. Raises OutputError."""
        self._trying(lambda: self._file.writelines(lines))

    def readers(self) -> list[Callable[[], bytes]]:
        """Return for each run a function that returns its next line, and nothing at its end."""
        self._trying(self._file.flush)
        stops = [*self._starts[1:], self._file.tell()]
        room = READ_BYTES // max(1, len(self._starts))
        size = min(max(LEAST_BUFFER, room), MOST_BUFFER)
        places = zip(self._starts, stops, strict=True)
        runs = (_Run(self._file.fileno(), start, stop) for start, stop in places)
        return [io.BufferedReader(run, size).readline for run in runs]

    def _trying(self, act: Callable[[], T]) -> T:
        """Do *act*; where the disk does not, say which and what can be done."""
        try:
            return act()
        except OSError as error:
            message = f"a temporary file in {tempfile.gettempdir()} cannot be written"
            reason = error.strerror or error
            raise OutputError(f"{message}: {reason}; TMPDIR names another folder") from error


class _Run(io.RawIOBase):
    """A part of a file, with a place in it of its own."""

    def __init__(self, descriptor: int, start: int, stop: int) -> None:
        self._descriptor, self._place, self._stop = descriptor, start, stop

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        with memoryview(buffer).cast("B") as target:
            wanted = min(len(target), self._stop - self._place)
            part = os.pread(self._descriptor, wanted, self._place)
            target[: len(part)] = part
        self._place += len(part)
        return len(part)
