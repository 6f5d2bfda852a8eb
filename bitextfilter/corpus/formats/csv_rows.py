"""Reader and writer of pairs in comma-separated values.

Source: RFC 4180, Common Format and MIME Type for Comma-Separated Values (CSV) Files, 2005.
"""

from __future__ import annotations

import csv
import io
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
from bitextfilter.io.files import BOM, LINE_BYTES, lines_of
from bitextfilter.io.rows import BadRow, Columns, WantedColumn

_NO_CHARACTER = range(0xDC80, 0xDD00)
"""Bytes that are not UTF-8, as Python keeps them in a text."""


class CsvReader(PairReader):
    """Reads records: two text columns, and the others by name or number.

    A record may go over several lines; its number is that of the first.
    """

    def __init__(self, stream: BinaryIO, name: str, columns: Columns, header: bool) -> None:
        """Read *stream*, called *name*; with *header* the first record has the names.

        Raises InputError for a header that is missing, has a name twice, or lacks a column.
        """
        super().__init__(name)
        csv.field_size_limit(LINE_BYTES)
        self._lines = lines_of(stream, name)
        self._reader = csv.reader(self._decoded(), strict=True)
        self._number = 1
        self._names: list[str] = []
        if header:
            names = next(self._records(), None)
            if names is None:
                raise InputError("empty, expected a header line (--header)", file=name)
            check_names(names, name)
            self._names = names
        self._wanted = columns.wanted()
        self._places = [self._place(wanted) for wanted in self._wanted]
        if header:
            source, target = (self._names[place] for place in self._places)
            self.texts = source, target
            self.columns = further_names(self._names, self._places)

    def _place(self, wanted: WantedColumn) -> int:
        """Return the index of a column, negative from the end."""
        where = wanted.where
        if isinstance(where, int):
            place = where - 1 if where > 0 else where
            if self._names and not -len(self._names) <= place < len(self._names):
                message = f"the header has {len(self._names)} columns ({wanted.option} {where})"
                raise InputError(message, file=self.name, line=1)
            return place
        if where not in self._names:
            message = f"column {where!r} ({wanted.option}) is not in the header"
            raise InputError(message, file=self.name, line=1)
        return self._names.index(where)

    def _decoded(self) -> Iterator[str]:
        for number, line in enumerate(self._lines):
            raw = line.removeprefix(BOM) if number == 0 else line
            yield raw.decode("utf-8", "surrogateescape")

    def _records(self) -> Iterator[list[str]]:
        """Yield the records; ``_number`` has the line of each."""
        while True:
            self._number = self._reader.line_num + 1
            try:
                record = next(self._reader, None)
            except csv.Error as error:
                message = f"not CSV: {error}"
                raise InputError(message, file=self.name, line=self._number) from error
            if record is None:
                return
            yield record

    def __iter__(self) -> Iterator[PairRecord | BadRow]:
        """Yield the pairs in order. Raises InputError where quotes do not match."""
        for record in self._records():
            yield self._pair(record)

    def _pair(self, record: list[str]) -> PairRecord | BadRow:
        line = _encoded(record).removesuffix(b"\r\n").translate(_SPACES)
        pair = PairRecord(self._number, "", "", line=line)
        for wanted, place in zip(self._wanted, self._places, strict=True):
            if not -len(record) <= place < len(record):
                has = "1 column" if len(record) == 1 else f"{len(record)} columns"
                needs = f"{wanted.option} {wanted.where}"
                return pair.bad(self.name, f"{has}, which lack one ({needs})")
        text = "".join(record)
        if "\0" in text:
            return pair.bad(self.name, "NUL byte in the row")
        if not text.isascii() and any(ord(c) in _NO_CHARACTER for c in text):
            return pair.bad(self.name, "the row is not UTF-8")
        source, target = (record[place] for place in self._places)
        texts = {place % len(record) for place in self._places}
        return pair._replace(
            source=source, target=target, others=rest_of(record, texts, self._names)
        )


_SPACES = bytes.maketrans(b"\t\n\r", b"   ")


def _encoded(texts: Sequence[str]) -> bytes:
    """Return the bytes of a record."""
    made = io.StringIO()
    csv.writer(made).writerow(texts)
    return made.getvalue().encode("utf-8", "surrogateescape")


def reader(inputs: Inputs, settings: FormatSettings) -> PairReader:
    """Return the reader of CSV."""
    return CsvReader(*inputs.stream(), settings.columns, settings.header)


def writer(settings: FormatSettings, source: PairReader) -> PairWriter:
    """Return a writer of CSV with the columns source, target, and the others of *source*.

    It can hold any text but one with a NUL.
    """

    def encoded(texts: Sequence[str], names: Sequence[str]) -> bytes:
        for text, name in zip(texts, names, strict=True):
            if "\0" in text:
                raise UnfitError(f"a NUL in the {name}", "remove it")
        return _encoded(texts)

    return table_writer(encoded, settings, source)
