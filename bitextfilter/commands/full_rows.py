"""Windows of rows of which no side is empty, where other columns may be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bitextfilter.commands.frame import Run
from bitextfilter.io.columns import Wanted
from bitextfilter.io.parser import REMEDY
from bitextfilter.io.rows import BadRow, Row, RowReader, is_blank

__all__ = ["full_windows"]


def full_windows(run: Run, rows: RowReader, sides: Sequence[Wanted]) -> Iterator[list[Row]]:
    """Yield windows of the good rows of which none of *sides*, their first texts, is empty.

    What is empty is bad: it stops the run or is rejected.
    """
    for window in run.windows(rows):
        good = []
        for row in window:
            if isinstance(row, BadRow):
                continue
            for side, text in zip(sides, row.texts, strict=False):
                if is_blank(text):
                    problem = f"the {side.name} is empty"
                    run.reject(BadRow(row.number, row.line, row.ending, problem, REMEDY, rows.name))
                    break
            else:
                good.append(row)
        if good:
            yield good
