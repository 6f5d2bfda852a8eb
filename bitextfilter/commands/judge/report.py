"""``bitext-judge report``: what a cut yields by the labels of a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bitextfilter.commands.evaluate.options import bootstrap_options
from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import (
    argument,
    as_fraction,
    as_score,
    json_flag,
    needs_own_file,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.judge.options import (
    GOOD,
    chosen_standard,
    read_labels,
    read_sample,
    refuse_twice,
)
from bitextfilter.io.files import in_utf_8, stream_name

if TYPE_CHECKING:
    from bitextfilter.evaluation.result import Bootstrap, Result
    from bitextfilter.judge.evaluation import JudgedRows
    from bitextfilter.judge.judgements import Judgements

_FEW = 100
"""Fewer labels give a warning."""


@dataclass(frozen=True)
class _Settings:
    """The sample and its labels, and the cuts to show."""

    sample: str = argument("SAMPLE")
    labels: tuple[str, ...] = argument("LABELS...", nargs=-1, required=True)
    columns: tuple[str, ...] = option(
        "--column NAME",
        "A score of the sample; repeat it for more  [default: all]",
        multiple=True,
    )
    cuts: tuple[float, ...] = option(
        "--cut C", "Also show this cut of the first score; repeatable.", as_score, multiple=True
    )
    precision: float | None = option(
        "--precision P",
        "Also mark the lowest cut of this precision, 0 to 1, that keeps 10 labels or more.",
        lambda value: float(as_fraction(value)),
    )
    good: str | None = GOOD
    disagreements: str | None = option(
        "--disagreements FILE", "Write the rows that annotators disagree on to FILE."
    )
    as_json: bool = json_flag()

    def __post_init__(self) -> None:
        """Refuse files that are named twice."""
        refuse_twice(self.sample, self.labels)


@command("report", _Settings, bootstrap_options(), row_options("output"), uses="")
def main(run: Run, settings: _Settings, bootstrap: Bootstrap) -> None:
    """Estimate what a cut yields by the labels of a sample.

    Each label counts as often as the weight of its row says: so shares are those of the corpus,
    and rows are numbers of rows in it. Writes a table with a header, tab-separated, of kinds:

        cut        of a score: rows kept, precision (the share of them that is good), recall
                   (the share of all good rows that is kept) and F1; marks best f1 and others
        auc        of a score: how often a good row scores higher than a bad one (value)
        reason     a stratum: its rows, and the share of good ones (precision)
        agreement  of two annotators: share of equal labels; kappa is Cohen's
        alpha      of all annotators: Krippendorff's, by squares for numbers, nominal for words

    Figures are from 0 to 1, each followed by the ends of its 95 % interval (of a bootstrap
    within strata); labels is the number of labelled rows behind it. The row of several
    annotators is as good as the share of them that says so. Rows that a rule drops are kept by
    no cut: good ones lower the recall. Labels are checked against the texts of the sample.

    Example:

        bitext-judge report sample.tsv labels.tsv --column mlp --cut 0.37 --precision 0.95
        bitext-judge report sample.tsv anna.tsv ben.tsv --disagreements discuss.tsv --json
    """
    from bitextfilter.judge.evaluation import YieldSettings, judged_rows, judgement_result

    output, apart = run.output(), settings.disagreements
    needs_own_file("--disagreements", apart, [*settings.labels, settings.sample])
    sample = read_sample(run, settings.sample)
    columns = settings.columns or sample.scores
    sample.check_scores(columns)
    judgements = read_labels(run, sample, settings.labels)
    standard = chosen_standard(judgements, settings.good)
    rows = judged_rows(judgements, standard, ", ".join(map(stream_name, settings.labels)))
    wanted = YieldSettings(columns, settings.cuts, settings.precision, bootstrap)
    result = judgement_result(judgements, rows, standard, wanted)
    output.write(result.text(settings.as_json))
    if apart is not None:
        _write_disagreements(run, judgements, apart)
    _report(run, settings, rows, result)


def _write_disagreements(run: Run, judgements: Judgements, path: str) -> None:
    from bitextfilter.judge.evaluation import disagreements_table

    table = disagreements_table(judgements)
    run.output(path).write(in_utf_8("".join("\t".join(row) + "\n" for row in table)))
    run.counts["disagreements"] = len(table) - 1


def _report(run: Run, settings: _Settings, rows: JudgedRows, result: Result) -> None:
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
