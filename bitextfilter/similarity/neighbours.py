"""Exact k-nearest neighbours by cosine, and the margins measured against them.

:func:`scan` goes through the whole base with numpy. Its cosines are computed without rounding
(see :mod:`bitextfilter.similarity.vectors`), so a query's neighbours and their similarities do not
depend on the other queries, on the order of anything, or on threads, and equal similarities are
ordered by the lower index. For both directions between two large sides, use
:mod:`bitextfilter.search.bidirectional`, which is many times as fast.

:func:`matches` and :func:`neighbourhood_means` are for words: their products are rounded by the
library, so results may depend on the other rows.

A *hub* is a sentence that is close to everything; its cosines say little. Margins take the mean
cosine of each side of a pair to its k nearest neighbours on the other side (k = 10 unless said) as
the yardstick. The elementwise forms take cosines and means of any shapes that broadcast together;
the matrix forms take the vectors of both sides, and each side is the other's neighbourhood.
CSLS is eq. 16-18 of Kim et al. 2019 (from Conneau et al. 2018); ratio and distance are Artetxe &
Schwenk 2019, "Margin-based Parallel Corpus Mining".

Letters: n queries, m rows of the base, d dimensions; all rows have length 1 or are zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from bitextfilter.arrays import Indices, Scores, Vectors
from bitextfilter.io.workers import map_blocks
from bitextfilter.similarity.vectors import cosine_matrix, unit_products, unit_rows

NEIGHBOURS = 10
"""Default number of neighbours that a mean is taken over."""

SMALLEST_MEAN = 0.01
"""The ratio margin divides by no less than this."""


def csls(cosine: Scores, mean_source: Scores, mean_target: Scores) -> Scores:
    """Return 2·cosine − mean_source − mean_target, in [-4, 4]; nothing special is about 0."""
    return np.asarray(2.0 * cosine - (mean_source + mean_target), dtype=np.float32)


def ratio(cosine: Scores, mean_source: Scores, mean_target: Scores) -> Scores:
    """Return cosine / ((mean_source + mean_target) / 2), in [-100, 100]; plain is 1.

    A mean of zero or less would turn the order round, so the divisor is never below 0.01 (our
    addition: the paper's sentences all have positive means).
    """
    mean = np.maximum(0.5 * (mean_source + mean_target), SMALLEST_MEAN)
    return np.asarray(cosine / mean, dtype=np.float32)


def distance(cosine: Scores, mean_source: Scores, mean_target: Scores) -> Scores:
    """Return cosine − (mean_source + mean_target) / 2, in [-2, 2]; nothing special is about 0."""
    return np.asarray(cosine - 0.5 * (mean_source + mean_target), dtype=np.float32)


Margin = Callable[[Scores, Scores, Scores], Scores]

MARGINS: dict[str, Margin] = {"csls": csls, "ratio": ratio, "distance": distance}
"""The margins by name, in their elementwise forms."""


def margin_matrix(margin: Margin, a: Vectors, b: Vectors, k: int = NEIGHBOURS) -> Scores:
    """Apply a margin to every row of ``a`` with every row of ``b`` → ``(n, m)``.

    Row i's neighbours are sought in all of ``b``, column j's in all of ``a``, the pair itself
    among them. Where there are fewer than k, all there are count.
    """
    cosines = cosine_matrix(a, b)
    rows, columns = highest_means(cosines, k), highest_means(cosines.T, k)
    return margin(cosines, rows[:, None], columns[None, :])


def highest_means(similarities: Scores, k: int) -> Scores:
    """Return each row's mean ``(n,)`` of its k highest values, or of all ``(n, m)`` has if fewer.

    They are added from the lowest up, so that their mean does not depend on their places. -inf
    does not count; a row without values has the mean 0.
    """
    k = min(k, similarities.shape[1])
    if k == 0:
        return np.zeros(len(similarities), dtype=np.float32)
    highest = np.sort(np.partition(similarities, -k, axis=1)[:, -k:], axis=1)
    total, count = np.zeros((2, len(similarities)))
    for column in highest.T:
        there = column > -np.inf
        total += np.where(there, column, 0.0)
        count += there
    return np.asarray(total / np.maximum(count, 1), dtype=np.float32)


QUERY_ROWS = 512
BASE_ROWS = 4096


def scan(
    queries: Vectors, base: Vectors, k: int = NEIGHBOURS, threads: int = 1
) -> tuple[Scores, Indices]:
    """Find each query's k nearest rows of a base.

    Blocks of queries run side by side; each passes over the base in tiles and keeps the best k.
    Memory beside the vectors: about 40 MB a thread.

    Args:
        queries: rows ``(n, d)`` made by ``unit_rows``.
        base: rows ``(m, d)`` made by ``unit_rows``.
        k: neighbours wanted; where ``base`` has fewer, all of it.
        threads: blocks of queries computed side by side.

    Returns:
        Cosines and row numbers in ``base``, each ``(n, min(k, m))``, best first, the lower row
        number first among equals.
    """
    k = min(k, len(base))

    def block(first: int) -> tuple[Scores, Indices]:
        rows = queries[first : first + QUERY_ROWS]
        best = Best(len(rows), k)
        for start in range(0, len(base), BASE_ROWS):
            best.add(unit_products(rows, base[start : start + BASE_ROWS]))
        return best.values, best.columns

    found = map_blocks(block, range(0, len(queries), QUERY_ROWS), threads)
    cosines, numbers = zip(no_neighbours(0, k), *found, strict=True)
    return np.concatenate(cosines), np.concatenate(numbers)


def mean_similarity(
    queries: Vectors, base: Vectors, k: int = NEIGHBOURS, threads: int = 1
) -> Scores:
    """Mean cosine of each query ``(n, d)`` to its k nearest rows of ``base`` ``(m, d)`` → ``(n,)``.

    Neither need be unit rows. Where ``base`` has fewer than k rows, all count; the mean of none
    is 0.
    """
    return highest_means(scan(unit_rows(queries), unit_rows(base), k, threads)[0], k)


class Best:
    """The k highest values of each row of a matrix that comes some columns at a time."""

    def __init__(self, rows: int, k: int) -> None:
        """Start with no columns."""
        self.values: Scores = np.zeros((rows, 0), dtype=np.float32)
        """Best first, the lower column first among equals: ``(n, min(k, columns so far))``."""
        self.columns: Indices = np.zeros((rows, 0), dtype=np.int64)
        """Their columns."""
        self._k, self._seen = k, 0

    def add(self, values: Scores) -> None:
        """Take the next columns, ``(n, c)``."""
        tile, places = highest(values, min(self._k, values.shape[1]))
        joined = np.concatenate([self.values, tile], axis=1)
        numbers = np.concatenate([self.columns, places + self._seen], axis=1)
        self.values, order = highest(joined, min(self._k, joined.shape[1]))
        self.columns = np.take_along_axis(numbers, order, axis=1)
        self._seen += values.shape[1]


def highest(values: Scores, k: int) -> tuple[Scores, Indices]:
    """Return the k highest of each row and their columns, the lower column first among equals.

    Args:
        values: ``(n, m)``.
        k: at least 1, at most m.

    Returns:
        Values and columns, each ``(n, k)``, best first.
    """
    bound = np.partition(values, -k, axis=1)[:, -k, None]
    rows, columns = np.divmod(np.flatnonzero(values >= bound), values.shape[1])
    order = np.lexsort((columns, -values[rows, columns], rows))
    starts = np.searchsorted(rows, np.arange(len(values)))
    chosen = order[(starts[:, None] + np.arange(k)[None, :])]
    return values[rows[chosen], columns[chosen]], columns[chosen]


Neighbours = tuple[Scores, Indices]
"""Cosines of rows to their nearest, best first, and the nearest rows' numbers, each ``(n, k)``.
Padded with the cosine -inf and the number ``NO_ROW``."""

NO_ROW = -1


def no_neighbours(rows: int, k: int) -> Neighbours:
    """Return k empty places for each of some rows."""
    return np.full((rows, k), -np.inf, np.float32), np.full((rows, k), NO_ROW, np.int64)


def merge_neighbours(one: Neighbours, other: Neighbours, k: int) -> Neighbours:
    """Return each row's k nearest of those in either, each ``(n, any)``, as ``(n, k)``.

    Among equals the lower number comes first; a neighbour in both counts once.
    """
    empty = no_neighbours(len(one[0]), k)
    cosines: Scores = np.hstack([one[0], other[0], empty[0]])
    numbers: Indices = np.hstack([one[1], other[1], empty[1]])
    order = np.lexsort((numbers, -cosines), axis=1)
    rows = np.arange(len(order))[:, None]
    cosines, numbers = cosines[rows, order], numbers[rows, order]
    again = np.zeros(numbers.shape, np.bool_)
    again[:, 1:] = (numbers[:, 1:] == numbers[:, :-1]) & (numbers[:, 1:] != NO_ROW)
    if again.any():
        cosines[again], numbers[again] = -np.inf, NO_ROW
        order = np.argsort(-cosines, axis=1, kind="stable")
        cosines, numbers = cosines[rows, order], numbers[rows, order]
    return cosines[:, :k], numbers[:, :k]


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
    for first in range(0, len(queries), QUERY_ROWS):
        rows = slice(first, first + QUERY_ROWS)
        yield rows, queries[rows] @ base.T
