"""Averages of word vectors that other libraries trained: StaticEmbedding and model2vec."""

from __future__ import annotations

import platform
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Vectors
from bitextfilter.encoders.averages import VectorTable
from bitextfilter.encoders.protocol import MOST_OF_AVERAGES, row_lengths
from bitextfilter.errors import ModelError
from bitextfilter.io.workers import map_blocks
from bitextfilter.models.foreign import ForeignFiles
from bitextfilter.models.tensor_file import StoredTensor, open_tensors
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
    if ids is None and weights is None:
        table = found
    else:
        numbers = _weighted(found.array().astype(np.float32), ids, weights, files)
        table = StoredTensor(numbers)
    if not table.is_finite():
        raise ModelError(f"{files.tensors}: its vectors are not finite numbers")
    return VectorTable(table)


def _weighted(
    table: Vectors, ids: StoredTensor | None, weights: StoredTensor | None, files: ForeignFiles
) -> Vectors:
    """Return the vectors of ids, times their weights. Raises ModelError where these do not fit."""
    if ids is not None:
        places: NDArray[np.integer] = ids.array()
        if places.ndim != 1 or places.dtype.kind not in "iu" or not _within(places, len(table)):
            raise ModelError(f"{files.tensors}: its mapping does not fit its vectors")
        table = table[places]
    if weights is not None:
        if weights.shape != table.shape[:1]:
            raise ModelError(f"{files.tensors}: its weights do not fit its vectors")
        with np.errstate(over="ignore", invalid="ignore"):
            table = table * weights.array().astype(np.float32)[:, None]
    return table


def _within(ids: NDArray[np.integer], count: int) -> bool:
    return bool(ids.size) and int(ids.min()) >= 0 and int(ids.max()) < count
