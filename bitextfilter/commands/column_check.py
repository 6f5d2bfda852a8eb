"""A warning where the columns do not fit the languages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bitextfilter.commands.run import Run
from bitextfilter.io.rows import BadRow, Row

if TYPE_CHECKING:
    from bitextfilter.text.processor import TextProcessor

__all__ = ["with_column_check"]

CHECKED_ROWS = 1000
"""How many good rows the languages of the columns are judged by."""


def with_column_check(
    run: Run, processor: TextProcessor, windows: Iterator[list[Row | BadRow]]
) -> Iterator[list[Row | BadRow]]:
    """Pass windows on; warn, before much is scored, where the columns do not fit the languages."""
    from bitextfilter.text.language import check_columns

    sample: list[Row] = []
    checked = False

    def check() -> None:
        sources, targets = [row.source for row in sample], [row.target for row in sample]
        if warning := check_columns(sources, targets, processor):
            run.warn(f"{warning} (--scol and --tcol choose columns)")

    for window in windows:
        if not checked:
            sample += [row for row in window if isinstance(row, Row)][: CHECKED_ROWS - len(sample)]
            checked = len(sample) == CHECKED_ROWS or len(window) < run.common.batch_size
            if checked:
                check()
        yield window
    if not checked:
        check()
