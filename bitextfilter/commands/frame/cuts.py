"""Recommended cuts: checked to be of the model that made the scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from bitextfilter.errors import DeviceError, InputError
from bitextfilter.io.rows import BadRow, Row, RowParser, RowReader, WantedColumn, number_of

if TYPE_CHECKING:
    from bitextfilter.commands.frame.run import Run
    from bitextfilter.scoring.model import Model
    from bitextfilter.scoring.row_checks import ScoredText

_REMEDY = (
    "--model names the model of the scores, --scol and --tcol the columns of their texts;"
    " or give a number for the cut"
)


def rows_of(run: Run, reader: RowReader, lines: Sequence[bytes], *more: WantedColumn) -> list[Row]:
    """Return the good rows among the first lines of a reader: source, target, and *more* columns.

    Rows that lack one are left out.
    """
    wanted = (*run.row_settings.columns.wanted(), *more)
    parser = RowParser(reader.name, wanted, [reader.place(column) for column in wanted])
    first = 1 if reader.header is None else 2
    parsed = (parser.row(number, line) for number, line in enumerate(lines, first))
    return [row for row in parsed if isinstance(row, Row)]


@dataclass(frozen=True)
class CutCheck:
    """A check of first rows: their scores must be those of the model whose cut is taken."""

    model: str
    measure: str
    column: int | str
    """Of the score."""

    def __call__(self, run: Run, reader: RowReader, lines: list[bytes]) -> None:
        """Score some of the rows again.

        Raises InputError where the scores are others. Warns where they may be: rows have no texts,
        or margins are by other neighbours. Those of mined pairs depend on all sentences, and are
        not checked.
        """
        from bitextfilter.scoring.row_checks import ScoredText, can_be_checked

        score = WantedColumn("score", "--column", self.column)
        rows = [
            ScoredText(row.number, *row.texts[:3])
            for row in rows_of(run, reader, lines, score)
            if isfinite(number_of(row.texts[2].encode()))
        ]
        if not lines or not can_be_checked(self.measure):
            return
        if not rows:
            run.warn(f"no row has texts, so the scores may be of another model than {self.model}")
            return
        try:
            model = run.load(self.model, run.common.device, 1)
        except DeviceError as error:
            run.warn(f"the scores may be of another model than {self.model}: {error}")
            return
        if can_be_checked(self.measure, model):
            self._compare(run, reader.name, model, rows)

    def _compare(self, run: Run, name: str, model: Model, rows: Sequence[ScoredText]) -> None:
        from bitextfilter.scoring.row_checks import (
            by_neighbours,
            by_others,
            column_doubt,
            other_scores,
            sides,
        )

        if not (others := other_scores(model, self.measure, rows)):
            return
        row, own = others[0]
        message = f"the score is {row.score}, but {own:.4f} by {self.measure} of {self.model}"
        if by_neighbours(self.measure):
            run.warn(f"{by_others(self.measure, self.model)} (line {row.number}: {message})")
            return
        if doubt := column_doubt(*sides(rows), model.processor):
            message += f" ({doubt})"
        file, line = run.place_of(row.number, name)
        raise InputError(message, file=file, line=line, remedy=_REMEDY)


def name_languages(run: Run, rows: Sequence[Row | BadRow]) -> None:
    """Let first rows name the two languages of the model of a run, which has more.

    Raises SettingsError where the text does not tell.
    """
    from bitextfilter.models.folders import naming_pair
    from bitextfilter.scoring.row_checks import languages_of_rows

    assert run.model_name is not None, "the command has ModelName"
    told = languages_of_rows(run.model_name, rows)
    run.note(f"the columns look like {told[0]} and {told[1]} (--languages chooses others)")
    run.model_name = naming_pair(run.model_name, told)
