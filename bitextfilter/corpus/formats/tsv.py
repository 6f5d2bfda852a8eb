"""Reader and writer of pairs in the rows of a TSV, as all commands have them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

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
from bitextfilter.io.rows import BadRow, Columns, Row, RowReader

_Field = TypeVar("_Field", str, bytes)


class TsvReader(PairReader):
    """Reads the rows of a TSV: two text columns, and the others by name or number."""

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
                check_names(self._names, rows.name)
                self.columns = further_names(self._names, self._places)

    def __iter__(self) -> Iterator[PairRecord | BadRow]:
        for row in self._rows:
            yield row if isinstance(row, BadRow) else self._pair(row)

    def _pair(self, row: Row) -> PairRecord | BadRow:
        source, target = row.texts
        pair = PairRecord(row.number, source, target, line=row.line)
        fields = row.line.split(b"\t")
        texts = {place % len(fields) for place in self._places}
        if len(fields) == len(texts):
            return pair
        rest = rest_of(fields, texts, self._names)
        if not self._others:
            self.dropped.update(rest)
            return pair
        try:
            return pair._replace(others={name: field.decode() for name, field in rest.items()})
        except UnicodeDecodeError:
            return pair.bad(self.name, "a column is not UTF-8")


def check_names(names: Sequence[str], file: str) -> None:
    """Raise InputError if the header of a file has a name twice."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"two columns are called {twice!r}", file=file, line=1)


def further_names(names: Sequence[str], places: Sequence[int]) -> list[str]:
    """Return the *names* of a header but for those at *places*."""
    texts = {place % len(names) for place in places}
    return [name for n, name in enumerate(names) if n not in texts]


def rest_of(fields: Sequence[_Field], texts: set[int], names: Sequence[str]) -> dict[str, _Field]:
    """Return the fields of a row that are not at *texts*, by their *names* or numbers from 1.

    A number that is also a name has ``column`` before it.
    """
    called = list(names)
    for number in range(len(names) + 1, len(fields) + 1):
        called.append(f"column {number}" if str(number) in names else str(number))
    return {called[n]: field for n, field in enumerate(fields) if n not in texts}


def table_writer(
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


def reader(inputs: Inputs, settings: FormatSettings) -> PairReader:
    """Return the reader of a TSV."""
    columns = replace(settings.columns, blank=True)
    return TsvReader(inputs.rows(columns, settings.header), columns, settings.others)


def writer(settings: FormatSettings, source: PairReader) -> PairWriter:
    """Return a writer of a TSV; tabs and line breaks can become spaces.

    A row cannot hold a tab, a line break, a NUL, or ``\\r`` at its end.
    """

    def encoded(texts: Sequence[str], names: Sequence[str]) -> bytes:
        ends = ["\t\n\0"] * (len(texts) - 1) + ["\t\n\0\r"]
        fields = map(in_one_line, texts, names, ends, [settings.whitespace] * len(texts))
        return "\t".join(fields).encode() + b"\n"

    return table_writer(encoded, settings, source)
