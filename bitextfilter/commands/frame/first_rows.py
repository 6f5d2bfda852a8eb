"""What the first rows of an input tell: warnings of columns of text, and files of other formats."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import click

from bitextfilter.corpus.formats.base import FORMATS, format_of
from bitextfilter.io.files import is_table, without_ending
from bitextfilter.io.records import parse_json
from bitextfilter.io.rows import UNFIT_REASON, BadRow, Row, RowParser, WantedColumn, is_blank
from bitextfilter.io.sources import PACKERS, packed_form
from bitextfilter.text.input_checks import (
    columns_doubt,
    header_doubt,
    swapped_columns,
    uneven_row,
)

if TYPE_CHECKING:
    from bitextfilter.commands.frame.run import Run
    from bitextfilter.io.row_reader import RowReader
    from bitextfilter.text.processor import TextProcessor

CHECKED_ROWS = 1000
_OPTIONS = {"source": "--scol", "target": "--tcol", "sentence": "--column"}
_IDENTIFIED_ROWS = 200


Check = Callable[["Run", "RowReader", list[bytes]], None]
"""Looks at the first lines of an input, with the reader that they come from; picklable."""


@dataclass
class RowChecks:
    """The checks of the first rows of a run, before they are used."""

    languages: tuple[str, str] | None = None
    """Of source and target, where a command knows them before it reads rows."""
    columns: bool = True
    """Whether to warn of columns without text, and of swapped ones."""
    others: tuple[Check, ...] = ()

    def begin(self, run: Run, reader: RowReader) -> None:
        """Let all checks see the first rows, once they are read."""
        if reader.doubt:
            run.warn(reader.doubt)
        for check in (warn_of_first_rows, *self.others):
            reader.watch(partial(check, run, reader), CHECKED_ROWS)


def warn_of_first_rows(run: Run, reader: RowReader, lines: Sequence[bytes]) -> None:
    """Warn of a header that is read as a row, of columns without text, and of tabs within texts.

    Warns of swapped columns, too, where the languages are known.
    """
    for warning in _warnings(run, reader, lines) if lines else ():
        run.warn(warning)


def _warnings(run: Run, reader: RowReader, lines: Sequence[bytes]) -> Iterator[str]:
    rows = [without_ending(line).decode("utf-8", "replace").split("\t") for line in lines]
    named = reader.parser.columns
    places = {_OPTIONS[name]: at for at, name in named.items() if name in _OPTIONS}
    if named and not places:
        return
    texts = [_chosen(row, places.values()) if places else row for row in rows]
    first, skipped = 1 if reader.header is None else 2, 0
    if first == 1 and len(texts[0]) == max(1, len(places)) and header_doubt(texts[0], texts[1:]):
        shown = ", ".join(text[:20] for text in texts[0])
        remedy = "--header" if places else "leave it out"
        yield f"{run.place_of(1, reader.name)[0]}: line 1 looks like a header ({shown}): {remedy}"
        skipped = 1
    if not places or len(rows) == skipped:
        return
    if doubt := _doubt_of_columns(run, rows[skipped:], texts[skipped:], places):
        yield f"{reader.name}: {doubt}"
    good = map(partial(_is_good, reader), lines[skipped:])
    even = [row if usable else [] for row, usable in zip(rows[skipped:], good, strict=True)]
    if (uneven := uneven_row(even)) is not None:
        index, width, usual = uneven
        file, line = run.place_of(first + skipped + index, reader.name)
        yield f"{file}: line {line} has {width} columns, most have {usual}: is a tab in a text?"


def _is_good(reader: RowReader, line: bytes) -> bool:
    """Whether a row has the texts that are wanted; a bad one gets another message."""
    row = reader.parser.row(0, line)
    return isinstance(row, Row) and not any(map(is_blank, row.texts))


def _chosen(row: Sequence[str], places: Iterable[int]) -> list[str]:
    return [row[at] for at in places if -len(row) <= at < len(row)]


def _doubt_of_columns(
    run: Run, rows: list[list[str]], texts: list[list[str]], places: Mapping[str, int]
) -> str:
    """Return a doubt about the contents of the chosen columns; empty without one."""
    if not run.row_checks.columns:
        return ""
    if doubt := columns_doubt(rows, places):
        return doubt
    languages = run.row_checks.languages
    pairs = [pair for pair in texts[:_IDENTIFIED_ROWS] if len(pair) == len(places) == 2]
    if languages is None or not pairs:
        return ""
    sources, targets = zip(*pairs, strict=True)
    swapped = swapped_columns(sources, targets, languages)
    return swapped and f"{swapped} (--scol and --tcol choose columns)"


def rows_of(run: Run, reader: RowReader, lines: Sequence[bytes], *more: WantedColumn) -> list[Row]:
    """Return the good rows among the first lines of a reader: source, target, and *more* columns.

    Rows that lack one are left out.
    """
    wanted = (*run.row_settings.columns.wanted(), *more)
    parser = RowParser(reader.name, wanted, [reader.place(column) for column in wanted])
    first = 1 if reader.header is None else 2
    parsed = (parser.row(number, line) for number, line in enumerate(lines, first))
    return [row for row in parsed if isinstance(row, Row)]


def languages_of_columns(run: Run, rows: Sequence[Row]) -> tuple[str, str]:
    """Return the two languages of first rows, for a model of more; stderr gets them, too.

    Raises SettingsError where the text does not tell.
    """
    from bitextfilter.scoring.row_checks import languages_of_rows

    told = languages_of_rows(str(run.model_name), rows)
    run.note(f"the columns look like {told[0]} and {told[1]} (--languages chooses others)")
    return told


def watch_languages(run: Run, reader: RowReader, processor: TextProcessor) -> None:
    """Warn of columns in other languages than a processor's, once the first rows are read."""
    from bitextfilter.scoring.row_checks import rows_doubt

    def check(lines: list[bytes]) -> None:
        if doubt := rows_doubt(rows_of(run, reader, lines), processor):
            run.warn(doubt)

    reader.watch(check, CHECKED_ROWS)


