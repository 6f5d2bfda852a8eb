"""What waits on disk: lines in runs that are read side by side, and columns of numbers."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from itertools import islice, pairwise
from typing import IO, TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from bitextfilter.errors import OutputError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["Column", "Spill"]

T = TypeVar("T")

JOINED = 1 << 10
"""Lines that are written at once."""

WRITE_BYTES = 1 << 16

READ_BYTES = 1 << 25
"""What all runs together may buffer while they are read."""

LEAST_BUFFER = 1 << 12
MOST_BUFFER = 1 << 18


class Spill:
    """Temporary files, in TMPDIR, of runs of lines and of columns of numbers; gone when closed.

    However many runs there are, reading them side by side goes forwards through each, with some
    32 MiB of buffers in all.
    """

    def __init__(self) -> None:
        """Open the file of the lines. Raises OutputError where TMPDIR takes none."""
        self._files: list[IO[bytes]] = []
        self._lines = self._open()
        self._starts: list[int] = []

    def __enter__(self) -> Spill:
        """Return the spill itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close and thereby remove the files; what a full disk did not take is no matter now."""
        for file in self._files:
            with suppress(OSError):
                file.close()

    def begin_run(self) -> None:
        """Let the lines that follow be a run of their own."""
        self._starts.append(self._lines.tell())

    def write(self, lines: Iterable[bytes]) -> None:
        """Append *lines*, each with its newline, to the run. Raises OutputError."""
        rest = iter(lines)
        while part := b"".join(islice(rest, JOINED)):
            _trying(partial(self._lines.write, part))

    def readers(self) -> list[Callable[[], bytes]]:
        """Return for each run a function that returns its next line, and nothing at its end."""
        _trying(self._lines.flush)
        bounds = [*self._starts, self._lines.tell()]
        room = READ_BYTES // max(1, len(self._starts))
        size = min(max(LEAST_BUFFER, room), MOST_BUFFER)
        runs = (_Run(self._lines.fileno(), start, stop) for start, stop in pairwise(bounds))
        return [io.BufferedReader(run, size).readline for run in runs]

    def column(self, kind: npt.DTypeLike) -> Column:
        """Return a new column of numbers of this *kind*. Raises OutputError."""
        return Column(self._open(), kind)

    def _open(self) -> IO[bytes]:
        file: IO[bytes] = _trying(lambda: tempfile.TemporaryFile(buffering=WRITE_BYTES))
        self._files.append(file)
        return file


class Column:
    """Numbers that wait in a file, so that memory need not grow with them."""

    def __init__(self, file: IO[bytes], kind: npt.DTypeLike) -> None:
        """Keep numbers of this *kind* in an empty *file*."""
        self._file, self._kind = file, np.dtype(kind)

    def append(self, numbers: npt.ArrayLike) -> None:
        """Append an array. Raises OutputError."""
        _trying(partial(self._file.write, np.asarray(numbers, self._kind).tobytes()))

    def read(self) -> npt.NDArray[Any]:
        """Return all that was appended as one array."""
        _trying(self._file.flush)
        self._file.seek(0)
        return np.fromfile(self._file, self._kind)


def _trying(act: Callable[[], T]) -> T:
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
