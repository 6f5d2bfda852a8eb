"""Temporary files in TMPDIR: removed when closed, or when the process ends."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from itertools import islice, pairwise
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bitextfilter.errors import OutputError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

_LINES = 1 << 10
"""Lines written at once."""

_READ_BYTES = 1 << 25
"""Buffers of all runs together."""

_LEAST_BUFFER, MOST_BUFFER = 1 << 12, 1 << 18


@contextmanager
def _naming() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"a temporary file in {tempfile.gettempdir()} cannot be written"
        reason = error.strerror or error
        raise OutputError(f"{message}: {reason}; TMPDIR names another folder") from error


class Scratch(AbstractContextManager["Scratch"]):
    """A temporary file, appended to and read anywhere. Raises OutputError if the disk is full."""

    def __init__(self) -> None:
        with _naming():
            self._file = tempfile.TemporaryFile(buffering=MOST_BUFFER)
        self._flushed = True
        self.size = 0

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # a full disk does not matter any more
            self._file.close()

    def write(self, data: ReadableBuffer) -> None:
        """Append *data*."""
        with _naming():
            self._file.write(data)
        self.size += memoryview(data).nbytes
        self._flushed = False

    def read(self, start: int, size: int) -> bytes:
        """Return *size* bytes from *start* on."""
        self._flush()
        return os.pread(self._file.fileno(), size, start)

    def stream(self) -> IO[bytes]:
        """Return the file, to be read from its start; nothing may be written meanwhile."""
        self._flush()
        self._file.seek(0)
        return self._file

    def load(self, kind: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return the whole file as an array in memory; nothing may be added any more."""
        return np.fromfile(self.stream(), kind)

    def array(self, kind: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return the whole file as an array that stays on the disk."""
        self._flush()
        if not self.size:
            return np.empty(0, kind)
        return np.memmap(self._file, kind, mode="r").view(np.ndarray)

    def zeros(self, kind: npt.DTypeLike, count: int) -> npt.NDArray[Any]:
        """Return a writable array of *count* zeros, kept in this (empty) file."""
        if not count:
            return np.empty(0, kind)
        self.size = count * np.dtype(kind).itemsize
        with _naming():
            return np.memmap(self._file, kind, mode="w+", shape=count).view(np.ndarray)

    def _flush(self) -> None:
        if not self._flushed:
            with _naming():
                self._file.flush()
            self._flushed = True


class Records(AbstractContextManager["Records"]):
    """Byte strings on the disk, read in any order; each takes 8 bytes more."""

    def __init__(self) -> None:
        self._data, self._ends = Scratch(), Scratch()
        self._count = 0

    def __exit__(self, *_: object) -> None:
        self._data.__exit__()
        self._ends.__exit__()

    def __len__(self) -> int:
        return self._count

    def extend(self, records: Sequence[bytes]) -> None:
        """Append *records*."""
        sizes = np.fromiter(map(len, records), np.int64, len(records))
        ends = self._data.size + np.cumsum(sizes)
        self._data.write(b"".join(records))
        self._ends.write(ends.tobytes())
        self._count += len(records)

    def __getitem__(self, index: int) -> bytes:
        if not 0 <= index < self._count:
            raise IndexError(index)
        first = max(index - 1, 0)
        ends = np.frombuffer(self._ends.read(8 * first, 16 if index else 8), np.int64).tolist()
        start = ends[0] if index else 0
        return self._data.read(start, ends[-1] - start)

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of all records run together; nothing may be added meanwhile."""
        return iter(self._data.stream())


class Spill(AbstractContextManager["Spill"]):
    """Runs of lines on the disk, and other temporary files that are closed with them.

    Runs are read side by side, each forwards, with some 32 MiB of buffers in all.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._lines = self.file()
        self._starts: list[int] = []

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def begin_run(self) -> None:
        """Begin a new run: the lines that follow belong to it."""
        self._starts.append(self._lines.size)

    def write(self, lines: Iterable[bytes]) -> None:
        """Append *lines*, each with its newline, to the run. Raises OutputError."""
        rest = iter(lines)
        while part := b"".join(islice(rest, _LINES)):
            self._lines.write(part)

    def readers(self) -> list[Callable[[], bytes]]:
        """Return a function for each run that returns its next line, and ``b""`` at its end."""
        size = min(max(_LEAST_BUFFER, _READ_BYTES // max(1, len(self._starts))), MOST_BUFFER)
        bounds = pairwise([*self._starts, self._lines.size])
        return [io.BufferedReader(_Run(self._lines, *run), size).readline for run in bounds]

    def file(self) -> Scratch:
        """Return a new file. Raises OutputError."""
        return self._stack.enter_context(Scratch())


class _Run(io.RawIOBase):
    """Part of a file as a stream of its own."""

    def __init__(self, file: Scratch, start: int, stop: int) -> None:
        self._file, self._place, self._stop = file, start, stop

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        with memoryview(buffer).cast("B") as target:
            part = self._file.read(self._place, min(len(target), self._stop - self._place))
            target[: len(part)] = part
        self._place += len(part)
        return len(part)
