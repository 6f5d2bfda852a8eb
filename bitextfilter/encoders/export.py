"""Averages of pieces in the form of other libraries: a vector for each token, and their mean."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bitextfilter.arrays import Indices, Vectors
from bitextfilter.encoders.base import Network, Padded, Tokens
from bitextfilter.encoders.expressions import parse
from bitextfilter.encoders.protocol import SentenceEncoder
from bitextfilter.encoders.registry import ENCODERS, load_encoder
from bitextfilter.encoders.sentence_module import CLASS, SentenceModule
from bitextfilter.errors import DeviceError, ModelError, SettingsError
from bitextfilter.languages import own_language
from bitextfilter.models.checkpoint import save_tensors
from bitextfilter.models.device import one_torch_thread
from bitextfilter.models.folders import SECOND, check_replaceable, read_config, writing_folder
from bitextfilter.models.foreign import LANGUAGES
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.ragged import PIECES
from bitextfilter.text.segment import UNKNOWN, WORD_START
from bitextfilter.text.tokenizer_file import save_tokenizer

_AVERAGES = {"word", "weighted"}
"""Parts that are means over pieces of vectors of these pieces."""

_OPSET, _IR = 17, 9
_RESULT = "sentence_embedding"
_LONGEST = (1 << 20) - 1
"""Tokens of a sentence that are read: our encoders read all."""


def check_averages(architecture: str) -> None:
    """Raise SettingsError unless an encoder is an average of vectors of pieces alone."""
    if architecture == "averaging":
        return
    named = architecture in ("autoencoder", "pivot")
    parts = {part for added in ([] if named else parse(architecture)) for part in added}
    if parts and parts <= _AVERAGES:
        return
    reason = "it has a recurrent part, which is no average of vectors of tokens"
    if "trigram" in parts and parts <= _AVERAGES | {"trigram"}:
        reason = (
            "it averages trigrams, which overlap, and a tokenizer.json cuts text into tokens that"
            " do not"
        )
    raise SettingsError(f"architecture {architecture}: {reason}; averaging, word and weighted do")


def vectors_of_pieces(network: Network, side: int, count: int) -> Vectors:
    """Return the vector of each of *count* pieces, by id, whose mean is a sentence's: ``(v, d)``.

    Take an average of pieces: see :func:`check_averages`.
    """
    every, one = torch.arange(count), torch.ones(count, dtype=torch.int64)
    with one_torch_thread(), torch.inference_mode():
        encode = network.eval().prepare_tokens({PIECES: Tokens(every, one)}, side)
        found: Vectors = encode({PIECES: Padded(every[:, None], one)}).float().numpy()
    return found


def save_static(folder: Path, vectors: Vectors, ids: Indices) -> None:
    """Write a ``StaticEmbedding`` of sentence-transformers, but for its ``tokenizer.json``.

    Args:
        folder: the folder.
        vectors: of our pieces, ``(v, d)``.
        ids: our id of each id of the tokenizer.
    """
    save_tensors(folder / "model.safetensors", {"embedding.weight": torch.from_numpy(vectors[ids])})
    _save_modules(folder, "sentence_transformers.models.StaticEmbedding")


def _save_modules(folder: Path, kind: str) -> None:
    """Write the list of modules of sentence-transformers: one."""
    modules = [{"idx": 0, "name": "0", "path": "", "type": kind}]
    (folder / "modules.json").write_text(json.dumps(modules, indent=2) + "\n", encoding="utf-8")


def save_onnx(folder: Path, vectors: Vectors, ids: Indices) -> None:
    """Write a network of ONNX, but for its ``tokenizer.json``; arguments as :func:`save_static`.

    It has the inputs ``input_ids`` and ``attention_mask`` ``(n, t)``, and gives
    ``sentence_embedding`` ``(n, d)``; that of a sentence without a token is the unknown piece's.
    Raises DeviceError without the package.
    """
    try:
        from onnx import checker, helper, save
    except ImportError as error:
        message = "the package onnx is missing: pip install 'bitextfilter[export]'"
        raise DeviceError(message) from error
    opset = helper.make_opsetid("", _OPSET)
    made = helper.make_model(
        _mean_graph(vectors[ids], vectors[UNKNOWN]), opset_imports=[opset], ir_version=_IR
    )
    checker.check_model(made)
    save(made, folder / "model.onnx")
    limit = json.dumps({"model_max_length": _LONGEST}) + "\n"
    (folder / "tokenizer_config.json").write_text(limit, encoding="utf-8")


def _mean_graph(table: Vectors, unknown: Vectors) -> Any:
    """Return the graph of the mean of the rows of a *table* ``(v, d)``, or else *unknown*."""
    from onnx import TensorProto, helper, numpy_helper

    steps: list[tuple[str, list[str], str, dict[str, int]]] = [
        ("Gather", ["table", "input_ids"], "vectors", {}),
        ("Cast", ["attention_mask"], "there", {"to": TensorProto.FLOAT}),
        ("Unsqueeze", ["there", "last"], "column", {}),
        ("Mul", ["vectors", "column"], "counted", {}),
        ("ReduceSum", ["counted", "middle"], "sums", {"keepdims": 0}),
        ("ReduceSum", ["there", "middle"], "counts", {"keepdims": 1}),
        ("Max", ["counts", "one"], "divisors", {}),
        ("Div", ["sums", "divisors"], "means", {}),
        ("Less", ["counts", "one"], "empty", {}),
        ("Where", ["empty", "unknown", "means"], _RESULT, {}),
    ]
    constants = {
        "table": table,
        "unknown": unknown[None],
        "one": np.ones((1, 1), np.float32),
        "last": np.array([2], np.int64),
        "middle": np.array([1], np.int64),
    }
    value = helper.make_tensor_value_info
    return helper.make_graph(
        [helper.make_node(kind, given, [made], **more) for kind, given, made, more in steps],
        "mean",
        [value(name, TensorProto.INT64, ["n", "t"]) for name in ("input_ids", "attention_mask")],
        [value(_RESULT, TensorProto.FLOAT, ["n", table.shape[1]])],
        [numpy_helper.from_array(values, name) for name, values in constants.items()],
    )


_SAVE: dict[str, Callable[[Path, Vectors, Indices], None]] = {
    "sentence-transformers": save_static,
    "onnx": save_onnx,
}

FORMATS = tuple(_SAVE)
"""The forms of an exported encoder that need no code of ours."""

MODULE = "module"
"""The form that does: see :class:`SentenceModule`."""

_OTHERWISE = f"; --to {MODULE} takes any model"

_LINES, _PIECES = 2000, 12
"""Lines that are checked, and pieces in one, at most."""
_NEAR = 1e-5
"""Difference of a number of a vector, in units of its longest, that rounding may make."""
_MOST_DIFFERING = 0.001


def export_encoder(folder: Path, form: str, language: str | None, output: Path) -> dict[str, int]:
    """Write an encoder for another library, and check that it gives the same vectors.

    Args:
        folder: a model; for ``FORMATS`` its encoder is an average of vectors of pieces.
        form: one of ``FORMATS``, or ``MODULE``.
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
    if form == MODULE:
        return _export_module(folder, language, output)
    processor, sides = _averages(folder)
    alike = len(processor.known) > 2 or np.array_equal(sides[0], sides[1])
    vectors = sides[_side(folder, processor, language, alike)]
    with writing_folder(output) as draft:
        try:
            ids = save_tokenizer(processor, draft / "tokenizer.json")
        except SettingsError as error:
            raise SettingsError(f"{folder} cannot be exported: {error}{_OTHERWISE}") from error
        _SAVE[form](draft, vectors, ids)
        if alike and len(processor.known) > 1:
            text = json.dumps({"languages": list(processor.known)}) + "\n"
            (draft / LANGUAGES).write_text(text, encoding="utf-8")
        first = language or processor.known[0]
        pair = (first, next((one for one in processor.known if one != first), first))
        own = pair if len(processor.known) > 2 else processor.languages
        ours = load_encoder(folder, languages=own)
        differing = _differing(ours, load_encoder(draft, languages=pair), first)
    return {"checked": _LINES, "differing": differing}


def _export_module(folder: Path, language: str | None, output: Path) -> dict[str, int]:
    """Write a folder of sentence-transformers that encodes by our code; see ``export_encoder``."""
    module = SentenceModule(folder, language)
    with writing_folder(output) as draft:
        module.save(str(draft))
        _save_modules(draft, CLASS)
        lines = sample_lines(module.encoder.processor)
        again = SentenceModule.load(str(draft)).encoder.encode(lines, module.language)
        if not np.array_equal(again, module.encoder.encode(lines, module.language)):
            raise ModelError(f"{output}: the vectors differ once it is read again")
    return {"checked": len(lines), "differing": 0}


def _averages(folder: Path) -> tuple[TextProcessor, list[Vectors]]:
    """Return the text processing of a model, and the vectors of pieces of either side.

    Raises SettingsError for a model that is no average of these.
    """
    if SECOND in read_config(folder):
        reason = "it has two encoders, which one mean of vectors cannot express"
        raise SettingsError(f"{folder} cannot be exported: {reason}{_OTHERWISE}")
    model = ENCODERS.load(folder)
    try:
        check_averages(model.architecture)
    except SettingsError as error:
        raise SettingsError(f"{folder} cannot be exported: {error}{_OTHERWISE}") from error
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
