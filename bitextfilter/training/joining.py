"""The encoders of two models side by side in a new model folder."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bitextfilter.encoders.registry import load_encoder
from bitextfilter.errors import SettingsError
from bitextfilter.models.folders import (
    ATTRIBUTION,
    SECOND,
    check_replaceable,
    read_config,
    write_config,
    writing_folder,
)
from bitextfilter.models.foreign import files_of
from bitextfilter.scoring.background import BACKGROUND, BackgroundSample
from bitextfilter.text.processor import TextProcessor
from bitextfilter.training.data import PairFile, read_pairs
from bitextfilter.training.encoder_training import both_sides, distinct_sample
from bitextfilter.training.runs import RECORD

_ENCODER = "encoder"
_KEPT = (f"{_ENCODER}.safetensors", RECORD, ATTRIBUTION)
_SEED = 1
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
            sample = distinct_sample(texts.sources, texts.targets, _SEED)
            BackgroundSample(*both_sides(encoder, sample)).save(draft / BACKGROUND)


def _copy_encoder(folder: Path, draft: Path, more: Mapping[str, Any]) -> None:
    """Copy text processing, encoder and the record of its training into a draft."""
    config = read_config(folder)
    processor = TextProcessor.load(folder, config)
    processor.save(draft)
    for name in _KEPT:
        if (folder / name).exists():
            shutil.copyfile(folder / name, draft / name)
    write_config(draft, {**processor.config(), _ENCODER: config[_ENCODER], **more})
