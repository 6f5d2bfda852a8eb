"""Pairs in rows of columns with tabs between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bitextfilter.corpus.pairs import Pair, in_one_line
from bitextfilter.errors import InputError
from bitextfilter.io.columns import Columns
from bitextfilter.io.rows import BadRow, Row, RowReader

__all__ = ["TsvReader", "TsvWriter"]


class TsvReader:
    """Reads the rows of a TSV: the two text columns, and the others by name or number."""

    def __init__(self, rows: RowReader, columns: Columns, others: bool) -> None:
        """Read *rows*, of which *columns* are the texts; *others* says whether to read the rest.

        Raises InputError where two columns of the header have one name.
        """
        self.name = rows.name
        self.dropped: set[str] = set()
        self._rows, self._others = rows, others
        self._places = [rows.place(wanted) for wanted in columns.wanted()]
        header = rows.header
        self._names = [] if header is None else header.decode("utf-8", "replace").split("\t")
        if others and len(set(self._names)) < len(self._names):
            twice = next(name for name in self._names if self._names.count(name) > 1)
            raise InputError(f"two columns are called {twice!r}", file=rows.name, line=1)

    def texts(self) -> tuple[str, str] | None:
        """Return the header's names of the two text columns, if there is a header."""
        if not self._names:
            return None
        source, target = (self._names[place] for place in self._places)
        return source, target

    def __iter__(self) -> Iterator[Pair | BadRow]:
        """Yield the pairs in order."""
        for row in self._rows:
            yield row if isinstance(row, BadRow) else self._pair(row)

    def _pair(self, row: Row) -> Pair | BadRow:
        source, target = row.texts
        pair = Pair(row.number, source, target, line=row.line)
        fields = row.line.split(b"\t")
        texts = {place % len(fields) for place in self._places}
        if len(fields) == len(texts):
            return pair
        rest = {self._called(n): field for n, field in enumerate(fields) if n not in texts}
        if not self._others:
            self.dropped.update(rest)
            return pair
        try:
            return pair._replace(others={name: field.decode() for name, field in rest.items()})
        except UnicodeDecodeError:
            return pair.bad(self.name, "a column is not UTF-8")

    def _called(self, index: int) -> str:
        return self._names[index] if index < len(self._names) else str(index + 1)


class TsvWriter:
    """Writes source, target, and other texts as further columns."""

    def __init__(
        self, names: Sequence[str], header: bool = False, whitespace: bool = False
    ) -> None:
        """Write pairs as rows.

        Args:
            names: of the columns: those of source and target, then those of the others.
            header: write the names first.
            whitespace: make tabs and line breaks in a text spaces.
        """
        self._names = names
        self._header = header
        self._whitespace = whitespace

    def first(self) -> tuple[bytes]:
        """Return the header, if there is to be one."""
        return ("\t".join(self._names).encode() + b"\n" if self._header else b"",)

    def lines(self, pair: Pair) -> tuple[bytes]:
        """Return the row. Raises UnfitError for what cannot be told from its end or its tabs."""
        others = [(name, pair.others.get(name, "")) for name in self._names[2:]]
        columns = [("source", pair.source), ("target", pair.target), *others]
        last = len(columns) - 1
        fields = [
            in_one_line(text, name, "\t\n\0\r" if n == last else "\t\n\0", self._whitespace)
            for n, (name, text) in enumerate(columns)
        ]
        return ("\t".join(fields).encode() + b"\n",)

    def last(self) -> tuple[bytes]:
        """Return nothing."""
        return (b"",)
