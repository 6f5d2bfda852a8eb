"""Sentence pairs with what people say of them: which rows of a TSV are complete, which wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import isfinite
from typing import NamedTuple, NoReturn

from bitextfilter.errors import InputError
from bitextfilter.io.files import open_input
from bitextfilter.io.rows import (
    REMEDY,
    BadRow,
    ColumnPlace,
    Columns,
    Row,
    RowReader,
    is_blank,
    number_of,
    strict,
)

_MOST_SHOWN = 40


@dataclass(frozen=True)
class JudgedColumns(Columns):
    """Columns that hold a number, then the sides of the pair, if they are read at all."""

    blank: bool = True
    numbers: tuple[ColumnPlace, ...] = ()
    """The human score first."""
    sides: tuple[ColumnPlace, ...] = ()

    def wanted(self) -> tuple[ColumnPlace, ...]:
        """Return the numbers and the sides."""
        return (*self.numbers, *self.sides)


def complete_rows(
    rows: Iterable[Row | BadRow],
    columns: JudgedColumns,
    file: str,
    reject: Callable[[BadRow], None],
) -> Iterator[Row | None]:
    """Yield each row that has all numbers and sides, and None for one whose number is blank.

    A number that is none or not finite, or a side that is blank, makes a row bad: *reject* gets
    it, of the *file*. Rows that are bad already are passed over.
    """
    for row in rows:
        if isinstance(row, BadRow):
            continue
        if fault := _fault(row, columns):
            reject(BadRow(row.number, row.line, row.ending, *fault, file))
        elif any(map(is_blank, row.texts[: len(columns.numbers)])):
            yield None
        else:
            yield row


def _fault(row: Row, columns: JudgedColumns) -> tuple[str, str] | None:
    """Return what is wrong with a row, and the remedy; a number that is missing is not."""
    for (name, option, _), text in zip(columns.numbers, row.texts, strict=False):
        if not is_blank(text) and not isfinite(number_of(text.encode())):
            reason = f"the {name} {text[:_MOST_SHOWN]!r} is no number"
            return reason, f"{option} says where it is; {REMEDY}"
    for (name, *_), text in zip(columns.sides, row.texts[len(columns.numbers) :], strict=True):
        if is_blank(text):
            return f"the {name} is empty", REMEDY
    return None


def check_enough(count: int, skipped: int, file: str, remedy: str) -> None:
    """Raise InputError where a *file* has fewer than the two pairs that a correlation takes."""
    if count < 2:
        message = f"too few pairs to correlate: {count}, and {skipped} skipped"
        raise InputError(message, file=file, remedy=remedy)


class JudgedPairs(NamedTuple):
    """Pairs with a human score, ``n`` of each."""

    human: list[float]
    sources: list[str]
    targets: list[str]
    skipped: int
    """Rows left out, for their score is blank."""


_IN_ORDER = JudgedColumns(
    numbers=(ColumnPlace("human score", "column", 1),),
    sides=(ColumnPlace("source", "column", 2), ColumnPlace("target", "column", 3)),
)


def read_judged_pairs(path: str) -> JudgedPairs:
    """Read a TSV of human score, sentence and sentence.

    Raises NotFoundError, and InputError at the first bad row, or where fewer than two pairs have
    a score.
    """
    with open_input(path) as stream:
        rows = strict(RowReader(stream, path, _IN_ORDER, remedy="mend the row"))
        found = list(complete_rows(rows, _IN_ORDER, path, _refuse))
    complete = [row for row in found if row is not None]
    skipped = len(found) - len(complete)
    check_enough(len(complete), skipped, path, "score, sentence and sentence are expected")
    human = [number_of(row.texts[0].encode()) for row in complete]
    sources, targets = ([row.texts[side] for row in complete] for side in (1, 2))
    return JudgedPairs(human, sources, targets, skipped)


def _refuse(row: BadRow) -> NoReturn:
    remedy = "score, sentence and sentence are expected; mend the row"
    raise InputError(row.reason, file=row.file, line=row.number, remedy=remedy)
