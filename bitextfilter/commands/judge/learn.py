"""``bitext-judge learn``: adapt a model's score and cut to the labels of a sample."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bitextfilter.commands.evaluate.options import bootstrap_options
from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import (
    ModelName,
    argument,
    json_flag,
    option,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.judge.options import (
    GOOD,
    chosen_standard,
    read_labels,
    read_sample,
    refuse_twice,
)
from bitextfilter.io.files import stream_name

if TYPE_CHECKING:
    from bitextfilter.evaluation.result import Bootstrap

_FEW = 100
"""Fewer labels give a warning."""


@dataclass(frozen=True)
class _Settings:
    """The sample and its labels, and the new model."""

    sample: str = argument("SAMPLE")
    labels: tuple[str, ...] = argument("LABELS...", nargs=-1, required=True)
    folder: str = option("-o --output FOLDER", "The new model's folder.", required=True)
    good: str | None = GOOD
    as_json: bool = json_flag()

    def __post_init__(self) -> None:
        """Refuse files that are named twice."""
        refuse_twice(self.sample, self.labels)


@command("learn", _Settings, bootstrap_options(), ModelName, uses="threads device")
def main(run: Run, settings: _Settings, bootstrap: Bootstrap) -> None:
    """Adapt the score and the cut of --model to the labels of a sample.

    Writes a new model. The last layer of its classifier is fitted to the labels, and held near its
    old weights; cross-validation over five folds chooses how near. Words count as good or not,
    numbers as grades. The cut of the highest F1 is kept in the model: it is what
    score:min=recommended of bitext-filter takes.

    Writes a line for the score before and after, tab-separated: AUC, cut, precision, recall and F1
    at the cut, each with the ends of its 95 % interval; labels, and the ridge chosen. Each label is
    scored by a classifier that was fitted without it, and counts as often as its row's weight says.
    A model of more than two languages is adapted as a whole: name two for the sample.

    Example:

        bitext-judge learn sample.tsv labels.tsv --model en-de -o my-model
        bitext-judge learn sample.tsv anna.tsv ben.tsv --model multi:en,cs -o my-model --json
    """
    from bitextfilter.judge.learning import Learnt
    from bitextfilter.models.folders import check_replaceable

    check_replaceable(Path(settings.folder))
    output = run.output("-")
    sample = read_sample(run, settings.sample)
    judgements = read_labels(run, sample, settings.labels)
    standard = chosen_standard(judgements, settings.good)
    file = ", ".join(map(stream_name, settings.labels))
    learnt = Learnt(run.model(), judgements, standard, bootstrap.seed, file)
    labels = len(learnt.rows.good)
    run.counts["labelled"] = labels
    if labels < _FEW:
        run.warn(f"only {labels} rows have a label: the score may not get better")
    result = learnt.result(bootstrap)
    facts = {"labels": labels, "ridge": f"{learnt.report.strength:g}", "good": str(standard)}
    command_line = f"bitext-judge learn {settings.sample} {' '.join(settings.labels)}"
    cut = learnt.cuts(bootstrap)["after"]
    learnt.write(Path(settings.folder), cut, command_line, {**facts, "seed": bootstrap.seed})
    output.write(result.text(settings.as_json))
