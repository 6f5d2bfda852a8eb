"""``bitext-train-translator``: train a translation model from parallel text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import device_options, numbered_column, pair_column_options
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.training import (
    TRANSLATOR_ERRORS,
    pair_files,
    run_environment,
    settings_values,
    training_options,
)

if TYPE_CHECKING:
    from bitextfilter.io.rows import Columns
    from bitextfilter.workflows.runs import TrainingFiles


@command(
    "bitext-train-translator",
    training_options("workflows.translator_training.TranslatorConfig"),
    pair_column_options(),
    device_options(),
    batch_size=None,
)
@click.option(
    "--architecture",
    metavar="NAME",
    help="transformer (the default); recurrent, with attention; controlled, by templates.",
)
@click.option(
    "--template-column",
    type=numbered_column,
    metavar="COLUMN",
    help="Of controlled: column of --pairs with the target's parse, in Penn's brackets.",
)
@click.option(
    "--dev-template-column",
    type=numbered_column,
    metavar="COLUMN",
    help="That of --development.  [default: --template-column]",
)
def main(run: Run, **options: Any) -> None:
    r"""Train a model that translates SOURCE into TARGET, and write it as a model folder.

    An encoder and a decoder with attention share one table of subwords. The model is kept
    whenever its error on --development is the lowest so far: cross-entropy in nats a subword
    (from 0 up), or with --set training.validation=bleu, which needs sacreBLEU, 100 less BLEU. The
    state of the training lies in DIR.training; --resume goes on from the state saved last, with
    the very same curve.

    With --architecture controlled the model writes by a template, the two upper levels of the
    target's parse: --template-column has parses such as (S (NP (PRP It)) (VP (VBZ works)) (. .)).

    All training text is held in memory. Settings: --set shape.layers=6, --set
    segmentation.vocabulary_size=16000, --set training.passes=3 and so on; --list-settings lists
    them all.

    Example:

        bitext-train-translator --languages de,en --scol 2 --tcol 1 --pairs train.tsv.gz \
            --development dev.tsv --dev-scol 2 --dev-tcol 1 -o de-en
    """
    from bitextfilter.workflows.translator_training import TranslatorConfig, TranslatorTraining

    config = TranslatorConfig.from_dict(settings_values(options))
    error = TRANSLATOR_ERRORS[config.training.validation]
    environment = run_environment(
        run, run.row_settings.output, error, options["quantise"], options["resume"]
    )
    run.facts["seed"] = config.training.seed
    files = _files(options, run.row_settings.columns)
    progress = TranslatorTraining(config, files, environment).run()
    run.counts["updates"] = progress.update
    run.note(f"lowest {error.format(progress.best)}")


def _files(options: dict[str, Any], columns: Columns) -> TrainingFiles:
    """The training files."""
    from bitextfilter.io.rows import Columns
    from bitextfilter.training.data import PairFile
    from bitextfilter.workflows.runs import TrainingFiles

    template, other = options["template_column"], options["dev_template_column"]
    if template is None and other is not None:
        raise click.UsageError("--dev-template-column goes with --template-column")
    development = Columns(options["dev_scol"], options["dev_tcol"])
    return TrainingFiles(
        languages=options["languages"],
        pairs=pair_files(options["pairs"], options["parallel"], _templated(columns, template)),
        development=PairFile(
            options["development"], columns=_templated(development, other or template)
        ),
        segmenter=options["segmenter"],
    )


def _templated(columns: Columns, template: int | None) -> Columns:
    """The columns with that of templates, if there is one."""
    from bitextfilter.io.rows import TemplatedColumns

    return columns if template is None else TemplatedColumns(
        columns.source, columns.target, template=template
    )  # fmt: skip
