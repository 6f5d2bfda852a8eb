"""``bitext-paraphrase train``: a classifier of references and machine translations."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import argument, json_flag, option, row_options
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.training import (
    TrainingOptions,
    embeddings_option,
    run_environment,
    training_settings,
)
from bitextfilter.errors import InputError
from bitextfilter.io.files import stream_name


@dataclass(frozen=True)
class _Settings:
    """The pairs, the new model, and the form of its figures."""

    files: tuple[str, ...] = argument("FILE...", nargs=-1, required=True)
    folder: str = option("-o --output DIR", "The new model.", required=True)
    architecture: str | None = option(
        "--architecture",
        "An LSTM's last state, or the mean of the token vectors.  [default: lstm]",
        ["lstm", "averaging"],
    )
    embeddings: Path | None = embeddings_option()
    as_json: bool = json_flag()


@command(
    "train",
    _Settings,
    row_options("texts errors"),
    training_settings("papers.references.ReferenceConfig"),
    uses="threads device",
)
def main(run: Run, settings: _Settings, chosen: TrainingOptions) -> None:
    """Train a classifier of references and machine translations.

    Reads pairs of a reference (--scol) and a machine translation of the same sentence (--tcol), as
    bitext-paraphrase make writes them; rows of one reference are its K best. The references
    are split by --seed: one part is measured on (training.held_out), as many choose the epoch, the
    rest is trained on. Written is a line for each class and one for both, tab-separated: class,
    accuracy in percent, sentences. In the two parts held out, the first translation of each
    reference counts. All text is held in memory.

    Example:

        bitext-paraphrase train -o references paraphrases.tsv
        bitext-paraphrase train --set training.negatives=hardest --architecture averaging \\
            -o references ten.tsv
    """
    from bitextfilter.papers.references import ReferenceConfig, train_references

    config = ReferenceConfig.from_dict(chosen.values(settings.architecture))
    environment = run_environment(run, "error {:.2f} %", output=settings.folder)
    output, data = run.output("-"), _read(run, settings.files)
    run.facts["seed"] = config.training.seed
    run.counts["references"] = len(data)
    record = train_references(data, config, environment, settings.embeddings)
    text = json.dumps(record, indent=2) + "\n" if settings.as_json else _table(record)
    output.write(text.encode())


def _read(run: Run, files: tuple[str, ...]) -> dict[str, list[str]]:
    """Return each distinct reference with its distinct translations, in their order."""
    if files.count("-") > 1:
        raise click.UsageError("only one file can be stdin")
    data: dict[str, dict[str, None]] = {}
    for reference, translation in (pair for file in files for pair in run.pairs(file)):
        data.setdefault(reference, {})[translation] = None
    if not data:
        raise InputError("no rows", file=stream_name(files[0]))
    return {reference: list(found) for reference, found in data.items()}


def _table(record: dict[str, Any]) -> str:
    test = record["test"]
    lines = ["class\taccuracy\tsentences\n"]
    for name, times in (("references", 1), ("translations", 1), ("total", 2)):
        lines.append(f"{name}\t{test[name]:.2f}\t{times * test['sentences']}\n")
    return "".join(lines)
