"""Sentences as rows of words, and the compiled network that scores them: ``word_network.c``.

It computes what :mod:`bitextfilter.pairs.word_network` does, several times as fast, where it was
built at the install. Where it is missing (see :mod:`bitextfilter.io.compiled`), torch computes
instead: scores may differ in the sixth digit or so.

Letters: n pairs, u words of a table.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Indices, Vectors
from bitextfilter.io.compiled import INTEGER, CompiledLibrary, Record, array_of, fields
from bitextfilter.io.workers import map_blocks
from bitextfilter.pairs.base import (
    COVERAGE_FEATURES,
    FLAGS,
    WORD_SCALE,
    WordClassifierSettings,
)
from bitextfilter.text.features import Spelling, bigrams, repeats
from bitextfilter.text.ragged import Ragged


@dataclass(frozen=True)
class WordRows:
    """Some sentences as words, in the order of the text."""

    words: Ragged
    """Places of each sentence's words in a table; at least one."""
    spaced: NDArray[np.float32]
    """``(sum of lengths,)``: 1 for words at the beginning or after a space."""
    spelling: Spelling
    """Of all words of the table."""

    @cached_property
    def repeats(self) -> NDArray[np.float32]:
        """``(sum of lengths, 2)``: see ``text.features.repeats``."""
        distinct, places = np.unique(self.words.flat, return_inverse=True)
        return repeats(Ragged(places, self.words.lengths), self.spelling.letters[distinct])

    @cached_property
    def bigrams(self) -> Ragged:
        """Keys of each sentence's bigrams: see ``text.features.bigrams``."""
        return bigrams(self.words, self.spelling.hashes)


@dataclass(frozen=True)
class SideRows:
    """One side of pairs, some of whose sentences are scored."""

    rows: Indices
    """The place of each pair's sentence among the distinct ones, ``(n,)``."""
    table: NDArray[np.float16]
    """``(u, columns)``: see ``WordNetwork.table``."""
    words: WordRows
    """Of the distinct sentences."""
    vectors: Vectors
    """Of the distinct sentences, ``(m, dim)``, of any length."""


_LINE = 16
"""Widths are rounded up to multiples of this; arrays begin at multiples of as many numbers."""
_WORDS = 1 << 16
"""Words of a call, or a few more: some 0.1 s. A thread that is back from one waits for the
interpreter's lock, and an interruption for the end of one."""

Weights = Mapping[str, NDArray[Any]]
_Floats32 = NDArray[np.float32]

_SIZES = (
    *("dim", "width", "meaning", "word_kinds", "word_features", "hidden", "logits"),
    *("spacing", "bigrams"),
)
"""Of the settings, in the order of ``word_network.c``."""
_MATRICES = (
    *("sides", "places", "wider", "wider_bias", "query", "query_bias", "compare", "compare_bias"),
    *("compared", "compared_bias", "sentence", "sentence_bias", "hidden_weight", "hidden_bias"),
    *("out", "out_bias", "table", "table_bias"),
)
_ARRAYS = {
    "table": np.float16,
    "letters": np.int64,
    "figures": np.int64,
    "hashes": np.int64,
    "levels": np.uint8,
    "words": np.int32,
    "spaced": np.float32,
    "starts": np.int64,
    "lengths": np.int64,
    "vectors": np.float32,
    "rows": np.int64,
}


class _Network(Record):
    """See ``word_network.c``."""

    _fields_ = fields(
        {
            **dict.fromkeys(_SIZES, INTEGER),
            "weights": ctypes.c_float * 4,
            **dict.fromkeys(_MATRICES, array_of(np.float32)),
        }
    )


class _Side(Record):
    """See ``word_network.c``."""

    _fields_ = tuple((name, array_of(kind)) for name, kind in _ARRAYS.items())


