"""Windows of rows that wait for something: some in memory, the others in a temporary file."""

from __future__ import annotations

import io
from collections import deque
from contextlib import AbstractContextManager
from typing import NamedTuple

from bitextfilter.io.rows import BadRow, RawLines, Row, RowParser
from bitextfilter.io.spill import Scratch

Window = list[Row | BadRow]

MOST_BYTES = 1 << 26
"""Memory of the windows that wait in it, about."""

_ROW_BYTES = 400
"""What a row takes beside its text, about."""


class _Place(NamedTuple):
    """A window on the disk."""

    first: int
    """The number of its first row."""
    start: int
    size: int


class WaitingRows(AbstractContextManager["WaitingRows"]):
    """Windows of consecutive rows, kept by number until they are taken."""

    def __init__(self, parser: RowParser, most_bytes: int = MOST_BYTES) -> None:
        """Keep windows of a reader with this *parser*; beyond *most_bytes*, on the disk."""
        self._parser, self._most = parser, most_bytes
        self._held = 0
        self._windows: dict[int, Window] = {}
        self._places: dict[int, _Place] = {}
        self._read: deque[tuple[int, Window]] = deque(maxlen=2)
        """The windows on the disk that were used last: one is asked, another is answered."""
        self._scratch: Scratch | None = None
        self._next = 0

    def __exit__(self, *_: object) -> None:
        self._clear()

    def add(self, window: Window) -> int:
        """Keep a window; return its number. Raises OutputError if the disk is full."""
        number, self._next = self._next, self._next + 1
        size = _memory(window)
        if self._held + size <= self._most:
            self._held += size
            self._windows[number] = window
            return number
        self._scratch = self._scratch or Scratch()
        data = b"".join(row.line + row.ending for row in window)
        self._places[number] = _Place(window[0].number, self._scratch.size, len(data))
        self._scratch.write(data)
        self._read.append((number, window))
        return number

    def get(self, number: int) -> Window:
        """Return a window."""
        if number in self._windows:
            return self._windows[number]
        for read, window in self._read:
            if read == number:
                return window
        first, start, size = self._places[number]
        assert self._scratch is not None, "a place is one in the file"
        data = self._scratch.read(start, size)
        window = RawLines(first, io.BytesIO(data).readlines()).rows(self._parser)
        self._read.append((number, window))
        return window

    def take(self, number: int) -> Window:
        """Return a window that is not needed any more."""
        window = self.get(number)
        if number in self._windows:
            self._held -= _memory(self._windows.pop(number))
        else:
            del self._places[number]
        if not self._places:
            self._clear()
        return window

    def _clear(self) -> None:
        """Remove the temporary file."""
        self._read.clear()
        if self._scratch is not None:
            self._scratch.__exit__()
        self._scratch = None


def _memory(window: Window) -> int:
    return sum(_ROW_BYTES + 2 * len(row.line) for row in window)
