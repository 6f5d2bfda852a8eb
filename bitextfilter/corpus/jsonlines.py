"""Pairs in JSON objects, one a line; a name with dots is that of a field of a field."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from bitextfilter.corpus.pairs import Pair, UnfitError
from bitextfilter.io.rows import BadRow, Row, RowReader

__all__ = ["JsonReader", "JsonWriter"]

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
