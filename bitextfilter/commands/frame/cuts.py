"""Cuts of rows in an order: within a budget, and at a score that a model names.

The model that names a score is checked to be the one that made the scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import compress
from math import isfinite
from typing import TYPE_CHECKING, BinaryIO

import click

from bitextfilter.commands.frame.first_rows import rows_of
from bitextfilter.commands.frame.options import as_amount, as_fraction, option
from bitextfilter.errors import DeviceError, InputError
from bitextfilter.io.files import without_ending
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import SIDES, Row, WantedColumn, number_of
from bitextfilter.scoring.measures import CUT_MEASURES

if TYPE_CHECKING:
    from bitextfilter.commands.frame.run import Run
    from bitextfilter.io.ranking import Ranked, RankedRows, Selection, SelectionSettings
    from bitextfilter.scoring.model import Model
    from bitextfilter.scoring.row_checks import ScoredText
    from bitextfilter.text.words import Counter

_REMEDY = (
    "--model names the model of the scores, --scol and --tcol the columns of their texts;"
    " or give a number for the cut"
)


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


@dataclass(frozen=True)
class CutMeasure:
    """The measure of scores, for a cut by name."""

    similarity: str | None = option(
        "--similarity",
        "Measure of the score, for a cut by name  [default: by header, or bitext-score's]",
        CUT_MEASURES,
    )


Sizes = Callable[[Sequence[Sequence[str]]], list[int]]
"""Returns the sizes of rows, given the texts of all rows for each side."""


@dataclass(frozen=True)
class Budget:
    """The limits of a selection."""

    top_lines: int | None = option(
        "--top-lines N", "Keep at most N rows: 500, 10k, 2.5M.", as_amount
    )
    top_words: int | None = option(
        "--top-words N", "Keep rows of at most N words in total.", as_amount
    )
    count_side: str | None = option(
        "--count-side", "The side of --top-words  [default: target]", ["source", "target", "both"]
    )
    count: str | None = option(
        "--count",
        "The unit of --top-words; subwords are by --model  [default: words]",
        ["words", "characters", "subwords"],
    )
    top_fraction: Fraction | None = option(
        "--top-fraction F", "Keep at most this share, 0 to 1.", as_fraction
    )

    def __post_init__(self) -> None:
        """Refuse options that would do nothing."""
        if self.top_words is None and (self.count or self.count_side):
            raise click.UsageError("--count and --count-side are for --top-words")

    @property
    def unit(self) -> str | None:
        """The unit of --top-words, if it is given."""
        return None if self.top_words is None else self.count or "words"

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides that are counted."""
        side = self.count_side or "target"
        return SIDES if side == "both" else (side,) if self.unit else ()

    def choice(self, least: float | None) -> SelectionSettings:
        """Return the choice of rows, with the lowest score to keep."""
        from bitextfilter.io.ranking import SelectionSettings

        return SelectionSettings(self.top_lines, self.top_words, self.top_fraction, least)

    def sizes(self, model: Callable[[], Model]) -> Sizes | None:
        """Return the function that counts the unit in rows, on the counted sides; None for no unit.

        *model* loads the model that has the subwords.
        """
        from bitextfilter.text.words import count_characters, count_words

        counters: list[Counter]
        if self.unit is None:
            return None
        if self.unit == "subwords":
            loaded = model()
            languages = [loaded.languages[SIDES.index(side)] for side in self.sides]
            counters = [partial(loaded.processor.lengths, language=each) for each in languages]
        else:
            counters = [count_words if self.unit == "words" else count_characters]
            counters *= len(self.sides)

        def sizes(texts: Sequence[Sequence[str]]) -> list[int]:
            sides = [count(side) for count, side in zip(counters, texts, strict=True)]
            return list(map(sum, zip(*sides, strict=True)))

        return sizes

    def tell(self, run: Run, ranked: Ranked, selection: Selection) -> None:
        """Add the kept rows to summary and manifest."""
        run.counts.update(kept=selection.count)
        run.counts["dropped"] += 0 if run.rejects else len(ranked) - selection.count
        run.facts["yield"] = _share(selection.count, len(ranked))
        if self.unit:
            run.counts[self.unit] = selection.size
            run.facts[f"{self.unit}_yield"] = _share(selection.size, ranked.size())


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 6) if whole else None


def write_kept(
    run: Run,
    output: BinaryIO,
    parts: Iterable[RankedRows],
    dropped: Callable[[int, int], tuple[int, str]],
) -> None:
    """Write the rows that are kept, and the others to the rejects file, if there is one.

    *dropped* returns the line and the reason of another row, by its index and rank.
    """
    for part in parts:
        output.write(b"".join(compress(part.lines, (part.decisions == 0).tolist())))
        each = (part.indices.tolist(), part.ranks.tolist(), part.decisions.tolist(), part.lines)
        for index, rank, verdict, line in (
            zip(*each, strict=True) if run.rejects is not None else ()
        ):
            if verdict:
                number, reason = dropped(index, rank)
                run.drop(Row(number, without_ending(line), b"", ()), reason)
