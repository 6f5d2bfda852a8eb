"""``bitext-train-encoder``: train an encoder from parallel text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import device_options, pair_column_options
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.training import (
    no_pivot,
    pair_files,
    pivot_files,
    pivot_options,
    run_environment,
    settings_values,
    training_options,
)

if TYPE_CHECKING:
    from bitextfilter.io.rows import Columns
    from bitextfilter.workflows.runs import TrainingFiles


_FILE = click.Path(exists=False, dir_okay=False)
_FOLDER = click.Path(exists=False, file_okay=False, path_type=Path)


@command(
    "bitext-train-encoder",
    training_options("workflows.encoder_config.EncoderConfig"),
    pivot_options(),
    pair_column_options(),
    device_options(),
    batch_size=None,
)
@click.option(
    "--source-text",
    multiple=True,
    type=_FILE,
    metavar="FILE",
    help="Plain source sentences for the decoder to autoencode; may be repeated.",
)
@click.option(
    "--target-text",
    multiple=True,
    type=_FILE,
    metavar="FILE",
    help="Plain target sentences for the decoder to autoencode; may be repeated.",
)
@click.option(
    "--start",
    type=_FOLDER,
    metavar="DIR",
    help="Start from a model: its subwords, and every tensor that fits.",
)
@click.option(
    "--architecture",
    metavar="NAME|PARTS",
    help="Parts such as word+lstm,trigram; autoencoder, pivot, or averaging."
    "  [default: word,trigram]",
)
@click.option(
    "--embeddings",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Initial vectors of subwords, in the text format of word2vec.",
)
def main(run: Run, **options: Any) -> None:
    r"""Train an encoder from parallel text, and write it as a model folder.

    Without settings this is the recipe of the models that come with the package: averages of
    subwords and of character trigrams, trained with the hardest negatives among 4,000 pairs. The
    model is kept whenever its sentence alignment recovery
    error on --development (%, mean of CSLS and cosine) is the lowest so far. The state of the
    training lies in DIR.training, saved at each validation and every five minutes; --resume goes
    on from there with the very same curve.

    With --architecture pivot the decoder writes a third language, from sources and from targets
    (--source-pivot, --target-pivot): no pair of the two languages is needed but to validate on.

    Architectures of parts (word, trigram, weighted, lstm, blstm, max-blstm, gran, gran-gru) are
    added with + and set side by side with a comma. By default they train without a decoder:
    training.translation and .autoencoding are 0.

    All training text is held in memory. Settings: --set segmentation.vocabulary_size=24000,
    --set training.passes=3 and so on; --list-settings lists them all.

    Example:

        bitext-train-encoder --languages en,de --pairs train.tsv.gz --development dev.tsv \
            -o my-model
    """
    from bitextfilter.workflows.encoder_config import EncoderConfig
    from bitextfilter.workflows.encoder_training import EncoderTraining, PivotTraining

    config = EncoderConfig.from_dict(settings_values(options))
    run.facts["seed"] = config.training.seed
    environment = run_environment(
        run, run.row_settings.output, quantise=options["quantise"], resume=options["resume"]
    )
    files = _files(config.architecture, options, run.row_settings.columns)
    training = EncoderTraining if files.pivot is None else PivotTraining
    progress = training(config, files, environment).run()
    run.counts["updates"] = progress.update
    run.note(f"lowest recovery error {progress.best:.2f} % (mean of CSLS and cosine)")


def _files(architecture: str, options: dict[str, Any], columns: Columns) -> TrainingFiles:
    """The training files."""
    from bitextfilter.encoders.registry import PIVOT
    from bitextfilter.io.rows import Columns
    from bitextfilter.training.data import PairFile
    from bitextfilter.workflows.runs import TrainingFiles

    pairs, pivot = [], None
    if architecture == PIVOT:
        pivot = pivot_files(options, columns)
    else:
        no_pivot(options)
        pairs = pair_files(options["pairs"], options["parallel"], columns)
    return TrainingFiles(
        languages=options["languages"],
        pairs=pairs,
        development=PairFile(
            options["development"], columns=Columns(options["dev_scol"], options["dev_tcol"])
        ),
        monolingual={0: options["source_text"], 1: options["target_text"]},
        start=options["start"],
        segmenter=options["segmenter"],
        vectors=options["embeddings"],
        pivot=pivot,
    )
