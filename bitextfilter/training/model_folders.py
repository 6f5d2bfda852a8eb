"""Trained models as folders: two joined into one, and one of many languages cut down to two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bitextfilter.arrays import Indices
from bitextfilter.encoders.registry import ENCODERS, load_encoder
from bitextfilter.errors import SettingsError
from bitextfilter.languages import own_language
from bitextfilter.models.checkpoint import take_rows
from bitextfilter.models.folders import (
    ATTRIBUTION,
    CALIBRATION,
    CARD,
    SECOND,
    check_replaceable,
    copy_files,
    read_config,
    write_config,
    writing_folder,
)
from bitextfilter.models.foreign import files_of
from bitextfilter.scoring.background import BACKGROUND, BackgroundSample, load_background
from bitextfilter.scoring.thresholds import read_grades, write_grades
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.ragged import PIECES, TRIGRAMS
from bitextfilter.text.trigrams import CountedTrigrams
from bitextfilter.text.vocabulary import RESERVED, Vocabulary
from bitextfilter.training.data import PairFile, read_pairs
from bitextfilter.training.encoder_training import both_sides, distinct_sample
from bitextfilter.training.runs import RECORD

_ENCODER, _CLASSIFIER = "encoder", "classifier"

_KEPT_OF_BOTH = (f"{_ENCODER}.safetensors", RECORD, ATTRIBUTION)
_CHOICE = 1
"""Of the choice of neighbours."""


def join_models(
    models: tuple[Path, Path], weight: float, pairs: Sequence[str], output: Path
) -> None:
    """Write a model with the encoders of two models, and neighbours from files of pairs.

    Nothing else of the models goes into it: a classifier or a threshold is of other vectors.

    Args:
        models: the folders of both; the text processing of the first serves the commands.
        weight: of the second's cosine, between 0 and 1; the first's is the rest.
        pairs: TSVs, source first; without any, the model has no neighbours.
        output: the new folder.

    Raises:
        SettingsError: the weight or the languages do not fit, or a model has two encoders.
        NotFoundError, ModelError: as in loading the models.
        OutputError: as ``writing_folder``.
    """
    check_replaceable(output)
    for folder in models:
        if files_of(folder, read_config(folder)) is not None:
            raise SettingsError(
                f"{folder}: its encoder is of another library, and cannot be joined"
            )
        load_encoder(folder)
        if SECOND in read_config(folder):
            raise SettingsError(f"{folder} has two encoders already: join its parts with one")
    one, other = ("-".join(read_config(folder)["languages"]) for folder in models)
    if one != other:
        raise SettingsError(f"{models[0]} is of {one}, {models[1]} of {other}")
    with writing_folder(output) as draft:
        _copy_encoder(models[0], draft, {SECOND: {"weight": weight}})
        (draft / SECOND).mkdir()
        _copy_encoder(models[1], draft / SECOND, {})
        encoder = load_encoder(draft)
        if pairs:
            texts = read_pairs([PairFile(path) for path in pairs])
            sample = distinct_sample(texts.sources, texts.targets, _CHOICE)
            BackgroundSample(*both_sides(encoder, sample)).save(draft / BACKGROUND)


def _copy_encoder(folder: Path, draft: Path, more: Mapping[str, Any]) -> None:
    """Copy text processing, encoder and the record of its training into a draft."""
    config = read_config(folder)
    processor = TextProcessor.load(folder, config)
    processor.save(draft)
    copy_files(folder, draft, _KEPT_OF_BOTH)
    write_config(draft, {**processor.config(), _ENCODER: config[_ENCODER], **more})


_KEPT = (f"{_CLASSIFIER}.safetensors", "classifier.json", CALIBRATION, RECORD, CARD, ATTRIBUTION)


def prune_model(folder: Path, languages: tuple[str, str], output: Path) -> dict[str, int]:
    """Write the model of two of a model's languages: it keeps what their training text had.

    Vectors and scores stay the same to the last bit, but for sentences with pieces or trigrams
    that neither language had in training: these become unknown.

    Args:
        folder: a model of more than two languages.
        languages: the two that stay, in the order of the model.
        output: the new folder.

    Returns:
        The number of pieces, and of trigrams, that are left.

    Raises:
        SettingsError: the model has two languages, or not these.
        NotFoundError, ModelError: as in loading the model.
        OutputError: as ``writing_folder``.
    """
    check_replaceable(output)
    model, config = ENCODERS.load(folder), read_config(folder)
    if len(model.processor.known) <= 2:
        raise SettingsError(f"{folder} is a model of two languages: there is nothing to leave out")
    known = model.processor.known
    own = (own_language(language, known) for language in languages)
    first, second = sorted(own, key=known.index)
    languages = first, second
    processor, rows = _smaller(model.processor, languages)
    with writing_folder(output) as draft:
        processor.save(draft)
        views = model.network.rows_by_view()
        chosen = {name: rows[view] for name, view in views.items() if view in rows}
        name = f"{_ENCODER}.safetensors"
        take_rows(folder / name, draft / name, chosen)
        _copy_rest(folder, draft, languages)
        parts = {part: config[part] for part in (_ENCODER, _CLASSIFIER) if part in config}
        write_config(draft, {**processor.config(), **parts})
    return processor.sizes()


def _smaller(
    processor: TextProcessor, languages: tuple[str, str]
) -> tuple[TextProcessor, dict[str, Indices]]:
    """Return the text processing of two languages, and the ids that are left of each view."""
    pair = processor.of_pair(languages)
    vocabulary, pieces = _left(pair.vocabulary)
    trigrams, rows = pair.trigrams, {PIECES: pieces}
    if isinstance(trigrams, CountedTrigrams):
        places = [processor.known.index(language) for language in languages]
        kept, rows[TRIGRAMS] = _left(trigrams.vocabulary.of(places))
        trigrams = CountedTrigrams(kept, trigrams.syllabic)
    small = TextProcessor(languages, pair.normalisation, pair.segmenter, vocabulary, trigrams)
    small.first_trigrams = {
        language: int((rows[TRIGRAMS] < len(RESERVED) + first).sum()) - len(RESERVED)
        for language, first in pair.first_trigrams.items()
        if language in languages
    }
    return small, rows


def _left(vocabulary: Vocabulary) -> tuple[Vocabulary, Indices]:
    """Return the pieces that have a count, and their ids with those of ``RESERVED``."""
    places = np.flatnonzero(vocabulary.counts.sum(axis=1))
    left = Vocabulary([vocabulary.pieces[place] for place in places], vocabulary.counts[places])
    return left, np.concatenate([np.arange(len(RESERVED)), places + len(RESERVED)])


def _copy_rest(folder: Path, draft: Path, languages: tuple[str, str]) -> None:
    """Copy the classifier, the pages, and of two languages the background sample and the grades."""
    copy_files(folder, draft, _KEPT)
    if grades := read_grades(folder, languages):
        write_grades(draft, grades)
    background = load_background(folder, names=languages)
    if background is not None:
        background.save(draft / BACKGROUND)
