"""``bitext-train-translator``: train a translation model from parallel text."""

from __future__ import annotations

from dataclasses import dataclass, replace

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import as_numbered_column, option
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.training import (
    NEW_MODEL,
    TRANSLATOR_ERRORS,
    PairColumns,
    PairTraining,
    TrainingOptions,
    pair_files,
    run_environment,
    training_settings,
)
from bitextfilter.io.rows import Columns, WantedColumn


@dataclass(frozen=True)
class _Settings(PairTraining):
    """The files, the architecture, and the templates that it writes by."""

    architecture: str | None = option(
        "--architecture NAME",
        "transformer (the default); recurrent, with attention; controlled, by templates.",
    )
    template_column: int | None = option(
        "--template-column COLUMN",
        "Of controlled: column of --pairs with the target's parse, in Penn's brackets.",
        as_numbered_column,
    )
    dev_template_column: int | None = option(
        "--dev-template-column COLUMN",
        "The same of --development.  [default: --template-column]",
        as_numbered_column,
    )


@command(
    "bitext-train-translator",
    _Settings,
    NEW_MODEL,
    training_settings("training.translator_training.TranslatorConfig"),
    PairColumns,
    uses="threads device",
)
def main(run: Run, settings: _Settings, chosen: TrainingOptions, columns: PairColumns) -> None:
    r"""Train a model that translates SOURCE into TARGET, and write it as a model folder.

    An encoder and a decoder with attention share one table of subwords. The model is kept
    whenever its error on --development is the lowest so far: cross-entropy in nats a subword
    (from 0 up), or with --set training.validation=bleu, which needs sacreBLEU, 100 less BLEU. The
    state of the training lies in DIR.training; --resume goes on from the state saved last, with
    the same result.

    With --architecture controlled the model writes by a template, the two upper levels of the
    target's parse: --template-column has parses such as (S (NP (PRP It)) (VP (VBZ works)) (. .)).

    All training text is held in memory. Settings: --set shape.layers=6, --set
    segmentation.vocabulary_size=16000, --set training.passes=3 and so on; --list-settings lists
    them all.

    Example:

        bitext-train-translator --languages de,en --scol 2 --tcol 1 --pairs train.tsv.gz \
            --development dev.tsv --dev-scol 2 --dev-tcol 1 -o de-en
    """
    from bitextfilter.training.data import PairFile
    from bitextfilter.training.translator_training import TranslatorConfig, TranslatorTraining

    config = TranslatorConfig.from_dict(chosen.values(settings.architecture))
    error = TRANSLATOR_ERRORS[config.training.validation]
    environment = run_environment(run, error, 8 if settings.quantise else 32, settings.resume)
    run.facts["seed"] = config.training.seed
    own, development = _templated(settings, columns)
    files = settings.files(
        pair_files(settings.pairs, settings.parallel, own),
        development=PairFile(settings.development, columns=development),
    )
    progress = TranslatorTraining(config, files, environment).run()
    run.counts["updates"] = progress.update
    run.note(f"lowest {error.format(progress.best)}")


def _templated(settings: _Settings, columns: PairColumns) -> tuple[Columns, Columns]:
    """The columns of training and development pairs, and of templates if there are any."""
    template, other = settings.template_column, settings.dev_template_column
    if template is None:
        if other is not None:
            raise click.UsageError("--dev-template-column goes with --template-column")
        return columns.training, columns.development
    both = (columns.training, template), (columns.development, other or template)
    training, development = (
        replace(pair, last=(WantedColumn("template", "--template-column", where),))
        for pair, where in both
    )
    return training, development
