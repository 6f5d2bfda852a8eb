"""Neighbours taken from the input itself: its vectors wait on disk, each distinct sentence once."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bitextfilter.arrays import Vectors
from bitextfilter.io.spill import Scratch
from bitextfilter.scoring.background import Reference
from bitextfilter.similarity.margins import NEIGHBOURS
from bitextfilter.similarity.vectors import unit_rows

if TYPE_CHECKING:
    from bitextfilter.scoring.model import Model


DIGEST_BYTES = 8


class InputNeighbours:
    """Collects the pairs of an input, window by window, then is their Reference.

    Memory: about 100 bytes a distinct sentence; disk: ``4 * dim`` bytes.
    """

    def __init__(self, model: Model, source: Scratch, target: Scratch) -> None:
        """Keep the vectors of the two sides in the (empty) files *source* and *target*."""
        self._model = model
        self._files = (source, target)
        self._seen: tuple[set[bytes], set[bytes]] = (set(), set())

    def add(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        """Add the sentences of a window, any number a side."""
        languages = self._model.languages
        for side, sentences in enumerate((sources, targets)):
            fresh = [text for text in sentences if self._is_new(side, text)]
            vectors = self._model.encode(fresh, languages[side])
            self._files[side].write(unit_rows(vectors).tobytes())

    def reference(self, k: int = NEIGHBOURS) -> Reference:
        """Return all that was added as a Reference, whose vectors stay on the disk."""
        return _DiskReference(self._vectors(0), self._vectors(1), k)

    def _is_new(self, side: int, text: str) -> bool:
        digest = hashlib.blake2b(text.encode(), digest_size=DIGEST_BYTES).digest()
        before = len(self._seen[side])
        self._seen[side].add(digest)
        return len(self._seen[side]) > before

    def _vectors(self, side: int) -> Vectors:
        vectors: Vectors = self._files[side].array(np.float32)
        return vectors.reshape(-1, self._model.encoder.dim)


class _DiskReference(Reference):
    """A Reference of vectors that already are unit rows."""

    def __init__(self, source: Vectors, target: Vectors, k: int) -> None:
        self.source, self.target, self.k = source, target, k
