"""An encoder, as all that use one see it: sentences in, numpy vectors out.

Two encoders may stand side by side as one. The vector of a sentence is then the vectors of both,
each scaled to length 1 and then to the root of its weight; the weights sum to 1. So the cosine of
two sentences is the weighted mean of the two cosines.

The vectors of an encoder may also be shortened. They are turned so that their first numbers hold
the most of a sample's vectors, and cut: the N numbers that lose the least, in squares (Pearson
1901), without a training for it, such as that of Matryoshka representations (Kusupati et al. 2022).

Letters: n sentences, d dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Vectors
from bitextfilter.errors import SettingsError
from bitextfilter.text.processor import TextProcessor

MOST_OF_NETWORKS, MOST_OF_AVERAGES = 8192, 4096
"""See ``SentenceEncoder.most``."""


class SentenceEncoder(Protocol):
    """Anything that turns sentences of two languages into vectors of one space."""

    processor: TextProcessor
    languages: tuple[str, str]
    dim: int
    """The width of a vector."""
    most: int
    """Sentences that a thread had best encode together, at most: more fill the blocks of a network
    better, and take more memory."""

    def encode(self, sentences: Sequence[str], language: str) -> Vectors:
        """Encode ``n`` sentences of one language → float32 ``(n, dim)``.

        A row depends on its sentence alone, to the last bit: not on the others, their number or
        order, nor on the number of threads. Raises SettingsError for a language the model lacks.
        """

    def arithmetic(self) -> list[str]:
        """Return names, to be compared, of all that the last bits of vectors may depend on.

        Beside the model and the versions of packages: processor, device, libraries.
        """


def of_processor() -> list[str]:
    """Return what products by torch, or by other libraries, depend on here. Imports torch."""
    from bitextfilter.models.device import CPU, arithmetic

    return arithmetic(CPU)


_ROWS = 1024
"""Rows that are scaled together, to bound the memory."""


class JoinedEncoder:
    """Two encoders of the same languages; see :class:`SentenceEncoder`.

    The text processing is the first one's.
    """

    def __init__(self, first: SentenceEncoder, second: SentenceEncoder, weight: float) -> None:
        """Join; *weight*: of the second's cosine, between 0 and 1.

        Raises SettingsError for another weight, and where the languages differ.
        """
        if not 0 < weight < 1:
            raise SettingsError(
                f"the weight of the second encoder is {weight}, not between 0 and 1"
            )
        if first.languages != second.languages:
            one, other = ("-".join(each.languages) for each in (first, second))
            raise SettingsError(f"the encoders are of {one} and of {other}: join two of one pair")
        self._encoders = ((first, 1 - weight), (second, weight))
        self.processor, self.languages = first.processor, first.languages
        self.dim = first.dim + second.dim
        self.most = max(first.most, second.most)

    def encode(self, sentences: Sequence[str], language: str) -> Vectors:
        """See :meth:`SentenceEncoder.encode`."""
        vectors = np.empty((len(sentences), self.dim), dtype=np.float32)
        start = 0
        for encoder, weight in self._encoders:
            part = vectors[:, start : start + encoder.dim]
            part[:] = encoder.encode(sentences, language)
            for first in range(0, len(part), _ROWS):
                some = part[first : first + _ROWS]
                lengths = row_lengths(some)
                some *= (weight**0.5 / np.where(lengths > 0, lengths, 1))[:, None]
            start += encoder.dim
        return vectors

    def arithmetic(self) -> list[str]:
        """See :meth:`SentenceEncoder.arithmetic`."""
        return [name for encoder, _ in self._encoders for name in encoder.arithmetic()]


def row_lengths(rows: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the Euclidean lengths ``(n,)`` of rows ``(n, d)``.

    Squares are added in pairs of columns, and the sums again, until one column is left: a fixed
    order, so that a length does not depend on the other rows, to the last bit.
    """
    squares = np.square(rows, dtype=np.float64)
    while squares.shape[1] > 1:
        half = -(-squares.shape[1] // 2)
        squares[:, : squares.shape[1] - half] += squares[:, half:]
        squares = squares[:, :half]
    lengths: NDArray[np.float64] = np.sqrt(squares[:, 0])
    return lengths


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
    """An encoder whose vectors have fewer numbers. Imports torch."""

    def __init__(self, encoder: SentenceEncoder, directions: Vectors) -> None:
        """*directions*: the vectors of *encoder* times these, ``(encoder.dim, dim)``."""
        import torch

        self._encoder = encoder
        self._directions = torch.from_numpy(np.ascontiguousarray(directions))
        self.processor, self.languages = encoder.processor, encoder.languages
        self.dim, self.most = directions.shape[1], encoder.most

    def encode(self, sentences: Sequence[str], language: str) -> Vectors:
        """See :meth:`SentenceEncoder.encode`."""
        return self.shorten(self._encoder.encode(sentences, language))

    def shorten(self, vectors: Vectors) -> Vectors:
        """Turn and cut vectors ``(n, encoder.dim)`` of the whole encoder → ``(n, dim)``."""
        import torch

        out = np.empty((len(vectors), self.dim), dtype=np.float32)
        block = torch.zeros(_BLOCK_ROWS, self._encoder.dim)
        for first in range(0, len(vectors), _BLOCK_ROWS):
            rows = vectors[first : first + _BLOCK_ROWS]
            block[: len(rows)] = torch.from_numpy(np.ascontiguousarray(rows, dtype=np.float32))
            out[first : first + len(rows)] = (block @ self._directions)[: len(rows)].numpy()
        return out

    def arithmetic(self) -> list[str]:
        """See :meth:`SentenceEncoder.arithmetic`."""
        return [*self._encoder.arithmetic(), *of_processor()]
