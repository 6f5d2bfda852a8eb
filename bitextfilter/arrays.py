"""Array types that modules share, named by their elements."""

from __future__ import annotations

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
