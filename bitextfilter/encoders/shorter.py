"""Vectors of fewer numbers: a model's vectors on the principal directions of its own sample.

An encoder is turned so that its first numbers hold the most of the sample's vectors, and cut: the
N numbers that lose the least, in squares (Pearson 1901), without a training for it, such as that of
Matryoshka representations (Kusupati et al. 2022).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from bitextfilter.arrays import Vectors
from bitextfilter.encoders.protocol import SentenceEncoder
from bitextfilter.models.device import CPU, arithmetic

_BLOCK_ROWS = 256
"""Vectors turned at a time, so that a row does not depend on how many there are."""


def principal_directions(vectors: Vectors) -> Vectors:
    """Return the directions ``(dim, dim)`` of vectors ``(n, dim)``, the strongest first.

    They are columns: the eigenvectors of the second moments, each with its largest number
    positive.
    """
    rows = vectors.astype(np.float64)
    _, directions = np.linalg.eigh(rows.T @ rows)
    directions = directions[:, ::-1]
    largest = np.abs(directions).argmax(axis=0)
    signs = np.sign(directions[largest, np.arange(directions.shape[1])])
    return np.asarray(directions * signs, dtype=np.float32)


class ShorterEncoder:
    """An encoder whose vectors have fewer numbers."""

    def __init__(self, encoder: SentenceEncoder, directions: Vectors) -> None:
        """*directions*: the vectors of *encoder* times these, ``(encoder.dim, dim)``."""
        self._encoder = encoder
        self._directions = torch.from_numpy(np.ascontiguousarray(directions))
        self.processor, self.languages = encoder.processor, encoder.languages
        self.dim, self.most = directions.shape[1], encoder.most

    def encode(self, sentences: Sequence[str], language: str) -> Vectors:
        """See :meth:`Encoder.encode`."""
        return self.shorten(self._encoder.encode(sentences, language))

    def shorten(self, vectors: Vectors) -> Vectors:
        """Turn and cut vectors ``(n, encoder.dim)`` of the whole encoder → ``(n, dim)``."""
        out = np.empty((len(vectors), self.dim), dtype=np.float32)
        block = torch.zeros(_BLOCK_ROWS, self._encoder.dim)
        for first in range(0, len(vectors), _BLOCK_ROWS):
            rows = vectors[first : first + _BLOCK_ROWS]
            block[: len(rows)] = torch.from_numpy(np.ascontiguousarray(rows, dtype=np.float32))
            out[first : first + len(rows)] = (block @ self._directions)[: len(rows)].numpy()
        return out

    def arithmetic(self) -> list[str]:
        """See :meth:`SentenceEncoder.arithmetic`."""
        return [*self._encoder.arithmetic(), *arithmetic(CPU)]
