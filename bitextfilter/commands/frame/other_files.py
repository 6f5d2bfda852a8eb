"""Files whose texts are looked for in rows, such as test sets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bitextfilter.commands.frame.run import Run
from bitextfilter.io.files import is_table, open_input, open_rows
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import Columns, TextColumn

if TYPE_CHECKING:
    from bitextfilter.corpus.other_texts import OtherTexts

_MEND = "mend the line, or leave it out"


def read_others(run: Run, known: OtherTexts, path: str, side: str | None) -> None:
    """Read a file whose rows are dropped; with *side*, its lines are texts of one side."""
    files, names = run.row_settings, known.columns if side is None else ()
    columns: Columns | TextColumn = TextColumn(blank=True)
    if names:
        columns = replace(files.columns, blank=True, sides=tuple(names))
    header = side is None and (is_table(path) or (bool(names) and files.header))
    with (open_rows if side is None else open_input)(path) as stream:
        reader = RowReader(stream, path, columns, header, _MEND)
        if reader.doubt:
            run.warn(reader.doubt)
        known.read(reader, side)
