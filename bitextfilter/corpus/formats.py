"""Readers and writers of pairs in TSV rows, Moses files and JSON lines."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from types import MappingProxyType
from typing import Any, NamedTuple

from bitextfilter.errors import InputError
from bitextfilter.io.json_text import parse_json
from bitextfilter.io.rows import REMEDY, BadRow, Columns, Row, RowReader

_NOTHING: Mapping[str, str] = MappingProxyType({})

_BREAKS = re.compile(r"\s*[\t\n\r]\s*")
_CALLED = {"\t": "a tab", "\n": "a line break", "\0": "a NUL", "\r": "a carriage return at the end"}


class PairRecord(NamedTuple):
    """Two texts, and other texts by name, in order."""

    number: int
    """First line in the file, from 1."""
    source: str
    target: str
    others: Mapping[str, str] = _NOTHING
    line: bytes = b""
    """The row for the rejects file, without tabs or line breaks inside texts."""

    def bad(self, file: str, reason: str, remedy: str = "") -> BadRow:
        """Return the pair as a bad row."""
        remedy = f"{remedy}; or {REMEDY}" if remedy else REMEDY
        return BadRow(self.number, self.line, b"\n", reason, remedy, file)


class UnfitError(Exception):
    """A pair that a format cannot hold: the reason and the remedy."""


class PairReader(ABC):
    """Reads pairs from one format. Iterable once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.dropped: set[str] = set()
        """Names of other fields in the file, which are not read."""

    @abstractmethod
    def __iter__(self) -> Iterator[PairRecord | BadRow]:
        """Yield the pairs in order."""


class PairWriter(NamedTuple):
    """The bytes of one format: a tuple has an item for each of its files."""

    lines: Callable[[PairRecord], tuple[bytes, ...]]
    """Function from a pair to its bytes. Raises UnfitError."""
    first: tuple[bytes, ...] = (b"",)
    """Bytes before the pairs."""
    last: tuple[bytes, ...] = (b"",)
    """Bytes after the pairs."""


def _in_one_line(text: str, name: str, unfit: str, whitespace: bool) -> str:
    """Return *text*, called *name* in messages, if it fits in a line.

    *unfit* are the characters that it must not have; ``\\r`` only at its end. With *whitespace*,
    runs of white space with a tab or line break first become one space, and none at the ends.
    Raises UnfitError for a character in *unfit*.
    """
    if whitespace and _BREAKS.search(text):
        text = _BREAKS.sub(" ", text).strip()
    for character in unfit:
        if character in text and (character != "\r" or text.endswith("\r")):
            remedy = "--whitespace makes it a space" if character != "\0" else "remove it"
            raise UnfitError(f"{_CALLED[character]} in the {name}", remedy)
    return text


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
        if others and len(set(self._names)) < len(self._names):
            twice = next(name for name in self._names if self._names.count(name) > 1)
            raise InputError(f"two columns are called {twice!r}", file=rows.name, line=1)

    def texts(self) -> tuple[str, str] | None:
        """Return the header's names of the two text columns, if there is a header.

        Raises InputError if it lacks one.
        """
        if not self._names:
            return None
        source, target = map(self._rows.column_name, self._places)
        return source, target

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
        names = [*self._names, *map(str, range(len(self._names) + 1, len(fields) + 1))]
        rest = {names[n]: field for n, field in enumerate(fields) if n not in texts}
        if not self._others:
            self.dropped.update(rest)
            return pair
        try:
            return pair._replace(others={name: field.decode() for name, field in rest.items()})
        except UnicodeDecodeError:
            return pair.bad(self.name, "a column is not UTF-8")


def tsv_writer(names: Sequence[str], header: bool, whitespace: bool) -> PairWriter:
    """Return a writer of rows with the columns *names*: source, target, other texts.

    With *header* the names come first; with *whitespace* tabs and line breaks become spaces. A
    row cannot hold a tab, a line break, a NUL, or ``\\r`` at its end.
    """

    def lines(pair: PairRecord) -> tuple[bytes]:
        others = [(name, pair.others.get(name, "")) for name in names[2:]]
        columns = [("source", pair.source), ("target", pair.target), *others]
        fields = [
            _in_one_line(text, name, "\t\n\0\r" if n == len(columns) else "\t\n\0", whitespace)
            for n, (name, text) in enumerate(columns, 1)
        ]
        return ("\t".join(fields).encode() + b"\n",)

    return PairWriter(lines, ("\t".join(names).encode() + b"\n" if header else b"",))


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


