"""Encoders that average the vectors of tokens, without torch.

A token's vector is the sum of the vectors of its ids; a sentence's is the mean of its tokens',
divided by their mean number of ids. ``averages.c`` computes them, or numpy where it was not built.
Both give the same bits: every sum goes in the order of the text, in float32.

The encoders read the same folders as the networks of ``combination.py``, whose tensors are named
here, and give the same vectors.

Letters: n sentences, u distinct tokens, v ids, e the width of a vector.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Indices, Vectors
from bitextfilter.encoders.expressions import PARTS, parse, views_of
from bitextfilter.encoders.protocol import MOST_OF_AVERAGES
from bitextfilter.io.compiled import INTEGER, CompiledLibrary, Record, array_of
from bitextfilter.io.records import file_of
from bitextfilter.io.workers import map_blocks
from bitextfilter.models.tensor_file import StoredTensor, read_tensors
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.ragged import PIECES, Ragged

_BLOCK = 2048
"""Rows computed by one thread at a time."""
_LONG = 256
"""Rows of more numbers are summed one by one in numpy."""

_Add = Callable[[NDArray[np.int64]], Vectors]
"""Returns the vectors to add at these offsets in the flat numbers of rows, one each."""


class _Table(Record):
    """See ``averages.c``."""

    _fields_ = (
        *(("numbers", array_of()), ("scales", array_of(np.float32, optional=True))),
        *(("bits", INTEGER), ("width", INTEGER)),
    )


class _Rows(Record):
    """See ``averages.c``."""

    _fields_ = tuple((name, array_of(np.int64)) for name in ("flat", "starts", "lengths"))


_F32 = array_of(np.float32)
LIBRARY = CompiledLibrary(
    __file__,
    "averages",
    layout=1,
    averages_sum=(
        *(INTEGER, ctypes.POINTER(_Table), ctypes.POINTER(_Rows)),
        *(array_of(np.float32, optional=True), INTEGER, INTEGER, _F32),
    ),
    averages_mean=(
        *(None, _F32, INTEGER, array_of(np.int64), ctypes.POINTER(_Rows)),
        *(INTEGER, INTEGER, array_of(np.float32, pitched=True), INTEGER),
    ),
)


class VectorTable:
    """Vectors of ids ``(v, e)``, in the form that they are stored in."""

    def __init__(self, stored: StoredTensor) -> None:
        """Take a matrix of floats, or quantised ones."""
        if stored.scales is None:
            stored = StoredTensor(np.require(stored.numbers, np.float32, ["C", "A"]))
        else:
            scales = np.require(stored.scales, np.float32, ["C", "A"])
            stored = StoredTensor(np.require(stored.numbers, None, ["C", "A"]), scales)
        self._stored, (self.size, self.width) = stored, stored.shape
        shape = stored.numbers.shape
        self._bits = 32 if stored.scales is None else shape[1] if len(shape) == 3 else 8

    def __getitem__(self, ids: Indices) -> Vectors:
        """Return the vectors of some ids, float32."""
        scales = self._stored.scales
        rows = StoredTensor(self._stored.numbers[ids], None if scales is None else scales[ids])
        return rows.array()

    def sums(
        self, tokens: Ragged, weights: NDArray[np.float32] | None = None, threads: int = 1
    ) -> Vectors:
        """Add up the vectors of each token's ids → float32 ``(u, e)``.

        *weights*: factors of the vectors of all ids, ``(v,)``. Raises MemoryError.
        """
        factors = None if weights is None else np.ascontiguousarray(weights[tokens.flat])
        if (library := LIBRARY.open()) is None:
            sums = np.empty((len(tokens), self.width), dtype=np.float32)
            _add_in_order(sums, tokens, partial(self._weighted, tokens, factors))
            return sums
        if self._bits >= 8:
            return self._sums(library, tokens, factors, threads)
        # Bits are slow to read: each vector is widened once.
        used = np.zeros(self.size, dtype=np.bool_)
        used[tokens.flat] = True
        distinct = np.flatnonzero(used)
        one_each = Ragged(distinct, np.ones(len(distinct), np.int64))
        wide = VectorTable(StoredTensor(self._sums(library, one_each, None, threads)))
        places = (np.cumsum(used) - 1)[tokens.flat]
        return wide._sums(library, Ragged(places, tokens.lengths), factors, threads)

    def _sums(
        self, library: ctypes.CDLL, rows: Ragged, factors: NDArray[np.float32] | None, threads: int
    ) -> Vectors:
        """See :meth:`sums`; *factors*: of the vectors of the flat ids."""
        sums = np.empty((len(rows), self.width), dtype=np.float32)
        given, stored = _rows_of(rows), self._stored
        table = _Table(
            numbers=stored.numbers, scales=stored.scales, bits=self._bits, width=self.width
        )

        def run(first: int) -> None:
            last = min(first + _BLOCK, len(rows))
            if library.averages_sum(table, given, factors, first, last, sums):
                raise MemoryError

        map_blocks(run, range(0, len(rows), _BLOCK), threads)
        return sums

    def _weighted(
        self, tokens: Ragged, factors: NDArray[np.float32] | None, at: NDArray[np.int64]
    ) -> Vectors:
        """Return the vectors of the ids at some offsets, times their factors."""
        vectors = self[tokens.flat[at]]
        return vectors if factors is None else vectors * factors[at, None]


def means(sums: Vectors, ids: Indices, sentences: Ragged, out: Vectors, threads: int = 1) -> None:
    """Write the means of the sums of sentences' tokens.

    Args:
        sums: of the tokens, ``(u, e)``: see :meth:`VectorTable.sums`.
        ids: numbers of ids of the tokens, ``(u,)``.
        sentences: places of their tokens, at least one each.
        out: ``(n, e)``, which may be some columns of a wider array.
        threads: how many blocks are computed side by side.
    """
    if (library := LIBRARY.open()) is None:
        _add_in_order(out, sentences, lambda at: sums[sentences.flat[at]])
        counts = np.zeros((len(sentences), 1), dtype=np.float32)
        each = ids.astype(np.float32)[:, None]
        _add_in_order(counts, sentences, lambda at: each[sentences.flat[at]])
        tokens = sentences.lengths.astype(np.float32)[:, None]
        out /= tokens
        out /= counts / tokens
        return
    rows, counted, pitch = (
        _rows_of(sentences),
        np.ascontiguousarray(ids, np.int64),
        out.strides[0] // out.itemsize,
    )

    def run(first: int) -> None:
        last = min(first + _BLOCK, len(sentences))
        library.averages_mean(sums, sums.shape[1], counted, rows, first, last, out, pitch)

    map_blocks(run, range(0, len(sentences), _BLOCK), threads)


def _rows_of(ragged: Ragged) -> _Rows:
    """Return rows for the library."""
    parts = {"flat": ragged.flat, "starts": ragged.starts, "lengths": ragged.lengths}
    return _Rows(**{name: np.ascontiguousarray(part, np.int64) for name, part in parts.items()})


def _add_in_order(out: Vectors, rows: Ragged, add: _Add) -> None:
    """Write the sums of the vectors of the numbers of each row, each in the order of the row."""
    out[...] = 0
    short = np.flatnonzero(rows.lengths <= _LONG)
    short = short[np.argsort(-rows.lengths[short], kind="stable")]
    lengths, starts = rows.lengths[short], rows.starts[short]
    for place in range(int(lengths.max(initial=0))):
        active = np.searchsorted(-lengths, -place, side="left")  # those of more numbers than that
        out[short[:active]] += add(starts[:active] + place)
    for row in np.flatnonzero(rows.lengths > _LONG):
        first, length = int(rows.starts[row]), int(rows.lengths[row])
        for at in range(first, first + length, _BLOCK):
            more = add(np.arange(at, min(at + _BLOCK, first + length)))
            more[0] += out[row]
            out[row] = np.add.accumulate(more, axis=0, dtype=np.float32)[-1]


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

    def __init__(
        self,
        folder: Path,
        architecture: str,
        settings: Any,
        processor: TextProcessor,
        threads: int = 1,
    ) -> None:
        """Map the tensors of a model folder.

        Args:
            folder: of the model.
            architecture: ``averaging``, or an expression of averages.
            settings: of it.
            processor: the text processing.
            threads: how many blocks are computed side by side.

        Raises:
            NotFoundError: the tensors are missing.
            ModelError: they are damaged, not finite or do not fit.
            KeyError: a view that it reads has no size.
        """
        self.processor, self.languages, self.threads = processor, processor.languages, threads
        whole, sizes = architecture == AVERAGING, processor.sizes()
        self._sums = (("weighted",),) if whole else parse(architecture)
        self._views = (PIECES,) if whole else views_of(architecture)
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
        tensors = read_tensors(file_of(folder, "encoder.safetensors"), wanted)
        tables = {name: VectorTable(t) for name, t in tensors.items() if len(t.shape) == 2}
        self._sides = [
            {
                part: _part(part, tables[names[0]], tensors.get(names[1]))
                for part, names in side.items()
            }
            for side in sides
        ]

    def encode(self, sentences: Sequence[str], language: str) -> Vectors:
        """See :meth:`SentenceEncoder.encode`."""
        views = self.processor.read(sentences, language, self._views)
        parts = self._sides[self.processor.side(language)]
        out = np.empty((len(views[self._views[0]].rows), self.dim), dtype=np.float32)
        for number, added in enumerate(self._sums):
            columns = out[:, number * self._width : (number + 1) * self._width]
            for at, name in enumerate(added):
                part = parts[name]
                view = views[part.view]
                sums = part.table.sums(view.tokens, part.weights, self.threads)
                to = np.empty_like(columns) if at else columns
                means(sums, view.tokens.lengths, view.rows, to, self.threads)
                del sums  # before there are others, as large
                if at:
                    columns += to
        return out

    def arithmetic(self) -> list[str]:
        """See :meth:`SentenceEncoder.arithmetic`: sums are the same everywhere."""
        return ["averages", platform.machine()]
