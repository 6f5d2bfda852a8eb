"""Rows of a TSV, byte for byte: chosen columns as text, everything else untouched.

A file is split at ``\\n`` only. A ``\\r`` just before the ``\\n`` and a BOM at the very start are
not text: they are set aside, and can be written back where they were.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, count, islice, repeat
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from bitextfilter.errors import InputError, printable
from bitextfilter.io.files import BOM, is_table, line_blocks, watched, wide_remedy, without_ending
from bitextfilter.io.headers import are_names, is_sentence

REMEDY = "--on-error reject --rejects FILE keeps going"

UNFIT = b"\0unfit\0"
"""Begins each column of a row made of a table whose texts have a tab or a line break."""

UNFIT_REASON = "a tab or line break in a text"

WINDOW_BYTES = 1 << 24
"""A window ends early once its lines hold 16 MiB."""

_AHEAD_BYTES = 1 << 20

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
        data = b"".join(raw)
        if data.endswith(b"\n") and b"\r" not in data and b"\0" not in data:
            with suppress(UnicodeDecodeError, IndexError):
                return self._plain_rows(first, data)
        return [self.row(number, line) for number, line in enumerate(raw, first)]

    def _plain_rows(self, first: int, data: bytes) -> list[Row | BadRow]:
        """Parse lines that all end with ``\\n``, at once, which is quicker.

        Raises UnicodeDecodeError, and IndexError for a missing column.
        """
        lines, whole = data.split(b"\n")[:-1], data.decode().split("\n")[:-1]
        texts: Iterable[Any] = whole
        if self.places:
            texts = map(itemgetter(*self.places), (text.split("\t") for text in whole))
        if len(self.places) < 2:
            texts = zip(texts, strict=True)
        rows: list[Row | BadRow] = list(map(Row, count(first), lines, repeat(b"\n"), texts))
        if not self.blank:
            for index, row in enumerate(rows):
                for text in row[3]:
                    if not text[:1].isalnum() and is_blank(text):
                        rows[index] = self.row(first + index, lines[index] + b"\n")
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


def row_windows(
    rows: Iterable[Row | BadRow], size: int, most_bytes: int = WINDOW_BYTES
) -> Iterator[list[Row | BadRow]]:
    """Yield *size* consecutive rows at a time, or fewer once they hold *most_bytes*."""
    if isinstance(rows, RowReader):
        return (lines.rows(rows.parser) for lines in rows.lines(size, most_bytes))
    return windows(rows, lambda row: len(row.line), size, most_bytes)


class RawLines(NamedTuple):
    """Consecutive lines to parse, perhaps in another process."""

    first: int
    """The 1-based number of the first."""
    raw: list[bytes]
    """Each with its ending."""

    def rows(self, parser: RowParser) -> list[Row | BadRow]:
        """Parse them."""
        return parser.rows(self.first, self.raw)


class RowReader:
    """Iterates over the rows of a binary stream, as a ``RowParser`` makes them.

    With *header*, the first line is read at once, into ``header`` (bytes without ending) and
    ``header_ending``; numbers still count lines of the file, so that the first row has 2. Raises
    InputError for a missing header, one that looks like a row, or a column name it lacks.
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
        """False for a later part of a file."""
        self.next = 1
        """The number of the next line."""
        self._bom = b""
        self.header: bytes | None = None
        self.header_ending = b""
        self._blocks: Iterator[list[bytes]] = self._after_bom(line_blocks(stream, name))
        columns = columns or Columns()
        wanted = columns.wanted()
        if header:
            first = next(iter(self.ahead(1)), b"")
            if not first:
                raise InputError("empty, expected a header line", file=name)
            self._blocks = chain([next(self._blocks)[1:]], self._blocks)
            if wide := wide_remedy(first):
                raise InputError("the header is not UTF-8", file=name, line=1, remedy=wide)
            self.header = without_ending(first)
            self.header_ending = first[len(self.header) :]
            self.next = 2
        places = [self.place(column) for column in wanted]
        self.doubt = ""
        """A warning that the header may be a row; empty where it is clear, as in a table."""
        if self.header is not None and not is_table(name):
            self.doubt = _doubt_of_header(self.header, wanted, places, name)
        self.parser = RowParser(name, wanted, places, remedy, columns.blank)

    def __iter__(self) -> Iterator[Row | BadRow]:
        parse = self.parser.row
        for number, raw in enumerate(chain.from_iterable(self._blocks), self.next):
            self.next = number + 1
            yield parse(number, raw)

    def lines(self, size: int, most_bytes: int = WINDOW_BYTES) -> Iterator[RawLines]:
        """Yield the remaining lines in windows, to be parsed elsewhere.

        A window has *size* lines, or fewer once a block of lines brings it to *most_bytes*.
        """
        window, held = list[bytes](), 0
        for block in self._blocks:
            while block:
                taken, block = block[: size - len(window)], block[size - len(window) :]
                window += taken
                held += sum(map(len, taken))
                if len(window) == size or held >= most_bytes:
                    yield self._numbered(window)
                    window, held = [], 0
        if window:
            yield self._numbered(window)

    def _numbered(self, window: list[bytes]) -> RawLines:
        first, self.next = self.next, self.next + len(window)
        return RawLines(first, window)

    def first_line(self, names: Sequence[str] = ()) -> bytes:
        """Return the BOM, and the header with *names* appended; nothing for a later part.

        Waits for the first line, which may start with a BOM.
        """
        if not self.starts:
            return b""
        if self.header is None:
            self.ahead(1)
            return self._bom
        added = "".join(f"\t{name}" for name in names).encode()
        return self._bom + self.header + added + (self.header_ending or b"\n")

    def ahead(self, count: int) -> list[bytes]:
        """Wait for the next *count* lines, fewer if they hold 1 MiB, and return them, unread."""
        lines, held = list[bytes](), 0
        while len(lines) < count and held < _AHEAD_BYTES:
            block = next(self._blocks, None)
            if block is None:
                break
            lines += block
            held += sum(map(len, block))
        self._blocks = chain([lines], self._blocks)
        return lines[:count]

    def watch(self, function: Callable[[list[bytes]], object], count: int) -> None:
        """Call *function* with the first *count* lines to come, once they are read.

        They have their endings, and are fewer where the input ends, or once they hold 1 MiB.
        Nothing waits for them: each is passed on as it is read.
        """
        self._blocks = watched(self._blocks, function, count)

    def start_at(self, number: int) -> None:
        """Number the rows as a later part of a file, the first with *number*, before any is read.

        The header, which belongs to the first part, only names the columns.
        """
        self.starts = False
        self.next = number

    def place(self, wanted: WantedColumn) -> int:
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

    def column_names(self) -> list[str]:
        """Return the names in the header; none without one. Raises InputError if not UTF-8."""
        try:
            return [] if self.header is None else self.header.decode("utf-8").split("\t")
        except UnicodeDecodeError as error:
            message = f"the header is not UTF-8 at its byte {error.start + 1}"
            raise InputError(message, file=self.name, line=1) from error

    def column_name(self, place: int) -> str:
        """Return the name of the column at an index. Raises InputError if the header lacks it."""
        names = self.column_names()
        if not _has(names, place):
            columns = "1 column" if len(names) == 1 else f"{len(names)} columns"
            message = f"the header has {columns}, and no column {place + (place >= 0)}"
            raise InputError(message, file=self.name, line=1)
        return names[place]

    def score_names(self, columns: Sequence[int | str]) -> list[str]:
        """Return the names of score columns: those in the header, or else of their places."""
        header = (self.header or b"").decode("utf-8", "replace").split("\t")
        names = []
        for where in columns:
            place = where if isinstance(where, str) or where < 0 else where - 1
            if isinstance(place, str):
                names.append(place)
            elif self.header is not None and -len(header) <= place < len(header):
                names.append(header[place])
            else:
                names.append("score" if len(columns) == 1 else f"column {where}")
        return names

    def _after_bom(self, blocks: Iterator[list[bytes]]) -> Iterator[list[bytes]]:
        """Yield the blocks of lines; set the BOM aside."""
        for first, *more in islice(blocks, 1):
            if self.starts and first.startswith(BOM):
                self._bom = BOM
            rest = first[len(self._bom) :]
            yield [rest, *more] if rest else more
        yield from blocks


