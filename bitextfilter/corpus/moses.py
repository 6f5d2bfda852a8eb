"""Pairs in two files side by side, a sentence a line: the form of Moses and of OPUS."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from bitextfilter.corpus.pairs import Pair, in_one_line
from bitextfilter.errors import InputError
from bitextfilter.io.rows import BadRow, Row, RowReader

__all__ = ["MosesReader", "MosesWriter"]

_REMEDY = "bitext-align finds the pairs of files that are not parallel"


class MosesReader:
    """Reads two files line by line; a blank line is an empty side of its pair."""

    def __init__(self, source: RowReader, target: RowReader) -> None:
        """Read the lines of both files, as readers of whole lines that let blank ones through."""
        self.name = f"{source.name}, {target.name}"
        self.dropped: set[str] = set()
        self._readers = source, target

    def __iter__(self) -> Iterator[Pair | BadRow]:
        """Yield the pairs in order. Raises InputError where one file ends before the other."""
        for number, (source, target) in enumerate(zip_longest(*self._readers), 1):
            if source is None or target is None:
                raise self._unequal(target is None, number - 1)
            yield self._pair(number, source, target)

    def _pair(self, number: int, source: Row | BadRow, target: Row | BadRow) -> Pair | BadRow:
        line = source.line + b"\t" + target.line
        for row in (source, target):
            if isinstance(row, BadRow):
                return row._replace(line=line)
        assert isinstance(source, Row) and isinstance(target, Row)
        return Pair(number, source.text, target.text, line=line)

    def _unequal(self, target_ended: bool, number: int) -> InputError:
        shorter, longer = reversed(self._readers) if target_ended else self._readers
        message = f"the last line, but {longer.name} has more: the files are not parallel"
        if not number:
            message = f"empty, but {longer.name} is not"
        return InputError(message, file=shorter.name, line=number or None, remedy=_REMEDY)


class MosesWriter:
    """Writes two files, of the sources and of the targets."""

    def __init__(self, whitespace: bool = False) -> None:
        """Write pairs; *whitespace* makes line breaks and tabs in a text spaces."""
        self._whitespace = whitespace

    def first(self) -> tuple[bytes, bytes]:
        """Return nothing."""
        return b"", b""

    def lines(self, pair: Pair) -> tuple[bytes, bytes]:
        """Return the two lines. Raises UnfitError for a line break, a NUL, a ``\\r`` at the end."""
        source = in_one_line(pair.source, "source", "\n\0\r", self._whitespace)
        target = in_one_line(pair.target, "target", "\n\0\r", self._whitespace)
        return source.encode() + b"\n", target.encode() + b"\n"

    def last(self) -> tuple[bytes, bytes]:
        """Return nothing."""
        return b"", b""
