"""Reader and writer of two files with a sentence a line, as Moses and OPUS have them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from bitextfilter.corpus.formats.base import (
    FormatSettings,
    Inputs,
    PairReader,
    PairRecord,
    PairWriter,
    in_one_line,
)
from bitextfilter.errors import InputError
from bitextfilter.io.rows import BadRow, Row, RowReader, TextColumn


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


def reader(inputs: Inputs, _: FormatSettings) -> PairReader:
    """Return the reader of two files."""
    source, target = (inputs.rows(TextColumn(blank=True), False, place) for place in range(2))
    return MosesReader(source, target)


def writer(settings: FormatSettings, _: PairReader) -> PairWriter:
    """Return a writer of two files; tabs and line breaks can become spaces.

    A line cannot hold a line break, a NUL, or ``\\r`` at its end.
    """

    def lines(pair: PairRecord) -> tuple[bytes, bytes]:
        source = in_one_line(pair.source, "source", "\n\0\r", settings.whitespace)
        target = in_one_line(pair.target, "target", "\n\0\r", settings.whitespace)
        return source.encode() + b"\n", target.encode() + b"\n"

    return PairWriter(lines, (b"", b""), lambda: (b"", b""))
