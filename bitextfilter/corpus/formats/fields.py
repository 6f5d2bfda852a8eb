"""Readers and writers of pairs by fields: JSON lines, Parquet, Arrow, and folders of datasets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import islice
from typing import Any

from bitextfilter.corpus.formats.base import (
    TEXTS,
    FormatSettings,
    FurtherColumns,
    Inputs,
    PairReader,
    PairRecord,
    PairWriter,
    UnfitError,
)
from bitextfilter.errors import SettingsError
from bitextfilter.io.arrow_file import ArrowTable, ArrowWriter
from bitextfilter.io.files import SPACES
from bitextfilter.io.records import parse_json
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import BadRow, Row, TextColumn, number_of

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


def json_reader(inputs: Inputs, settings: FormatSettings) -> PairReader:
    """Return the reader of JSON lines."""
    lines = inputs.rows(TextColumn(), False)
    return JsonReader(lines, settings.fields or TEXTS, settings.keep)


def json_writer(settings: FormatSettings, source: PairReader) -> PairWriter:
    """Return a writer of an object a line: the texts, by their names, then other texts.

    It cannot hold two texts of one name, or a name of more than 100 parts between dots.
    """
    fields = settings.fields or source.texts or TEXTS

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


class TableReader(PairReader):
    """Reads the texts of two columns, and of other columns asked for; rows count from 1."""

    def __init__(self, path: str, fields: tuple[str, str], keep: Sequence[str]) -> None:
        """Read the file at *path*: the two text *fields*, and those to *keep*.

        Raises the errors of ``ArrowTable``, and InputError for a column that is missing or no text.
        """
        super().__init__(path)
        self._fields, self.columns = fields, keep
        with ArrowTable(path) as table:
            table.check([*fields, *keep])
            self.dropped.update(name for name in table.names if name not in (*fields, *keep))

    def __iter__(self) -> Iterator[PairRecord | BadRow]:
        """Yield the pairs in order. Raises InputError where the file is damaged."""
        number = 0
        keep = self.columns or ()
        names = list(dict.fromkeys((*self._fields, *keep)))
        with ArrowTable(self.name) as table:
            for columns in table.batches(names):
                made = dict(zip(names, columns, strict=True))
                texts = [made[name] for name in (*self._fields, *keep)]
                whole = table.texts(texts[:2], texts[2:])
                if whole is None:
                    for row in zip(*(column.to_pylist() for column in texts), strict=True):
                        number += 1
                        yield self._pair(number, row)
                    continue
                for source, target, *others in whole:
                    number += 1
                    further = dict(zip(keep, others, strict=True)) if keep else _NO_OTHERS
                    yield PairRecord(number, source, target, further)

    def _pair(self, number: int, row: Sequence[bytes | None]) -> PairRecord | BadRow:
        """Return the pair of a row, in a batch with nulls or bytes that are no text."""
        line = b"\t".join((text or b"").translate(SPACES) for text in row)
        pair = PairRecord(number, "", "", line=line)
        for name, field in zip(self._fields, row, strict=False):
            if field is None:
                return pair.bad(self.name, f"no text (null) in {name!r}")
        try:
            source, target, *others = [(field or b"").decode() for field in row]
        except UnicodeDecodeError:
            return pair.bad(self.name, "a text is not UTF-8")
        return PairRecord(
            number, source, target, dict(zip(self.columns or (), others, strict=True)), line
        )


_NO_OTHERS: Mapping[str, str] = {}


class _TableEncoder:
    """Makes rows of pairs for an ``ArrowWriter``, which begins with the first."""

    def __init__(self, settings: FormatSettings, source: PairReader, parquet: bool) -> None:
        self._further = FurtherColumns(source.columns)
        self._texts = settings.fields or source.texts or TEXTS
        self._numbers, self._parquet = settings.numbers, parquet
        self._places: list[tuple[int, str]] = []
        """Of the numbers, with their names."""
        self._writer: ArrowWriter | None = None

    def begun(self) -> ArrowWriter:
        """Return the writer. Raises SettingsError for names of columns that cannot be."""
        if self._writer is None:
            names = [*self._texts, *(self._further.names or ())]
            missing = next((name for name in self._numbers if name not in names), None)
            if missing is not None:
                raise SettingsError(f"--numbers: no column {missing!r}: {', '.join(names)}")
            self._places = [(names.index(name), name) for name in self._numbers]
            try:
                self._writer = ArrowWriter(names, self._numbers, self._parquet)
            except ValueError as error:
                problem = f"two columns would be called {error.args[0]!r}"
                raise SettingsError(f"{problem}: --fields names the texts") from error
        return self._writer

    def add(self, pair: PairRecord) -> bytes:
        """Take a pair; return the bytes that are complete. Raises UnfitError, SettingsError."""
        row: list[Any] = [pair.source, pair.target, *self._further.of(pair)]
        writer = self._writer or self.begun()
        size = sum(map(len, filter(None, row)))
        for place, name in self._places:
            row[place] = _number(row[place], name)
        return writer.add(row, size)


def _number(text: str | None, name: str) -> float | None:
    """Return a text as a number, None if it is empty. Raises UnfitError if it is none."""
    if not text:
        return None
    number = number_of(text.encode())
    if number != number and text.lower() != "nan":
        raise UnfitError(f"no number in {name!r}", "leave it out of --numbers")
    return number


def table_reader(inputs: Inputs, settings: FormatSettings) -> PairReader:
    """Return the reader of a table."""
    return TableReader(inputs.path(), settings.fields or TEXTS, settings.keep)


def table_writer(settings: FormatSettings, source: PairReader) -> PairWriter:
    """Return the writer of a Parquet file."""
    encoder = _TableEncoder(settings, source, parquet=True)
    return PairWriter(lambda pair: (encoder.add(pair),), end=lambda: (encoder.begun().end(),))


DATA, INFO, STATE = "data-00000-of-00001.arrow", "dataset_info.json", "state.json"
"""The files of a folder that ``datasets.load_from_disk`` reads."""


def folder_writer(settings: FormatSettings, source: PairReader) -> PairWriter:
    """Return the writer of the files ``DATA``, ``INFO`` and ``STATE``."""
    encoder = _TableEncoder(settings, source, parquet=False)
    digest = blake2b(digest_size=8)

    def data(pair: PairRecord) -> tuple[bytes, bytes, bytes]:
        made = encoder.add(pair)
        digest.update(made)
        return made, b"", b""

    def end() -> tuple[bytes, bytes, bytes]:
        writer = encoder.begun()
        last = writer.end()
        digest.update(last)
        info = {"citation": "", "description": "", "features": writer.features(), "homepage": ""}
        state: dict[str, Any] = {
            "_data_files": [{"filename": DATA}],
            "_fingerprint": digest.hexdigest(),
            "_format_columns": None,
            "_format_kwargs": {},
            "_format_type": None,
            "_output_all_columns": False,
            "_split": None,
        }
        return last, _json(info | {"license": ""}), _json(state)

    return PairWriter(data, (b"", b"", b""), end)


def _json(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, indent=2, ensure_ascii=False).encode()
