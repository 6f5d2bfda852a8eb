"""Encoders written for other libraries, read again, and held against the original."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np

from bitextfilter.arrays import Indices, Vectors
from bitextfilter.encoders.export import (
    check_averages,
    save_onnx,
    save_static,
    vectors_of_pieces,
)
from bitextfilter.encoders.protocol import SentenceEncoder
from bitextfilter.encoders.registry import ENCODERS, load_encoder
from bitextfilter.errors import ModelError, SettingsError
from bitextfilter.languages import own_language
from bitextfilter.models.folders import SECOND, check_replaceable, read_config, writing_folder
from bitextfilter.models.foreign import LANGUAGES
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.segment import WORD_START
from bitextfilter.text.tokenizer_export import save_tokenizer

_SAVE: dict[str, Callable[[Path, Vectors, Indices], None]] = {
    "sentence-transformers": save_static,
    "onnx": save_onnx,
}

FORMATS = tuple(_SAVE)
"""The forms of an exported encoder."""

_LINES, _PIECES = 2000, 12
"""Lines that are checked, and pieces in one, at most."""
_NEAR = 1e-5
"""Difference of a number of a vector, in units of its longest, that rounding may make."""
_MOST_DIFFERING = 0.001


def export_encoder(folder: Path, form: str, language: str | None, output: Path) -> dict[str, int]:
    """Write an encoder in one of ``FORMATS``, and check that it gives the same vectors.

    Args:
        folder: a model whose encoder is an average of vectors of pieces.
        form: the form.
        language: of the text that the new encoder reads; None for an encoder that reads all its
            languages alike.
        output: the new folder.

    Returns:
        The numbers of lines that were ``checked``, and of those ``differing`` by more than 1e-5.

    Raises:
        SettingsError: the form cannot express the model, or the languages differ.
        DeviceError: a package is missing.
        NotFoundError, ModelError: as in loading the model, and if the vectors differ.
        OutputError: as ``writing_folder``.
    """
    check_replaceable(output)
    processor, sides = _averages(folder)
    alike = len(processor.known) > 2 or np.array_equal(sides[0], sides[1])
    vectors = sides[_side(folder, processor, language, alike)]
    with writing_folder(output) as draft:
        try:
            ids = save_tokenizer(processor, draft / "tokenizer.json")
        except SettingsError as error:
            raise SettingsError(f"{folder} cannot be exported: {error}") from error
        _SAVE[form](draft, vectors, ids)
        if alike and len(processor.known) > 1:
            text = json.dumps({"languages": list(processor.known)}) + "\n"
            (draft / LANGUAGES).write_text(text, encoding="utf-8")
        first = language or processor.known[0]
        pair = (first, next((one for one in processor.known if one != first), first))
        ours = load_encoder(folder, languages=_own(processor, pair))
        differing = _differing(ours, load_encoder(draft, languages=pair), first)
    return {"checked": _LINES, "differing": differing}


def _averages(folder: Path) -> tuple[TextProcessor, list[Vectors]]:
    """Return the text processing of a model, and the vectors of pieces of either side.

    Raises SettingsError for a model that is no average of these.
    """
    if SECOND in read_config(folder):
        raise SettingsError(f"{folder} has two encoders, which one mean of vectors cannot express")
    model = ENCODERS.load(folder)
    try:
        check_averages(model.architecture)
    except SettingsError as error:
        raise SettingsError(f"{folder} cannot be exported: {error}") from error
    count = len(model.processor.vocabulary)
    sides = [vectors_of_pieces(model.network, side, count) for side in (0, 1)]
    return model.processor, sides


def _side(folder: Path, processor: TextProcessor, language: str | None, alike: bool) -> int:
    """Return the side whose vectors are written. Raises SettingsError."""
    processor.normalise([], language or processor.known[0])  # else it is no language of the model
    if alike:
        return 0
    if language is None:
        known = " or ".join(processor.known)
        raise SettingsError(f"{folder} has vectors for each language: give --language {known}")
    return processor.languages.index(own_language(language, processor.known))


def _own(processor: TextProcessor, pair: tuple[str, str]) -> tuple[str, str]:
    """Return two languages as a model takes them: its own, or any two of more."""
    return pair if len(processor.known) > 2 else processor.languages


def _differing(ours: SentenceEncoder, theirs: SentenceEncoder, language: str) -> int:
    """Return the number of lines whose vectors differ. Raises ModelError for too many."""
    lines = sample_lines(ours.processor)
    wanted, found = (encoder.encode(lines, language) for encoder in (ours, theirs))
    scale = np.maximum(np.abs(wanted).max(axis=1), 1.0)
    differing = int((np.abs(wanted - found).max(axis=1) > _NEAR * scale).sum())
    if differing > _MOST_DIFFERING * len(lines):
        raise ModelError(f"{differing} of {len(lines)} lines have other vectors once exported")
    return differing


def sample_lines(processor: TextProcessor) -> list[str]:
    """Return lines of a model's own pieces, some with capitals and marks; always the same."""
    generator = random.Random(1)
    pieces = [piece.replace(WORD_START, " ") for piece in processor.vocabulary.pieces] or ["a"]
    apart = " " if processor.segmenter.kind == "none" else ""

    def line() -> str:
        some = generator.choices(pieces, k=generator.randint(1, _PIECES))
        text = apart.join(some)
        return generator.choice((text, text, text.upper(), text.title(), f"\u201e{text}\u201c!"))

    lines = (line() for _ in iter(int, 1))
    return list(islice((text for text in lines if text.strip()), _LINES))
