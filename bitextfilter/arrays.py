"""Array types that modules share, named by their elements; and small steps on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""Sentence or word vectors ``(n, dim)``."""

Scores = NDArray[np.float32]
"""Scores of pairs ``(n,)`` or ``(n, m)``; higher is better."""

Floats = NDArray[np.float64]

Integers = NDArray[np.int64]

Indices = NDArray[np.int64]
"""Positions in a list, a file or an array."""

Ids = NDArray[np.int32]
"""Ids of a vocabulary's tokens."""

Keys = NDArray[np.uint64]
"""Hashes."""

Mask = NDArray[np.bool_]


def mixed(keys: Keys) -> Keys:
    """Return keys of any shape, mixed: one-to-one on 64 bits.

    By the finaliser of SplitMix64 (Steele, Lea and Flood 2014).
    """
    made: Keys = keys ^ (keys >> np.uint64(30))
    made *= np.uint64(0xBF58476D1CE4E5B9)
    made ^= made >> np.uint64(27)
    made *= np.uint64(0x94D049BB133111EB)
    made ^= made >> np.uint64(31)
    return made


def begin_runs(*columns: NDArray[Any]) -> Mask:
    """Return whether each row differs from the one before, ``(n,)``; the first one does."""
    begin = np.ones(len(columns[0]), bool)
    begin[1:] = reduce(np.logical_or, (column[1:] != column[:-1] for column in columns))
    return begin


def places_of(wanted: NDArray[Any], known: NDArray[Any]) -> Indices:
    """Return the place of each *wanted* number in *known* ones, which ascend, or -1.

    It has the shape of *wanted*.
    """
    if not len(known):
        return np.full(wanted.shape, -1, dtype=np.int64)
    places = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[places] == wanted, places, -1)


def drawn(total: int, count: int, seed: int | Sequence[int] | np.random.Generator) -> Indices:
    """Return *count* places below *total* (all if fewer), by *seed*: ``(m,)``, ascending."""
    generator = np.random.default_rng(seed)
    return np.sort(generator.choice(total, min(count, total), replace=False).astype(np.int64))
