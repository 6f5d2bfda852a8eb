"""Averages of pieces in the form of other libraries: a vector for each token, and their mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bitextfilter.arrays import Indices, Vectors
from bitextfilter.encoders.base import Network, Padded, Tokens
from bitextfilter.encoders.expressions import parse
from bitextfilter.errors import DeviceError, SettingsError
from bitextfilter.models.checkpoint import save_tensors
from bitextfilter.models.device import one_torch_thread
from bitextfilter.text.ragged import PIECES
from bitextfilter.text.segment import UNKNOWN

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
    kind = "sentence_transformers.models.StaticEmbedding"
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
