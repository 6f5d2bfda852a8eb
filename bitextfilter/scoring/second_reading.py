"""Rows that are read twice: for the background sample of the input, and then for their scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from bitextfilter.io.given_vectors import GivenRows
from bitextfilter.io.rows import BadRow, Columns, Row, RowReader
from bitextfilter.io.spill import Scratch
from bitextfilter.scoring.background import BackgroundSample, InputBackground
from bitextfilter.scoring.score_columns import GivenColumns, VectorColumns
from bitextfilter.scoring.scored_rows import sides


class Sampled(NamedTuple):
    """The background sample of an input, and the way in which rows get into it."""

    background: InputBackground
    add: Callable[[Sequence[Row]], None]


def sampled_texts(columns: VectorColumns, files: tuple[Scratch, Scratch]) -> Sampled:
    """Return the sample of vectors that a model makes; they wait in *files*, of either side."""
    model = columns.model
    background = InputBackground(model.encode_side, model.encoder.dim, files)
    return Sampled(background, lambda rows: background.add(*sides(rows)))


def sampled_vectors(
    columns: GivenColumns, reader: RowReader, files: tuple[Scratch, Scratch]
) -> Sampled:
    """Return the sample of vectors that are given for the rows of *reader*."""
    background = InputBackground(None, columns.files[0].dim, files)
    given = GivenRows(reader, columns.files)

    def add(rows: Sequence[Row]) -> None:
        places = given.places(rows)
        background.add_given(sides(rows), [file[places] for file in columns.files])

    return Sampled(background, add)


def read_first(
    reader: RowReader,
    windows: Iterable[Sequence[Row | BadRow]],
    sampled: Sampled,
    spool: Scratch,
    columns: Columns | None,
) -> tuple[RowReader, BackgroundSample]:
    """Read all windows of a reader with these *columns*, and keep the rows in *spool*.

    Returns a reader of the same rows, and the background sample of them.
    """
    spool.write(reader.first_line())
    for window in windows:
        sampled.add([row for row in window if isinstance(row, Row)])
        spool.write(b"".join(row.line + row.ending for row in window))
    again = RowReader(spool.stream(), reader.name, columns, reader.header is not None)
    return again, sampled.background.sample()
