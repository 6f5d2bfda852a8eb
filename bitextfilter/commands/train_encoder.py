"""Train an encoder from parallel text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bitextfilter.commands.frame import Run, command, device_options
from bitextfilter.commands.options import language_pair, pair_column_options
from bitextfilter.commands.training_reporter import TrainingReporter

if TYPE_CHECKING:
    from bitextfilter.io.rows import Columns
    from bitextfilter.training.sources import PairFile
    from bitextfilter.workflows.plan import Material, Plan


_FILE = click.Path(exists=False, dir_okay=False)
_FOLDER = click.Path(exists=False, file_okay=False, path_type=Path)


@command("bitext-train-encoder", pair_column_options(), device_options(), batch_size=None)
@click.option("-o", "--output", required=True, metavar="DIR", help="The new model.")
@click.option(
    "--languages",
    required=True,
    type=language_pair,
    metavar="SOURCE,TARGET",
    help="Such as en,de; one twice (en,en) for paraphrases.",
)
@click.option(
    "--pairs",
    multiple=True,
    metavar="FILE[@WEIGHT]",
    help="Training pairs, a TSV; may be repeated. Weight 2 reads a file twice a pass.",
)
@click.option(
    "--parallel",
    multiple=True,
    nargs=2,
    metavar="SOURCE TARGET[@WEIGHT]",
    help="Training pairs in two files of as many lines; may be repeated.",
)
@click.option("--development", required=True, metavar="FILE", help="Pairs to validate on, a TSV.")
@click.option(
    "--source-text",
    multiple=True,
    type=_FILE,
    metavar="FILE",
    help="Plain source sentences to autoencode besides; may be repeated.",
)
@click.option(
    "--target-text",
    multiple=True,
    type=_FILE,
    metavar="FILE",
    help="Plain target sentences to autoencode besides; may be repeated.",
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
    help="autoencoder (the default), averaging, or parts such as word+lstm,trigram.",
)
@click.option(
    "--segmenter",
    type=_FOLDER,
    metavar="DIR",
    help="Use a segmenter of bitext-segment learn instead of learning one.",
)
@click.option(
    "--embeddings",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Initial vectors of subwords, in the text format of word2vec.",
)
@click.option(
    "--settings",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Settings (JSON), such as training.json of a model.",
)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="GROUP.NAME=VALUE",
    help="One setting; may be repeated, and goes before --settings.",
)
@click.option(
    "--batch-size",
    "mini_batch",
    type=click.IntRange(min=1),
    metavar="N",
    help="Pairs a mini-batch: short for --set training.batch_size=N.",
)
@click.option("--quantise", is_flag=True, help="Keep matrices as int8: a quarter of the size.")
@click.option("--resume", is_flag=True, help="Go on with the interrupted training of this model.")
def main(run: Run, **options: Any) -> None:
    """Train an encoder from parallel text, and write it as a model folder.

    Each mini-batch holds translation and autoencoding 1:1 through one shared decoder, and pulls
    translations together and other pairs apart (weights training.translation, .autoencoding and
    .ranking; 0 leaves one out). The model is kept whenever its sentence alignment recovery
    error on --development (%, mean of CSLS and cosine) is the lowest so far. The state of the
    training lies in DIR.training; --resume continues from the last validation with the very
    same curve.

    Architectures of parts (word, trigram, weighted, lstm, blstm, max-blstm, gran, gran-gru) are
    added with + and set side by side with a comma. By default they train without a decoder:
    training.translation and .autoencoding are 0.

    All training text is held in memory. Settings: --set shape.hidden=256, --set
    segmentation.vocabulary_size=24000, --set training.passes=3 and so on; the page on
    bitext-train-encoder lists them all.

    Example:

        bitext-train-encoder --languages en,de --pairs train.tsv.gz --development dev.tsv
        --set training.passes=6 -o my-model
    """
    from bitextfilter.workflows.encoder_training import EncoderTraining
    from bitextfilter.workflows.plan import Surroundings

    where = Surroundings(
        output=Path(run.row_settings.output),
        device=run.common.device,
        threads=run.common.threads,
        quantise=options["quantise"],
        resume=options["resume"],
        note=run.note,
        report=TrainingReporter(run),
    )
    plan, material = _plan(options), _material(options, run.row_settings.columns)
    run.facts["seed"] = plan.training.seed
    progress = EncoderTraining(plan, material, where).run()
    run.counts["updates"] = progress.update
    run.note(f"lowest recovery error {progress.best:.2f} % (mean of CSLS and cosine)")


def _plan(options: dict[str, Any]) -> Plan:
    """The settings: those of --settings, changed by every --set."""
    from bitextfilter.training.settings import read_settings
    from bitextfilter.workflows.plan import Plan, with_override

    values = read_settings(options["settings"]) if options["settings"] else {}
    values = {n: v for n, v in values.items() if n not in ("material", "validation")}
    if (architecture := options["architecture"]) is not None:
        values = {**values, "architecture": architecture}
    if (mini_batch := options["mini_batch"]) is not None:
        values = with_override(values, f"training.batch_size={mini_batch}")
    for assignment in options["overrides"]:
        values = with_override(values, assignment)
    return Plan.from_dict(values)


def _material(options: dict[str, Any], columns: Columns) -> Material:
    """The files."""
    from bitextfilter.io.rows import Columns
    from bitextfilter.training.sources import PairFile
    from bitextfilter.workflows.plan import Material

    return Material(
        languages=options["languages"],
        pairs=_pair_files(options["pairs"], options["parallel"], columns),
        development=PairFile(
            options["development"], columns=Columns(options["dev_scol"], options["dev_tcol"])
        ),
        monolingual={0: options["source_text"], 1: options["target_text"]},
        start=options["start"],
        segmenter=options["segmenter"],
        vectors=options["embeddings"],
    )


def _pair_files(
    tables: Sequence[str], parallel: Sequence[tuple[str, str]], columns: Columns
) -> list[PairFile]:
    from bitextfilter.training.sources import PairFile

    files = [
        PairFile(path, weight=weight, columns=columns) for path, weight in map(_weighted, tables)
    ]
    for source, text in parallel:
        target, weight = _weighted(text)
        files.append(PairFile(source, target, weight))
    if not files:
        raise click.UsageError("no training pairs: give --pairs FILE or --parallel SOURCE TARGET")
    return files


def _weighted(text: str) -> tuple[str, float]:
    """Split ``FILE@WEIGHT``; without a weight it is 1."""
    match = re.fullmatch(r"(.+)@([0-9]+(?:\.[0-9]+)?)", text)
    if match is None:
        return text, 1.0
    if float(match[2]) == 0:
        raise click.BadParameter(f"{text}: a weight must be above 0", param_hint="--pairs")
    return match[1], float(match[2])
