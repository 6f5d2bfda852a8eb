"""``bitext-evaluate sts``: correlation of scores with human ratings of sentence pairs."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.evaluate.options import (
    RATED,
    Languages,
    check_measure,
    language_option,
    signed,
)
from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import (
    ModelOptions,
    NumberRange,
    argument,
    as_column,
    flag,
    json_flag,
    option,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.evaluation.result import Bootstrap
from bitextfilter.io.files import COMPRESSIONS, stream_name
from bitextfilter.io.rows import WantedColumn, number_of

if TYPE_CHECKING:
    from bitextfilter.evaluation.pair_scoring import PairMeasure
    from bitextfilter.evaluation.sts import RatedColumns, RatedSet


@dataclass(frozen=True)
class _Settings:
    """The column of ratings, and the origin of scores."""

    files: tuple[str, ...] = argument("[FILE]...", nargs=-1)
    human: int | str = option("--human COLUMN", "Column of the human score.", as_column, 1)
    column: int | str | None = option(
        "--column COLUMN", "Column of a score to compare; then no model is loaded.", as_column
    )
    similarity: str | None = option(
        "--similarity NAME", "Measure of the model, as in bitext-score  [default: cosine]"
    )
    regression: str | None = option(
        "--regression FILE",
        "Rated pairs, in columns 1 to 3, to learn ratings from; these are then compared.",
    )
    development: str | None = option(
        "--development FILE", "Rated pairs to choose the best epoch of --regression by."
    )
    grades: bool = flag("--grades", "Write the mean score of each human grade instead.")
    grade_step: float | None = option(
        "--grade-step S",
        "Round human scores to multiples of S  [default: 1, or not where up to 10 are distinct]",
        NumberRange(min=0, min_open=True),
    )
    language: Languages | None = language_option("source", "target")
    as_json: bool = json_flag()

    def __post_init__(self) -> None:
        """Refuse options that contradict each other."""
        if self.files.count("-") > 1:
            raise click.UsageError("stdin is asked for twice")
        for name in ("similarity", "language"):
            if self.column is not None and getattr(self, name) is not None:
                raise click.UsageError(f"--column and --{name} exclude each other")
        if (self.regression is None) != (self.development is None):
            raise click.UsageError("--regression and --development need each other")
        for name in ("similarity", "column"):
            if self.regression is not None and getattr(self, name) is not None:
                raise click.UsageError(f"--regression and --{name} exclude each other")
        if self.grade_step is not None and not self.grades:
            raise click.UsageError("--grade-step needs --grades")

    def columns(self, run: Run) -> RatedColumns:
        """Return the columns to read: numbers, and the sides if a model scores them."""
        from bitextfilter.evaluation.sts import RatedColumns

        human = WantedColumn("human score", "--human", self.human)
        if self.column is None:
            return RatedColumns(first=(human,), last=run.row_settings.columns.wanted())
        return RatedColumns(first=(human, WantedColumn("score", "--column", self.column)))


@command("sts", _Settings, Bootstrap, RATED, ModelOptions)
def sts(run: Run, settings: _Settings, bootstrap: Bootstrap) -> None:
    """Correlate scores of sentence pairs with human scores: similarity, or quality.

    Each FILE (default: stdin) is a set of pairs with a human score. Writes a line for each set,
    tab-separated: set, number of sets, pairs, pairs skipped for want of a score, Pearson's and
    Spearman's correlation times 100, each with the ends of its 95 % interval, signature. Then,
    where sets share their name up to the first dot, such as sts2012.OnWN.tsv, the unweighted
    mean of these sets; and the mean of all. A correlation with a constant is - (null in JSON).

    --regression learns ratings from a softmax regression on |u − v| and u ⊙ v of the two vectors,
    as SICK is usually measured; --seed is its seed, too.

    --grades writes a line for each human grade of each set: set, grade, pairs, mean and standard
    deviation of the score, the p-value of Welch's t-test against the grade below, whether they
    differ at .01, signature. Memory holds 16 bytes a pair, and the resamples.

    Example:

        bitext-evaluate sts --language en sts2012.*.tsv
        bitext-evaluate sts --scol 3 --tcol 4 quality.en-de.tsv
        bitext-evaluate sts --column -1 scored.tsv
        bitext-evaluate sts --language en --regression train.tsv --development dev.tsv test.tsv
    """
    from bitextfilter.evaluation.sts import grade_means, grades_table, scipy_statistics, sts_result

    files, output = settings.files or ("-",), run.output()
    if settings.grades:
        scipy_statistics()
    measure, facts = _measure(run, settings, bootstrap.seed)
    sets = [_read(run, file, settings, measure) for file in files]
    for rated in sets:
        if rated.constant is not None:
            run.warn(f"{rated.name}: all {rated.constant} are the same: nothing correlates")
    grades = [grade_means(rated, settings.grade_step) for rated in sets if settings.grades]
    result = sts_result(sets, bootstrap, facts, grades)
    if grades and not settings.as_json:
        result = grades_table(result)
    output.write(result.text(settings.as_json))


def set_name(file: str) -> str:
    """Return the name of the set in *file*: without folder, compression and ``.tsv``."""
    name = Path(stream_name(file)).name
    for ending in (*COMPRESSIONS, ".tsv"):
        name = name.removesuffix(ending)
    return name


def _measure(
    run: Run, settings: _Settings, seed: int
) -> tuple[PairMeasure | None, dict[str, str | int]]:
    """Return the model's measure (None: scores of a column) and facts for the signature."""
    if settings.column is not None:
        return None, {"column": settings.column}
    from bitextfilter.evaluation.pair_scoring import PairMeasure

    if settings.regression is not None:
        return _regression(run, settings, seed)
    name = settings.similarity or "cosine"
    check_measure(name)
    model = run.model()
    facts = {"sim": name, **signed(settings.language), "model": model.digest}
    return PairMeasure(model, name, settings.language), dict[str, str | int](facts)