_DECIMAL = re.compile(r"[-+]?[0-9]*\.[0-9]+")


def _doubt_of_header(
    header: bytes, wanted: Sequence[WantedColumn], places: Sequence[int], file: str
) -> str:
    """Return a warning that a header may be a row; empty if its text columns have usual names.

    It is empty, too, if a column is *wanted* by its name. Raises InputError for a line that looks
    like a row: with a score in it, or two sentences.
    """
    if any(isinstance(column.where, str) for column in wanted):
        return ""
    fields = header.decode("utf-8", "replace").split("\t")
    chosen = [(c, fields[p]) for c, p in zip(wanted, places, strict=True) if _has(fields, p)]
    texts = [text for column, text in chosen if column.name in ("source", "target", "sentence")]
    scores = [text for column, text in chosen if column.name.endswith("score")]
    option = wanted[0].option if wanted else "--column"
    if (
        any(map(_DECIMAL.fullmatch, fields))
        or not all(math.isnan(number_of(score.encode())) for score in scores)
        or (len(texts) == 2 and all(map(is_sentence, texts)))
    ):
        remedy = f"leave out --header, or name a column of it ({option} NAME)"
        raise InputError("the header looks like a row", file=file, line=1, remedy=remedy)
    if are_names(texts if wanted else fields):
        return ""
    shown = ", ".join(repr(text[:20]) for text in (texts if wanted else fields))
    return (
        f"{file}:1: {shown} is taken for the names of columns: if it is a row, the file has no"
        f" header; if not, name one of them ({option} NAME)"
    )


def _has(fields: Sequence[str], place: int) -> bool:
    return -len(fields) <= place < len(fields)
