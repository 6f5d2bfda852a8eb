"""Pairs as all formats have them, the parts of their readers and writers, and the formats by name.

The module of a format has ``reader(inputs, settings)`` and ``writer(settings, source)``, and is
imported when it is needed. *source* is the reader that the pairs come from.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple, Protocol

from bitextfilter.io.files import is_packed
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import REMEDY, BadRow, Columns, TextColumn
from bitextfilter.settings import setting

_NOTHING: Mapping[str, str] = MappingProxyType({})

_BREAKS = re.compile(r"\s*[\t\n\r]\s*")
_BREAK = re.compile(r"[\t\n\r]")
_CALLED = {"\t": "a tab", "\n": "a line break", "\0": "a NUL", "\r": "a carriage return at the end"}

_MOST_REASONS = 20

TEXTS = ("source", "target")
"""The names of the two texts, unless others are given."""


class PairRecord(NamedTuple):
    """Two texts, and other texts by name, in order."""

    number: int
    """First line in the file, from 1."""
    source: str
    target: str
    others: Mapping[str, str] = _NOTHING
    line: bytes = b""
    """The row for the rejects file, without tabs or line breaks inside texts; empty: the texts."""

    def bad(self, file: str, reason: str, remedy: str = "") -> BadRow:
        """Return the pair as a bad row."""
        remedy = f"{remedy}; or {REMEDY}" if remedy else REMEDY
        line = self.line
        if not line and (self.source or self.target or self.others):
            line = _row((self.source, self.target, *self.others.values()))
        return BadRow(self.number, line, b"\n", reason, remedy, file)


def _row(texts: Sequence[str]) -> bytes:
    return "\t".join(_BREAK.sub(" ", text) for text in texts).encode()


class UnfitError(Exception):
    """A pair that a format cannot hold: the reason and the remedy."""


@dataclass(frozen=True)
class FormatSettings:
    """The options of the formats of one conversion."""

    columns: Columns = field(default_factory=Columns)
    header: bool = False
    languages: tuple[str, str] | None = setting(
        None,
        "tmx: the languages, as en,de  [default: those of a file with two]; xliff: only units in"
        " these.",
        option="--languages SOURCE,TARGET",
    )
    variants: str = setting(
        "first",
        "tmx: of several texts of a language in a unit the first, or a row for each.",
        choices=("first", "all"),
        option="--variants",
    )
    fields: tuple[str, str] | None = setting(
        None,
        "jsonl, tables: the fields of the texts  [default: source,target, or as in the input]",
        option="--fields SOURCE,TARGET",
    )
    keep: Sequence[str] = setting(
        (),
        "Read these fields or properties too, as more columns.",
        option="--keep NAME[,NAME...]",
    )
    numbers: Sequence[str] = setting(
        (),
        "parquet, datasets: write these columns as numbers, not as text.",
        option="--numbers NAME[,NAME...]",
    )
    delimiter: str = setting(
        ",", "csv: what separates columns; also tab.", option="--delimiter CHARACTER"
    )
    whitespace: bool = setting(
        False, "Make tabs and line breaks in a text spaces (to tsv, moses).", option="--whitespace"
    )
    others: bool = True
    """Whether further columns are read: some formats cannot hold them."""


class Inputs(Protocol):
    """The files to read."""

    def path(self, place: int = 0) -> str:
        """Return the path of the file at *place*, to be opened by the reader."""

    def stream(self, place: int = 0) -> tuple[BinaryIO, str]:
        """Open the file at *place*: its bytes, and its name in messages."""

    def rows(self, columns: Columns | TextColumn, header: bool, place: int = 0) -> RowReader:
        """Open the file at *place* as rows."""


class PairReader(ABC):
    """Reads pairs from one format. Iterable once."""

    skipped: Counter[str] | None = None
    """Units without a pair by the reason, where a format may have such."""
    further: Counter[str] | None = None
    """Texts left out for another of their language, by its code, where a format may have such."""
    texts: tuple[str, str] | None = None
    """What the file calls its two texts, if it says so."""
    columns: Sequence[str] | None = None
    """The names of all further texts, if they are known before the first pair."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.dropped: set[str] = set()
        """Names of other fields in the file, which are not read."""
        self.notes: list[str] = []
        """Messages about the file, complete once it is read."""

    @abstractmethod
    def __iter__(self) -> Iterator[PairRecord | BadRow]:
        """Yield the pairs in order."""

    def skip(self, reason: str, count: int = 1) -> None:
        """Count units without a pair."""
        if self.skipped is None:
            self.skipped = Counter()
        known = reason in self.skipped or len(self.skipped) < _MOST_REASONS
        self.skipped[reason if known else "for other reasons"] += count

    def reasons(self) -> str:
        """Return how many units have no pair, by the reason; the commonest comes first."""
        return "; ".join(f"{n} {reason}" for reason, n in (self.skipped or Counter()).most_common())


class PairWriter(NamedTuple):
    """The bytes of one format: a tuple has an item for each of its files."""

    lines: Callable[[PairRecord], tuple[bytes, ...]]
    """Function from a pair to its bytes. Raises UnfitError."""
    first: tuple[bytes, ...] = (b"",)
    """Bytes before the pairs."""
    end: Callable[[], tuple[bytes, ...]] = lambda: (b"",)
    """Returns the bytes after the pairs."""


def in_one_line(text: str, name: str, unfit: str, whitespace: bool) -> str:
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


