"""Rows of a TSV, byte for byte: chosen columns as text, everything else untouched.

A file is split at ``\\n`` only. A ``\\r`` just before the ``\\n`` and a BOM at the very start are
not text: they are set aside, and kept so that they can be written back where they were.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

from bitextfilter.errors import InputError
from bitextfilter.io.columns import Columns, TextColumn, Wanted
from bitextfilter.io.files import BOM, lines_of, without_ending

__all__ = [
    "BadRow",
    "Columns",
    "Row",
    "RowReader",
    "TextColumn",
    "is_blank",
    "row_windows",
    "strict",
]

REMEDY = "--on-error reject --rejects FILE keeps going"

WINDOW_BYTES = 1 << 24
"""A window ends early once its lines hold 16 MiB."""

_BLANK_CATEGORIES = {"Zs", "Zl", "Zp", "Cc", "Cf"}


class Row(NamedTuple):
    """A good row: its 1-based *number*, its bytes, and the text of the chosen columns."""

    number: int
    line: bytes
    """The bytes of the line without its ending (and, on line 1, without the BOM)."""
    ending: bytes
    """``\\n``, ``\\r\\n``, or nothing where the file ends without a newline."""
    texts: tuple[str, ...]

    @property
    def source(self) -> str:
        """The text of the first chosen column."""
        return self.texts[0]

    @property
    def target(self) -> str:
        """The text of the second chosen column."""
        return self.texts[1]

    @property
    def text(self) -> str:
        """The text of the only chosen column."""
        return self.texts[0]


class BadRow(NamedTuple):
    """A row that cannot be used: its number, its bytes, the *reason* and the *remedy*."""

    number: int
    line: bytes
    ending: bytes
    reason: str
    remedy: str
    file: str

    def error(self) -> InputError:
        """Return the error that stops a strict reader at this row."""
        return InputError(self.reason, file=self.file, line=self.number, remedy=self.remedy)


def is_blank(text: str) -> bool:
    """Say whether *text* holds nothing but white space, control and format characters."""
    return all(unicodedata.category(character) in _BLANK_CATEGORIES for character in text)


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


_Line = tuple[int, bytes, bytes]


class RowReader:
    """Iterate over the rows of a binary stream: Row where it is good, BadRow where not.

    A row is bad if a chosen column is missing, empty, not UTF-8 or holds a NUL. With *header*,
    the first line is read at once, into ``header`` (bytes without ending) and
    ``header_ending``; numbers still count lines of the file, so that the first row has 2.
    Raises InputError for a missing header or a column name that is not in it.
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
        self._bom = b""
        self.header: bytes | None = None
        self.header_ending = b""
        self._remedy = remedy
        self._lines: Iterator[_Line] = self._split(lines_of(stream, name))
        self._wanted = (columns or Columns()).wanted()
        if header:
            self._read_header()
        self._places = [self._place(wanted) for wanted in self._wanted]

    def __iter__(self) -> Iterator[Row | BadRow]:
        """Yield the remaining rows in order."""
        for number, line, ending in self._lines:
            try:
                yield Row(number, line, ending, self._choose(line))
            except _UnusableError as problem:
                yield BadRow(number, line, ending, str(problem), self._remedy, self.name)

    def first_line(self, names: Sequence[str] = ()) -> bytes:
        """Return what stands before the rows: the BOM, and the header with *names* appended.

        Waits for the first line, which may start with a BOM.
        """
        if self.header is None:
            ahead = list(islice(self._lines, 1))
            self._lines = chain(ahead, self._lines)
            return self._bom
        added = "".join(f"\t{name}" for name in names).encode()
        return self._bom + self.header + added + (self.header_ending or b"\n")

    def _split(self, lines: Iterable[bytes]) -> Iterator[_Line]:
        """Yield the number, bytes and ending of each line; set the BOM aside."""
        for number, line in enumerate(lines, 1):
            if number == 1 and line.startswith(BOM):
                self._bom, line = BOM, line[len(BOM) :]
            if line:
                text = without_ending(line)
                yield number, text, line[len(text) :]

    def _read_header(self) -> None:
        first = next(self._lines, None)
        if first is None:
            raise InputError("empty, expected a header line (--header)", file=self.name)
        _, self.header, self.header_ending = first

    def _place(self, wanted: Wanted) -> int:
        """Return the index of a column, negative from the end."""
        where = wanted.where
        if isinstance(where, int):
            return where - 1 if where > 0 else where
        names = (self.header or b"").decode("utf-8", "replace").split("\t")
        if names.count(where) != 1:
            problem = "twice in" if where in names else "not in"
            message = f"column {where!r} ({wanted.option}) is {problem} the header"
            raise InputError(message, file=self.name, line=1, remedy=f"it has {', '.join(names)}")
        return names.index(where)

    def _choose(self, line: bytes) -> tuple[str, ...]:
        """Return the texts of the chosen columns, or raise what makes the row bad."""
        if not self._wanted:
            return (_as_text(line, "line"),)
        fields = line.split(b"\t")
        texts = []
        for wanted, place in zip(self._wanted, self._places, strict=True):
            if not -len(fields) <= place < len(fields):
                raise _UnusableError(_missing(wanted, place, len(fields)))
            texts.append(_as_text(fields[place], wanted.name))
        return tuple(texts)


class _UnusableError(Exception):
    """Why a row is bad."""


def _missing(wanted: Wanted, place: int, count: int) -> str:
    needed = -place if place < 0 else place + 1
    columns = "1 column" if count == 1 else f"{count} columns"
    return f"{columns}, expected at least {needed} ({wanted.option} {wanted.where})"


def _as_text(field: bytes, name: str) -> str:
    if b"\0" in field:
        raise _UnusableError(f"NUL byte in the {name}")
    try:
        text = field.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"the {name} is not UTF-8 at its byte {error.start + 1}"
        raise _UnusableError(message) from error
    if is_blank(text):
        raise _UnusableError(f"the {name} is empty")
    return text
