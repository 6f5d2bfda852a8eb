"""``bitext-train-encoder``: train an encoder from parallel text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import is_given, option
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.training import (
    NEW_MODEL,
    PairColumns,
    PairTraining,
    TrainingOptions,
    language_file,
    pair_files,
    run_environment,
    training_settings,
    weighted,
)
from bitextfilter.commands.frame.words import as_language
from bitextfilter.models.folders import find_model, read_config, unverified

if TYPE_CHECKING:
    from bitextfilter.io.rows import Columns
    from bitextfilter.training.encoder_training import EncoderTraining
    from bitextfilter.training.multilingual import TaughtFile
    from bitextfilter.training.runs import PivotFiles, TrainingFiles


def _as_all_languages(value: str) -> tuple[str, ...]:
    """Read ``en,de,fr``: the codes of two languages, or of more that differ."""
    names = tuple(map(as_language, value.split(",")))
    if len(names) < 2:
        raise click.BadParameter("expected two languages or more, such as en,de")
    if len(names) > 2 and (double := next((n for n in names if names.count(n) > 1), None)):
        raise click.BadParameter(f"{double} stands twice")
    return names


@dataclass(frozen=True)
class _Settings(PairTraining):
    """The files, the architecture, and its start."""

    languages: tuple[str, ...] = option(  # type: ignore[assignment]
        "--languages SOURCE,TARGET,...",
        "Such as en,de; one twice (en,en) for paraphrases; or more than two.",
        _as_all_languages,
        required=True,
    )
    development: tuple[str, ...] = option(  # type: ignore[assignment]
        "--development FILE",
        "Pairs to validate on, a TSV; of more than two languages repeatable.",
        multiple=True,
        required=True,
    )
    taught: tuple[tuple[str, str], ...] = option(
        "--taught LANGUAGES=FILE[@WEIGHT] VECTORS",
        "Text that is to lie where VECTORS (.npy, such as another encoder's by bitext-embed) have"
        " it; repeatable.",
        multiple=True,
        nargs=2,
    )
    bits: str | None = option(
        "--bits 3|4|8",
        "Keep matrices in 3, 4 or 8 bits a number, instead of 32. --quantise is short for 8.",
        ["3", "4", "8"],
    )
    source_text: tuple[str, ...] = option(
        "--source-text FILE",
        "Plain source sentences for the decoder to autoencode; repeatable.",
        click.Path(dir_okay=False),
        multiple=True,
    )
    target_text: tuple[str, ...] = option(
        "--target-text FILE",
        "Plain target sentences for the decoder to autoencode; repeatable.",
        click.Path(dir_okay=False),
        multiple=True,
    )
    start: tuple[Path, ...] = option(
        "--start NAME|DIR",
        "Start from a model: its subwords, and every tensor that fits; of several, the first's."
        " One of many languages gets those of --languages that it lacks, as en,xx.",
        find_model,
        multiple=True,
    )
    architecture: str | None = option(
        "--architecture NAME|PARTS",
        "Parts such as word+lstm,trigram; autoencoder, pivot, or averaging.  [default: "
        "word,trigram]",
    )
    pivot: str | None = option(
        "--pivot LANGUAGE", "The third language of --architecture pivot, such as fr.", as_language
    )
    source_pivot: tuple[str, ...] = option(
        "--source-pivot FILE[@WEIGHT]",
        "Instead of --pairs, a TSV of sources and the same in the third language; repeatable.",
        multiple=True,
    )
    target_pivot: tuple[str, ...] = option(
        "--target-pivot FILE[@WEIGHT]",
        "Instead of --pairs, a TSV of targets and the same in the third language; repeatable.",
        multiple=True,
    )


@command(
    "bitext-train-encoder",
    _Settings,
    NEW_MODEL,
    training_settings("training.encoder_training.EncoderConfig"),
    PairColumns,
    uses="threads device",
)
def main(run: Run, settings: _Settings, chosen: TrainingOptions, columns: PairColumns) -> None:
    r"""Train an encoder from parallel text, and write it as a model folder.

    Without settings this is the recipe of the models that come with the package: averages of
    subwords and of character trigrams, trained with the hardest negatives among 4,000 pairs. The
    model is kept whenever its sentence alignment recovery error on --development (%, mean of CSLS
    and cosine) is the lowest so far. The state of the training lies in DIR.training, saved at
    each validation and every five minutes; --resume goes on from there with the same result.

    With --architecture pivot the decoder writes a third language, from sources and from targets
    (--source-pivot, --target-pivot): pairs of the two languages are only for --development.

    Architectures of parts (word, trigram, weighted, lstm, blstm, max-blstm, gran, gran-gru) are
    added with + and set side by side with a comma. By default they train without a decoder:
    training.translation and .autoencoding are 0.

    All training text is held in memory. Settings: --set segmentation.vocabulary_size=24000,
    --set training.passes=3 and so on; --list-settings lists them all.

    Example:

        bitext-train-encoder --languages en,de --pairs train.tsv.gz --development dev.tsv \
            -o my-model
    """
    from bitextfilter.training.encoder_training import EncoderConfig

    config = EncoderConfig.from_dict(chosen.values(settings.architecture))
    run.facts["seed"] = config.training.seed
    if settings.quantise and settings.bits is not None:
        raise click.UsageError("--quantise is --bits 8: give one of the two")
    bits = 8 if settings.quantise else int(settings.bits or 32)
    environment = run_environment(run, bits=bits, resume=settings.resume)
    training, files = _training(config.architecture, settings, columns)
    progress = training(config, files, environment).run()
    run.counts["updates"] = progress.update
    run.note(f"lowest recovery error {progress.best:.2f} % (mean of CSLS and cosine)")


def _training(
    architecture: str, settings: _Settings, columns: PairColumns
) -> tuple[type[EncoderTraining], TrainingFiles]:
    """The kind of training, and its files. Raises UsageError for files that do not fit."""
    from bitextfilter.papers.pivot import PivotTraining
    from bitextfilter.training.encoder_training import EncoderTraining

    with unverified():  # the training will check it
        before = read_config(settings.start[0]).get("languages", ()) if settings.start else ()
    if len(settings.languages) > 2 or len(before) > 2:
        from bitextfilter.training.multilingual_training import (
            LanguageAddition,
            MultilingualTraining,
        )

        adds = len(before) > 2 and set(before) != set(settings.languages)
        return LanguageAddition if adds else MultilingualTraining, _multilingual_files(settings)
    files = _files(architecture, settings, columns)
    return EncoderTraining if files.pivot is None else PivotTraining, files


def _multilingual_files(settings: _Settings) -> TrainingFiles:
    """The training files of more than two languages. UsageError for options of two."""
    from bitextfilter.training.runs import MultilingualFiles

    two = ("parallel", "source_text", "target_text", "pivot", "source_pivot", "target_pivot")
    for name in (*two, "scol", "tcol", "dev_scol", "dev_tcol"):
        if getattr(settings, name, None) if name in two else is_given(name):
            option = name.replace("_", "-")
            raise click.UsageError(
                f"--{option} is for models of two languages: a file of more has a column each"
            )
    if not settings.pairs:
        raise click.UsageError("no training pairs: give --pairs FILE")

    usual = settings.languages if len(settings.languages) == 2 else ()
    pairs = [language_file(*weighted(text, "--pairs"), usual) for text in settings.pairs]
    development = [language_file(text, usual=usual) for text in settings.development]
    multilingual = MultilingualFiles(pairs, development)
    return settings.files(
        [],
        development=None,
        starts=settings.start,
        multilingual=multilingual,
        taught=_taught_files(settings),
    )


def _taught_files(settings: _Settings) -> list[TaughtFile]:
    """The files of --taught."""
    from bitextfilter.training.multilingual import TaughtFile

    return [
        TaughtFile(language_file(*weighted(text, "--taught"), least=1), vectors)
        for text, vectors in settings.taught
    ]


def _files(architecture: str, settings: _Settings, columns: PairColumns) -> TrainingFiles:
    """The training files. Raises UsageError for those that the architecture lacks or has not."""
    from bitextfilter.encoders.registry import PIVOT
    from bitextfilter.training.data import PairFile

    pairs, pivot = [], None
    if architecture == PIVOT:
        pivot = _pivot_files(settings, columns.training)
    else:
        for name, value in _pivot_options(settings).items():
            if value:
                raise click.UsageError(f"{name} is for --architecture pivot alone")
        pairs = pair_files(settings.pairs, settings.parallel, columns.training)
    if len(settings.development) > 1:
        raise click.UsageError("--development is one file, but for more than two languages")
    return settings.files(
        pairs,
        development=PairFile(settings.development[0], columns=columns.development),
        monolingual={0: settings.source_text, 1: settings.target_text},
        starts=settings.start,
        pivot=pivot,
        taught=_taught_files(settings),
    )


def _pivot_options(settings: _Settings) -> dict[str, str | tuple[str, ...] | None]:
    """The values of the options for --architecture pivot."""
    return {
        "--pivot": settings.pivot,
        "--source-pivot": settings.source_pivot,
        "--target-pivot": settings.target_pivot,
    }


def _pivot_files(settings: _Settings, columns: Columns) -> PivotFiles:
    """The files of --source-pivot and --target-pivot. Raises UsageError unless all is there."""
    from bitextfilter.training.runs import PivotFiles

    for name, value in _pivot_options(settings).items():
        if not value:
            raise click.UsageError(f"--architecture pivot needs {name}")
    not_read = {
        "--pairs": settings.pairs,
        "--parallel": settings.parallel,
        "--taught": settings.taught,
        "--source-text": settings.source_text,
        "--target-text": settings.target_text,
    }
    for name, files in not_read.items():
        if files:
            raise click.UsageError(
                f"--architecture pivot reads no {name}: give --source-pivot and"
                " --target-pivot alone"
            )
    assert settings.pivot is not None
    if settings.pivot in settings.languages:
        raise click.UsageError(
            f"--pivot is a third language, and {settings.pivot} is one of --languages"
        )
    source = pair_files(settings.source_pivot, (), columns, "--source-pivot")
    target = pair_files(settings.target_pivot, (), columns, "--target-pivot")
    return PivotFiles(settings.pivot, (source, target))
