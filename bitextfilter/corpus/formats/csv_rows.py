"""Reader and writer of pairs in comma-separated values.

Source: RFC 4180, Common Format and MIME Type for Comma-Separated Values (CSV) Files, 2005.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from bitextfilter.corpus.formats.base import (
    FormatSettings,
    Inputs,
    PairReader,
    PairRecord,
    PairWriter,
    UnfitError,
)
from bitextfilter.corpus.formats.tsv import check_names, further_names, rest_of, table_writer
from bitextfilter.errors import InputError
from bitextfilter.io.files import BOM, LINE_BYTES, SPACES, lines_of, wide_remedy
from bitextfilter.io.rows import BadRow, Columns, WantedColumn


class CsvReader(PairReader):
    """Reads records: two text columns, and the others by name or number.

    A record may go over several lines; its number is that of the first.
    """

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
        self._wanted = columns.wanted()
        self._places = [self._place(wanted) for wanted in self._wanted]
        self._least = max(place + 1 if place >= 0 else -place for place in self._places)
        if header:
            source, target = (self._names[place] for place in self._places)
            self.texts = source, target
            self.columns = further_names(self._names, self._places)

    def _header(self) -> list[str]:
        names = next(self._records(), None)
        if names is None:
            raise InputError("empty, expected a header line", file=self.name)
        if problem := _problem("".join(names)):
            raise InputError(f"the header {problem}", file=self.name, line=1, remedy=self._wide)
        check_names(names, self.name)
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
        line = encoded_record(record, self._delimiter).removesuffix(b"\r\n").translate(SPACES)
        pair = PairRecord(self._number, "", "", line=line)
        if len(record) < self._least:
            has = _columns(len(record))
            reason = f"{has}, expected at least {self._least}"
            return pair.bad(self.name, reason, self._wide or _REMEDY)
        if problem := _problem("".join(record)):
            return pair.bad(self.name, f"the row {problem}", self._wide)
        source, target = (record[place] for place in self._places)
        texts = {place % len(record) for place in self._places}
        return pair._replace(
            source=source, target=target, others=rest_of(record, texts, self._names)
        )


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


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"


def _problem(text: str) -> str:
    """Return why *text* is none, empty if it is one."""
    if "\0" in text:
        return "has a NUL byte"
    return "is not UTF-8" if not text.isascii() and _NO_CHARACTER.search(text) else ""


def encoded_record(texts: Sequence[str], delimiter: str) -> bytes:
    """Return the bytes of a record, with its ``\\r\\n``."""
    made = io.StringIO()
    csv.writer(made, delimiter=delimiter).writerow(texts)
    return made.getvalue().encode("utf-8", "surrogateescape")


def reader(inputs: Inputs, settings: FormatSettings) -> PairReader:
    """Return the reader of CSV."""
    return CsvReader(*inputs.stream(), settings.columns, settings.header, settings.delimiter)


def writer(settings: FormatSettings, source: PairReader) -> PairWriter:
    """Return a writer of CSV with the columns source, target, and the others of *source*.

    It can hold any text but one with a NUL.
    """

    def encoded(texts: Sequence[str], names: Sequence[str]) -> bytes:
        for text, name in zip(texts, names, strict=True):
            if "\0" in text:
                raise UnfitError(f"a NUL in the {name}", "remove it")
        return encoded_record(texts, settings.delimiter)

    return table_writer(encoded, settings, source)
