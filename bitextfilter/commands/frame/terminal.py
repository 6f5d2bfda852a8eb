"""A terminal that several commands share, as those of a pipe do."""

from __future__ import annotations

import fcntl
import functools
import os
import sys
from contextlib import suppress
from typing import Any, TextIO


class Turn:
    """A terminal on which one command at a time has a bar, of all that share it, as in a pipe.

    As the file of a bar it leaves out the text of all others. The turn is a lock on the terminal,
    so it ends with its holder. Where terminals have none, all have their turn.
    """

    def __init__(self, stream: TextIO) -> None:
        """Take part at the terminal *stream*."""
        self._stream = stream
        self._lock: int | None = None
        self._held = False
        with suppress(OSError):
            name = os.ttyname(stream.fileno())
            self._lock = os.open(name, os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a part of the bar, if this command has or now gets the turn."""
        self._held = self._held or self._take()
        return self._stream.write(text) if self._held else len(text)

    def _take(self) -> bool:
        """Take the turn; returns whether no other has it."""
        try:
            if self._lock is not None:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # it has no locks
            self._lock = None
        return True

    def make_room(self) -> None:
        """Make room for a message where another command has a bar, which draws it again."""
        if self._held:
            return
        if self._take():
            self.end()
        else:
            self._stream.write("\n" if os.environ.get("TERM") == "dumb" else "\r\x1b[K")

    def end(self) -> None:
        """Leave the turn to others."""
        self._held = False
        if self._lock is not None:
            fcntl.flock(self._lock, fcntl.LOCK_UN)


@functools.cache
def _turn_at(stream: TextIO) -> Turn:
    return Turn(stream)


def turn() -> Turn | None:
    """Return the turn of this process on stderr; None if that is no terminal."""
    terminal = sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()
    return _turn_at(sys.stderr) if terminal else None
