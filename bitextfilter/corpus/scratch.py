"""Temporary files, in TMPDIR: gone when closed, or when the process ends."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bitextfilter.errors import OutputError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["Records", "Scratch"]

BUFFER = 1 << 18


@contextmanager
def _naming() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"a temporary file in {tempfile.gettempdir()} cannot be written"
        reason = error.strerror or error
        raise OutputError(f"{message}: {reason}; TMPDIR names another folder") from error


class Scratch:
    """A temporary file that is appended to and read anywhere. Raises OutputError if it is full."""

    def __init__(self) -> None:
        """Make the file."""
        with _naming():
            self._file = tempfile.TemporaryFile(buffering=BUFFER)
        self._flushed = True
        self.size = 0

    def __enter__(self) -> Scratch:
        """Return the file itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it; what a full disk did not take is no matter now."""
        with suppress(OSError):
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

    def lines(self) -> Iterator[bytes]:
        """Yield all lines, each with its ending; nothing may be written meanwhile."""
        self._flush()
        self._file.seek(0)
        return iter(self._file)

    def array(self, kind: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return all that was written as one array that stays on the disk."""
        self._flush()
        if not self.size:
            return np.empty(0, kind)
        return np.memmap(self._file, kind, mode="r").view(np.ndarray)

    def zeros(self, kind: npt.DTypeLike, count: int) -> npt.NDArray[Any]:
        """Return an array of *count* zeros to write to, kept in this (empty) file."""
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


class Records:
    """Byte strings on the disk, to be read in any order; 8 bytes more each."""

    def __init__(self) -> None:
        """Make the two files."""
        self._data, self._ends = Scratch(), Scratch()
        self._count = 0

    def __enter__(self) -> Records:
        """Return the records themselves."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close and thereby remove the files."""
        self._data.__exit__()
        self._ends.__exit__()

    def __len__(self) -> int:
        """Return how many there are."""
        return self._count

    def extend(self, records: Sequence[bytes]) -> None:
        """Append *records*."""
        sizes = np.fromiter(map(len, records), np.int64, len(records))
        ends = self._data.size + np.cumsum(sizes)
        self._data.write(b"".join(records))
        self._ends.write(ends.tobytes())
        self._count += len(records)

    def __getitem__(self, index: int) -> bytes:
        """Return the record of this *index* from 0."""
        if not 0 <= index < self._count:
            raise IndexError(index)
        first = max(index - 1, 0)
        ends = np.frombuffer(self._ends.read(8 * first, 16 if index else 8), np.int64).tolist()
        start = ends[0] if index else 0
        return self._data.read(start, ends[-1] - start)

    def lines(self) -> Iterator[bytes]:
        """Yield all lines of the records run together; nothing may be added meanwhile."""
        return self._data.lines()
