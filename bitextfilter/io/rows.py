"""Rows of a TSV, byte for byte: chosen columns as text, everything else untouched.

A file is split at ``\\n`` only. A ``\\r`` just before the ``\\n`` and a BOM at the very start are
not text: they are set aside, and can be written back where they were.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, count, repeat
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from bitextfilter.errors import InputError, printable
from bitextfilter.io.files import wide_remedy, without_ending

REMEDY = "--on-error reject --rejects FILE keeps going"

UNFIT = b"\0unfit\0"
"""Begins each column of a row made of a table whose texts have a tab or a line break."""

UNFIT_REASON = "a tab or line break in a text"

WINDOW_BYTES = 1 << 24
"""A window ends early once its lines hold 16 MiB."""

_PIECE, _PIECE_BYTES = 512, 1 << 20
"""Lines that are parsed at once, if they hold no more bytes: else they would take much memory."""

_Item = TypeVar("_Item")


class WantedColumn(NamedTuple):
    """A column to read: its name in messages, its option, and its number or header name."""

    name: str
    option: str
    where: int | str


def optional(name: str, option: str, where: int | str | None) -> tuple[WantedColumn, ...]:
    """Return a column, or nothing if its option is not given."""
    return () if where is None else (WantedColumn(name, option, where),)


SIDES = ("source", "target")

Fault = Callable[["Row"], tuple[str, str] | None]
"""Returns the fault of a row and its remedy; None if the row is good."""


@dataclass(frozen=True)
class Columns:
    """The columns of a pair, or of some of its *sides*, between *first* and *last* ones.

    They are 1-based, negative from the end, or names of a header.
    """

    source: int | str = 1
    target: int | str = 2
    blank: bool = False
    """Empty texts are good."""
    sides: tuple[str, ...] = SIDES
    first: tuple[WantedColumn, ...] = ()
    last: tuple[WantedColumn, ...] = ()

    def wanted(self) -> tuple[WantedColumn, ...]:
        """Return the first columns, the sides, and the last columns."""
        pair = zip(SIDES, ("--scol", "--tcol"), (self.source, self.target), strict=True)
        sides = (WantedColumn(*side) for side in pair if side[0] in self.sides)
        return (*self.first, *sides, *self.last)

    def blank_fault(self, *needed: str) -> Fault:
        """Return the fault of rows where a *needed* column is blank."""
        places = [(i, each.name) for i, each in enumerate(self.wanted()) if each.name in needed]

        def fault(row: Row) -> tuple[str, str] | None:
            empty = next((name for place, name in places if is_blank(row.texts[place])), None)
            return None if empty is None else (f"the {empty} is empty", REMEDY)

        return fault


@dataclass(frozen=True)
class TextColumn:
    """A column of sentences, the whole line if *column* is None."""

    column: int | str | None = None
    blank: bool = False
    """Empty sentences are good."""

    def wanted(self) -> tuple[WantedColumn, ...]:
        """Return the column, or nothing for the whole line."""
        return optional("sentence", "--column", self.column)


class Row(NamedTuple):
    """A good row: its 1-based *number*, its bytes, and the texts of the chosen columns."""

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


_row = partial(tuple.__new__, Row)
"""Makes a row of its fields, faster than the class does."""


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


_BLANK_CATEGORIES = {"Zs", "Zl", "Zp", "Cc", "Cf"}


def is_blank(text: str) -> bool:
    """Return whether *text* holds only white space, control and format characters."""
    if text[:1].isalnum():
        return False
    return all(unicodedata.category(character) in _BLANK_CATEGORIES for character in text)


def number_of(field: bytes) -> float:
    """Return a field as a number (``inf`` is one), NaN if it is none."""
    try:
        return math.nan if b"_" in field else float(field)
    except ValueError:
        return math.nan


def reject_line(number: int, reason: str, line: bytes) -> bytes:
    """Return a line of a --rejects file: number, reason, and the row as it was."""
    return f"{number}\t{printable(reason)}\t".encode() + line + b"\n"


def with_texts(line: bytes, places: Sequence[int], texts: Sequence[str]) -> bytes:
    """Return *line* with other *texts* in the columns at *places*."""
    fields = line.split(b"\t")
    for place, text in zip(places, texts, strict=True):
        fields[place] = text.encode()
    return b"\t".join(fields)


class RowParser:
    """Parses lines: a Row where a line is good, else a BadRow.

    A row is bad if a chosen column is missing, not UTF-8, holds a NUL, or is empty (unless
    *blank*).
    """

    def __init__(
        self,
        name: str,
        wanted: Sequence[WantedColumn],
        places: Sequence[int],
        remedy: str = REMEDY,
        blank: bool = False,
    ) -> None:
        """Parse lines of the file called *name*: the *wanted* columns, or else the whole line.

        *places* has the index of each, negative from the end; *remedy* ends the message of a bad
        row; with *blank*, empty texts are good.
        """
        self._name = name
        self._chosen = list(zip(wanted, places, strict=True))
        self.places = tuple(places)
        self._remedy = remedy
        self.blank = blank

    @property
    def columns(self) -> dict[int, str]:
        """Indices of the chosen columns, negative from the end, with their names in messages."""
        return {place: wanted.name for wanted, place in self._chosen}

    def row(self, number: int, raw: bytes) -> Row | BadRow:
        """Parse the line *raw*, with its ending, that stands at *number*."""
        line = without_ending(raw)
        ending = raw[len(line) :]
        try:
            return Row(number, line, ending, self._texts(line))
        except _UnusableError as problem:
            line = line.replace(UNFIT, b"")
            remedy = (wide_remedy(line) if number == 1 else "") or self._remedy
            return BadRow(number, line, ending, str(problem), remedy, self._name)

    def rows(self, first: int, raw: Sequence[bytes]) -> list[Row | BadRow]:
        """Parse lines with their endings; the *first* one's number is given."""
        starts = range(0, len(raw), _PIECE)
        pieces = (self._piece(first + start, raw[start : start + _PIECE]) for start in starts)
        return list(chain.from_iterable(pieces))

    def _piece(self, first: int, raw: Sequence[bytes]) -> Sequence[Row | BadRow]:
        data = b"".join(raw)
        plain = data.endswith(b"\n") and b"\r" not in data and b"\0" not in data
        if plain and len(data) <= _PIECE_BYTES:
            with suppress(UnicodeDecodeError, IndexError):
                return self._plain_rows(first, data)
        return [self.row(number, line) for number, line in enumerate(raw, first)]

    def _plain_rows(self, first: int, data: bytes) -> Sequence[Row | BadRow]:
        """Parse lines that all end with ``\\n``, at once, which is quicker.

        Raises UnicodeDecodeError, and IndexError for a missing column.
        """
        lines, whole = data.split(b"\n")[:-1], data.decode().split("\n")[:-1]
        texts: Iterable[Any] = whole
        if self.places:
            texts = map(itemgetter(*self.places), (text.split("\t") for text in whole))
        if len(self.places) < 2:
            texts = zip(texts, strict=True)
        chosen = list(texts)
        rows: list[Row | BadRow] = list(
            map(_row, zip(count(first), lines, repeat(b"\n"), chosen, strict=False))
        )
        if not self.blank:
            for at, each in enumerate(chosen):
                for text in each:
                    if not text[:1].isalnum() and is_blank(text):
                        rows[at] = self.row(first + at, lines[at] + b"\n")
        return rows

    def refused(self, row: Row, reason: str, remedy: str) -> BadRow:
        """Return a good row as one that cannot be used."""
        return BadRow(row.number, row.line, row.ending, reason, remedy, self._name)

    def _texts(self, line: bytes) -> tuple[str, ...]:
        """Return the texts of the chosen columns, or raise the fault of a bad row."""
        if not self._chosen:
            return (self._text(line, "line"),)
        fields = line.split(b"\t")
        texts = []
        for wanted, place in self._chosen:
            try:
                field = fields[place]
            except IndexError:
                needed = -place if place < 0 else place + 1
                columns = "1 column" if len(fields) == 1 else f"{len(fields)} columns"
                problem = f"{columns}, expected at least {needed} ({wanted.option} {wanted.where})"
                raise _UnusableError(problem) from None
            texts.append(self._text(field, wanted.name))
        return tuple(texts)

    def _text(self, field: bytes, name: str) -> str:
        if b"\0" in field:
            unfit = field.startswith(UNFIT)
            reason = UNFIT_REASON if unfit else f"NUL byte in the {name}"
            raise _UnusableError(reason)
        try:
            text = field.decode("utf-8")
        except UnicodeDecodeError as error:
            message = f"the {name} is not UTF-8 at its byte {error.start + 1}"
            raise _UnusableError(message) from error
        if not self.blank and is_blank(text):
            raise _UnusableError(f"the {name} is empty")
        return text


class _UnusableError(Exception):
    """Why a row is bad."""


def strict(rows: Iterable[Row | BadRow]) -> Iterator[Row]:
    """Yield the rows of a reader; raises InputError at the first bad one."""
    for row in rows:
        if isinstance(row, BadRow):
            raise row.error()
        yield row


def windows(
    items: Iterable[_Item], bytes_of: Callable[[_Item], int], most: int, most_bytes: int
) -> Iterator[list[_Item]]:
    """Yield *most* consecutive items at a time, or fewer once they hold *most_bytes*; never none.

    So memory is bounded for lines of any length.
    """
    window: list[_Item] = []
    held = 0
    for item in items:
        window.append(item)
        held += bytes_of(item)
        if len(window) >= most or held >= most_bytes:
            yield window
            window, held = [], 0
    if window:
        yield window


class RawLines(NamedTuple):
    """Consecutive lines to parse, perhaps in another process."""

    first: int
    """The 1-based number of the first."""
    raw: list[bytes]
    """Each with its ending."""

    def rows(self, parser: RowParser) -> list[Row | BadRow]:
        """Parse them."""
        return parser.rows(self.first, self.raw)
