"""Pipes between commands: a reader learns whether the command that writes to it ended well.

A pipe itself does not tell. So a command marks the pipe that it writes to, in the pipe's
permission bits, which both ends see and nothing else uses: the sticky bit while it works, the
execute bit once it has ended well. Its reader checks the bits at the end, even if the writer was
killed. Only Linux has such bits; elsewhere, and after other programs, a reader only rejects an
empty pipe.
"""

from __future__ import annotations

import io
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from bitextfilter.errors import InputError, NotFoundError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_AT_WORK, _WHOLE = stat.S_ISVTX, stat.S_IXUSR


class StdoutPipe:
    """Marks stdout from now until ``end``, if it is a pipe."""

    def __init__(self) -> None:
        """Mark the pipe, unless another command has: it failed before, or is still at work."""
        self._descriptor: int | None = None
        with suppress(OSError, ValueError, AttributeError):  # no stdout, no descriptor, no /proc
            descriptor = sys.stdout.fileno()
            nameless = Path(f"/proc/self/fd/{descriptor}").readlink().name.startswith("pipe:")
            if nameless and not os.fstat(descriptor).st_mode & _AT_WORK:
                _mark(descriptor, _AT_WORK, _WHOLE)
                self._descriptor = descriptor

    def end(self) -> None:
        """Mark that everything was written."""
        if self._descriptor is not None:
            with suppress(OSError):
                _mark(self._descriptor, _WHOLE, _AT_WORK)


def _mark(descriptor: int, added: int, removed: int) -> None:
    mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
    os.fchmod(descriptor, (mode | added) & ~removed)


def open_stdin() -> BinaryIO:
    """Return stdin as bytes; an incomplete pipe raises InputError at its end."""
    if sys.stdin is None:
        raise NotFoundError("stdin is closed")
    stream = sys.stdin.buffer
    with suppress(OSError, ValueError):
        if stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode):
            return cast(BinaryIO, io.BufferedReader(_CheckedPipe(stream), 1 << 16))
    return stream


class _CheckedPipe(io.RawIOBase):
    """A pipe that checks at its end how its writer ended."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = cast(io.BufferedReader, stream)
        self._empty = True

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._stream.fileno()

    def readinto(self, buffer: WriteableBuffer) -> int:
        count = self._stream.readinto1(buffer)
        if not count:
            self._check()
        self._empty = False
        return count

    def _check(self) -> None:
        mode = os.fstat(self.fileno()).st_mode
        if mode & _AT_WORK:
            raise InputError("the command that writes to it failed: rows are missing", file="stdin")
        if self._empty and not mode & _WHOLE:
            message = "empty: the command that writes to it may have failed"
            raise InputError(message, file="stdin", remedy="-i FILE takes an empty file")
