"""Several files as one: their rows one after the other, what stands before the rows once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from bitextfilter.errors import InputError
from bitextfilter.io.files import BOM, lines_of, open_input, without_ending

__all__ = ["Head", "Heads", "JoinedFiles", "check_inputs"]


class Head(NamedTuple):
    """What stands before the rows of a file."""

    bom: bytes = b""
    header: bytes = b""
    """The line of the header with its ending, without the BOM; nothing where there is none."""

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return len(self.bom) + len(self.header)


class Heads:
    """Takes the heads off files that make one corpus, whose headers have to be the same."""

    def __init__(self, header: bool) -> None:
        """Say whether each file has a header."""
        self._header = header
        self._first: tuple[str, bytes] | None = None

    def take(self, lines: Iterator[bytes], name: str) -> tuple[Head, Iterator[bytes]]:
        """Return the head of the file called *name*, and its rows as lines.

        Raises InputError if a header is missing, or is not that of the first file.
        """
        line = next(lines, b"")
        bom = BOM if line.startswith(BOM) else b""
        line = line[len(bom) :]
        if not self._header:
            return Head(bom, b""), chain([line] if line else [], lines)
        if not line:
            raise InputError("empty, expected a header line (--header)", file=name)
        names = without_ending(line)
        self._first = self._first or (name, names)
        if names != self._first[1]:
            message = f"the header is not that of {self._first[0]}"
            raise InputError(message, file=name, line=1)
        return Head(bom, line), lines


def check_inputs(paths: Sequence[str]) -> None:
    """Raise NotFoundError if a file cannot be opened: now, and not when its turn comes."""
    for path in paths:
        if path != "-" and not Path(path).is_fifo():
            with open_input(path):
                pass


class JoinedFiles:
    """The lines of several files, to be read once: as if there was one file.

    The BOM and header of the first stand before them; a line that has no newline because its file
    ends there gets one, in the last file aside.
    """

    def __init__(self, paths: Sequence[str], header: bool) -> None:
        """Read the files at *paths*, of which each has a header, or none.

        Raises NotFoundError if one of them cannot be opened.
        """
        check_inputs(paths)
        self.name = paths[0]
        self._paths = paths
        self._heads = Heads(header)
        self._starts: list[int] = []
        self._shifts: list[int] = []

    def lines(self) -> Generator[bytes, None, None]:
        """Yield the lines. Raises InputError for a header that is not that of the first file."""
        count, before = 0, b""
        for index, path in enumerate(self._paths):
            last = index == len(self._paths) - 1
            with open_input(path) as stream:
                head, rows = self._heads.take(lines_of(stream, path), path)
                if index == 0:
                    before = head.bom
                    rows = chain([head.header] if head.header else [], rows)
                self._starts.append(count + 1)
                self._shifts.append(count - (index > 0 and bool(head.header)))
                for line in rows:
                    count += 1
                    yield before + line if last or line.endswith(b"\n") else before + line + b"\n"
                    before = b""
        if before:
            yield before

    def place(self, number: int) -> tuple[str, int]:
        """Return the file of the line of this number, counted from 1 over all, and its line there.

        Only for lines that have been read.
        """
        index = bisect_right(self._starts, number) - 1
        return self._paths[index], number - self._shifts[index]
