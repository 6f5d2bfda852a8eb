"""``bitext-evaluate filtering``: how well scores tell clean rows from noise, and where to cut."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bitextfilter.commands.amounts import score
from bitextfilter.commands.evaluations.labelled import read_labelled
from bitextfilter.commands.evaluations.settings import (
    Labelling,
    Suggesting,
    bootstrap_options,
    check_measure,
    labelling_options,
    suggestion_options,
)
from bitextfilter.commands.evaluations.suggestion import suggest
from bitextfilter.commands.frame import Run, command, model_options, row_options

if TYPE_CHECKING:
    from bitextfilter.evaluation.bootstrap import Bootstrap
    from bitextfilter.evaluation.result import Result

__all__ = ["filtering"]

T = TypeVar("T")


@command(
    "filtering",
    labelling_options(),
    bootstrap_options(noise=True),
    suggestion_options(),
    [option for option in row_options(drops=True) if option.name != "input"],
    model_options(),
)
@click.argument("file", default="-")
@click.option(
    "--threshold",
    type=score,
    metavar="T",
    help="Also measure what keeping the rows that score T or more does.",
)
@click.option(
    "--suggest-threshold",
    is_flag=True,
    help="Estimate what cuts keep; without --labels, of noise made from the clean pairs in FILE.",
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object instead of a table.")
def filtering(run: Run, file: str, as_json: bool, **options: Any) -> None:
    """Measure how well scores tell clean rows from noise, or suggest where to cut.

    FILE (default: stdin) has a label and a score in each row. Clean rows are held against all
    noise together, then against each kind:

        auc                how often a clean row scores higher than a noisy one
        average_precision  mean of the precision at all cuts, weighted by the recall gained
        precision, recall  of keeping clean rows by --threshold; f1 is their harmonic mean
        removed            part of the noise that --threshold removes

    A line for each, tab-separated: measure, kind, value (0 to 1), low and high end of its 95 %
    interval, clean rows, noisy rows, signature. A row without a score counts as below all.

    --suggest-threshold writes a line a cut: threshold, then precision, recall, F1 and the parts
    of rows and of words kept, each with its interval, and at the cut suggested a signature.
    Without --labels, FILE has clean pairs, in the order of their text: half of them are made
    noise, and --model scores all. Memory holds 24 bytes a row.

    Example:

        bitext-score < labelled.tsv | bitext-evaluate filtering --labels 3 --threshold 0.05
        bitext-evaluate filtering --suggest-threshold --precision 0.99 clean.tsv
    """
    from bitextfilter.evaluation.bootstrap import Bootstrap

    where, wishes = _settings(options)
    run.row_settings = dataclasses.replace(run.row_settings, input=file)
    output = run.output()
    bootstrap = Bootstrap(options["resamples"], options["seed"])
    if options["suggest_threshold"]:
        result = suggest(run, where, wishes, bootstrap)
    else:
        result = _measure(run, where, options["threshold"], bootstrap)
    output.write(result.text(as_json))


def _settings(options: dict[str, Any]) -> tuple[Labelling, Suggesting]:
    """Return the settings that the options make. Raises UsageError if they make no sense."""
    where, wishes = _of(Labelling, options), _of(Suggesting, options)
    if options["suggest_threshold"]:
        if options["threshold"] is not None:
            raise click.UsageError("--threshold and --suggest-threshold exclude each other")
        if wishes.precision is not None and wishes.recall is not None:
            raise click.UsageError("--precision and --recall exclude each other")
        if where.labels is None and where.verdict is not None:
            raise click.UsageError("--verdict needs --labels COLUMN")
        if where.labels is not None and wishes.similarity is not None:
            raise click.UsageError("--labels and --similarity exclude each other")
        check_measure(wishes.similarity)
    else:
        for name, value in vars(wishes).items():
            if value is not None:
                raise click.UsageError(f"--{name.replace('_', '-')} needs --suggest-threshold")
        if where.labels is None:
            raise click.UsageError("--labels COLUMN must say what the rows are")
    return where, wishes


def _of(kind: type[T], options: dict[str, Any]) -> T:
    """Make settings of a dataclass of the options called as its fields."""
    return kind(**{name: options[name] for name in kind.__annotations__})


def _measure(run: Run, where: Labelling, threshold: float | None, bootstrap: Bootstrap) -> Result:
    """Return the measures of the labelled rows."""
    from bitextfilter.evaluation.filtering import RANKING, FilteringSettings, measure_filtering
    from bitextfilter.evaluation.result import Result, signature

    file = run.row_settings.input
    labelled = read_labelled(run, where).labelled(file)
    records = []
    for result in measure_filtering(labelled, FilteringSettings(threshold, bootstrap)):
        facts: dict[str, str | float] = {"clean": result.clean, "kind": result.kind}
        if threshold is not None and result.measure not in RANKING:
            facts["threshold"] = threshold
        line = signature(
            f"{result.measure} = {result.estimate.value:.4f}",
            n=result.clean + result.noise,
            **facts,
            **bootstrap.facts,
        )
        records.append(
            {
                "measure": result.measure,
                "kind": result.kind,
                **result.estimate._asdict(),
                "clean": result.clean,
                "noise": result.noise,
                "signature": line,
            }
        )
    columns = dict.fromkeys(records[0], ".4f")
    return Result("filtering", columns, {"results": records}, {"file": file})
