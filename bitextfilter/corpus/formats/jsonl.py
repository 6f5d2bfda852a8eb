"""Reader and writer of pairs in JSON lines: an object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from bitextfilter.corpus.formats.base import (
    TEXTS,
    FormatSettings,
    Inputs,
    PairReader,
    PairRecord,
    PairWriter,
    UnfitError,
)
from bitextfilter.io.records import parse_json
from bitextfilter.io.rows import BadRow, Row, RowReader, TextColumn

_MOST_NAMES, _NAME = 20, 200
"""Names that messages have; characters of each."""
_MOST_PARTS = 100


class _Number(str):
    """A number as written in JSON."""


class _NoPairError(Exception):
    """A line that holds no pair: the reason, and perhaps a remedy."""


class JsonReader(PairReader):
    """Reads the texts of two fields, and of other fields asked for."""

    def __init__(self, lines: RowReader, fields: tuple[str, str], keep: Sequence[str]) -> None:
        """Read whole *lines*: the two text *fields*, and those to *keep*."""
        super().__init__(lines.name)
        self._lines, self._fields, self._keep = lines, fields, keep
        self.columns = keep
        self._wanted = {*fields, *keep}

    def __iter__(self) -> Iterator[PairRecord | BadRow]:
        for row in self._lines:
            yield row if isinstance(row, BadRow) else self._pair(row)

    def _pair(self, row: Row) -> PairRecord | BadRow:
        bare = PairRecord(row.number, "", "", line=row.line)
        try:
            found = _parsed(row.text, row.number == 1)
            source, target = (_sentence(found, name) for name in self._fields)
            others = {name: _column(found, name) for name in self._keep}
            if "\\u" in row.text:
                "".join((source, target, *others.values())).encode()
            if len(self.dropped) < _MOST_NAMES:
                others_there = (n for n in _leaves(found) if n not in self._wanted)
                self.dropped.update(islice(others_there, _MOST_NAMES))
        except _NoPairError as problem:
            return bare.bad(self.name, *problem.args)
        except UnicodeEncodeError:
            return bare.bad(self.name, "half of a surrogate pair, which is no character")
        return bare._replace(source=source, target=target, others=others)


def _parsed(line: str, first: bool = False) -> dict[str, Any]:
    """Return the object of a line; the *first* may show that the file has no lines of JSON."""
    start = line.lstrip()
    whole = _ARRAY if first and start.startswith("[") else None
    whole = _OBJECT if first and start.rstrip() == "{" else whole
    try:
        found = parse_json(line, parse_float=_Number, parse_int=_Number, parse_constant=_Number)
    except ValueError as error:
        raise _NoPairError(*(whole or (f"not JSON: {error}",))) from error
    if not isinstance(found, dict):
        objects = isinstance(found, list) and any(isinstance(item, dict) for item in found)
        raise _NoPairError(*(whole if whole and objects else ("no JSON object",)))
    return found


_ARRAY = "a JSON array, not JSON lines", "jq -c '.[]' converts it"
_OBJECT = "JSON over several lines, not JSON lines", "jq -c . converts it"
_MISSING = object()


def _found(place: dict[str, Any], name: str) -> Any:
    """Return the field *name*; dots separate fields of fields. ``_MISSING`` if it is not there."""
    if name in place:
        return place[name]
    first, dot, rest = name.partition(".")
    inner = place.get(first)
    if dot and isinstance(inner, dict):
        return _found(inner, rest)
    return None if dot and first in place and inner is None else _MISSING


def _sentence(place: dict[str, Any], name: str) -> str:
    text = _found(place, name)
    if type(text) is str:
        return text
    if text is None:
        raise _NoPairError(f"{name} is null")
    if text is not _MISSING:
        raise _NoPairError(f"{name!r} is not text")
    has = ", ".join(islice(_leaves(place), _MOST_NAMES))
    raise _NoPairError(f"no field {name!r}: it has {has}")


def _column(place: dict[str, Any], name: str) -> str:
    """Return a field as a column: a text, a number as written, true, false, or nothing."""
    value = _found(place, name)
    if isinstance(value, (dict, list)):
        raise _NoPairError(f"{name!r} is neither a text nor a number")
    if isinstance(value, str):
        return str(value)
    return "" if value is None or value is _MISSING else str(value).lower()


def _leaves(place: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the dotted names, each cut short, of all fields without fields of their own."""
    for name, value in place.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{name[:_NAME]}.")
        else:
            yield f"{prefix}{name[:_NAME]}"


def reader(inputs: Inputs, settings: FormatSettings) -> PairReader:
    """Return the reader of JSON lines."""
    lines = inputs.rows(TextColumn(), False)
    return JsonReader(lines, settings.fields or TEXTS, settings.keep)


def writer(settings: FormatSettings, source: PairReader) -> PairWriter:
    """Return a writer of JSON lines, with the names of a header, if there is one."""
    return json_writer(settings.fields or source.texts or TEXTS)


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
