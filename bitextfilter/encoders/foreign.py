"""Encoders of other libraries: sentences in, vectors out, as theirs; see ``models/foreign.py``.

They are averages of word vectors (StaticEmbedding and model2vec), networks of ONNX, and models of
the package sentence-transformers, from local folders, without code of others; only these import
torch.
"""

from __future__ import annotations

import logging
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Vectors
from bitextfilter.encoders.averages import VectorTable
from bitextfilter.encoders.protocol import (
    MOST_OF_AVERAGES,
    MOST_OF_NETWORKS,
    SentenceEncoder,
    of_processor,
    row_lengths,
)
from bitextfilter.errors import DeviceError, ModelError, SettingsError
from bitextfilter.io.records import folder_files, parse_json
from bitextfilter.io.workers import map_blocks
from bitextfilter.languages import find_language
from bitextfilter.models.folders import read_config
from bitextfilter.models.foreign import ONNX, PACKAGED, STATIC, ForeignFiles, Package
from bitextfilter.models.tensor_file import StoredTensor, open_tensors
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.ragged import Ragged
from bitextfilter.text.tokenizer_file import TokenizerFile


def load_foreign(
    folder: Path,
    files: ForeignFiles,
    languages: tuple[str, str] | None,
    device: str,
    threads: int,
) -> SentenceEncoder:
    """Load the encoder of a model folder that is of these foreign files.

    Errors as :func:`bitextfilter.encoders.registry.load_encoder`, and DeviceError where its package
    is missing.
    """
    config = read_config(folder)
    processor = _processor(folder, tuple(config["languages"]), languages)
    if files.kind in (STATIC, ONNX, *PACKAGED) and device.startswith("cuda"):
        raise DeviceError(f"{files.folder}: {files.kind} encoders run on processors: --device cpu")
    if files.kind == STATIC:
        return StaticEncoder(files, processor, threads)
    if files.kind == ONNX:
        return OnnxEncoder(files, processor, threads)
    if files.kind in PACKAGED:
        from bitextfilter.encoders.packaged import PackagedEncoder

        return PackagedEncoder(Package.of(folder, config), processor, threads)
    return SentenceTransformersEncoder(files, processor, device, threads)


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
    pair = languages or (known[0], known[1])
    if len(known) in (0, 2):
        pair = (find_language(pair[0], known) or pair[0], find_language(pair[1], known) or pair[1])
        if known and set(pair) - set(known):
            raise SettingsError(
                f"{folder.name} is a model of {'-'.join(known)}, not {'-'.join(pair)}"
            )
    return TextProcessor.plain(known or pair).of_pair(pair)


_STATIC_BLOCK = 1024
"""Sentences read by one thread at a time."""


class StaticEncoder:
    """The mean of the vectors of a sentence's tokens; see :class:`SentenceEncoder`.

    A row depends on its sentence alone, to the last bit, and no part of a sentence is left out. A
    sentence without a token is a zero vector.
    """

    most = MOST_OF_AVERAGES

    def __init__(self, files: ForeignFiles, processor: TextProcessor, threads: int = 1) -> None:
        """Read tokeniser and vectors. Errors as those of ``TokenizerFile`` and ``open_tensors``."""
        self.processor, self.languages, self.threads = processor, processor.languages, threads
        self._files, self._tokenizer = files, TokenizerFile(files.tokenizer)
        self._table = _table(files)
        self.dim = self._table.width
        if self._tokenizer.size > self._table.size:
            raise ModelError(
                f"{files.tensors}: {self._table.size} vectors, and the tokeniser has"
                f" {self._tokenizer.size} ids"
            )

    def encode(self, sentences: Sequence[str], language: str) -> Vectors:
        """See :meth:`SentenceEncoder.encode`."""
        self.processor.normalise([], language)
        out = np.zeros((len(sentences), self.dim), dtype=np.float32)

        read, size = self._tokenizer, len(sentences) if self._tokenizer.by_words else _STATIC_BLOCK

        def run(first: int) -> None:
            ids = read(sentences[first : first + size])
            for start in range(0, len(ids), _STATIC_BLOCK):
                some = ids.take(np.arange(start, min(start + _STATIC_BLOCK, len(ids))))
                out[first + start : first + start + len(some)] = self._means(some)

        map_blocks(run, range(0, len(sentences), max(size, 1)), self.threads)
        return out

    def arithmetic(self) -> list[str]:
        """See :meth:`SentenceEncoder.arithmetic`: sums are the same everywhere."""
        return ["averages", platform.machine()]

    def _means(self, ids: Ragged) -> Vectors:
        """Return the means of the vectors of sentences' ids, ``(n, dim)``."""
        if self._files.without_unknown and self._tokenizer.unknown is not None:
            ids = ids.only(ids.flat != self._tokenizer.unknown)
        vectors = self._table.sums(ids)
        vectors /= np.maximum(ids.lengths, 1).astype(np.float32)[:, None]
        if self._files.unit:
            norms = row_lengths(vectors)
            vectors = np.asarray(vectors / np.where(norms > 0, norms, 1)[:, None], np.float32)
        return vectors


