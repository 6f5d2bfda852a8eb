"""``bitext-train-combiner``: learn to make one score of several."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.frame.command import command, needs_none_of
from bitextfilter.commands.frame.options import as_column, json_flag, option, row_options
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.training import TrainingOptions, training_settings
from bitextfilter.evaluation.result import Bootstrap
from bitextfilter.io.rows import Row
from bitextfilter.settings import from_mapping

if TYPE_CHECKING:
    from bitextfilter.training.combiner import DirectedColumns, GradedScores

_FOREST = "isolation-forest"
_KINDS = ("logistic", "monotone", _FOREST)


def _as_scale(value: str) -> tuple[float, float]:
    """Read ``0,100``: the ends of the labels' scale, the worst first."""
    try:
        low, high = map(float, value.split(","))
    except ValueError:
        low = high = 0.0
    if not (isfinite(low) and isfinite(high) and low < high):
        raise click.BadParameter(f"{value!r} is not two numbers that rise, such as 0,100")
    return low, high


@dataclass(frozen=True)
class _Settings:
    """The columns, the labels, and the combiner."""

    labels: int | str | None = option(
        "--labels COLUMN",
        "Column of the labels: a number (-1 the last) or a name; an isolation forest needs none.",
        as_column,
    )
    columns: tuple[int | str, ...] = option(
        "--column COLUMN", "A score whose direction is learnt; may be repeated.", as_column,
        multiple=True,
    )  # fmt: skip
    higher: tuple[int | str, ...] = option(
        "--higher COLUMN", "A score of which more is better.", as_column, multiple=True
    )
    lower: tuple[int | str, ...] = option(
        "--lower COLUMN", "A score of which less is better.", as_column, multiple=True
    )
    kind: str | None = option(
        "--kind",
        "A weighted sum, trees that keep directions, or how usual a row is  [default: logistic]",
        _KINDS,
    )
    clean_label: str = option(
        "--clean-label LABEL", "Word of good rows; any other word is bad.", default="clean"
    )
    scale: tuple[float, float] | None = option(
        "--scale LOW,HIGH", "Ends of labels that are numbers.  [default: 0,1]", _as_scale
    )
    target: str = option("-o --output FILE", "Write the combiner to FILE.", required=True)
    as_json: bool = json_flag()

    @property
    def names(self) -> tuple[int | str, ...]:
        """The columns of scores, those with a direction first."""
        return (*self.higher, *self.lower, *self.columns)

    @property
    def directions(self) -> tuple[int, ...]:
        """The direction of each."""
        return (*[1] * len(self.higher), *[-1] * len(self.lower), *[0] * len(self.columns))

    def check(self, kind: str) -> None:
        """Raise UsageError for columns that are none, or stand twice, and what *kind* lacks."""
        if kind == _FOREST and (self.higher or self.lower):
            raise click.UsageError(f"{_FOREST} knows no direction: --column names its scores")
        if kind != _FOREST and self.labels is None:
            raise click.UsageError(f"--labels COLUMN is needed, but for --kind {_FOREST}")
        if self.labels is None:
            needs_none_of(("clean_label", "scale", "resamples", "seed"), "is for --labels")
        if not self.names:
            raise click.UsageError("name the scores by --column, --higher or --lower")
        every = (self.labels, *self.names)
        if double := next((one for one in every if every.count(one) > 1), None):
            raise click.UsageError(f"column {double} stands twice")


@command(
    "bitext-train-combiner",
    _Settings,
    Bootstrap,
    training_settings("training.combiner.CombinerSettings", seed=""),
    row_options("input header errors files"),
    uses="",
)
def main(run: Run, settings: _Settings, bootstrap: Bootstrap, training: TrainingOptions) -> None:
    """Learn to make one score, 0 to 1, of several, from labelled rows or without labels.

    Rows come from bitext-score, bitext-filter or any other tool: columns of scores, and one of
    labels: words, of which --clean-label is good; or numbers, 0 for bad to 1 for good, or of
    --scale. bitext-combine applies the combiner, a JSON file.

        logistic          weighted sum of the scores, by logistic regression with a ridge
        monotone          boosted trees that rise (or fall) with each score, for many labels
        isolation-forest  how usual a row is among those of the training, which need no labels

    A score of --higher never counts the other way round; the direction of --column is learnt. An
    empty score is missing: if some rows of the training lack it, the combiner knows what that
    means. An isolation forest is no judge of quality: rows unlike the others score low.

    Writes a table: AUC of each score alone, and AUC and log-loss (natural logarithm) of the
    combined one by cross-validation, with the ends of 95 % intervals. At least 10 good and 10 bad
    rows are needed. Memory grows with the rows: some 100 bytes a score.

    Example:

        bitext-train-combiner --header --labels label --higher mlp --higher qe -o c.json < rows.tsv
        bitext-train-combiner --labels 3 --column 4 --lower 5 --kind monotone -o c.json rows.tsv
        bitext-train-combiner --kind isolation-forest --column 3 --column 4 -o c.json rows.tsv
    """
    from bitextfilter.training.combiner import CombinerSettings, TrainedCombiner

    kind = {} if settings.kind is None else {"kind": settings.kind}
    chosen = from_mapping(CombinerSettings, {**training.values(), **kind})
    settings.check(chosen.kind)
    target, output = run.output(settings.target), run.output("-")
    rows, columns = _read(run, settings)
    trained = TrainedCombiner(rows, columns, chosen, bootstrap)
    if rows.labelled:
        run.counts["good"] = int((rows.grades >= 0.5).sum())
    run.facts.update(kind=chosen.kind, seed=bootstrap.seed)
    target.write(trained.combiner.to_json())
    output.write(trained.result().text(settings.as_json))


def _read(run: Run, settings: _Settings) -> tuple[GradedScores, DirectedColumns]:
    """Read the labelled rows; the columns are called as the header has them."""
    import numpy as np

    from bitextfilter.io.columns import NumberColumns
    from bitextfilter.training.combiner import DirectedColumns, GradedScores, Grader

    columns = NumberColumns(numbers=settings.names, label=settings.labels)
    labelled = settings.labels is not None
    grader = Grader(settings.clean_label, settings.scale)
    rows = run.rows(columns)
    names: tuple[int | str, ...] = settings.names
    if rows.header is not None:
        wanted = columns.wanted()[-len(names) :]
        names = tuple(rows.column_name(rows.place(each)) for each in wanted)
    parts, grades = [np.zeros((0, len(names)))], []

    def fault(row: Row) -> tuple[str, str] | None:
        return columns.fault(row) or (grader.fault(row.texts[0]) if labelled else None)

    for window in run.windows(rows, fault=fault):
        good = [row for row in window if isinstance(row, Row)]
        parts.append(columns.values(good))
        grades += [grader.grade(row.texts[0]) if labelled else np.nan for row in good]
    read = GradedScores(np.concatenate(parts), np.array(grades))
    read.check(names, ", ".join(run.row_settings.names))
    return read, DirectedColumns(names, settings.directions)
