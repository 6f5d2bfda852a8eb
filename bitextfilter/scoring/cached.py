"""Scores of pairs that were scored before, taken from a cache; all others go into it.

A score's key is made of both sentences and of the digest of all else that it depends on
(``contexts.py``). A score comes back as the very float32 that was computed.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from bitextfilter.io.cache import KEY_BYTES, Cache
from bitextfilter.scoring.scorers import distinct
from bitextfilter.similarity.vectors import Scores

__all__ = ["CachedScores", "Compute"]

Compute = Callable[[Sequence[str], Sequence[str], Sequence[int]], Scores]
"""Scores ``n`` pairs, sources and targets, for ``m`` columns by their places: ``(n, m)``."""

_UTF8 = "utf-8", "surrogatepass"


class CachedScores:
    """Has each pair scored only once for each column.

    ``counts["cached"]`` counts the pairs for which nothing had to be computed: known to the
    cache, or the same as one before in the window; ``counts["scored"]`` counts the others.
    """

    def __init__(self, cache: Cache, counts: Counter[str]) -> None:
        """Use *cache*, and count in *counts*."""
        self._cache, self._counts = cache, counts
        self._counts.update(cached=0, scored=0)

    def __call__(
        self,
        contexts: Sequence[bytes],
        sources: Sequence[str],
        targets: Sequence[str],
        compute: Compute,
    ) -> Scores:
        """Score ``n`` pairs → float32 ``(n, m)``: what *compute* would give for all columns.

        ``contexts``: of each of the ``m`` columns, a digest of all but the pair that its scores
        depend on. Raises InputError and OutputError of the cache.
        """
        pairs, places = distinct(list(zip(sources, targets, strict=True)))
        flat = [key for context in contexts for key in _keys(context, pairs)]
        values, found = self._cache.get(flat)
        shape = len(contexts), len(pairs)
        scores: Scores = values.reshape(shape).T
        missing = ~found.reshape(shape).T

        rows, columns = (np.flatnonzero(missing.any(axis=axis)).tolist() for axis in (1, 0))
        if rows:
            left, right = ([pairs[row][side] for row in rows] for side in (0, 1))
            scores[np.ix_(rows, columns)] = compute(left, right, columns)
            new = missing.T.reshape(-1)
            fresh = [flat[place] for place in np.flatnonzero(new)]
            self._cache.put(fresh, scores.T.reshape(-1)[new])
        self._counts.update(cached=len(sources) - len(rows), scored=len(rows))
        return np.asarray(scores[places])


def _keys(context: bytes, pairs: Sequence[tuple[str, str]]) -> list[bytes]:
    """Return the key of each pair: BLAKE2b of both sides, with the length of the first."""
    sides = ((source.encode(*_UTF8), target.encode(*_UTF8)) for source, target in pairs)
    return [_key(context, source, target) for source, target in sides]


def _key(context: bytes, source: bytes, target: bytes) -> bytes:
    text = b"%d:%b%b" % (len(source), source, target)
    return hashlib.blake2b(text, digest_size=KEY_BYTES, key=context).digest()