class FurtherColumns:
    """The further columns of a table: the same in each row, those of the first if none are known.

    A row may lack some, but has no others.
    """

    def __init__(self, names: Sequence[str] | None) -> None:
        self.names = None if names is None else tuple(names)

    def of(self, pair: PairRecord) -> list[str | None]:
        """Return the further texts of *pair*, None where one is missing. Raises UnfitError."""
        if self.names is None:
            self.names = tuple(pair.others)
        if tuple(pair.others) == self.names:
            return list(pair.others.values())
        if len(pair.others) > len(self.names) or any(n not in self.names for n in pair.others):
            name = next(name for name in pair.others if name not in self.names)
            raise UnfitError(f"a column {name!r}, which the first row lacks", "")
        return [pair.others.get(name) for name in self.names]


@dataclass(frozen=True)
class Format:
    """A format, the number of its files, and the options that it takes when read and written."""

    about: str
    place: str
    """The module in this folder, and perhaps the first word of its functions: ``rows.csv``."""
    read: str | None = None
    """The options; None if it is not read."""
    written: str | None = None
    """The options; None if it is not written."""
    needs: str | None = None
    """An option that must be given where it is written."""
    suffixes: str = ""
    """The ends of its files' names."""
    files: int = 1
    columns: bool = True
    """Whether it is written with further columns."""
    folder: tuple[str, ...] = ()
    """The files of a format that is a folder."""
    caches: str = ""
    """A pattern for what its readers leave in the folder."""

    @property
    def read_files(self) -> int:
        """The FILEs that it must be given to read; none if one input is enough."""
        return self.files if self.files > 1 else 0

    @property
    def written_files(self) -> int:
        """The FILEs that it must be given to write, a folder among them."""
        return 1 if self.folder else self.read_files

    def reader(self, inputs: Inputs, settings: FormatSettings) -> PairReader:
        """Return the reader of *inputs*."""
        made: PairReader = self._function("reader")(inputs, settings)
        return made

    def writer(self, settings: FormatSettings, source: PairReader) -> PairWriter:
        """Return the writer of the pairs of *source*."""
        made: PairWriter = self._function("writer")(settings, source)
        return made

    def _function(self, name: str) -> Callable[..., Any]:
        module, _, word = self.place.partition(".")
        found = import_module(f"bitextfilter.corpus.formats.{module}")
        made: Callable[..., Any] = getattr(found, f"{word}_{name}" if word else name)
        return made


_ROWS = "scol tcol header input"

FORMATS: Mapping[str, Format] = {
    "tsv": Format(
        "the rows of all commands",
        "rows.tsv",
        _ROWS,
        "header output whitespace",
        suffixes="tsv tab",
    ),
    "moses": Format(
        "two files, a sentence a line", "rows.moses", "", "whitespace", files=2, columns=False
    ),
    "csv": Format(
        "comma-separated values",
        "rows.csv",
        f"{_ROWS} delimiter",
        "header output delimiter",
        suffixes="csv",
    ),
    "tmx": Format(
        "Translation Memory eXchange",
        "tmx",
        "languages keep variants input",
        "languages output",
        needs="languages",
        suffixes="tmx",
    ),
    "xliff": Format(
        "XLIFF 1.2 and 2",
        "xliff",
        "languages keep input",
        suffixes="xliff xlf sdlxliff mqxliff mxliff",
    ),
    "po": Format("messages of GNU gettext", "po", "keep input", suffixes="po pot"),
    "srt": Format("two files of subtitles, matched by time", "srt", "", files=2, suffixes="srt"),
    "vtt": Format("the same, told by its content", "srt", "", files=2, suffixes="vtt"),
    "jsonl": Format(
        "a JSON object a line",
        "fields.json",
        "fields keep input",
        "fields output",
        suffixes="jsonl ndjson json",
    ),
    "parquet": Format(
        "a Parquet file",
        "fields.table",
        "fields keep input",
        "fields numbers output",
        suffixes="parquet",
    ),
    "arrow": Format(
        "an Arrow file or stream", "fields.table", "fields keep input", suffixes="arrow feather"
    ),
    "datasets": Format(
        "a folder for datasets.load_from_disk",
        "fields.folder",
        written="fields numbers",
        folder=("data-00000-of-00001.arrow", "dataset_info.json", "state.json"),
        caches="cache-*.arrow",
    ),
}


def format_of(path: str) -> str | None:
    """Return the format of a file by the end of its name, compressed or not; None if unknown."""
    name = PurePath(path)
    suffix = name.with_suffix("").suffix if is_packed(path) else name.suffix
    known = (form for form, of in FORMATS.items() if suffix[1:].lower() in of.suffixes.split())
    return next(known, None)


def read_formats() -> list[str]:
    """Return the names of the formats that are read."""
    return [name for name, form in FORMATS.items() if form.read is not None]


def written_formats() -> list[str]:
    """Return the names of the formats that are written."""
    return [name for name, form in FORMATS.items() if form.written is not None]


def formats_by_option() -> dict[str, tuple[list[str], list[str]]]:
    """Return options, sorted, and the formats that take each when read, and when written."""
    taken = [
        (name, (form.read or "").split(), (form.written or "").split())
        for name, form in FORMATS.items()
    ]
    options = sorted({option for _, *both in taken for some in both for option in some})
    return {
        option: (
            [n for n, read, _ in taken if option in read],
            [n for n, _, written in taken if option in written],
        )
        for option in options
    }