def _table(files: ForeignFiles) -> VectorTable:
    """Return the vector of each id, ``(v, dim)``. Raises ModelError for other tensors."""
    tensors = open_tensors(files.tensors)
    found = tensors.get("embedding.weight", tensors.get("embeddings"))
    if found is None or len(found.shape) != 2 or not found.size:
        raise ModelError(f"{files.tensors}: no table of vectors of tokens")
    ids, weights = tensors.get("mapping"), tensors.get("weights")
    table = found
    if ids is not None or weights is not None:
        table = StoredTensor(_weighted(found.array().astype(np.float32), ids, weights, files))
    if not table.is_finite():
        raise ModelError(f"{files.tensors}: its vectors are not finite numbers")
    return VectorTable(table)


def _weighted(
    table: Vectors, ids: StoredTensor | None, weights: StoredTensor | None, files: ForeignFiles
) -> Vectors:
    """Return the vectors of ids, times their weights. Raises ModelError where these do not fit."""
    if ids is not None:
        places: NDArray[np.integer] = ids.array()
        whole = places.ndim == 1 and places.dtype.kind in "iu" and places.size > 0
        if not whole or int(places.min()) < 0 or int(places.max()) >= len(table):
            raise ModelError(f"{files.tensors}: its mapping does not fit its vectors")
        table = table[places]
    if weights is not None:
        if weights.shape != table.shape[:1]:
            raise ModelError(f"{files.tensors}: its weights do not fit its vectors")
        with np.errstate(over="ignore", invalid="ignore"):
            table = table * weights.array().astype(np.float32)[:, None]
    return table


_NETWORK_BLOCK = 32
"""Sentences of like length that run together."""
_LONGEST = 512
"""Tokens of a sentence that are read, where no file of the model says how many."""
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_SENTENCE = "sentence_embedding"
_LENGTHS = (
    ("sentence_bert_config.json", "max_seq_length"),
    ("tokenizer_config.json", "model_max_length"),
)
"""Files and their members with the number of tokens that are read."""
_POOLING = "1_Pooling/config.json"


class OnnxEncoder:
    """A network that gives a vector of a sentence, or one for each token; see ``SentenceEncoder``.

    Of the tokens' vectors, the mean is taken, or the first, as ``1_Pooling/config.json`` says.
    Sentences of more tokens than the model reads are cut off, as its makers do.
    """

    most = MOST_OF_NETWORKS

    def __init__(self, files: ForeignFiles, processor: TextProcessor, threads: int = 1) -> None:
        """Read tokeniser and network.

        Raises DeviceError without onnxruntime, ModelError for a network of other inputs or outputs.
        """
        self.processor, self.languages = processor, processor.languages
        self._files, self._first = files, _takes_first(files.folder)
        self._tokenizer = TokenizerFile(files.tokenizer, _longest(files.folder), marks=True)
        self._session = _onnx_session(files.network, threads)
        inputs = [each.name for each in self._session.get_inputs()]
        outputs = {each.name: each.shape for each in self._session.get_outputs()}
        if not set(inputs) <= set(_INPUTS):
            raise ModelError(
                f"{files.network}: inputs {', '.join(inputs)}; known: {', '.join(_INPUTS)}"
            )
        self._inputs = inputs
        self._output = _SENTENCE if _SENTENCE in outputs else next(iter(outputs))
        if len(shape := outputs[self._output]) not in (2, 3):
            raise ModelError(f"{files.network}: its output {self._output} is of shape {shape}")
        one = self._tokenizer(["."])
        self.dim = self._vectors(*one.padded(np.zeros(1, np.int64))).shape[1]

    def encode(self, sentences: Sequence[str], language: str) -> Vectors:
        """See :meth:`SentenceEncoder.encode`; others change a row by rounding, less than 1e-5."""
        self.processor.normalise([], language)
        ids = self._tokenizer(sentences)
        out = np.zeros((len(sentences), self.dim), dtype=np.float32)
        order = np.argsort(ids.lengths, kind="stable")
        for start in range(0, len(order), _NETWORK_BLOCK):
            places = order[start : start + _NETWORK_BLOCK]
            out[places] = self._vectors(*ids.padded(places))
        if self._files.unit:
            norms = row_lengths(out)
            out /= np.where(norms > 0, norms, 1)[:, None].astype(np.float32)
        return out

    def arithmetic(self) -> list[str]:
        """See :meth:`SentenceEncoder.arithmetic`: the library chooses instructions."""
        return of_processor()

    def _vectors(self, ids: NDArray[np.integer], lengths: NDArray[np.int64]) -> Vectors:
        """Run the network on padded sentences ``(n, t)``."""
        mask = (np.arange(ids.shape[1]) < lengths[:, None]).astype(np.int64)
        given = dict(zip(_INPUTS, (ids.astype(np.int64), mask, np.zeros_like(mask)), strict=True))
        try:
            states = self._session.run([self._output], {name: given[name] for name in self._inputs})
        except Exception as error:  # onnxruntime has errors of many kinds
            raise ModelError(f"{self._files.network}: {_one_line(error)}") from error
        found: Vectors = np.asarray(states[0], dtype=np.float32)
        if found.ndim == 2:
            return found
        if self._first:
            return found[:, 0]
        sums = (found * mask[:, :, None]).sum(axis=1)
        return np.asarray(sums / np.maximum(lengths, 1)[:, None], dtype=np.float32)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def _onnx_session(path: Path, threads: int) -> Any:
    """Load a network."""
    try:
        import onnxruntime
    except ImportError as error:
        message = "the package onnxruntime is missing: pip install 'bitextfilter[onnx]'"
        raise DeviceError(message) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has errors of many kinds
        raise ModelError(f"{path}: unusable network: {_one_line(error)}") from error


