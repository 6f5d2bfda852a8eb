"""``bitext-evaluate sts``: how well scores go with what people say of sentence pairs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import click

from bitextfilter.commands.evaluate.options import (
    bootstrap_options,
    judged_row_options,
    language_option,
    signed,
)
from bitextfilter.commands.evaluate.rows import Judging, ModelScorer, read_judged
from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import column, model_options
from bitextfilter.commands.frame.run import Run

if TYPE_CHECKING:
    from bitextfilter.evaluation.result import Record, Result
    from bitextfilter.evaluation.sts import Agreement


@dataclasses.dataclass(frozen=True)
class _Found:
    """The figures of a set, or of several; a set has a file, and grades if asked for."""

    agreement: Agreement
    signature: str
    file: str | None = None
    grades: Sequence[Record] | None = None


@command(
    "sts",
    language_option("source", "target"),
    bootstrap_options(),
    judged_row_options(),
    model_options(),
)
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option(
    "--human",
    type=column,
    default=1,
    show_default=True,
    metavar="COLUMN",
    help="Column of the human score.",
)
@click.option(
    "--column",
    type=column,
    metavar="COLUMN",
    help="Column of a score to hold against it; then no model is loaded.",
)
@click.option(
    "--similarity",
    metavar="NAME",
    help="What the model scores with, as bitext-score  [default: cosine]",
)
@click.option("--grades", is_flag=True, help="Write the mean score of each human grade instead.")
@click.option(
    "--grade-step",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    help="Round human scores to multiples of S  [default: 1, or not where up to 10 are distinct]",
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object instead of a table.")
def sts(run: Run, files: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Correlate scores of sentence pairs with human scores: similarity, or quality.

    Each FILE (default: stdin) is a set of pairs with a human score. Writes a line for each set,
    tab-separated: set, how many sets, pairs, pairs skipped for want of a score, Pearson's and
    Spearman's correlation times 100, each with the ends of its 95 % interval, signature. Then,
    where sets share their name up to the first dot, such as sts2012.OnWN.tsv, the unweighted
    mean of those; and that of all sets. A correlation with what is constant is - (null in JSON).

    --grades writes a line for each human grade of each set: set, grade, pairs, mean and standard
    deviation of the score, the p-value of Welch's t-test against the grade below, whether they
    differ at .01, signature. Memory holds 16 bytes a pair, and what the intervals take.

    Example:

        bitext-evaluate sts --language en sts2012.*.tsv
        bitext-evaluate sts --scol 3 --tcol 4 quality.en-de.tsv
        bitext-evaluate sts --column -1 scored.tsv
    """
    where = Judging(**{name: options[name] for name in Judging.__annotations__})
    if options["grade_step"] is not None and not options["grades"]:
        raise click.UsageError("--grade-step needs --grades")
    files = files or ("-",)
    if files.count("-") > 1:
        raise click.UsageError("stdin is asked for twice")
    output = run.output()
    found = _measured(run, files, where, options)
    result = _grades(found) if options["grades"] and not as_json else _result(found)
    output.write(result.text(as_json))


def _measured(
    run: Run, files: Sequence[str], where: Judging, options: dict[str, Any]
) -> list[_Found]:
    """Read, score and measure all sets: a result for each, then their means."""
    from bitextfilter.evaluation.filtering import Bootstrap
    from bitextfilter.evaluation.result import signature
    from bitextfilter.evaluation.sts import grade_means, measure_agreement, scipy_statistics

    graded = options["grades"]
    if graded:
        scipy_statistics()
    scorer, facts = _scorer(run, where)
    sets = [read_judged(run, file, where, scorer) for file in files]
    for judged in sets:
        if judged.constant is not None:
            run.warn(f"{judged.name}: all {judged.constant} are the same: nothing correlates")
    bootstrap = Bootstrap(options["resamples"], options["seed"])
    facts |= bootstrap.facts
    agreements = measure_agreement(sets, bootstrap)
    return [
        _Found(
            agreement,
            signature(agreement.figure, **agreement.facts, **facts),
            file,
            [
                {**dataclasses.asdict(grade), "differs": grade.differs}
                for grade in grade_means(judged, options["grade_step"])
            ]
            if graded and judged
            else None,
        )
        for agreement, file, judged in zip_longest(agreements, files, sets)
    ]


def _scorer(run: Run, where: Judging) -> tuple[ModelScorer | None, dict[str, str | int]]:
    """Return what scores pairs, None for a column, with the facts for the signature."""
    if where.column is not None:
        return None, {"column": where.column}
    from bitextfilter.scoring.measures import MEASURES

    if where.measure not in MEASURES:
        known = ", ".join(MEASURES)
        raise click.UsageError(f"similarity {where.measure!r} is none of {known}")
    model = run.model()
    facts = {"sim": where.measure, **signed(where.language), "model": model.digest}
    return ModelScorer(model, where), dict[str, str | int](facts)


def _result(found: Sequence[_Found]) -> Result:
    """Return a record for each set and mean."""
    from bitextfilter.evaluation.result import Result, interval

    counts = dict.fromkeys(("set", "sets", "pairs", "skipped"), "")
    columns = counts | interval("pearson", "spearman", form=".2f") | {"signature": ""}
    sets = [_record(each) for each in found if each.file is not None]
    means = [_record(each) for each in found if each.file is None]
    return Result("sts", columns, {"results": sets, "means": means})


def _grades(found: Sequence[_Found]) -> Result:
    """Return a record for each grade of each set."""
    from bitextfilter.evaluation.result import Result

    columns = dict.fromkeys(("set", "grade", "pairs", "mean", "deviation", "p", "differs"), ".4f")
    columns |= {"grade": ".10g", "p": ".3g", "signature": ""}
    records = [
        {"set": each.agreement.name, **grade, "signature": each.signature}
        for each in found
        for grade in each.grades or ()
    ]
    return Result("sts", columns, {"results": records})


def _record(found: _Found) -> Record:
    """Return the values of a set, or of several."""
    agreement = found.agreement
    record = {
        "set": agreement.name,
        **({"file": found.file} if found.file is not None else {}),
        "sets": agreement.sets,
        "pairs": agreement.pairs,
        "skipped": agreement.skipped,
        "pearson": agreement.pearson,
        "spearman": agreement.spearman,
        "signature": found.signature,
    }
    return record if found.grades is None else {**record, "grades": found.grades}
