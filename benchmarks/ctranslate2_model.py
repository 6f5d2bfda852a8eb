"""A Transformer of bitext-train-translator as a model of CTranslate2, to compare speeds with.

CTranslate2 is no part of this project: `pip install ctranslate2`. Its tokens are our ids in digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bitextfilter.models.layers import MultiHeadAttention, sinusoids
from bitextfilter.text.segment import UNKNOWN
from bitextfilter.text.vocabulary import BEGIN, END, PAD
from bitextfilter.translation.architectures import TransformerNetwork
from bitextfilter.translation.translator import Translator

POSITIONS = 512


def numbers(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """As CTranslate2 takes them."""
    return tensor.detach().float().contiguous().numpy()


def set_linear(spec: Any, *layers: torch.nn.Linear) -> None:
    """One layer, or several whose outputs stand side by side."""
    spec.weight = numbers(torch.cat([layer.weight for layer in layers]))
    spec.bias = numbers(torch.cat([layer.bias for layer in layers]))


def set_norm(spec: Any, norm: torch.nn.LayerNorm) -> None:
    """Scale and shift."""
    spec.gamma, spec.beta = numbers(norm.weight), numbers(norm.bias)


def set_attention(spec: Any, attention: MultiHeadAttention, own: bool) -> None:
    """Queries, keys and values: all together where a side attends to itself."""
    if own:
        set_linear(spec.linear[0], attention.query, attention.memory)
    else:
        set_linear(spec.linear[0], attention.query)
        set_linear(spec.linear[1], attention.memory)
    set_linear(spec.linear[-1], attention.out)


def set_side(spec: Any, network: TransformerNetwork, layers: Any, norm: torch.nn.LayerNorm) -> None:
    """Parts common to encoder and decoder."""
    embeddings = spec.embeddings[0] if isinstance(spec.embeddings, list) else spec.embeddings
    embeddings.weight = numbers(network.table.weight)
    spec.position_encodings.encodings = numbers(sinusoids(0, POSITIONS, network.table.weight))
    set_norm(spec.layer_norm, norm)
    for part, layer in zip(spec.layer, layers, strict=True):
        set_attention(part.self_attention, layer.own, own=True)
        set_norm(part.self_attention.layer_norm, layer.own_norm)
        if hasattr(layer, "across"):
            set_attention(part.attention, layer.across, own=False)
            set_norm(part.attention.layer_norm, layer.across_norm)
        set_linear(part.ffn.linear_0, layer.feed[0])
        set_linear(part.ffn.linear_1, layer.feed[3])
        set_norm(part.ffn.layer_norm, layer.feed_norm)


def convert(translator: Translator, folder: Path) -> None:
    """Write the folder."""
    from ctranslate2.specs.transformer_spec import TransformerSpec

    network = translator.network
    assert isinstance(network, TransformerNetwork)
    shape = network.settings
    spec = TransformerSpec.from_config(shape.layers, shape.heads, pre_norm=True)
    set_side(spec.encoder, network, network.encoder, network.encoder_norm)
    set_side(spec.decoder, network, network.decoder, network.decoder_norm)
    spec.decoder.projection.weight = numbers(network.table.weight)
    spec.decoder.projection.bias = numbers(network.bias)
    tokens = [str(number) for number in range(len(translator.processor.vocabulary))]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.config.bos_token, spec.config.eos_token = str(BEGIN), str(END)
    spec.config.unk_token = str(UNKNOWN)
    spec.config.add_source_bos = spec.config.add_source_eos = False
    spec.config.decoder_start_token = str(BEGIN)
    spec.validate()
    spec.optimize()
    spec.save(str(folder))


class CTranslate2:
    """Greedy search and beams by CTranslate2."""

    def __init__(self, translator: Translator, folder: Path, threads: int, kind: str) -> None:
        """``kind``: of its arithmetic, such as float32 or int8."""
        import ctranslate2

        self._text = translator.processor
        self._model = ctranslate2.Translator(
            str(folder), "cpu", inter_threads=threads, intra_threads=1, compute_type=kind
        )

    def translate(self, sentences: Sequence[str], width: int, longest: int) -> list[str]:
        """Translate, in blocks of 64 sentences of like length."""
        ids = self._text.ids(sentences, self._text.languages[0])
        tokens = [[str(number) for number in row.tolist()] for row in ids]
        found = self._model.translate_batch(
            tokens, beam_size=width, max_decoding_length=longest, max_batch_size=64,
            suppress_sequences=[[str(number)] for number in (PAD, BEGIN, UNKNOWN)],
        )  # fmt: skip
        pieces = self._text.vocabulary.piece
        return [
            self._text.segmenter.join([pieces(int(token)) for token in row.hypotheses[0]])
            for row in found
        ]
