"""Readers and writers of pairs in rows: TSV, CSV, and two files with a sentence a line (Moses).

Source: RFC 4180, Common Format and MIME Type for Comma-Separated Values (CSV) Files, 2005.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import BinaryIO, TypeVar

from bitextfilter.corpus.formats.base import (
    TEXTS,
    FormatSettings,
    FurtherColumns,
    Inputs,
    PairReader,
    PairRecord,
    PairWriter,
    UnfitError,
    in_one_line,
)
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.files import BOM, SPACES, wide_remedy
from bitextfilter.io.lines import LINE_BYTES, lines_of
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import BadRow, Columns, Row, TextColumn, WantedColumn

_Field = TypeVar("_Field", str, bytes)

_SHOWN = 20
_REMEDY = "--delimiter names another character between columns"
_UNCLOSED = 'perhaps a quote that is not closed; "" is one within quotes'
_ERRORS = {
    "unexpected end of data": ("a quote that is not closed", '"" is one within quotes'),
    "expected after": ("a text after a closing quote", '"" is a quote within quotes'),
    "new-line character": ("a carriage return outside of quotes", "quote the column"),
}
"""Reasons and remedies by a part of the message of Python."""
_NO_CHARACTER = re.compile("[\udc80-\udcff]")
"""Bytes that are not UTF-8, as Python keeps them in a text."""


class _ColumnsReader(PairReader):
    """Reads two text columns of a table, and the others by name or number."""

    _names: Sequence[str] = ()
    """Of all columns, if there is a header."""
    _places: Sequence[int] = ()
    """Of the two texts."""

    def _take_others(self) -> None:
        """Take the names of the other columns. Raises InputError if one stands twice."""
        if len(set(self._names)) < len(self._names):
            twice = next(name for name in self._names if self._names.count(name) > 1)
            raise InputError(f"two columns are called {twice!r}", file=self.name, line=1)
        texts = {place % len(self._names) for place in self._places}
        self.columns = [name for n, name in enumerate(self._names) if n not in texts]

    def _rest(self, fields: Sequence[_Field]) -> dict[str, _Field]:
        """Return the other fields of a row, by their names or numbers from 1.

        A number that is also a name has ``column`` before it.
        """
        texts = {place % len(fields) for place in self._places}
        if len(texts) == len(fields):
            return {}
        called = list(self._names)
        for number in range(len(called) + 1, len(fields) + 1):
            called.append(f"column {number}" if str(number) in self._names else str(number))
        return {called[n]: field for n, field in enumerate(fields) if n not in texts}


class TsvReader(_ColumnsReader):
    """Reads the rows of a TSV."""

    def __init__(self, rows: RowReader, columns: Columns, others: bool) -> None:
        """Read *rows* with the texts in *columns*; read the rest too with *others*.

        Raises InputError for two columns of one name in the header, or one that is not UTF-8.
        """
        super().__init__(rows.name)
        self._rows, self._others = rows, others
        self._places = [rows.place(wanted) for wanted in columns.wanted()]
        self._names = rows.column_names()
        if self._names:
            source, target = map(rows.column_name, self._places)
            self.texts = source, target
            if others:
                self._take_others()

    def __iter__(self) -> Iterator[PairRecord | BadRow]:
        for row in self._rows:
            yield row if isinstance(row, BadRow) else self._pair(row)

    def _pair(self, row: Row) -> PairRecord | BadRow:
        source, target = row.texts
        pair = PairRecord(row.number, source, target, line=row.line)
        rest = self._rest(row.line.split(b"\t"))
        if not self._others:
            self.dropped.update(rest)
            return pair
        try:
            return pair._replace(others={name: field.decode() for name, field in rest.items()})
        except UnicodeDecodeError:
            return pair.bad(self.name, "a column is not UTF-8")


def _table_writer(
    encoded: Callable[[Sequence[str], Sequence[str]], bytes],
    settings: FormatSettings,
    source: PairReader,
) -> PairWriter:
    """Return a writer of rows with the columns source, target, and the others of *source*.

    *encoded* gives the bytes of the texts of a row, called by the names in its second argument
    in messages. With a header the first row has the names.
    """
    further = FurtherColumns(source.columns)
    head = settings.header

    def names() -> bytes:
        nonlocal head
        head = False
        texts = settings.languages or settings.fields or source.texts or TEXTS
        row = [*texts, *(further.names or ())]
        if double := next((name for name in row if row.count(name) > 1), None):
            raise SettingsError(f"two columns would be called {double!r}: --fields names the texts")
        try:
            return encoded(row, ["header"] * len(row))
        except UnfitError as problem:  # no fault of the first pair
            reason, remedy = problem.args
            raise InputError(reason, file=source.name, remedy=remedy) from problem

    def lines(pair: PairRecord) -> tuple[bytes]:
        others = [text or "" for text in further.of(pair)]
        called = [*TEXTS, *(further.names or ())]
        row = encoded([pair.source, pair.target, *others], called)
        return ((names() if head else b"") + row,)

    return PairWriter(lines, end=lambda: (names() if head else b"",))


def tsv_reader(inputs: Inputs, settings: FormatSettings) -> PairReader:
    """Return the reader of a TSV."""
    columns = replace(settings.columns, blank=True)
    return TsvReader(inputs.rows(columns, settings.header), columns, settings.others)


def tsv_writer(settings: FormatSettings, source: PairReader) -> PairWriter:
    """Return a writer of a TSV; tabs and line breaks can become spaces.

    A row cannot hold a tab, a line break, a NUL, or ``\\r`` at its end.
    """

    def encoded(texts: Sequence[str], names: Sequence[str]) -> bytes:
        ends = ["\t\n\0"] * (len(texts) - 1) + ["\t\n\0\r"]
        fields = map(in_one_line, texts, names, ends, [settings.whitespace] * len(texts))
        return "\t".join(fields).encode() + b"\n"

    return _table_writer(encoded, settings, source)


class CsvReader(_ColumnsReader):
    """Reads records, which may go over several lines; their numbers are those of the first."""

    def __init__(
        self, stream: BinaryIO, name: str, columns: Columns, header: bool, delimiter: str = ","
    ) -> None:
        """Read *stream*, called *name*; with *header* the first record has the names.

        Raises InputError for a header that is missing, has a name twice, or lacks a column.
        """
        super().__init__(name)
        csv.field_size_limit(LINE_BYTES)
        self._lines = lines_of(stream, name)
        self._delimiter = delimiter
        self._reader = csv.reader(self._decoded(), strict=True, delimiter=delimiter)
        self._number, self._held = 1, 0
        """First line of the record that is read; its bytes."""
        self._wide = ""
        """The remedy for a file in UTF-16."""
        self._names = self._header() if header else []
        self._places = [self._place(wanted) for wanted in columns.wanted()]
        self._least = max(place + 1 if place >= 0 else -place for place in self._places)
        if header:
            source, target = (self._names[place] for place in self._places)
            self.texts = source, target
            self._take_others()

    def _header(self) -> list[str]:
        names = next(self._records(), None)
        if names is None:
            raise InputError("empty, expected a header line", file=self.name)
        if problem := _problem("".join(names)):
            raise InputError(f"the header {problem}", file=self.name, line=1, remedy=self._wide)
        return names

    def _place(self, wanted: WantedColumn) -> int:
        """Return the index of a column, negative from the end."""
        where = wanted.where
        if isinstance(where, int):
            place = where - 1 if where > 0 else where
            if self._names and not -len(self._names) <= place < len(self._names):
                has = _columns(len(self._names))
                message = f"the header has {has} ({wanted.option} {where})"
                raise InputError(message, file=self.name, line=1, remedy=_REMEDY)
            return place
        if where not in self._names:
            message = f"column {where!r} ({wanted.option}) is not in the header"
            has = f"it has {', '.join(self._names[:_SHOWN])}"
            raise InputError(message, file=self.name, line=1, remedy=has)
        return self._names.index(where)

    def _decoded(self) -> Iterator[str]:
        for number, line in enumerate(self._lines):
            raw = line.removeprefix(BOM) if number == 0 else line
            self._wide = wide_remedy(raw) if number == 0 else self._wide
            self._held += len(raw)
            if self._held > LINE_BYTES:
                message = f"a record larger than {LINE_BYTES >> 20} MiB"
                raise InputError(message, file=self.name, line=self._number, remedy=_UNCLOSED)
            yield raw.decode("utf-8", "surrogateescape")

    def _records(self) -> Iterator[list[str]]:
        """Yield the records; ``_number`` has the line of each."""
        while True:
            self._number, self._held = self._reader.line_num + 1, 0
            try:
                record = next(self._reader, None)
            except csv.Error as error:
                reason, remedy = next(
                    (known for part, known in _ERRORS.items() if part in str(error)),
                    (f"not CSV: {error}", None),
                )
                place = {"file": self.name, "line": self._number}
                raise InputError(reason, **place, remedy=self._wide or remedy) from error  # type: ignore[arg-type]
            if record is None:
                return
            yield record

    def __iter__(self) -> Iterator[PairRecord | BadRow]:
        """Yield the pairs in order. Raises InputError where quotes do not match."""
        for record in self._records():
            yield self._pair(record)

    def _pair(self, record: list[str]) -> PairRecord | BadRow:
        line = _encoded_record(record, self._delimiter).removesuffix(b"\r\n").translate(SPACES)
        pair = PairRecord(self._number, "", "", line=line)
        if len(record) < self._least:
            has = _columns(len(record))
            reason = f"{has}, expected at least {self._least}"
            return pair.bad(self.name, reason, self._wide or _REMEDY)
        if problem := _problem("".join(record)):
            return pair.bad(self.name, f"the row {problem}", self._wide)
        source, target = (record[place] for place in self._places)
        return pair._replace(source=source, target=target, others=self._rest(record))


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"


def _problem(text: str) -> str:
    """Return why *text* is none, empty if it is one."""
    if "\0" in text:
        return "has a NUL byte"
    return "is not UTF-8" if not text.isascii() and _NO_CHARACTER.search(text) else ""


def _encoded_record(texts: Sequence[str], delimiter: str) -> bytes:
    """Return the bytes of a record, with its ``\\r\\n``."""
    made = io.StringIO()
    csv.writer(made, delimiter=delimiter).writerow(texts)
    return made.getvalue().encode("utf-8", "surrogateescape")


def csv_reader(inputs: Inputs, settings: FormatSettings) -> PairReader:
    """Return the reader of CSV."""
    return CsvReader(*inputs.stream(), settings.columns, settings.header, settings.delimiter)


def csv_writer(settings: FormatSettings, source: PairReader) -> PairWriter:
    """Return a writer of CSV with the columns source, target, and the others of *source*.

    It can hold any text but one with a NUL.
    """

    def encoded(texts: Sequence[str], names: Sequence[str]) -> bytes:
        for text, name in zip(texts, names, strict=True):
            if "\0" in text:
                raise UnfitError(f"a NUL in the {name}", "remove it")
        return _encoded_record(texts, settings.delimiter)

    return _table_writer(encoded, settings, source)


class MosesReader(PairReader):
    """Reads two files line by line; a blank line is an empty side of its pair."""

    def __init__(self, source: RowReader, target: RowReader) -> None:
        """Read both files by readers of whole lines that accept blank ones."""
        super().__init__(f"{source.name}, {target.name}")
        self._readers = source, target

    def __iter__(self) -> Iterator[PairRecord | BadRow]:
        """Yield the pairs in order. Raises InputError if one file ends before the other."""
        for number, (source, target) in enumerate(zip_longest(*self._readers), 1):
            if source is None or target is None:
                shorter, longer = reversed(self._readers) if target is None else self._readers
                message = f"the last line, but {longer.name} has more: the files are not parallel"
                if number == 1:
                    message = f"empty, but {longer.name} is not"
                remedy = "bitext-align finds the pairs of files that are not parallel"
                raise InputError(message, file=shorter.name, line=number - 1 or None, remedy=remedy)
            yield self._pair(number, source, target)

    def _pair(self, number: int, source: Row | BadRow, target: Row | BadRow) -> PairRecord | BadRow:
        line = source.line + b"\t" + target.line
        for row in (source, target):
            if isinstance(row, BadRow):
                return row._replace(line=line)
        assert isinstance(source, Row) and isinstance(target, Row)
        return PairRecord(number, source.text, target.text, line=line)


def moses_reader(inputs: Inputs, _: FormatSettings) -> PairReader:
    """Return the reader of two files."""
    source, target = (inputs.rows(TextColumn(blank=True), False, place) for place in range(2))
    return MosesReader(source, target)


def moses_writer(settings: FormatSettings, _: PairReader) -> PairWriter:
    """Return a writer of two files; tabs and line breaks can become spaces.

    A line cannot hold a line break, a NUL, or ``\\r`` at its end.
    """

    def lines(pair: PairRecord) -> tuple[bytes, bytes]:
        source = in_one_line(pair.source, "source", "\n\0\r", settings.whitespace)
        target = in_one_line(pair.target, "target", "\n\0\r", settings.whitespace)
        return source.encode() + b"\n", target.encode() + b"\n"

    return PairWriter(lines, (b"", b""), lambda: (b"", b""))
