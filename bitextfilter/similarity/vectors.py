"""Cosine and Euclidean similarity of sentence vectors, nearest neighbours, and margins.

A result here does not depend on the other rows of the arrays, on their order, or on the number of
threads, to the last bit. A floating-point sum usually depends on the order in
which a library adds, and the library chooses that order by the shape of the arrays. So the
vectors are first rounded to a grid (multiples of a power of two, about as fine as float32) that
is so coarse that every product and every partial sum is held by float64 *without rounding*:
a sum without rounding has no order. The proof is in :func:`on_grid`.

:func:`scan` goes through the whole base with numpy; equal similarities are ordered by the lower
index. For both directions between two large sides, use :mod:`bitextfilter.search.bidirectional`,
which is many times as fast. :func:`matches` and :func:`neighbourhood_means` are for words: their
products are rounded by the library, so results may depend on the other rows.

A *hub* is a sentence that is close to everything; its cosines say little. Margins take the mean
cosine of each side of a pair to its k nearest neighbours on the other side (k = 10 unless said) as
the yardstick. The elementwise forms take cosines and means of any shapes that broadcast together;
the matrix forms take the vectors of both sides, and each side is the other's neighbourhood.
CSLS is eq. 16-18 of Kim et al. 2019 (from Conneau et al. 2018); ratio and distance are Artetxe &
Schwenk 2019, "Margin-based Parallel Corpus Mining".

Letters: n and m rows, d dimensions; of neighbours, n queries and m rows of the base, all of length
1 or zero. Vectors are float32 ``(n, d)``. Higher is better for every measure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Indices, Scores, Vectors
from bitextfilter.io.compiled import INTEGER, CompiledLibrary, array_of
from bitextfilter.io.workers import map_blocks

_F32, _F64, _I64 = array_of(np.float32), array_of(np.float64), array_of(np.int64)
LIBRARY = CompiledLibrary(
    __file__,
    "vectors",
    layout=1,
    vectors_units=(INTEGER, _F32, INTEGER, INTEGER, INTEGER, _F32),
    vectors_products=(None, _F32, _F32, _I64, _I64, INTEGER, INTEGER, INTEGER, _F64),
)
"""Where ``vectors.c`` was not built, numpy gives the same bits."""

GRID_BITS = 26
UNIT_BITS = 24
VECTOR_ROWS = 1024


def on_grid(rows: NDArray[np.floating]) -> NDArray[np.float64]:
    """Round each row to its own grid, so that products of rows sum up without rounding.

    Let ``2**e`` be the power of two above ``max|x| * sqrt(d)``, which is at least the row's norm;
    its grid is the multiples of ``2**(e-26)``. For rows x and y with exponents e and f, every
    product of elements is a multiple of ``2**(e+f-52)``, and by the Cauchy-Schwarz inequality no
    partial sum of products exceeds ``2**(e+f)`` (but for the rounding to the grid, which float64
    has a 53rd bit for): so each is held by float64 exactly, and the sum is exact in any order,
    with fused multiplication or without.

    The error of an element is at most ``2**(e-27)``: a few times float32's own for the largest.

    Args:
        rows: finite numbers ``(n, d)``.

    Returns:
        float64 ``(n, d)``.
    """
    grid = np.array(rows, dtype=np.float64, order="C")
    largest = np.maximum(grid.max(axis=1, initial=0.0), -grid.min(axis=1, initial=0.0))
    exponents = np.frexp(largest * np.sqrt(grid.shape[1]))[1]
    return _rounded(grid, np.ldexp(1.0, exponents - GRID_BITS)[:, None])


def unit_rows(vectors: NDArray[np.floating]) -> Vectors:
    """Scale each row to length 1, on the grid of multiples of ``2**-24``; zero rows stay zero.

    Such numbers fit float32, and sums of their products fit float64, exactly. The error of an
    element is about ``2**-24``, and at most some ``sqrt(d) * 2**-25`` where one outweighs the rest.

    Args:
        vectors: finite numbers ``(n, d)``.

    Returns:
        float32 ``(n, d)``.

    Raises MemoryError.
    """
    units = np.empty(vectors.shape, dtype=np.float32)
    if (library := LIBRARY.open()) is not None and vectors.dtype == np.float32:
        given, (rows, dim) = np.ascontiguousarray(vectors), vectors.shape
        if library.vectors_units(given, dim, 0, rows, units):
            raise MemoryError
        return units
    for first in range(0, len(vectors), VECTOR_ROWS):
        rows = on_grid(vectors[first : first + VECTOR_ROWS])
        norms = np.sqrt(_products(rows, rows))
        rows /= np.where(norms > 0, norms, 1.0)[:, None]
        units[first : first + VECTOR_ROWS] = _rounded(rows, np.ldexp(1.0, -UNIT_BITS))
    return units


def unit_products(a: Vectors, b: Vectors) -> Scores:
    """Return the cosines ``(n, m)`` of rows made by :func:`unit_rows`."""
    return _cosines(a.astype(np.float64) @ b.astype(np.float64).T)


def unit_products_at(a: Vectors, b: Vectors, columns: NDArray[np.int64]) -> Scores:
    """Return some of :func:`unit_products`: in row i those of ``columns[i]``; both ``(n, c)``."""
    return _cosines(np.einsum("nd,ncd->nc", a, b[columns], dtype=np.float64))


def cosine_pairs(a: Vectors, b: Vectors) -> Scores:
    """Cosine of row i of ``a`` and row i of ``b`` → ``(n,)``, in [-1, 1] (Kim et al. 2019, eq. 13).

    A zero vector is like nothing: its cosine is 0. Raises ValueError where the shapes differ.
    """
    _same_shape(a, b)
    rows = np.arange(len(a))
    return cosine_pairs_at(a, b, rows, rows)


def cosine_pairs_at(a: Vectors, b: Vectors, i: Indices, j: Indices) -> Scores:
    """Cosine of row ``i[n]`` of ``a`` and row ``j[n]`` of ``b``, both ``(n,)`` → ``(n,)``.

    As :func:`cosine_pairs`; a row that stands in several pairs is scaled once.
    """
    left, right = unit_rows(a), unit_rows(b)
    rows, columns = (np.ascontiguousarray(places, np.int64) for places in (i, j))
    fits = rows.shape == columns.shape and left.shape[1] == right.shape[1]
    fits = fits and _within(rows, len(left)) and _within(columns, len(right))
    if (library := LIBRARY.open()) is None or not fits:  # numpy raises errors
        return _cosines(_products(left[i].astype(np.float64), right[j].astype(np.float64)))
    products = np.empty(len(i), dtype=np.float64)
    given = left, right, rows, columns
    library.vectors_products(*given, left.shape[1], 0, len(i), products)
    return _cosines(products)


def cosine_matrix(a: Vectors, b: Vectors) -> Scores:
    """Cosine of every two rows → ``(n, m)``; as :func:`cosine_pairs`."""
    return unit_products(unit_rows(a), unit_rows(b))


def euclidean_pairs(a: Vectors, b: Vectors) -> Scores:
    """Negative Euclidean distance of row i and row i → ``(n,)``, at most 0 (Kim et al., eq. 14).

    Raises ValueError where the shapes differ.
    """
    _same_shape(a, b)
    left, right = on_grid(a), on_grid(b)
    return _negative_distance(
        _products(left, left), _products(right, right), _products(left, right)
    )


def euclidean_matrix(a: Vectors, b: Vectors) -> Scores:
    """Negative Euclidean distance of every two rows → ``(n, m)``; as :func:`euclidean_pairs`."""
    left, right = on_grid(a), on_grid(b)
    squares = _products(left, left)[:, None], _products(right, right)[None, :]
    return _negative_distance(*squares, left @ right.T)


def _within(places: Indices, count: int) -> bool:
    return not len(places) or bool(places.min() >= 0 and places.max() < count)


def _cosines(products: NDArray[np.float64]) -> Scores:
    """Products of unit rows, whose lengths may be a little above 1, as float32 in [-1, 1]."""
    return np.clip(products, -1.0, 1.0, out=products).astype(np.float32)


def _products(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Inner products ``(n,)`` of row i and row i, both on their grids."""
    return np.asarray(np.einsum("nd,nd->n", a, b))


def _rounded(
    numbers: NDArray[np.float64], step: NDArray[np.float64] | np.float64
) -> NDArray[np.float64]:
    """Round in place to multiples of a power of two: beside the anchor, float64 has no finer."""
    anchor = step * 1.5 * 2.0**52
    numbers += anchor
    numbers -= anchor
    return numbers


def _negative_distance(
    left: NDArray[np.float64], right: NDArray[np.float64], products: NDArray[np.float64]
) -> Scores:
    """−√(‖a‖² + ‖b‖² − 2ab); the three are exact, and equal rows give 0."""
    squares = np.maximum(left + right - 2.0 * products, 0.0)
    return np.asarray(0.0 - np.sqrt(squares), dtype=np.float32)


def _same_shape(a: Vectors, b: Vectors) -> None:
    """Pairs are made of as many rows on either side, of one width."""
    if a.shape != b.shape:
        raise ValueError(f"pairs need arrays of one shape, not {a.shape} and {b.shape}")


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
