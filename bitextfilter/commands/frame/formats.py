"""Files that a run reads beside its rows, or as them: of any format; and of texts to be dropped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

from bitextfilter.commands.frame.run import Run
from bitextfilter.corpus.formats.base import (
    FORMATS,
    FormatSettings,
    PairReader,
    PairWriter,
    UnfitError,
)
from bitextfilter.io.files import is_table, open_input, open_rows, stream_name
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import BadRow, Columns, TextColumn

if TYPE_CHECKING:
    from bitextfilter.corpus.other_texts import OtherTexts


class FormatInputs:
    """The files to read, opened by the run."""

    def __init__(self, run: Run, paths: Sequence[str]) -> None:
        self._run, self._paths = run, paths

    def path(self, place: int = 0) -> str:
        """Return the path of a file."""
        self._run.begin_rows()
        return self._paths[place]

    def stream(self, place: int = 0) -> tuple[BinaryIO, str]:
        """Open a file: its bytes and its name."""
        path = self.path(place)
        return self._run.input(path), stream_name(path)

    def rows(self, columns: Columns | TextColumn, header: bool, place: int = 0) -> RowReader:
        """Open a file as rows."""
        before = self._run.row_settings
        self._run.row_settings = replace(before, header=header)
        rows = self._run.rows(columns, self._paths[place])
        self._run.row_settings = before
        return rows


def rows_of_format(
    run: Run, form: str, paths: Sequence[str], languages: tuple[str, str] | None, columns: Columns
) -> tuple[RowReader, PairReader]:
    """Return the pairs of files of a format as rows of two columns, and the reader of the format.

    Tabs and line breaks in a text become spaces. A pair without one of its texts has an empty
    column. *columns* are those of the rows.
    """
    settings = FormatSettings(languages=languages, whitespace=True, others=False)
    reader = FORMATS[form].reader(FormatInputs(run, paths), settings)
    written = fit_lines(run, reader, FORMATS["tsv"].writer(settings, reader))
    return RowReader(map(b"".join, written), reader.name, columns), reader


def fit_lines(
    run: Run, reader: PairReader, writer: PairWriter, count: bool = False
) -> Iterator[tuple[bytes, ...]]:
    """Yield the bytes of each good pair for each output; reject those that do not fit.

    *count*: whether the pairs are the rows of the summary.
    """
    for pair in reader:
        if count:
            run.counts["rows"] += 1
        if isinstance(pair, BadRow):
            run.reject(pair)
            continue
        try:
            yield writer.lines(pair)
        except UnfitError as problem:
            run.reject(pair.bad(reader.name, *problem.args))


_MEND = "mend the line, or leave it out"


def read_others(run: Run, known: OtherTexts, path: str, side: str | None) -> None:
    """Read a file whose rows are dropped; with *side*, its lines are texts of one side."""
    files, names = run.row_settings, known.columns if side is None else ()
    columns: Columns | TextColumn = TextColumn(blank=True)
    if names:
        columns = replace(files.columns, blank=True, sides=tuple(names))
    header = side is None and (is_table(path) or (bool(names) and files.header))
    with (open_rows if side is None else open_input)(path) as stream:
        reader = RowReader(stream, path, columns, header, _MEND)
        if reader.doubt:
            run.warn(reader.doubt)
        known.read(reader, side)