def _regression(
    run: Run, settings: _Settings, seed: int
) -> tuple[PairMeasure, dict[str, str | int]]:
    """Return a measure that is taught ratings, and facts for the signature."""
    from bitextfilter.evaluation.sts import read_rated_pairs
    from bitextfilter.papers.paraphrases import RatingMeasure

    assert settings.regression is not None and settings.development is not None
    taught, stopping = map(read_rated_pairs, (settings.regression, settings.development))
    model = run.model()
    measure = RatingMeasure(model, settings.language, taught, stopping, seed)
    facts: dict[str, str | int] = {"sim": "regression", "train": len(taught.ratings)}
    facts["epoch"] = measure.epoch
    return measure, {**facts, **signed(settings.language), "model": model.digest}


def _read(run: Run, file: str, settings: _Settings, measure: PairMeasure | None) -> RatedSet:
    """Read the set in *file*, with scores by the model or those in their column.

    Pairs that lack a number are skipped and counted. Raises InputError if fewer than two are left.
    """
    import numpy as np

    from bitextfilter.evaluation.sts import RatedSet, check_enough

    columns, before = settings.columns(run), run.counts["skipped"]
    human, scores = array("d"), array("d")
    for window in run.good_windows(columns, file, columns.fault):
        rows = [row for row in window if columns.complete(row)]
        run.counts["skipped"] += len(window) - len(rows)
        if rows and measure is None:
            scores.extend(number_of(row.texts[1].encode()) for row in rows)
        elif rows and measure is not None:
            _, sources, targets = zip(*(row.texts for row in rows), strict=True)
            if not human and (doubt := measure.doubt(sources, targets)):
                run.warn(f"{stream_name(file)}: {doubt} (--scol, --tcol, --language)")
            scores.extend(measure(sources, targets).tolist())
        human.extend(number_of(row.texts[0].encode()) for row in rows)
    skipped = run.counts["skipped"] - before
    remedy = " and ".join(f"{one.option} says where the {one.name} is" for one in columns.first)
    check_enough(len(human), skipped, stream_name(file), remedy)
    return RatedSet(set_name(file), np.array(human), np.array(scores), skipped, file)
