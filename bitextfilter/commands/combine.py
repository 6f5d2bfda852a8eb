"""``bitext-combine``: one score of several, by a combiner."""

from __future__ import annotations

from dataclasses import dataclass

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import (
    DIGITS,
    argument,
    as_column,
    needs_own_file,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.io.files import read_small
from bitextfilter.io.rows import Row


@dataclass(frozen=True)
class _Settings:
    """The combiner, and the columns."""

    combiner: str = argument("COMBINER")
    columns: tuple[int | str, ...] = option(
        "--column COLUMN",
        "Column of a score, once for each of the combiner, in its order.  [default: its names]",
        as_column,
        multiple=True,
    )
    name: str = option("--name NAME", "Name of the new column.", default="combined")
    digits: int = option("--digits", "Decimals.", DIGITS, 4)


@command(
    "bitext-combine",
    _Settings,
    row_options("input output header errors files"),
    uses="batch_size",
)
def main(run: Run, settings: _Settings) -> None:
    """Append one score made of several, by a COMBINER of bitext-train-combiner.

    A line for each input line, in order: the row, and the probability that it is good, 0 to 1,
    higher is better; by an isolation forest, how usual it is. The columns are those of the
    training: names of the header, or numbers.

    An empty score is missing. A row without a score that all rows of the training had gets an
    empty one, as does a rejected row; the summary counts both. A row's result depends on its scores
    alone. Memory is bounded by --batch-size.

    Example:

        bitext-combine combiner.json --header < scored.tsv > combined.tsv
        bitext-combine combiner.json --column 3 --column 5 scored.tsv.gz | bitext-rank
    """
    from bitextfilter.io.columns import NumberColumns
    from bitextfilter.scoring.score_combiner import combiner_of

    path, files = settings.combiner, run.row_settings
    needs_own_file("COMBINER", path, (*files.inputs, files.output, files.rejects))
    combiner = combiner_of(read_small(run.input(path), path), path)
    trained = tuple(column.name for column in combiner.columns)
    if settings.columns and len(settings.columns) != len(trained):
        named = ", ".join(map(str, trained))
        raise click.UsageError(f"--column is given {len(settings.columns)} times, not for {named}")
    columns = NumberColumns(numbers=settings.columns or trained)
    rows, output = run.rows(columns), run.output()
    run.facts.update(combiner=path, kind=combiner.part.kind)
    run.counts["without a score"] = 0
    output.write(rows.first_line([settings.name]))
    for window in run.windows(rows, fault=columns.fault):
        values = combiner(columns.values([row for row in window if isinstance(row, Row)])).tolist()
        scores = ["" if value != value else f"{value:.{settings.digits}f}" for value in values]
        run.counts["without a score"] += scores.count("")
        cells = iter(scores)
        for row in window:
            cell = next(cells) if isinstance(row, Row) else ""
            output.write(row.line + b"\t" + cell.encode() + row.ending)
