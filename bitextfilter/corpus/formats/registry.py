"""The formats by name: what reads and writes them, and which options they take.

The module of a format has ``reader(inputs, settings)`` and ``writer(settings, source)``, and is
imported when it is needed. *source* is the reader that the pairs come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING

from bitextfilter.io.files import is_packed

if TYPE_CHECKING:
    from bitextfilter.corpus.formats.base import FormatSettings, Inputs, PairReader, PairWriter


@dataclass(frozen=True)
class Format:
    """A format, the number of its files, and the options that it takes when read and written."""

    about: str
    module: str
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
        made: PairReader = import_module(_PLACE + self.module).reader(inputs, settings)
        return made

    def writer(self, settings: FormatSettings, source: PairReader) -> PairWriter:
        """Return the writer of the pairs of *source*."""
        module = import_module(_PLACE + self.module)
        made: PairWriter = (module.folder_writer if self.folder else module.writer)(
            settings, source
        )
        return made


_PLACE = "bitextfilter.corpus.formats."
_ROWS = "scol tcol header input"

FORMATS: Mapping[str, Format] = {
    "tsv": Format(
        "the rows of all commands",
        "tsv",
        _ROWS,
        "header output whitespace",
        suffixes="tsv tab",
    ),
    "moses": Format(
        "two files, a sentence a line", "moses", "", "whitespace", files=2, columns=False
    ),
    "csv": Format(
        "comma-separated values",
        "csv_rows",
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
        "jsonl",
        "fields keep input",
        "fields output",
        suffixes="jsonl ndjson json",
    ),
    "parquet": Format(
        "a Parquet file",
        "tables",
        "fields keep input",
        "fields numbers output",
        suffixes="parquet",
    ),
    "arrow": Format(
        "an Arrow file or stream", "tables", "fields keep input", suffixes="arrow feather"
    ),
    "datasets": Format(
        "a folder for datasets.load_from_disk",
        "tables",
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


def formats_with(option: str) -> tuple[list[str], list[str]]:
    """Return the names of formats that take an option when read, and when written."""
    read = [name for name, form in FORMATS.items() if option in (form.read or "").split()]
    written = [name for name, form in FORMATS.items() if option in (form.written or "").split()]
    return read, written


def all_options() -> set[str]:
    """Return the names of the options that some formats take."""
    return {
        name
        for form in FORMATS.values()
        for options in (form.read, form.written)
        for name in (options or "").split()
    }
