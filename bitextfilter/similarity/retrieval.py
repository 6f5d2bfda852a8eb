"""Retrieval between two sets of unit vectors by cosine or CSLS, with float32 products.

CSLS is that of :mod:`bitextfilter.similarity.margins` (Conneau et al. 2018). Products are rounded
as the library rounds them: good for choosing among words, while :mod:`bitextfilter.similarity.
neighbours` is for results that must not depend on company. Memory beside the vectors: some
blocks of ``(BLOCK_ROWS, m)`` numbers.

Letters: n queries, m rows of the base, d dimensions; all rows have length 1 or are zero.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bitextfilter.similarity.margins import NEIGHBOURS, csls, highest_means
from bitextfilter.similarity.neighbours import Indices, highest
from bitextfilter.similarity.vectors import Scores, Vectors

__all__ = ["matches", "neighbourhood_means"]

BLOCK_ROWS = 512


def neighbourhood_means(queries: Vectors, base: Vectors, k: int = NEIGHBOURS) -> Scores:
    """Return each query's mean cosine ``(n,)`` to its k nearest rows of ``base`` (or all)."""
    blocks = [highest_means(cosines, k) for _, cosines in _blocks(queries, base)]
    return np.concatenate([np.zeros(0, dtype=np.float32), *blocks])


def matches(
    queries: Vectors,
    base: Vectors,
    k: int = 1,
    means: tuple[Scores, Scores] | None = None,
) -> Indices:
    """Return the k best rows of ``base`` for each query, best first: ``(n, min(k, m))``.

    The lower row comes first among equals.

    Args:
        queries: ``(n, d)``.
        base: ``(m, d)``.
        k: how many.
        means: of the queries ``(n,)`` and of the base ``(m,)``, each among the other side's
            rows (:func:`neighbourhood_means`): then the best are those by CSLS; else by cosine.
    """
    k = min(k, len(base))
    found = [np.zeros((0, k), dtype=np.int64)]
    for rows, scores in _blocks(queries, base):
        if means is not None:
            scores = csls(scores, means[0][rows, None], means[1][None, :])
        found.append(highest(scores, k)[1])
    return np.concatenate(found)


def _blocks(queries: Vectors, base: Vectors) -> Iterator[tuple[slice, Scores]]:
    """Some queries after others with their cosines to the base."""
    for first in range(0, len(queries), BLOCK_ROWS):
        rows = slice(first, first + BLOCK_ROWS)
        yield rows, queries[rows] @ base.T