_BEGINNINGS = {
    b"PAR1": "parquet",
    b"ARROW1\0": "arrow",
    b"<tmx": "tmx",
    b"<!DOCTYPE tmx": "tmx",
    b"<xliff": "xliff",
    b"<?xml": "tmx",
}
"""Formats by the first bytes of a line, as bitext-convert's options name them."""
_PO = re.compile(rb'(?:msgid|msgctxt) ".*')
_CSV = re.compile(rb'"(?:[^"]|"")*"([,;]).*|[^",;]+([,;])"(?:[^"]|"")*"')


def refuse_table(path: str) -> None:
    """Raise UsageError for an output of rows with the name of a table."""
    if is_table(path):
        remedy = f"bitext-convert --header --to parquet -o {shlex.quote(path)} makes one"
        raise click.UsageError(f"{path} is the name of a table, but rows are written: {remedy}")


def remedy_of(row: BadRow, inputs: Sequence[str], command: str) -> str:
    """Return the remedy for a bad row; for another format, the command that converts it."""
    if row.reason == UNFIT_REASON:
        return f"bitext-convert --from parquet --whitespace makes it a space; or {row.remedy}"
    if row.number == 1 and (form := packed_form(row.line)):
        return f"it is {PACKERS[form]}: unpack it, or let its name end in .{form}"
    table = row.line.startswith((b"PAR1", b"ARROW1\0"))
    if not table and (b"\t" in row.line or not row.reason.startswith("1 column,")):
        return row.remedy
    options = _format(row.line) or _named_format(inputs)
    if not options:
        return row.remedy
    files = "".join(f" {shlex.quote(path)}" for path in inputs if path != "-")
    if table and not files:
        files = " FILE"
    if command == "bitext-convert":
        return f"--from {options} reads this format"
    return f"bitext-convert --from {options}{files} | {command} reads this format"


def _named_format(paths: Sequence[str]) -> str:
    """Return the format of two files that are read as pairs; empty if they are none."""
    if len(paths) != 2:
        return ""
    named = format_of(paths[0]) or "moses"
    return named if FORMATS[named].files == 2 else ""


def _format(line: bytes) -> str:
    """Return the format of a line as bitext-convert's options name it; empty if unknown."""
    start = line.lstrip()[:4096]
    for beginning, options in _BEGINNINGS.items():
        if start.startswith(beginning):
            return "xliff" if beginning == b"<?xml" and b"<xliff" in start else options
    if _PO.fullmatch(start):
        return "po"
    if found := _CSV.fullmatch(start):
        return "csv" if b"," in found.groups() else "csv --delimiter ';'"
    return _json_format(line)


def _json_format(line: bytes) -> str:
    """Return the options for a line of JSON; empty if it is none."""
    try:
        record = parse_json(line)
    except ValueError:
        return ""
    if not isinstance(record, dict):
        return ""
    texts = [name for name, value in record.items() if isinstance(value, str)]
    if len(texts) < 2 or {"source", "target"} <= set(texts):
        return "jsonl"
    return f"jsonl --fields {shlex.quote(','.join(texts[:2]))}"
