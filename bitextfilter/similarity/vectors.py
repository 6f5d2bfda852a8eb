"""Cosine and Euclidean similarity of sentence vectors, row by row and as matrices.

A result here does not depend on the other rows of the arrays, on their order, or on the number of
threads, to the last bit. A floating-point sum usually depends on the order in
which a library adds, and the library chooses that order by the shape of the arrays. So the
vectors are first rounded to a grid (multiples of a power of two, about as fine as float32) that
is so coarse that every product and every partial sum is held by float64 *without rounding*:
a sum without rounding has no order. The proof is in :func:`on_grid`.

Letters: n and m rows, d dimensions. Vectors are float32 ``(n, d)``. Higher is better for every
measure.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Indices, Scores, Vectors
from bitextfilter.io.compiled import INTEGER, CompiledLibrary, array_of

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
