"""``bitext-paraphrase train``: a classifier of references and machine translations."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import click

from bitextfilter.commands.frame import Run, command, device_options, row_options
from bitextfilter.commands.training_reporter import TrainingReporter
from bitextfilter.errors import InputError
from bitextfilter.io.files import stream_name
from bitextfilter.io.rows import BadRow

__all__ = ["train"]

_ROW_OPTIONS = [option for option in row_options() if option.name not in ("input", "output")]


@command("train", _ROW_OPTIONS, device_options(), batch_size=None)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("-o", "--output", "folder", required=True, metavar="DIR", help="The new model.")
@click.option(
    "--architecture",
    type=click.Choice(["lstm", "averaging"]),
    default="lstm",
    show_default=True,
    help="An LSTM's last state, or the mean of the token vectors.",
)
@click.option(
    "--embedding",
    type=click.IntRange(min=1),
    default=300,
    show_default=True,
    metavar="N",
    help="Width of token vectors, and of the LSTM.",
)
@click.option(
    "--vocabulary-size",
    type=click.IntRange(min=1),
    default=20_000,
    show_default=True,
    metavar="N",
    help="Words that have a vector of their own.",
)
@click.option(
    "--negatives",
    type=click.Choice(["random", "hardest"]),
    default="random",
    show_default=True,
    help="Of several translations, learn from one by chance or from the most reference-like.",
)
@click.option(
    "--epochs",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="Times over the references; the best is kept.",
)
@click.option(
    "--batch-size",
    "mini_batch",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    metavar="N",
    help="References a mini-batch.",
)
@click.option(
    "--learning-rate",
    type=click.FloatRange(0, min_open=True),
    default=0.001,
    show_default=True,
    help="Of Adam.",
)
@click.option(
    "--penalty",
    type=click.FloatRange(0),
    default=0.0,
    show_default=True,
    help="Weight of the token vectors' squared norm in the loss.",
)
@click.option(
    "--held-out",
    type=click.FloatRange(0, 0.5, min_open=True, max_open=True),
    default=0.1,
    show_default=True,
    help="Part of the references to measure on, and as much to choose the epoch by.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Seed of everything."
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object instead of a table.")
def train(run: Run, files: tuple[str, ...], folder: str, as_json: bool, **choices: Any) -> None:
    """Teach a model whether a sentence is a reference or a machine translation.

    Reads pairs of a reference (--scol) and a translation of what it is a translation of (--tcol),
    as bitext-paraphrase make writes them; rows of one reference are its K best. The references
    are split by --seed: one part is measured on (--held-out), as many choose the epoch, the rest
    is trained on. Written is a line for each class and one for both, tab-separated: class,
    accuracy in percent, sentences. In the two parts held out, the first translation of each
    reference counts. All text is held in memory.

    Example:

        bitext-paraphrase train -o references paraphrases.tsv
        bitext-paraphrase train --negatives hardest --architecture averaging -o references ten.tsv
    """
    from bitextfilter.encoders.reference_classifier import ReferenceSettings
    from bitextfilter.training.references import ReferenceTraining
    from bitextfilter.workflows.plan import Surroundings
    from bitextfilter.workflows.reference_training import ReferencePlan, train_references

    plan = ReferencePlan(
        ReferenceSettings(choices.pop("architecture"), choices.pop("embedding")),
        choices.pop("vocabulary_size"),
        ReferenceTraining(batch_size=choices.pop("mini_batch"), **choices),
    )
    report = TrainingReporter(run, "error {:.2f} %")
    where = Surroundings(
        Path(folder), run.common.device, run.common.threads, note=run.note, report=report
    )
    output, data = run.output("-"), _read(run, files)
    run.facts["seed"] = plan.training.seed
    run.counts["references"] = len(data)
    record = train_references(data, plan, where)
    output.write((json.dumps(record, indent=2) + "\n" if as_json else _table(record)).encode())


def _read(run: Run, files: tuple[str, ...]) -> dict[str, list[str]]:
    """Return each distinct reference with its distinct translations, in their order."""
    if files.count("-") > 1:
        raise click.UsageError("only one file can be stdin")
    data: dict[str, dict[str, None]] = {}
    for file in files:
        run.row_settings = dataclasses.replace(run.row_settings, input=file)
        for window in run.windows(run.rows()):
            for row in window:
                if not isinstance(row, BadRow):
                    data.setdefault(row.source, {})[row.target] = None
    if not data:
        raise InputError("no rows", file=stream_name(files[0]))
    return {reference: list(found) for reference, found in data.items()}


def _table(record: dict[str, Any]) -> str:
    test = record["test"]
    lines = ["class\taccuracy\tsentences\n"]
    for name, times in (("references", 1), ("translations", 1), ("total", 2)):
        lines.append(f"{name}\t{test[name]:.2f}\t{times * test['sentences']}\n")
    return "".join(lines)
