"""A fixed sample of sentences of either side, as the neighbourhood that margins measure against.

A margin asks how close a sentence is to its neighbours in general. On a stream there is no
"in general", so a model keeps a sample of its training sentences' vectors; held against it, a
pair's margin depends on the pair and the model alone.
"""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Scores, Vectors
from bitextfilter.errors import ModelError, NotFoundError
from bitextfilter.similarity.margins import NEIGHBOURS, highest_means
from bitextfilter.similarity.neighbours import scan
from bitextfilter.similarity.vectors import unit_rows

FILE = "neighbours.npz"
"""Its name in a model folder."""

_ROWS = 4096
"""Vectors that are read at once for the digest."""

DAMAGES = (
    *(OSError, EOFError, ValueError, KeyError, TypeError, AttributeError),
    *(zipfile.BadZipFile, zlib.error),
)
"""What reading a damaged file may raise."""


class Reference:
    """Vectors of sentences of the source side and of the target side; ``k`` neighbours count.

    ``source`` ``(m, dim)`` and ``target`` ``(l, dim)`` are unit vectors: only directions matter.
    """

    def __init__(self, source: Vectors, target: Vectors, k: int = NEIGHBOURS) -> None:
        """Keep the directions of both samples. Raises ValueError where their widths differ."""
        if source.shape[1] != target.shape[1]:
            raise ValueError(f"samples of widths {source.shape[1]} and {target.shape[1]}")
        self.source, self.target, self.k = unit_rows(source), unit_rows(target), k

    @property
    def dim(self) -> int:
        """The width of the vectors."""
        return int(self.source.shape[1])

    def source_means(self, vectors: Vectors, threads: int = 1) -> Scores:
        """Mean cosine ``(n,)`` of source-side vectors ``(n, dim)`` to their k nearest targets."""
        return self._means(vectors, self.target, threads)

    def target_means(self, vectors: Vectors, threads: int = 1) -> Scores:
        """Mean cosine ``(n,)`` of target-side vectors ``(n, dim)`` to their k nearest sources."""
        return self._means(vectors, self.source, threads)

    def digest(self) -> str:
        """What names these neighbours: BLAKE2b over all of them and ``k``, in hexadecimal digits.

        The order of the sentences changes it, though no score.
        """
        total = hashlib.blake2b(f"{self.source.shape} {self.target.shape} {self.k}".encode())
        for sample in (self.source, self.target):
            for first in range(0, len(sample), _ROWS):
                total.update(sample[first : first + _ROWS].tobytes())
        return total.hexdigest()

    def _means(self, vectors: Vectors, sample: Vectors, threads: int) -> Scores:
        cosines, _ = scan(unit_rows(vectors), sample, self.k, threads)
        return highest_means(cosines, self.k)

    def save(self, path: Path) -> None:
        """Write both samples as int8 (each row's largest number is 127) with k."""
        source, target = _as_int8(self.source), _as_int8(self.target)
        np.savez_compressed(path, source=source, target=target, k=np.int64(self.k))

    @classmethod
    def load(cls, path: Path, dim: int | None = None) -> Reference:
        """Read what :meth:`save` wrote.

        Args:
            path: the file.
            dim: the width that the vectors must have, if given.

        Raises:
            NotFoundError: no such file.
            ModelError: the file is damaged, or its vectors are of another width.
        """
        if not path.is_file():
            raise NotFoundError(f"{path}: no such file of neighbours")
        try:
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
                source, target, k = arrays["source"], arrays["target"], int(arrays["k"])
        except DAMAGES as error:
            raise ModelError(f"{path}: damaged neighbours: {error}") from error
        for sample in (source, target):
            if sample.dtype != np.int8 or sample.ndim != 2 or not len(sample) or k < 1:
                raise ModelError(f"{path}: not a file of neighbours")
            if sample.shape[1] != (dim or source.shape[1]):
                expected = f"the model's are {dim}" if dim else "the other side's are not"
                raise ModelError(f"{path}: vectors of width {sample.shape[1]}, {expected}")
        return cls(source.astype(np.float32), target.astype(np.float32), k)


def _as_int8(rows: Vectors) -> NDArray[np.int8]:
    """Directions of ``(n, dim)`` as int8."""
    highest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    scaled = np.rint(rows / np.where(highest > 0, highest, 1.0) * 127)
    return np.asarray(scaled, dtype=np.int8)
