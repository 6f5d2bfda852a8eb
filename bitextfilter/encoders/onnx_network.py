"""Encoders as networks of ONNX, with a tokeniser beside: the mean of the states of a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Vectors
from bitextfilter.encoders.protocol import MOST_OF_NETWORKS, row_lengths
from bitextfilter.errors import DeviceError, ModelError, SettingsError
from bitextfilter.io.records import parse_json
from bitextfilter.models.foreign import ForeignFiles
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.tokenizer_file import TokenizerFile

_BLOCK = 32
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
        self._session = _session(files.network, threads)
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
        """Encode ``n`` sentences of one language → float32 ``(n, dim)``.

        A row depends on the other sentences by rounding alone: less than 1e-5. Raises SettingsError
        for a language the model lacks.
        """
        self.processor.normalise([], language)
        ids = self._tokenizer(sentences)
        out = np.zeros((len(sentences), self.dim), dtype=np.float32)
        order = np.argsort(ids.lengths, kind="stable")
        for start in range(0, len(order), _BLOCK):
            places = order[start : start + _BLOCK]
            out[places] = self._vectors(*ids.padded(places))
        if self._files.unit:
            norms = row_lengths(out)
            out /= np.where(norms > 0, norms, 1)[:, None].astype(np.float32)
        return out

    def arithmetic(self) -> list[str]:
        """See :meth:`SentenceEncoder.arithmetic`: the library chooses instructions."""
        from bitextfilter.models.device import CPU, arithmetic

        return arithmetic(CPU)

    def _vectors(self, ids: NDArray[np.integer], lengths: NDArray[np.int64]) -> Vectors:
        """Run the network on padded sentences ``(n, t)``."""
        mask = (np.arange(ids.shape[1]) < lengths[:, None]).astype(np.int64)
        given = dict(zip(_INPUTS, (ids.astype(np.int64), mask, np.zeros_like(mask)), strict=True))
        try:
            states = self._session.run([self._output], {name: given[name] for name in self._inputs})
        except Exception as error:  # onnxruntime has errors of many kinds
            raise ModelError(f"{self._files.network}: {_line(error)}") from error
        found: Vectors = np.asarray(states[0], dtype=np.float32)
        if found.ndim == 2:
            return found
        if self._first:
            return found[:, 0]
        sums = (found * mask[:, :, None]).sum(axis=1)
        return np.asarray(sums / np.maximum(lengths, 1)[:, None], dtype=np.float32)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def _session(path: Path, threads: int) -> Any:
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
        raise ModelError(f"{path}: unusable network: {_line(error)}") from error


def _settings(path: Path) -> dict[str, Any]:
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
        number = _settings(folder / name).get(member)
        if isinstance(number, int) and 0 < number < 1 << 20:
            return number
    return _LONGEST


def _takes_first(folder: Path) -> bool:
    """Whether the first token stands for the sentence. Raises SettingsError for other poolings."""
    pooling = _settings(folder / _POOLING)
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
