"""Good rows of the files that bitext-evaluate and bitext-paraphrase read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from math import inf, isnan
from pathlib import Path
from typing import TYPE_CHECKING

from bitextfilter.commands.evaluate.options import Labelling
from bitextfilter.commands.frame.run import Run
from bitextfilter.io.files import stream_name
from bitextfilter.io.rows import (
    REMEDY,
    BadRow,
    ColumnPlace,
    Columns,
    Row,
    RowReader,
    TextColumn,
    is_blank,
    number_of,
)

if TYPE_CHECKING:
    from bitextfilter.evaluation.filtering import LabelledRows
    from bitextfilter.evaluation.thresholds import Origin

Fault = Callable[[Row], tuple[str, str] | None]
"""Returns the fault of a row and its remedy; None if the row is good."""


def good_windows(
    run: Run,
    columns: Columns | TextColumn | None = None,
    file: str | None = None,
    fault: Fault = lambda _: None,
) -> Iterator[list[Row]]:
    """Open *file* (None: the input) and return windows of its good rows, none empty.

    A row with a *fault* is bad: it stops the run or is rejected.
    """
    return _good(run, run.rows(columns, file), fault)


def _good(run: Run, reader: RowReader, fault: Fault) -> Iterator[list[Row]]:
    for window in run.windows(reader):
        good = []
        for row in window:
            if isinstance(row, BadRow):
                continue
            if found := fault(row):
                run.reject(BadRow(*row[:3], *found, reader.name))
            else:
                good.append(row)
        if good:
            yield good


def blank(columns: Columns, *needed: str) -> Fault:
    """Return the fault of rows where a *needed* column is blank."""
    places = [(i, each.name) for i, each in enumerate(columns.wanted()) if each.name in needed]

    def fault(row: Row) -> tuple[str, str] | None:
        empty = next((name for place, name in places if is_blank(row.texts[place])), None)
        return None if empty is None else (f"the {empty} is empty", REMEDY)

    return fault


def optional(name: str, option: str, place: int | str | None) -> tuple[ColumnPlace, ...]:
    """Return a column, or nothing if its option is not given."""
    return () if place is None else (ColumnPlace(name, option, place),)


@dataclass(frozen=True)
class ExtraColumns(Columns):
    """Some of the *sides* of the pair, which may be blank, after or before other columns."""

    blank: bool = True
    first: tuple[ColumnPlace, ...] = ()
    sides: tuple[str, ...] = ("source", "target")
    last: tuple[ColumnPlace, ...] = ()

    def wanted(self) -> tuple[ColumnPlace, ...]:
        """Return the first columns, the sides, and the last columns."""
        sides = (side for side in super().wanted() if side.name in self.sides)
        return (*self.first, *sides, *self.last)


def extra_columns(
    run: Run,
    first: tuple[ColumnPlace, ...] = (),
    sides: tuple[str, ...] = ("source", "target"),
    last: tuple[ColumnPlace, ...] = (),
    *,
    blank: bool = True,
) -> ExtraColumns:
    """Return the columns of the run with others; *blank* ones are read as good."""
    chosen = run.row_settings.columns
    return ExtraColumns(chosen.source, chosen.target, blank, first, sides, last)


def read_labelled(run: Run, where: Labelling, sides: tuple[str, ...] = ()) -> LabelledRows:
    """Read the labelled rows of the input, and count the words of their *sides*.

    A row without a score is the lowest, as is one with another verdict than ``keep``; or it is
    left out.
    """
    from bitextfilter.evaluation.filtering import LabelledRows

    first = (
        ColumnPlace("score", "--column", where.column),
        *optional("label", "--labels", where.labels),
        *optional("verdict", "--verdict", where.verdict),
    )
    columns, collected = extra_columns(run, first, sides), LabelledRows(where.clean_label)
    windows = good_windows(run, columns, None, blank(columns, "label"))
    run.counts["without a score"] = 0
    for row in chain.from_iterable(windows):
        score = number_of(row.texts[0].encode())
        if where.verdict is not None and row.texts[2] != "keep":
            score = -inf
        known = known_score(run, row, score, where.missing)
        if known is not None:
            collected.add(known, row.texts[1], row.texts[len(first) :])
    return collected


def known_score(run: Run, row: Row, score: float, missing: str) -> float | None:
    """Return the score of a row; for NaN, minus infinity, or None to *skip* the row."""
    if not isnan(score):
        return score
    run.counts["without a score"] += 1
    if missing == "skip":
        run.drop(row, "no score")
        return None
    return -inf


def origin(run: Run, file: str, measure: str | None = None, model: str | None = None) -> Origin:
    """Return the origin of estimates on *file*."""
    from bitextfilter.evaluation.thresholds import Origin
    from bitextfilter.scoring.thresholds import printable_line

    name = printable_line(Path(stream_name(file)).name)
    return Origin(file, name, printable_line(run.command_line), measure, model)