def _object(path: Path) -> dict[str, Any]:
    """Return the object in a file of JSON; nothing where there is none."""
    try:
        found = parse_json(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: unreadable: {error}") from error
    return found if isinstance(found, dict) else {}


def _longest(folder: Path) -> int:
    """Return the number of tokens of a sentence that a model reads."""
    for name, member in _LENGTHS:
        number = _object(folder / name).get(member)
        if isinstance(number, int) and 0 < number < 1 << 20:
            return number
    return _LONGEST


def _takes_first(folder: Path) -> bool:
    """Whether the first token stands for the sentence. Raises SettingsError for other poolings."""
    pooling = _object(folder / _POOLING)
    modes = {
        name for name, value in pooling.items() if name.startswith("pooling_mode") and value is True
    }
    if isinstance(named := pooling.get("pooling_mode"), str):
        modes.add(named)
    first = {"pooling_mode_cls_token", "cls"}
    if modes - first - {"pooling_mode_mean_tokens", "mean"} or len(modes) > 1:
        raise SettingsError(
            f"{folder / _POOLING}: pooling by {', '.join(sorted(modes))}, not mean or cls"
        )
    return bool(modes & first)


_PICKLED = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")
_PACKED = ".safetensors"


class SentenceTransformersEncoder:
    """Any model of that package; see :class:`SentenceEncoder`.

    Sentences of more tokens than the model reads are cut off, as the package does.
    """

    most = MOST_OF_NETWORKS

    def __init__(
        self, files: ForeignFiles, processor: TextProcessor, device: str = "cpu", threads: int = 1
    ) -> None:
        """Load the model.

        Raises DeviceError without the package, ModelError for a folder that it cannot load, or
        whose tensors are pickled.
        """
        from bitextfilter.models.device import resolve_device

        self.processor, self.languages = processor, processor.languages
        self.device, self._threads, self._lock = resolve_device(device), threads, Lock()
        _check_tensors(files.folder)
        self._model = _sentence_transformer(files.folder, str(self.device))
        self.dim = _dim(self._model)
        if not self.dim:
            raise ModelError(f"{files.folder}: does not say how wide its vectors are")

    def encode(self, sentences: Sequence[str], language: str) -> Vectors:
        """See :meth:`SentenceEncoder.encode`; others change a row by rounding, less than 1e-5."""
        from bitextfilter.models.device import torch_threads

        self.processor.normalise([], language)
        if not len(sentences):
            return np.zeros((0, self.dim), dtype=np.float32)
        with self._lock, torch_threads(self._threads):
            found = self._model.encode(
                list(sentences),
                batch_size=_NETWORK_BLOCK,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        return np.asarray(found, dtype=np.float32)

    def arithmetic(self) -> list[str]:
        """See :meth:`SentenceEncoder.arithmetic`."""
        from bitextfilter.models.device import arithmetic

        return arithmetic(self.device)


def _dim(model: Any) -> int:
    """Return the width of a model's vectors, whatever the version calls it; 0: unknown."""
    name = "get_embedding_dimension"
    known = hasattr(model, name)
    return int(getattr(model, name if known else "get_sentence_embedding_dimension")() or 0)


def _check_tensors(folder: Path) -> None:
    """Raise ModelError for pickled tensors: they could run code."""
    files = folder_files(folder).values()
    packed = {path.parent for path in files if path.suffix == _PACKED}
    for path in files:
        if path.suffix in _PICKLED and path.parent not in packed:
            raise ModelError(f"{path}: pickled, which is never read; take {_PACKED}")


def _sentence_transformer(folder: Path, device: str) -> Any:
    """Load a folder, and nothing from anywhere else."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        import sentence_transformers
        from transformers.utils import logging as transformers_logging
    except ImportError as error:
        message = "a package is missing: pip install 'bitextfilter[sentence-transformers]'"
        raise DeviceError(message) from error
    transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity_error()
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    try:
        return sentence_transformers.SentenceTransformer(
            str(folder.resolve()),
            device=device,
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True},
        )
    except Exception as error:  # the package and its libraries have errors of many kinds
        raise ModelError(f"{folder}: cannot be loaded: {_one_line(error)}") from error
