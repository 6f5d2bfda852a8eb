"""Encoders of other libraries: vectors in, as theirs; see ``models/foreign.py``."""

from __future__ import annotations

from pathlib import Path

from bitextfilter.encoders.protocol import SentenceEncoder
from bitextfilter.errors import DeviceError, SettingsError
from bitextfilter.languages import find_language
from bitextfilter.models.folders import read_config
from bitextfilter.models.foreign import ONNX, STATIC, ForeignFiles, files_of
from bitextfilter.text.processor import TextProcessor


def load_foreign(
    folder: Path, device: str, threads: int, languages: tuple[str, str] | None
) -> SentenceEncoder | None:
    """Load the foreign encoder of a model folder; None if the model is not of one.

    Errors as :func:`bitextfilter.encoders.registry.load_encoder`, and DeviceError where its package
    is missing.
    """
    config = read_config(folder)
    files = files_of(folder, config)
    if files is None:
        return None
    processor = _processor(folder, tuple(config["languages"]), languages)
    return _load(files, processor, device, threads)


def _processor(
    folder: Path, known: tuple[str, ...], languages: tuple[str, str] | None
) -> TextProcessor:
    """Return the text processing for two languages. Raises SettingsError for unknown ones."""
    if languages is None and len(known) != 2:
        which = f"for {', '.join(known)}" if known else "that names no languages"
        raise SettingsError(
            f"{folder.name} is a model {which}: name the two of the columns, as --languages en,de"
            f" or in the name of the model, {folder.name}:en,de"
        )
    if not known or len(known) == 2:
        first, second = languages or (known[0], known[1])
        pair = (find_language(first, known) or first, find_language(second, known) or second)
        if known and set(pair) - set(known):
            raise SettingsError(
                f"{folder.name} is a model of {'-'.join(known)}, not {'-'.join(pair)}"
            )
        return TextProcessor.plain(known or pair).of_pair(pair)
    assert languages is not None
    return TextProcessor.plain(known).of_pair(languages)


def _load(
    files: ForeignFiles, processor: TextProcessor, device: str, threads: int
) -> SentenceEncoder:
    if files.kind in (STATIC, ONNX) and device.startswith("cuda"):
        raise DeviceError(f"{files.folder}: {files.kind} encoders run on processors: --device cpu")
    if files.kind == STATIC:
        from bitextfilter.encoders.static import StaticEncoder

        return StaticEncoder(files, processor, threads)
    if files.kind == ONNX:
        from bitextfilter.encoders.onnx_network import OnnxEncoder

        return OnnxEncoder(files, processor, threads)
    from bitextfilter.encoders.sentence_transformers_model import SentenceTransformersEncoder

    return SentenceTransformersEncoder(files, processor, device, threads)
