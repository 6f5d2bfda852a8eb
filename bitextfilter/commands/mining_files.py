"""The files of sentences that ``bitext-align`` mines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bitextfilter.commands.document_files import without_tab
from bitextfilter.commands.frame import Run
from bitextfilter.io.rows import Row, RowReader, TextColumn, row_windows

__all__ = ["good_rows", "open_readers"]


def open_readers(run: Run, paths: Sequence[str]) -> list[RowReader]:
    """Open files of sentences as the row options say; they share one file of rejects."""
    settings, readers = run.row_settings, []
    for path in paths:
        run.row_settings = replace(settings, input=path)
        readers.append(run.rows(TextColumn()))
        settings = replace(settings, rejects=None)
    return readers


def good_rows(run: Run, reader: RowReader) -> Iterator[list[Row]]:
    """Yield the good rows of a file of sentences, window by window; the others are rejected."""
    for window in row_windows(reader, run.common.batch_size):
        good = []
        for row in window:
            run.counts["rows"] += 1
            row = without_tab(row, reader.name)
            if isinstance(row, Row):
                good.append(row)
            elif run.row_settings.reject:
                run.reject(row._replace(reason=f"{reader.name}: {row.reason}"))
            else:
                run.reject(row)
        yield good
