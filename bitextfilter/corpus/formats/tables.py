"""Reader and writers of pairs in tables: Parquet, Arrow, and folders of the datasets library."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
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
from bitextfilter.io.rows import BadRow, number_of


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


def reader(inputs: Inputs, settings: FormatSettings) -> PairReader:
    """Return the reader of a table."""
    return TableReader(inputs.path(), settings.fields or TEXTS, settings.keep)


def writer(settings: FormatSettings, source: PairReader) -> PairWriter:
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
