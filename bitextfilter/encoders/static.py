"""Averages of word vectors that other libraries trained: StaticEmbedding and model2vec."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from bitextfilter.arrays import Vectors
from bitextfilter.encoders.joined import row_lengths
from bitextfilter.errors import ModelError
from bitextfilter.io.workers import map_blocks
from bitextfilter.models.checkpoint import load_tensors
from bitextfilter.models.device import one_torch_thread
from bitextfilter.models.foreign import ForeignFiles
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.ragged import Ragged
from bitextfilter.text.tokenizer_file import TokenizerFile

_BLOCK = 1024
"""Sentences read by one thread at a time."""


class StaticEncoder:
    """The mean of the vectors of a sentence's tokens; see :class:`SentenceEncoder`.

    A row depends on its sentence alone, to the last bit, and no part of a sentence is left out. A
    sentence without a token is a zero vector.
    """

    device = torch.device("cpu")

    def __init__(self, files: ForeignFiles, processor: TextProcessor, threads: int = 1) -> None:
        """Read tokeniser and vectors. Errors as those of ``TokenizerFile`` and ``load_tensors``."""
        self.processor, self.languages, self.threads = processor, processor.languages, threads
        self._files, self._tokenizer = files, TokenizerFile(files.tokenizer)
        self._table = _table(files)
        self.dim = self._table.shape[1]
        if self._tokenizer.size > len(self._table):
            raise ModelError(
                f"{files.tensors}: {len(self._table)} vectors, and the tokeniser has"
                f" {self._tokenizer.size} ids"
            )

    def encode(self, sentences: Sequence[str], language: str) -> Vectors:
        """Encode ``n`` sentences of one language → float32 ``(n, dim)``.

        Raises SettingsError for a language the model lacks.
        """
        self.processor.normalise([], language)
        out = np.zeros((len(sentences), self.dim), dtype=np.float32)

        read, size = self._tokenizer, len(sentences) if self._tokenizer.by_words else _BLOCK

        def run(first: int) -> None:
            ids = read(sentences[first : first + size])
            for start in range(0, len(ids), _BLOCK):
                some = ids.take(np.arange(start, min(start + _BLOCK, len(ids))))
                out[first + start : first + start + len(some)] = self._means(some)

        with one_torch_thread():
            map_blocks(run, range(0, len(sentences), max(size, 1)), self.threads)
        return out

    def _means(self, ids: Ragged) -> Vectors:
        """Return the means of the vectors of sentences' ids, ``(n, dim)``."""
        if self._files.without_unknown and self._tokenizer.unknown is not None:
            ids = ids.only(ids.flat != self._tokenizer.unknown)
        with torch.inference_mode():
            flat, starts = torch.from_numpy(ids.flat.astype(np.int64)), torch.from_numpy(ids.starts)
            means = embedding_bag(flat, self._table, starts, mode="mean")
        vectors: Vectors = means.numpy()
        if self._files.unit:
            norms = row_lengths(vectors)
            vectors = np.asarray(vectors / np.where(norms > 0, norms, 1)[:, None], np.float32)
        return vectors


def _table(files: ForeignFiles) -> Tensor:
    """Return the vector of each id, float32 ``(v, dim)``. Raises ModelError for other tensors."""
    tensors = load_tensors(files.tensors)
    found = tensors.get("embedding.weight", tensors.get("embeddings"))
    if found is None or found.ndim != 2 or not found.numel():
        raise ModelError(f"{files.tensors}: no table of vectors of tokens")
    table, ids, weights = found.float(), tensors.get("mapping"), tensors.get("weights")
    if ids is not None:
        if ids.ndim != 1 or ids.is_floating_point() or not _within(ids, len(table)):
            raise ModelError(f"{files.tensors}: its mapping does not fit its vectors")
        table = table[ids.long()]
    if weights is not None:
        if weights.shape != table.shape[:1]:
            raise ModelError(f"{files.tensors}: its weights do not fit its vectors")
        table = table * weights.float()[:, None]
    if not torch.isfinite(table).all():
        raise ModelError(f"{files.tensors}: its vectors are not finite numbers")
    return table.contiguous()


def _within(ids: Tensor, count: int) -> bool:
    return bool(ids.numel()) and int(ids.min()) >= 0 and int(ids.max()) < count
