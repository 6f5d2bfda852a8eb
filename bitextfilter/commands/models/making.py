"""Subcommands of ``bitext-models`` that make new models of models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import NumberRange, argument, languages_option, option
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.words import Words
from bitextfilter.commands.models.lines import Named
from bitextfilter.models.folders import find_model

_FOLDER: Any = option("-o --output FOLDER", "The new model's folder.", required=True)
_BETWEEN = NumberRange(0, 1, min_open=True, max_open=True)


@dataclass(frozen=True)
class _Joined:
    """The models to join."""

    first: str = argument("FIRST")
    second: str = argument("SECOND")
    folder: str = _FOLDER
    weight: float = option(
        "--weight SHARE", "Share of SECOND's cosine, between 0 and 1.", _BETWEEN, 0.25
    )
    pairs: tuple[str, ...] = option(
        "--pairs FILE",
        "Pairs, a TSV, source first: some of their sentences become the neighbours of csls, ratio"
        " and distance; repeatable.",
        multiple=True,
    )


@command("join", _Joined, uses="")
def join(run: Run, settings: _Joined) -> None:
    """Join the encoders of two models of the same languages side by side.

    A sentence vector of the new model is the vectors of both; the cosine of a pair is the weighted
    mean of both cosines. What one encoder mistakes, the other often does not. A classifier and
    thresholds are of the vectors that they were made for, and are left out:
    bitext-train-classifier and bitext-models recommend make new ones.

    Example:

        bitext-models join en-de my-autoencoder --weight 0.25 --pairs clean.tsv.gz -o my-model
    """
    from bitextfilter.training.model_folders import join_models

    models = find_model(settings.first), find_model(settings.second)
    join_models(models, settings.weight, settings.pairs, Path(settings.folder))
    run.counts["encoders"] = len(models)


@dataclass(frozen=True)
class _Pruned(Named):
    """The model, the two languages that stay, and the new folder."""

    languages: tuple[str, str] = languages_option("The two that stay, as de,cs.", required=True)
    folder: str = _FOLDER


@command("prune", _Pruned, uses="")
def prune(run: Run, settings: _Pruned) -> None:
    """Cut the model of two languages out of a model of more.

    It keeps the pieces and the trigrams that either language had in training, and is some times
    smaller. Scores stay the same, but for sentences with other pieces: these become unknown.

    Example:

        bitext-models prune my-multi --languages de,cs -o my-de-cs
    """
    from bitextfilter.training.model_folders import prune_model

    output = Path(settings.folder)
    run.counts.update(prune_model(find_model(settings.name), settings.languages, output))


@dataclass(frozen=True)
class _Exported(Named):
    """The model, the form and the new folder."""

    form: str = option(
        "--to FORM",
        "sentence-transformers, onnx, or module.",
        Words(("sentence-transformers", "onnx", "module")),
        required=True,
    )
    folder: str = option("-o --output FOLDER", "The new folder.", required=True)
    language: str | None = option(
        "--language CODE", "Of the text to read, where MODEL has vectors for each language."
    )


@command("export", _Exported, uses="")
def export(run: Run, settings: _Exported) -> None:
    """Write the encoder of MODEL for another library, as a folder that it reads.

    sentence-transformers reads a StaticEmbedding; onnx is a network, model.onnx, with its
    tokenizer.json. Both are for averages of vectors of pieces: the architectures averaging, word
    and weighted, cut by unigram or none. module takes any model: sentence-transformers reads it
    with trust_remote_code=True, where bitextfilter is installed. The new folder is read again, and
    its vectors of 2,000 lines of the model's pieces are held against MODEL's.

    Example:

        bitext-models export my-model --to sentence-transformers -o exported
        bitext-models export multi --to module -o exported
    """
    from bitextfilter.encoders.export import export_encoder

    output, source = Path(settings.folder), find_model(settings.name)
    run.counts.update(export_encoder(source, settings.form, settings.language, output))
