"""Encoders that average the vectors of tokens, without torch: numpy, and ``averages.c``.

They read the same folders as the networks of ``combination.py``, whose tensors are named here, and
give the same vectors. Letters: n sentences, e the width of a token vector.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Vectors
from bitextfilter.encoders.averages import VectorTable, means
from bitextfilter.encoders.expressions import PARTS, parse, views_of
from bitextfilter.encoders.protocol import MOST_OF_AVERAGES, side_of
from bitextfilter.models.tensor_file import StoredTensor, read_tensors
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.ragged import PIECES, View

AVERAGING = "averaging"
"""The architecture that is the part ``weighted`` alone, under names of its own."""

_SIDES = 2


@dataclass(frozen=True)
class _Part:
    """A mean of token vectors."""

    view: str
    table: VectorTable
    weights: NDArray[np.float32] | None
    """Factors of the vectors of all ids."""


class Averages:
    """The token vectors and weights of an average, of both sides."""

    def __init__(
        self, folder: Path, architecture: str, settings: Any, sizes: Mapping[str, int]
    ) -> None:
        """Map the tensors of a model folder.

        Args:
            folder: of the model.
            architecture: ``averaging``, or an expression of averages.
            settings: of it.
            sizes: how many ids each view has.

        Raises:
            NotFoundError: the tensors are missing.
            ModelError: they are damaged, not finite or do not fit.
            KeyError: a view that it reads has no size.
        """
        whole = architecture == AVERAGING
        self._sums = (("weighted",),) if whole else parse(architecture)
        self.views = (PIECES,) if whole else views_of(architecture)
        self._width: int = settings.embedding
        self.dim = self._width * len(self._sums)
        wanted: dict[str, Sequence[int]] = {}
        sides = []
        for side in range(_SIDES):
            names = {part: _names(whole, part, settings, side) for s in self._sums for part in s}
            sides.append(names)
            for part, (table, weights) in names.items():
                size = sizes[PARTS[part].view]
                wanted |= {table: (size, self._width)} | ({weights: (size,)} if weights else {})
        tensors = read_tensors(folder / "encoder.safetensors", wanted)
        tables = {name: VectorTable(t) for name, t in tensors.items() if len(t.shape) == 2}
        self._sides = [
            {
                part: _part(part, tables[names[0]], tensors.get(names[1]))
                for part, names in side.items()
            }
            for side in sides
        ]

    def encode(self, views: Mapping[str, View], side: int, threads: int = 1) -> Vectors:
        """Average the views of ``n`` sentences of a side, 0 or 1 → float32 ``(n, dim)``."""
        out = np.empty((len(views[self.views[0]].rows), self.dim), dtype=np.float32)
        for number, added in enumerate(self._sums):
            columns = out[:, number * self._width : (number + 1) * self._width]
            for at, name in enumerate(added):
                part = self._sides[side][name]
                view = views[part.view]
                sums = part.table.sums(view.tokens, part.weights, threads)
                to = np.empty_like(columns) if at else columns
                means(sums, view.tokens.lengths, view.rows, to, threads)
                del sums  # before there are others, as large
                if at:
                    columns += to
        return out


def _names(whole: bool, part: str, settings: Any, side: int) -> tuple[str, str]:
    """Return the names of the tensors of a part on a side: of vectors, and of weights or empty."""
    if whole:
        return "embedding.weight", "average.log_weight"
    tables = side if settings.tables == "separate" else 0
    own = side if settings.composition == "separate" else 0
    weights = f"parts.{own}.{part}.average.log_weight" if part == "weighted" else ""
    return f"vectors.{tables}.{PARTS[part].view}.weight", weights


def _part(name: str, table: VectorTable, log_weights: StoredTensor | None) -> _Part:
    weights = None
    if log_weights is not None:
        with np.errstate(over="ignore"):
            weights = np.exp(log_weights.array().astype(np.float64)).astype(np.float32)
    return _Part(PARTS[name].view, table, weights)


class AverageEncoder:
    """Turns sentences into means of token vectors; see :class:`SentenceEncoder`."""

    most = MOST_OF_AVERAGES

    def __init__(self, processor: TextProcessor, vectors: Averages, threads: int = 1) -> None:
        """Take the text processing and the token vectors."""
        self.processor, self.languages = processor, processor.languages
        self.dim, self.threads, self._vectors = vectors.dim, threads, vectors

    def encode(self, sentences: Sequence[str], language: str) -> Vectors:
        """Encode ``n`` sentences of one language → float32 ``(n, dim)``.

        A row depends on its sentence alone, to the last bit. Raises SettingsError for a language
        the model lacks.
        """
        views = self.processor.read(sentences, language, self._vectors.views)
        return self._vectors.encode(views, side_of(self.processor, language), self.threads)

    def arithmetic(self) -> list[str]:
        """See :meth:`SentenceEncoder.arithmetic`: sums are the same everywhere."""
        return ["averages", platform.machine()]
