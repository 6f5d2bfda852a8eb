"""Sentence pairs with human ratings, read from TSVs."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import NamedTuple

from bitextfilter.errors import InputError
from bitextfilter.io.files import open_input
from bitextfilter.io.rows import (
    REMEDY,
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
class RatedColumns(Columns):
    """Columns of numbers, then those of the sides, if they are read at all."""

    blank: bool = True
    numbers: tuple[ColumnPlace, ...] = ()
    """The human rating first."""
    sides: tuple[ColumnPlace, ...] = ()

    def wanted(self) -> tuple[ColumnPlace, ...]:
        """Return the numbers and the sides."""
        return (*self.numbers, *self.sides)

    def fault(self, row: Row) -> tuple[str, str] | None:
        """Return the fault of a row and its remedy, or None: a blank number is no fault."""
        for (name, option, _), text in zip(self.numbers, row.texts, strict=False):
            if not is_blank(text) and not isfinite(number_of(text.encode())):
                reason = f"the {name} {text[:_MOST_SHOWN]!r} is no number"
                return reason, f"{option} says where it is; {REMEDY}"
        for (name, *_), text in zip(self.sides, row.texts[len(self.numbers) :], strict=True):
            if is_blank(text):
                return f"the {name} is empty", REMEDY
        return None

    def complete(self, row: Row) -> bool:
        """Whether a row has all numbers."""
        return not any(map(is_blank, row.texts[: len(self.numbers)]))


def check_enough(count: int, skipped: int, file: str, remedy: str) -> None:
    """Raise InputError where a *file* has fewer than two pairs, which no correlation allows."""
    if count < 2:
        message = f"too few pairs to correlate: {count}, and {skipped} skipped"
        raise InputError(message, file=file, remedy=remedy)


class RatedPairs(NamedTuple):
    """Sentence pairs with human ratings, ``n`` of each."""

    ratings: list[float]
    sources: list[str]
    targets: list[str]
    skipped: int
    """Rows left out because their rating is blank."""


def read_rated_pairs(path: str) -> RatedPairs:
    """Read a TSV of human rating, sentence and sentence.

    Raises NotFoundError, and InputError at the first bad row, or for fewer than two rated pairs.
    """
    columns = RatedColumns(
        numbers=(ColumnPlace("human score", "column", 1),),
        sides=(ColumnPlace("source", "column", 2), ColumnPlace("target", "column", 3)),
    )
    expected, found, skipped = "score, sentence and sentence are expected", [], 0
    with open_input(path) as stream:
        for row in strict(RowReader(stream, path, columns, remedy="mend the row")):
            if fault := columns.fault(row):
                remedy = f"{expected}; mend the row"
                raise InputError(fault[0], file=path, line=row.number, remedy=remedy)
            if columns.complete(row):
                found.append(row.texts)
            else:
                skipped += 1
    check_enough(len(found), skipped, path, expected)
    ratings, sources, targets = map(list, zip(*found, strict=True))
    return RatedPairs([number_of(text.encode()) for text in ratings], sources, targets, skipped)
