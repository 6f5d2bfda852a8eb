"""Pairs in TSV rows, Moses files and JSON lines: readers and writers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from bitextfilter.errors import InputError
from bitextfilter.io.rows import REMEDY, BadRow, Columns, Row, RowReader

NOTHING: Mapping[str, str] = MappingProxyType({})

_BREAKS = re.compile(r"\s*[\t\n\r]\s*")
_CALLED = {"\t": "a tab", "\n": "a line break", "\0": "a NUL", "\r": "a carriage return at the end"}


class Pair(NamedTuple):
    """Two texts, and other texts about them by name, in order."""

    number: int
    """The 1-based line of the file where it starts."""
    source: str
    target: str
    others: Mapping[str, str] = NOTHING
    line: bytes = b""
    """The row as it was, without tabs or line breaks that a row of a TSV could not hold."""

    def bad(self, file: str, reason: str, remedy: str = "") -> BadRow:
        """Return the pair as one that cannot be used, for *reason*."""
        remedy = f"{remedy}; or {REMEDY}" if remedy else REMEDY
        return BadRow(self.number, self.line, b"\n", reason, remedy, file)


class UnfitError(Exception):
    """A pair that a format cannot hold: why, and what to do about it."""

    def __init__(self, reason: str, remedy: str) -> None:
        """Keep the *reason* and the *remedy*."""
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


class PairReader(Protocol):
    """Reads pairs from one format."""

    name: str
    """The file, for messages."""
    dropped: set[str]
    """Names of what the file has besides, and is not read."""

    def __iter__(self) -> Iterator[Pair | BadRow]:
        """Yield the pairs in order."""


class PairWriter(Protocol):
    """Turns pairs into the bytes of one format: of one file, or of several side by side."""

    def first(self) -> tuple[bytes, ...]:
        """Return what stands before the pairs, for each file."""

    def lines(self, pair: Pair) -> tuple[bytes, ...]:
        """Return what a pair adds to each file. Raises UnfitError."""

    def last(self) -> tuple[bytes, ...]:
        """Return what stands after the pairs, for each file."""


def in_one_line(text: str, name: str, unfit: str, whitespace: bool) -> str:
    """Return *text*, called *name*, if it can stand in a line.

    Args:
        text: any.
        name: for the message.
        unfit: the characters that it must not have; ``\\r`` stands for one at its end.
        whitespace: first make each run of white space with a tab or line break in it one space,
            and none at the ends.

    Raises:
        UnfitError: it has such a character.
    """
    if whitespace and _BREAKS.search(text):
        text = _BREAKS.sub(" ", text).strip()
    for character in unfit:
        if character in text and (character != "\r" or text.endswith("\r")):
            remedy = "--whitespace makes it a space" if character != "\0" else "remove it"
            raise UnfitError(f"{_CALLED[character]} in the {name}", remedy)
    return text


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


_MOST_NAMES = 20


class _Number(str):
    """A number as it is written."""


class _WrongError(Exception):
    """Why a line holds no pair."""


class JsonReader:
    """Reads the texts of two fields, and of others that are asked for."""

    def __init__(self, lines: RowReader, fields: tuple[str, str], keep: Sequence[str]) -> None:
        """Read *lines* (whole): the two *fields* that hold the texts, and those to *keep*."""
        self.name = lines.name
        self.dropped: set[str] = set()
        self._lines, self._fields, self._keep = lines, fields, keep
        self._wanted = {*fields, *keep}

    def __iter__(self) -> Iterator[Pair | BadRow]:
        """Yield the pairs in order."""
        for row in self._lines:
            yield row if isinstance(row, BadRow) else self._pair(row)

    def _pair(self, row: Row) -> Pair | BadRow:
        bare = Pair(row.number, "", "", line=row.line)
        try:
            found = _parsed(row.text)
            source, target = (_sentence(found, name) for name in self._fields)
            others = {name: _column(found, name) for name in self._keep}
            if "\\u" in row.text:
                "".join((source, target, *others.values())).encode()
            if len(self.dropped) < _MOST_NAMES:
                self.dropped.update(name for name in _leaves(found) if name not in self._wanted)
        except _WrongError as problem:
            return bare.bad(self.name, str(problem))
        except UnicodeEncodeError:
            return bare.bad(self.name, "half of a surrogate pair, which is no character")
        except RecursionError:
            return bare.bad(self.name, "objects too deep in each other")
        return bare._replace(source=source, target=target, others=others)


def _parsed(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line, parse_float=_Number, parse_int=_Number, parse_constant=_Number)
    except ValueError as error:
        raise _WrongError(f"not JSON: {error}") from error
    if not isinstance(found, dict):
        raise _WrongError("no JSON object")
    return found


def _found(place: dict[str, Any], name: str) -> Any:
    """Return the field *name*, or, where that has dots, the field of a field; None if missing."""
    if name in place:
        return place[name]
    first, dot, rest = name.partition(".")
    inner = place.get(first)
    return _found(inner, rest) if dot and isinstance(inner, dict) else None


def _sentence(place: dict[str, Any], name: str) -> str:
    text = _found(place, name)
    if type(text) is not str:
        has = ", ".join(list(_leaves(place))[:_MOST_NAMES])
        problem = f"no field {name!r}: it has {has}" if text is None else f"{name!r} is not text"
        raise _WrongError(problem)
    return text


def _column(place: dict[str, Any], name: str) -> str:
    """Return a field as a column: a text, a number as it is written, true, false, or nothing."""
    value = _found(place, name)
    if isinstance(value, (dict, list)):
        raise _WrongError(f"{name!r} is neither a text nor a number")
    if isinstance(value, str):
        return str(value)
    return "" if value is None else str(value).lower()


def _leaves(place: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the dotted names of all fields that hold no fields themselves."""
    for name, value in place.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


class JsonWriter:
    """Writes an object a line: the two texts, then the others, all as strings."""

    def __init__(self, fields: tuple[str, str]) -> None:
        """Write the texts to the two *fields*."""
        self._fields = fields

    def first(self) -> tuple[bytes]:
        """Return nothing."""
        return (b"",)

    def lines(self, pair: Pair) -> tuple[bytes]:
        """Return the line. Raises UnfitError where two texts have one name."""
        source, target = self._fields
        made: dict[str, Any] = {}
        for name, text in ((source, pair.source), (target, pair.target), *pair.others.items()):
            _put(made, name, text)
        return (json.dumps(made, ensure_ascii=False).encode() + b"\n",)

    def last(self) -> tuple[bytes]:
        """Return nothing."""
        return (b"",)


def _put(place: dict[str, Any], name: str, text: str) -> None:
    *path, last = name.split(".")
    inner: Any = place
    for part in path:
        inner = inner.setdefault(part, {}) if isinstance(inner, dict) else None
    if not isinstance(inner, dict) or last in inner:
        raise UnfitError(f"two fields would be called {name!r}", "--fields names the texts")
    inner[last] = text
