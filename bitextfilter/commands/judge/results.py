"""``bitext-judge report``, ``learn`` and ``combiner``: the yields of cuts; scores that learn."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import (
    ModelOptions,
    argument,
    as_score,
    json_flag,
    needs_own_file,
    option,
    options_of,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.judge.labelling import as_share, check_once, read_labels, read_sample
from bitextfilter.errors import SettingsError
from bitextfilter.evaluation.result import Bootstrap, Result
from bitextfilter.io.files import in_utf_8, stream_name
from bitextfilter.models.folders import check_replaceable

if TYPE_CHECKING:
    from bitextfilter.judge.combining import Judge
    from bitextfilter.judge.evaluation import JudgedRows, Standard
    from bitextfilter.judge.judgements import Judgements, RowSample


@dataclass(frozen=True)
class _Labelled:
    """The sample and its labels, and the form of the result."""

    sample: str = argument("SAMPLE")
    labels: tuple[str, ...] = argument("LABELS...", nargs=-1, required=True)
    good: str | None = option(
        "--good LABELS",
        "Labels that count as good: words as V,F, or the least number  [default: the first word,"
        " or the middle of the scale]",
    )
    as_json: bool = json_flag()

    def __post_init__(self) -> None:
        """Refuse a file that is named twice."""
        check_once(self.sample, *self.labels)


def alike(run: Run, judgements: Judgements, good: str | None) -> tuple[Judgements, Standard]:
    """Return judgements on one scale, and the labels that count as good."""
    from bitextfilter.judge.scales import on_one_scale

    try:
        found, standard, told = on_one_scale(judgements, good)
    except SettingsError as error:
        raise click.UsageError(f"--good: {error}") from error
    if told:
        run.note(f"good is {told}")
    return found, standard


_FEW = 100
"""Fewer labels give a warning."""


@dataclass(frozen=True)
class _Report(_Labelled):
    """The sample and its labels, and the cuts to show."""

    columns: tuple[str, ...] = option(
        "--column NAME", "A score of the sample; repeat it for more  [default: all]", multiple=True
    )
    cuts: tuple[float, ...] = option(
        "--cut C", "Also show this cut of the first score; repeatable.", as_score, multiple=True
    )
    precision: float | None = option(
        "--precision P",
        "Also mark the lowest cut of this precision, 0 to 1, that keeps 10 labels or more.",
        as_share,
    )
    disagreements: str | None = option(
        "--disagreements FILE", "Write the rows that annotators disagree on to FILE."
    )


_REPORTING = options_of(_Report, "sample labels columns cuts precision good disagreements as_json")


@command("report", _REPORTING, Bootstrap, row_options("output"), uses="")
def report(run: Run, settings: _Report, bootstrap: Bootstrap) -> None:
    """Estimate what a cut yields by the labels of a sample.

    Each label counts as often as the weight of its row says: so shares are those of the corpus,
    and rows are numbers of rows in it. Writes a table with a header, tab-separated, of kinds:

        cut        of a score: rows kept, precision (the share of them that is good), recall
                   (the share of all good rows that is kept) and F1; marks best f1 and others
        auc        of a score: how often a good row scores higher than a bad one (value)
        reason     a stratum: its rows, and the share of good ones (precision)
        agreement  of two annotators: share of equal labels; kappa is Cohen's
        alpha      of all annotators: Krippendorff's, by squares for numbers, nominal for words

        label-auc  of annotators on unlike scales: how often a row that the second calls good has
                   a higher number by the first

    Figures are from 0 to 1, each followed by the ends of its 95 % interval (of a bootstrap
    within strata); labels is the number of labelled rows behind it. The row of several
    annotators is as good as the share of them that says so. Rows that a rule drops are kept by
    no cut: good ones lower the recall. Labels are checked against the texts of the sample. Where
    their scales differ, each is good or bad by its own: --good is of the scales that have it.

    Example:

        bitext-judge report sample.tsv labels.tsv --column mlp --cut 0.37 --precision 0.95
        bitext-judge report sample.tsv anna.tsv ben.tsv --disagreements discuss.tsv --json
        bitext-judge report sample.tsv llm.tsv people.tsv --good V,F
    """
    from bitextfilter.judge.evaluation import (
        YieldSettings,
        disagreements_table,
        judged_rows,
        judgement_result,
    )
    from bitextfilter.judge.scales import label_aucs

    output, apart = run.output(), settings.disagreements
    needs_own_file("--disagreements", apart, [*settings.labels, settings.sample])
    sample = read_sample(run, settings.sample)
    columns = sample.score_columns(settings.columns)
    given = read_labels(run, sample, settings.labels, mixed=True)
    judgements, standard = alike(run, given, settings.good)
    rows = judged_rows(judgements, standard, ", ".join(map(stream_name, settings.labels)))
    wanted = YieldSettings(columns, settings.cuts, settings.precision, bootstrap)
    more = label_aucs(given, judgements, bootstrap)
    result = judgement_result(judgements, rows, standard, wanted, more)
    output.write(result.text(settings.as_json))
    if apart is not None:
        table = disagreements_table(judgements)
        run.output(apart).write(in_utf_8("".join("\t".join(row) + "\n" for row in table)))
        run.counts["disagreements"] = len(table) - 1
    _report(run, settings, rows, result)


def _report(run: Run, settings: _Report, rows: JudgedRows, result: Result) -> None:
    """Put the counts into the summary, and warn of what is missing."""
    run.counts["labelled"] = len(rows.good)
    for reason, size in rows.unlabelled.items():
        run.warn(f"no row of {reason} has a label: its {size:.0f} rows are left out")
    if len(rows.good) < _FEW:
        run.warn(f"only {len(rows.good)} rows have a label: estimates are rough")
    wanted = f"precision>={settings.precision:g}" if settings.precision is not None else ""
    cuts = result.groups["cuts"]
    if wanted and cuts and not any(wanted in record["mark"] for record in cuts):
        run.warn(f"no cut has {wanted}")
    if not cuts:
        run.warn("the sample has no scores: no cut is shown")


@dataclass(frozen=True)
class _Learn(_Labelled):
    """The sample and its labels, and the new model."""

    folder: str = option("-o --output FOLDER", "The new model's folder.", required=True)


_LEARNING = options_of(_Learn, "sample labels folder good as_json")


@command("learn", _LEARNING, Bootstrap, ModelOptions, uses="threads device")
def learn(run: Run, settings: _Learn, bootstrap: Bootstrap) -> None:
    """Adapt the score and the cut of --model to the labels of a sample.

    Writes a new model. The last layer of its classifier is fitted to the labels, and held near its
    old weights; cross-validation over five folds chooses how near. Words count as good or not,
    numbers as grades. The cut of mlp with the highest F1 is kept in the model. With 20 good and 20
    bad rows or more, the probability gets an offset by the labels, too.

    Writes a line for the score before and after, tab-separated: AUC, cut, precision, recall and F1
    at the cut, each with the ends of its 95 % interval; labels, and the ridge chosen. Each label is
    scored by a classifier that was fitted without it, and counts as often as its row's weight says.
    A model of more than two languages is adapted as a whole: name two for the sample.

    Example:

        bitext-judge learn sample.tsv labels.tsv --model en-de -o my-model
        bitext-judge learn sample.tsv anna.tsv ben.tsv --model multi:en,cs -o my-model --json
    """
    from bitextfilter.judge.learning import Learnt

    check_replaceable(Path(settings.folder))
    output = run.output("-")
    sample = read_sample(run, settings.sample)
    judgements = read_labels(run, sample, settings.labels)
    standard = alike(run, judgements, settings.good)[1]
    file = ", ".join(map(stream_name, settings.labels))
    learnt = Learnt(run.model(), judgements, standard, bootstrap.seed, file)
    labels = len(learnt.rows.good)
    run.counts["labelled"] = labels
    if labels < _FEW:
        run.warn(f"only {labels} rows have a label: the score may not get better")
    cuts = learnt.cuts(bootstrap)
    result = learnt.result(cuts, bootstrap)
    facts = {"labels": labels, "ridge": f"{learnt.report.strength:g}", "good": str(standard)}
    command_line = f"bitext-judge learn {settings.sample} {' '.join(settings.labels)}"
    facts |= {"seed": bootstrap.seed}
    learnt.write(Path(settings.folder), cuts["after"], command_line, facts)
    output.write(result.text(settings.as_json))


@dataclass(frozen=True)
class _Combiner(_Labelled):
    """The sample and its labels, and the combiner."""

    columns: tuple[str, ...] = option(
        "--column NAME", "A score of the sample; repeat it for more  [default: all]", multiple=True
    )
    kind: str = option(
        "--kind", "A weighted sum, or trees for many labels.", ["logistic", "monotone"], "logistic"
    )
    people: tuple[str, ...] = option(
        "--people FILE", "Labels of people, to judge by; repeat it for more.", multiple=True
    )
    target: str = option("-o --output FILE", "Write the combiner to FILE.", required=True)


_COMBINING = options_of(_Combiner, "sample labels columns kind people target good as_json")


def _judges(run: Run, sample: RowSample, settings: _Combiner) -> list[Judge]:
    """Read the labels, and those of people: --good is of those whose scale has it."""
    from bitextfilter.judge.combining import Judge
    from bitextfilter.judge.scales import scales_with

    judges, known = [], settings.good is None
    for name, paths in {"labels": settings.labels, "people": settings.people}.items():
        if paths:
            given = read_labels(run, sample, paths, mixed=name == "people")
            held = any(scales_with(given, settings.good).values())
            own = alike(run, given, settings.good if held else None)
            judges.append(Judge(name, *own, ", ".join(map(stream_name, paths))))
            known = known or held
    if not known:
        raise click.UsageError(f"--good: {settings.good!r} is on no scale of the labels")
    return judges


@command("combiner", _COMBINING, Bootstrap, uses="")
def combiner(run: Run, settings: _Combiner, bootstrap: Bootstrap) -> None:
    """Learn a small filter from labels: a combiner of the sample's scores, for bitext-combine.

    Scores may be those of models, and values of rules (bitext-filter --emit). Words count as good
    or not, numbers as grades; rows that a rule drops are left out. 10 good and 10 bad rows or more
    are needed. Each label counts once to learn from.

    Writes a table, tab-separated: the AUC of each score alone, and of combiners that learn from 25,
    50, 100... labels, at most four fifths of all, on the rows of the other fifth: the mean of five
    draws, by the labels, and by those of --people. less is how much lower it is than that of the
    last combiner. enough says whether neither that nor further labels gain .005 beyond the 95 %
    interval. Rows count as often as their weight says.

    Example:

        bitext-judge combiner sample.tsv llm.tsv --people anna.tsv -o combiner.json
        bitext-combine --header combiner.json < emitted.tsv > combined.tsv
    """
    from bitextfilter.judge.combining import LearningCurve
    from bitextfilter.training.combiner import CombinerSettings

    named = [settings.sample, *settings.labels, *settings.people]
    needs_own_file("--output", settings.target, named)
    target, output = run.output(settings.target), run.output("-")
    sample = read_sample(run, settings.sample)
    columns = sample.score_columns(settings.columns)
    judges = _judges(run, sample, settings)
    kind = CombinerSettings(kind=settings.kind)
    curve = LearningCurve(judges, columns, kind, bootstrap)
    trained = curve.trained()
    run.counts["labelled"] = len(judges[0].judgements.judged)
    target.write(trained.combiner.to_json())
    result = curve.result()
    for record in result.groups["results"]:
        if record["labels"] is None and record["less"].high < 0:
            run.warn(f"{record['score']} alone is better by the {record['judge']}")
    output.write(result.text(settings.as_json))
