"""The languages of two columns, by their first rows: told, or checked, while rows stream by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from bitextfilter.errors import SettingsError
from bitextfilter.io.rows import BadRow, Row
from bitextfilter.models.folders import find_model, read_config, split_width
from bitextfilter.scoring.scored_rows import sides
from bitextfilter.text.input_checks import swapped_columns
from bitextfilter.text.language import check_columns, told_languages
from bitextfilter.text.processor import TextProcessor

CHECKED_ROWS = 1000
"""Rows that the languages of the columns are estimated on."""

Window = list[Row | BadRow]


def first_rows(windows: Iterator[Window]) -> tuple[Iterator[Window], Window]:
    """Return the same windows, and their first ``CHECKED_ROWS`` rows."""
    read: list[Window] = []
    rows: Window = []
    for window in windows:
        read.append(window)
        rows += window
        if len(rows) >= CHECKED_ROWS:
            break
    return chain(read, windows), rows[:CHECKED_ROWS]


def languages_of_rows(model: str, rows: Iterable[Row | BadRow]) -> tuple[str, str]:
    """Return the two languages of rows, by a model of more, which is given by its name.

    Raises SettingsError where the text does not tell.
    """
    folder = find_model(split_width(model)[0])
    processor = TextProcessor.load(folder, read_config(folder))
    told = told_languages(*sides([row for row in rows if isinstance(row, Row)]), processor)
    if told is None:
        raise SettingsError(
            f"{model} is a model of {len(processor.known)} languages, and the rows do not tell"
            " which two they are in; give --languages SOURCE,TARGET"
        )
    return told


def checked_windows(
    windows: Iterable[Window], processor: TextProcessor, size: int, warn: Callable[[str], None]
) -> Iterator[Window]:
    """Yield windows of *size* rows; *warn* early of columns in other languages."""
    sample: list[Row] = []
    checked = False

    def check(rows: Sequence[Row]) -> None:
        texts = sides(rows)
        warning = check_columns(*texts, processor) or swapped_columns(*texts, processor.languages)
        if warning:
            warn(f"{warning} (--scol and --tcol choose columns)")

    for window in windows:
        if not checked:
            sample += [row for row in window if isinstance(row, Row)][: CHECKED_ROWS - len(sample)]
            checked = len(sample) == CHECKED_ROWS or len(window) < size
            if checked:
                check(sample)
        yield window
    if not checked:
        check(sample)
