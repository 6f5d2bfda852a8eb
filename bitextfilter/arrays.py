"""Array types that modules share, named by their elements; and a search in sorted arrays."""

from __future__ import annotations

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


def places_of(wanted: NDArray[Any], known: NDArray[Any]) -> Indices:
    """Return the place of each *wanted* number in *known* ones, which ascend, or -1.

    It has the shape of *wanted*.
    """
    if not len(known):
        return np.full(wanted.shape, -1, dtype=np.int64)
    places = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[places] == wanted, places, -1)
