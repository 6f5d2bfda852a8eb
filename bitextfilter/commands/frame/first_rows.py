"""Warnings about the first rows of an input, of any command that reads columns of text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from bitextfilter.io.files import without_ending
from bitextfilter.io.rows import Row, is_blank
from bitextfilter.text.input_checks import (
    columns_doubt,
    header_doubt,
    swapped_columns,
    uneven_row,
)

if TYPE_CHECKING:
    from bitextfilter.commands.frame.run import Run
    from bitextfilter.io.rows import RowReader

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
