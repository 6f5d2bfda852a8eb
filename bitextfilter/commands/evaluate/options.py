"""Options, columns and rows that subcommands of bitext-evaluate and bitext-paraphrase share."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from itertools import chain
from math import inf, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import (
    as_column,
    json_flag,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.evaluation.result import Result
from bitextfilter.io.files import stream_name
from bitextfilter.io.rows import Row, WantedColumn, number_of, optional
from bitextfilter.settings import none_of

if TYPE_CHECKING:
    from bitextfilter.evaluation.filtering import LabelledRows
    from bitextfilter.evaluation.thresholds import Origin


RATED = row_options("output texts errors", scol={"default": 2}, tcol={"default": 3})
"""Options of files of a rating or label and then two sentences; the files are arguments."""


@dataclass(frozen=True)
class _Form:
    as_json: bool = json_flag()


def measurement(
    name: str, settings: Any, *groups: Any, uses: str = "batch_size threads device"
) -> Callable[[Callable[..., Result]], click.Command]:
    """Make a subcommand, as ``command`` does, of a function whose result is written.

    It is a table, or with --json one object. The output is opened before the function runs.
    """

    def decorate(function: Callable[..., Result]) -> click.Command:
        @wraps(function)
        def main(run: Run, settings: Any, form: _Form, *others: Any) -> None:
            output = run.output()
            output.write(function(run, settings, *others).text(form.as_json))

        return command(name, settings, _Form, *groups, uses=uses)(main)

    return decorate


@dataclass(frozen=True)
class ScoreColumn:
    """The column of the score, and the place of rows without one: ``lowest`` or ``skip``."""

    column: int | str = option("--column COLUMN", "Column of the score.", as_column, -1)
    missing: str = option(
        "--missing", "Rows without a score: the lowest, or left out.", ["lowest", "skip"], "lowest"
    )


@dataclass(frozen=True)
class Labelling(ScoreColumn):
    """The columns of label, score and verdict, and the meaning of their values."""

    labels: int | str | None = option(
        "--labels COLUMN", "Column of the labels: a number (-1 the last) or a name.", as_column
    )
    verdict: int | str | None = option(
        "--verdict COLUMN", "Column of a verdict: all rows but keep count as the lowest.", as_column
    )
    clean_label: str = option(
        "--clean-label LABEL", "Label of clean rows; any other is a kind of noise.", default="clean"
    )


Languages = tuple[str, ...]
"""One language for all texts, or one for each of two kinds of text."""


def _languages(value: str) -> Languages:
    """Parse ``en``, or ``de,en``."""
    names = tuple(value.split(","))
    if len(names) > 2 or not all(re.fullmatch("[A-Za-z0-9-]+", name) for name in names):
        raise click.BadParameter("expected a language of the model such as en, or two: de,en")
    return names


def language_option(first: str, second: str) -> Any:
    """Return the field of --language for two kinds of text, named as in its help."""
    text = f"Language of all text, or of the {first} and of the {second}"
    return option("--language LANG[,LANG]", f"{text}  [default: both of the model]", _languages)


def signed(chosen: Languages | None) -> dict[str, str]:
    """Return the languages as a fact of a signature; none where none are chosen."""
    return {"language": ",".join(chosen)} if chosen else {}


def check_measure(name: str | None) -> None:
    """Raise UsageError for an unknown measure."""
    from bitextfilter.scoring.measures import MEASURES

    if name is not None and name not in MEASURES:
        raise click.UsageError(f"similarity {none_of(name, MEASURES)}")


def read_labelled(
    run: Run, file: str, where: Labelling, sides: tuple[str, ...] = ()
) -> LabelledRows:
    """Read the labelled rows of a file, and count the words of their *sides*.

    A row without a score is the lowest, as is one with another verdict than ``keep``; or it is
    left out.
    """
    from bitextfilter.evaluation.filtering import LabelledRows

    first = (
        WantedColumn("score", "--column", where.column),
        *optional("label", "--labels", where.labels),
        *optional("verdict", "--verdict", where.verdict),
    )
    columns = replace(run.row_settings.columns, blank=True, first=first, sides=sides)
    collected = LabelledRows(where.clean_label)
    windows = run.good_windows(columns, file, columns.blank_fault("label"))
    run.counts["without a score"] = 0
    for row in chain.from_iterable(windows):
        score = number_of(row.texts[0].encode())
        if where.verdict is not None and row.texts[2] != "keep":
            score = -inf
        known = known_score(run, row, score, where.missing)
        if known is not None:
            collected.add(known, row.texts[1], row.texts[len(first) :])
    return collected


def known_score(run: Run, row: Row, score: float, missing: str) -> float | None:
    """Return the score of a row; for NaN, minus infinity, or None to *skip* the row."""
    if not isnan(score):
        return score
    run.counts["without a score"] += 1
    if missing == "skip":
        run.drop(row, "no score")
        return None
    return -inf


def origin(run: Run, file: str, measure: str | None = None, model: str | None = None) -> Origin:
    """Return the origin of estimates on *file*."""
    from bitextfilter.evaluation.thresholds import Origin
    from bitextfilter.scoring.thresholds import printable_line

    name = printable_line(Path(stream_name(file)).name)
    return Origin(file, name, printable_line(run.command_line), measure, model)