_NETWORK, _SIDES, _F32 = ctypes.POINTER(_Network), ctypes.POINTER(_Side), array_of(np.float32)
LIBRARY = CompiledLibrary(
    __file__,
    "word_network",
    layout=2,
    word_network_lanes=(INTEGER,),
    word_logits=(INTEGER, _NETWORK, _SIDES, INTEGER, INTEGER, INTEGER, _F32),
    word_table=(None, _NETWORK, _F32, INTEGER, INTEGER, _F32),
)


def lanes() -> int:
    """Return how many numbers the compiled network's vectors hold here; 0 without the network."""
    library = LIBRARY.open()
    return library.word_network_lanes() if library else 0


class CompiledNetwork:
    """The weights of a network, packed for the library. Thread-safe."""

    def __init__(self, settings: WordClassifierSettings, weights: Weights, lanes: int) -> None:
        """Pack the weights.

        Args:
            settings: of the classifier.
            weights: of the network, by the names of its state; and ``levels``, the table of the
                bigrams, ``(1 or 2, bytes)``, if it sees them.
            lanes: as :func:`lanes` returns; fewer, 4 or 8, for tests.
        """
        self._settings, self._lanes = settings, lanes
        self._levels = weights.get("levels")
        self._packed = _packed(settings, weights)
        self._network = _Network(
            **{name: getattr(settings, name) for name in _SIZES},
            weights=tuple(weights["weights"].tolist()),
            **{name: self._packed[name] for name in _MATRICES},
        )

    def table(self, vectors: Vectors, features: Vectors) -> Vectors:
        """See ``ScoringNetwork``."""
        words = np.hstack([vectors * np.float32(WORD_SCALE), features]).astype(np.float32)
        settings, width = self._settings, self._packed["table"].shape[1]
        made = np.empty((len(words), width), dtype=np.float32)
        LIBRARY.needed().word_table(self._network, words, len(words), self._lanes, made)
        columns = 3 * settings.width + settings.meaning + settings.word_kinds
        return np.hstack([made[:, :columns], features])

    def logits(self, sides: Sequence[SideRows], threads: int = 1) -> _Floats32:
        """See ``ScoringNetwork``. Raises MemoryError."""
        both = [_Side(**self._arrays(number, side)) for number, side in enumerate(sides)]
        packed = (_Side * 2)(*both)
        count = len(sides[0].rows)
        logits = np.empty((count, self._settings.logits), dtype=np.float32)
        library = LIBRARY.needed()

        def run(part: tuple[int, int]) -> None:
            if library.word_logits(self._network, packed, *part, self._lanes, logits):
                raise MemoryError

        words = np.cumsum(sum(side.values["lengths"][side.values["rows"]] for side in both))
        most = min(_WORDS, -(-int(words[-1]) // max(1, threads))) if count else 1
        bounds = np.flatnonzero(np.diff((words - 1) // most)) + 1
        map_blocks(run, pairwise([0, *bounds.tolist(), count]), threads)
        return logits

    def _arrays(self, number: int, side: SideRows) -> dict[str, NDArray[Any]]:
        """Return the arrays of a side."""
        words, spelling, levels = side.words.words, side.words.spelling, self._levels
        if levels is None:
            levels = np.zeros((1, 1), np.uint8)
        arrays = {
            "table": side.table,
            "letters": spelling.letters,
            "figures": spelling.figures,
            "hashes": spelling.hashes,
            "levels": levels[min(number, len(levels) - 1)],
            "words": words.flat,
            "spaced": side.words.spaced,
            "starts": words.starts,
            "lengths": words.lengths,
            "vectors": side.vectors,
            "rows": side.rows,
        }
        return {name: np.ascontiguousarray(arrays[name], kind) for name, kind in _ARRAYS.items()}


def _whole(width: int) -> int:
    return -(-width // _LINE) * _LINE


def _aligned(array: NDArray[Any]) -> _Floats32:
    """Return a copy that begins at a multiple of a vector's bytes."""
    size = array.size * 4
    space = np.zeros(size + 4 * _LINE, dtype=np.uint8)
    first = -space.ctypes.data % (4 * _LINE)
    copy = space[first : first + size].view(np.float32).reshape(array.shape)
    copy[...] = array
    return copy


def _placed(weight: NDArray[Any], rows: Sequence[int], inputs: int) -> _Floats32:
    """Turn a layer's weights ``(outputs, given)`` into ``(inputs, outputs, padded)``.

    *rows*: the place of each given input.
    """
    placed = np.zeros((inputs, _whole(len(weight))), dtype=np.float32)
    placed[list(rows), : len(weight)] = weight.T
    return placed


def _line(bias: NDArray[Any]) -> _Floats32:
    return np.pad(bias, (0, _whole(len(bias)) - len(bias)))


def _packed(settings: WordClassifierSettings, weights: Weights) -> dict[str, _Floats32]:
    """Return the weights as ``word_network.c`` reads them."""
    width, kinds = settings.width, settings.word_kinds
    wide, every = _whole(width), _whole(kinds + FLAGS + 1)
    w = {name.removesuffix(".weight"): weight for name, weight in weights.items()}

    def states(number: int) -> list[int]:
        """Places of so many states, each padded, one behind the other."""
        return [part * wide + k for part in range(number) for k in range(width)]

    compared = states(4) + [4 * wide + k for k in range(kinds + FLAGS)]
    scalars = w["compare"].shape[1] - len(compared)
    compared += [4 * wide + every + k for k in range(scalars)]
    places, query = w["places"], w["query"]
    seen = _seen(settings)
    packed = {
        "sides": np.pad(w["sides"], ((0, 0), (0, wide - width))),
        "places": np.hstack(
            [
                _placed(part, range(places.shape[1]), places.shape[1])
                for part in (places[:width], places[width:])
            ]
        ),
        "wider": _placed(w["wider"], states(3), 3 * wide),
        "query": np.hstack(
            [_placed(part, states(1), wide) for part in (query, w["kinds_in_context"])]
        ),
        "query_bias": np.hstack([_line(w["query.bias"]), np.zeros(_whole(kinds))]),
        "compare": _placed(w["compare"], compared, 4 * wide + every + scalars),
        "compared": _placed(w["compared"], states(1), wide),
        "sentence": _placed(w["sentence"], range(2 * settings.dim), 2 * settings.dim),
        "hidden_weight": _placed(w["hidden"], seen, max(seen) + 1),
        "out": _placed(w["out"], range(settings.hidden), _whole(settings.hidden)),
        "table": _word_weights(settings, w),
        "table_bias": _line(np.pad(w["kinds.bias"], (3 * width + settings.meaning, 0))),
    }
    for name in ("wider", "compare", "compared", "sentence", "hidden", "out"):
        packed[f"{name}_bias"] = _line(w[f"{name}.bias"])
    return {name: _aligned(array) for name, array in packed.items()}


def _word_weights(settings: WordClassifierSettings, w: Weights) -> _Floats32:
    """Return the weights of the table of words: contexts, meaning and kinds, of words' inputs.

    The meaning is scaled to length 1 afterwards, so that the words' scale makes no difference.
    """
    meaning = np.pad(w["meaning"], ((0, 0), (0, settings.word_features)))
    every = np.concatenate([w["contexts"], meaning, w["kinds"]])
    return _placed(every, range(every.shape[1]), every.shape[1])


def _seen(settings: WordClassifierSettings) -> list[int]:
    """Return the place, in the library's order, of each number that the hidden layer reads."""
    width, kinds, features = settings.width, settings.word_kinds, settings.word_features
    wide, every = _whole(width), _whole(kinds + FLAGS + 1)
    counts = COVERAGE_FEATURES * every
    side = [f * every + k for k in range(kinds + FLAGS + 1) for f in range(COVERAGE_FEATURES)]
    side += [counts + k for k in range(kinds)]
    side += [counts + kinds + part * wide + k for part in range(2) for k in range(width)]
    rest = counts + kinds + 2 * wide
    end = rest + 3 * features + 1 + (8 if settings.bigrams else 0)
    side += range(rest, end)
    return [*side, *(end + place for place in side), *range(2 * end, 2 * end + 97 + features)]
