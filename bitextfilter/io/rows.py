"""Rows of a TSV, byte for byte: chosen columns as text, everything else untouched.

A file is split at ``\\n`` only. A ``\\r`` just before the ``\\n`` and a BOM at the very start are
not text: they are set aside, and kept so that they can be written back where they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

from bitextfilter.errors import InputError
from bitextfilter.io.columns import Columns, TextColumn, Wanted, check_header
from bitextfilter.io.files import BOM, lines_of, without_ending
from bitextfilter.io.parser import REMEDY, BadRow, Row, RowParser, is_blank, number_of

__all__ = [
    "BadRow",
    "Columns",
    "Lines",
    "Row",
    "RowReader",
    "TextColumn",
    "is_blank",
    "number_of",
    "row_windows",
    "strict",
]

WINDOW_BYTES = 1 << 24
"""A window ends early once its lines hold 16 MiB."""


def strict(rows: Iterable[Row | BadRow]) -> Iterator[Row]:
    """Yield the rows of a reader; raises InputError at the first bad one."""
    for row in rows:
        if isinstance(row, BadRow):
            raise row.error()
        yield row


def row_windows(
    rows: Iterable[Row | BadRow], size: int, most_bytes: int = WINDOW_BYTES
) -> Iterator[list[Row | BadRow]]:
    """Yield consecutive rows by *size*, or fewer where they hold more than *most_bytes*.

    So memory is bounded whatever the length of the lines; none is empty, the last may be short.
    """
    window: list[Row | BadRow] = []
    held = 0
    for row in rows:
        window.append(row)
        held += len(row.line)
        if len(window) >= size or held >= most_bytes:
            yield window
            window, held = [], 0
    if window:
        yield window


class Lines(NamedTuple):
    """Consecutive lines that are yet to be parsed, perhaps in another process."""

    first: int
    """The 1-based number of the first."""
    raw: list[bytes]
    """Each with its ending."""

    def rows(self, parser: RowParser) -> list[Row | BadRow]:
        """Parse them."""
        return [parser.row(number, raw) for number, raw in enumerate(self.raw, self.first)]


class RowReader:
    """Iterate over the rows of a binary stream: Row where it is good, BadRow where not.

    A row is bad if a chosen column is missing, empty (unless ``columns`` let that through), not
    UTF-8 or holds a NUL. With *header*, the first line is read at once, into ``header`` (bytes
    without ending) and ``header_ending``; numbers still count lines of the file, so that the
    first row has 2. Raises InputError for a missing header, one that looks like a row, or a
    column name that is not in it.
    """

    def __init__(
        self,
        stream: Iterable[bytes],
        name: str,
        columns: Columns | TextColumn | None = None,
        header: bool = False,
        remedy: str = REMEDY,
    ) -> None:
        """Read *stream*, called *name* in messages; *remedy* ends the message of a bad row."""
        self.name = name
        self.starts = True
        """Whether what is read is the start of the file, and not a later part."""
        self._shift = 0
        self._bom = b""
        self.header: bytes | None = None
        self.header_ending = b""
        self._lines: Iterator[tuple[int, bytes]] = self._number(lines_of(stream, name))
        columns = columns or Columns()
        wanted = columns.wanted()
        names = self._read_header() if header else None
        places = [self.place(column) for column in wanted]
        if names is not None:
            check_header(names, wanted, places, name)
        self.parser = RowParser(name, wanted, places, remedy, columns.blank)

    def __iter__(self) -> Iterator[Row | BadRow]:
        """Yield the remaining rows in order."""
        parse = self.parser.row
        for number, raw in self._lines:
            yield parse(number, raw)

    def lines(self, size: int, most_bytes: int = WINDOW_BYTES) -> Iterator[Lines]:
        """Yield the remaining lines in windows as ``row_windows`` does, to be parsed elsewhere."""
        first, raws, held = 0, [], 0
        for number, raw in self._lines:
            first = first or number
            raws.append(raw)
            held += len(raw)
            if len(raws) >= size or held >= most_bytes:
                yield Lines(first, raws)
                first, raws, held = 0, [], 0
        if raws:
            yield Lines(first, raws)

    def first_line(self, names: Sequence[str] = ()) -> bytes:
        """Return what stands before the rows: the BOM, and the header with *names* appended.

        Waits for the first line, which may start with a BOM. Nothing stands before a later part.
        """
        if not self.starts:
            return b""
        if self.header is None:
            ahead = list(islice(self._lines, 1))
            self._lines = chain(ahead, self._lines)
            return self._bom
        added = "".join(f"\t{name}" for name in names).encode()
        return self._bom + self.header + added + (self.header_ending or b"\n")

    def start_at(self, number: int) -> None:
        """Take what follows for the rows of a later part of the file, the first with *number*.

        Before any is read. The header, which belongs to the first part, only names the columns.
        """
        self.starts = False
        self._shift = number - (1 if self.header is None else 2)

    def place(self, wanted: Wanted) -> int:
        """Return the index of a column, negative from the end.

        Raises InputError for a name that is not in the header, or is there twice.
        """
        where = wanted.where
        if isinstance(where, int):
            return where - 1 if where > 0 else where
        names = (self.header or b"").decode("utf-8", "replace").split("\t")
        if names.count(where) != 1:
            problem = "twice in" if where in names else "not in"
            message = f"column {where!r} ({wanted.option}) is {problem} the header"
            raise InputError(message, file=self.name, line=1, remedy=f"it has {', '.join(names)}")
        return names.index(where)

    def _number(self, lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        """Yield the number and the bytes of each line; set the BOM aside."""
        for number, line in enumerate(lines, 1):
            if number == 1 and self.starts and line.startswith(BOM):
                self._bom, line = BOM, line[len(BOM) :]
            if line:
                yield number + self._shift, line

    def _read_header(self) -> bytes:
        first = next(self._lines, None)
        if first is None:
            raise InputError("empty, expected a header line (--header)", file=self.name)
        self.header = without_ending(first[1])
        self.header_ending = first[1][len(self.header) :]
        return self.header