def moses_writer(whitespace: bool) -> PairWriter:
    """Return a writer of two files; with *whitespace*, tabs and line breaks become spaces.

    A line cannot hold a line break, a NUL, or ``\\r`` at its end.
    """

    def lines(pair: PairRecord) -> tuple[bytes, bytes]:
        source = _in_one_line(pair.source, "source", "\n\0\r", whitespace)
        target = _in_one_line(pair.target, "target", "\n\0\r", whitespace)
        return source.encode() + b"\n", target.encode() + b"\n"

    return PairWriter(lines, (b"", b""), (b"", b""))


_MOST_NAMES, _NAME = 20, 200
"""Names that messages have; characters of each."""
_MOST_PARTS = 100


class _Number(str):
    """A number as written in JSON."""


class _NoPairError(Exception):
    """A line that holds no pair: the reason."""


class JsonReader(PairReader):
    """Reads the texts of two fields, and of other fields asked for."""

    def __init__(self, lines: RowReader, fields: tuple[str, str], keep: Sequence[str]) -> None:
        """Read whole *lines*: the two text *fields*, and those to *keep*."""
        super().__init__(lines.name)
        self._lines, self._fields, self._keep = lines, fields, keep
        self._wanted = {*fields, *keep}

    def __iter__(self) -> Iterator[PairRecord | BadRow]:
        for row in self._lines:
            yield row if isinstance(row, BadRow) else self._pair(row)

    def _pair(self, row: Row) -> PairRecord | BadRow:
        bare = PairRecord(row.number, "", "", line=row.line)
        try:
            found = _parsed(row.text)
            source, target = (_sentence(found, name) for name in self._fields)
            others = {name: _column(found, name) for name in self._keep}
            if "\\u" in row.text:
                "".join((source, target, *others.values())).encode()
            if len(self.dropped) < _MOST_NAMES:
                others_there = (n for n in _leaves(found) if n not in self._wanted)
                self.dropped.update(islice(others_there, _MOST_NAMES))
        except _NoPairError as problem:
            return bare.bad(self.name, str(problem))
        except UnicodeEncodeError:
            return bare.bad(self.name, "half of a surrogate pair, which is no character")
        return bare._replace(source=source, target=target, others=others)


def _parsed(line: str) -> dict[str, Any]:
    try:
        found = parse_json(line, parse_float=_Number, parse_int=_Number, parse_constant=_Number)
    except ValueError as error:
        raise _NoPairError(f"not JSON: {error}") from error
    if not isinstance(found, dict):
        raise _NoPairError("no JSON object")
    return found


def _found(place: dict[str, Any], name: str) -> Any:
    """Return the field *name*; dots separate fields of fields. None: missing."""
    if name in place:
        return place[name]
    first, dot, rest = name.partition(".")
    inner = place.get(first)
    return _found(inner, rest) if dot and isinstance(inner, dict) else None


def _sentence(place: dict[str, Any], name: str) -> str:
    text = _found(place, name)
    if type(text) is not str:
        has = ", ".join(islice(_leaves(place), _MOST_NAMES))
        problem = f"no field {name!r}: it has {has}" if text is None else f"{name!r} is not text"
        raise _NoPairError(problem)
    return text


def _column(place: dict[str, Any], name: str) -> str:
    """Return a field as a column: a text, a number as written, true, false, or nothing."""
    value = _found(place, name)
    if isinstance(value, (dict, list)):
        raise _NoPairError(f"{name!r} is neither a text nor a number")
    if isinstance(value, str):
        return str(value)
    return "" if value is None else str(value).lower()


def _leaves(place: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the dotted names, each cut short, of all fields without fields of their own."""
    for name, value in place.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{name[:_NAME]}.")
        else:
            yield f"{prefix}{name[:_NAME]}"


def json_writer(fields: tuple[str, str]) -> PairWriter:
    """Return a writer of an object a line: the texts as two *fields*, then other texts.

    It cannot hold two texts of one name, or a name of more than 100 parts between dots.
    """

    def lines(pair: PairRecord) -> tuple[bytes]:
        made: dict[str, Any] = {}
        texts = zip(fields, (pair.source, pair.target), strict=True)
        for name, text in (*texts, *pair.others.items()):
            *path, last = name.split(".")
            if len(path) >= _MOST_PARTS:
                raise UnfitError(f"{name[:20]!r}... has {len(path)} dots", "rename the column")
            inner: Any = made
            for part in path:
                inner = inner.setdefault(part, {}) if isinstance(inner, dict) else None
            if not isinstance(inner, dict) or last in inner:
                raise UnfitError(f"two fields would be called {name!r}", "--fields names the texts")
            inner[last] = text
        return (json.dumps(made, ensure_ascii=False).encode() + b"\n",)

    return PairWriter(lines)
