"""Rotation of the vectors of two sides, so that few of their numbers hold most of their length.

The *head* of a turned row is its first numbers, the *tail* the rest. The head holds the principal
axes of a sample of both sides. Within head and tail the axes are mixed at random, so that
numbers are of a like size: rounded to integers, they lose the least.

How well the sample fits decides how long a search takes, never what it finds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bitextfilter.arrays import Scores, Vectors

SAMPLE = 8192
"""Rows of a side in the sample."""
_QUERIES, _OTHERS = 256, 4096
"""Rows of the sample whose products choose the length of the head."""
LOST, LIKELY_LOST = 0.03, 0.01
"""What rounding takes from the product of a pair, about: by a proven bound, and by a likely one."""
_SHORTEST, _STEP = 32, 16
_LEAST, _NOTHING = 0.05, 1e-12
"""Added to the variances of axes, of their mean, so that those of hardly any count little; and
where all rows are the same."""


class Rotation(NamedTuple):
    """A matrix that turns rows, and the length of their head."""

    matrix: Vectors
    """``(d, d)``: turned rows are rows times the matrix."""
    split: int
    """Numbers of the head."""
    error: float
    """The most by which turning changes the product of two rows of length 1 or 0."""


class Aim(NamedTuple):
    """What is searched for."""

    sizes: tuple[int, int]
    """Rows of either side."""
    k: int
    """Neighbours of each."""
    look: float
    """Time of a closer look at a pair, in products of two numbers of heads."""
    lost: float = LOST
    """What rounding takes from the product of a pair, about."""


def sample_rows(rows: int) -> slice:
    """Return the places of a sample of a side, evenly spaced."""
    return slice(0, rows, max(1, rows // SAMPLE))


def learn_rotation(
    samples: tuple[Vectors, Vectors], aim: Aim, compared: tuple[Vectors, Vectors] | None = None
) -> Rotation:
    """Learn a rotation from unit rows of either side, ``(any, d)``.

    *compared*: rows like those that are compared, which decide the length of the head; None where
    all rows are compared with all.
    """
    rows = np.concatenate(samples).astype(np.float64)
    dim = rows.shape[1]
    axes = np.linalg.eigh(rows.T @ rows)[1][:, ::-1]
    split = _best_split([(own @ axes).astype(np.float32) for own in compared or samples], aim)
    generator = np.random.default_rng(0)
    matrix = np.empty((dim, dim), np.float32)
    for part in (slice(0, split), slice(split, dim)):
        size = part.stop - part.start
        matrix[:, part] = axes[:, part] @ np.linalg.qr(generator.standard_normal((size, size)))[0]
    return Rotation(matrix, split, turning_error(matrix))


class EvenAxes(NamedTuple):
    """What makes the axes of the vectors of two sides more even."""

    means: Vectors
    """Of either side, ``(2, d)``."""
    matrix: Vectors
    """``(d, d)``: even rows are rows, less the mean of their side, times the matrix."""

    def turn(self, rows: Vectors, side: int) -> Vectors:
        """Return rows of a side ``(n, d)`` with even axes; their lengths change."""
        even: Vectors = (rows - self.means[side]) @ self.matrix
        return even


def even_axes(samples: tuple[Vectors, Vectors]) -> EvenAxes:
    """Learn from unit rows of either side, ``(any, d)``, to scale principal axes to even lengths.

    Each is divided by the fourth root of its variance, half the way to whitening (Su et al. 2021,
    "Whitening Sentence Representations"): so it takes more of them to bring two rows together.
    """
    means = np.stack([sample.mean(axis=0) for sample in samples])
    products = np.zeros((means.shape[1], means.shape[1]))
    for own, mean in zip(samples, means, strict=True):
        for first in range(0, len(own), SAMPLE):
            rows = (own[first : first + SAMPLE] - mean).astype(np.float64)
            products += rows.T @ rows
    variances, axes = np.linalg.eigh(products / sum(map(len, samples)))
    variances = np.maximum(variances, 0) + _LEAST * variances.mean() + _NOTHING
    return EvenAxes(means, (axes * variances**-0.25).astype(np.float32))


def turning_error(matrix: Vectors) -> float:
    """Return the most by which turning changes the product of two rows of length 1 or less.

    For rows x and y, a matrix V, and turned rows x' = xV + e: x'y' - xy is x(VV' - 1)y and products
    with e. By the Cauchy-Schwarz inequality the first is at most the norm of VV' - 1, computed in
    float64. In float32, in any order, each number of e is at most d·u / (1 - d·u) times |x| and the
    length of a column of V, with u = 2**-24 (Higham, "Accuracy and Stability of Numerical
    Algorithms", 2002, section 3.1). A little more covers that rows have length 1 only to the grid's
    precision, and that cosines are compared as float32 in [-1, 1].
    """
    exact, dim = matrix.astype(np.float64), len(matrix)
    apart = float(np.linalg.norm(exact @ exact.T - np.eye(dim)))
    once = dim * 2.0**-24 / (1 - dim * 2.0**-24) * float(np.linalg.norm(exact))
    return 1.01 * (apart + once * (2 + apart + once)) + 1e-6


def _best_split(turned: Sequence[Vectors], aim: Aim) -> int:
    """Return the length of the head with which a search takes least.

    *turned*: rows of both sides by principal axes. All products of heads are computed; a pair that
    may be above the floor of either row takes a closer look.
    """
    dim = turned[0].shape[1]
    splits = range(_SHORTEST, dim, _STEP)
    costs = np.array([*splits, dim], np.float64)
    for side in (0, 1):
        own, other = _spaced(turned[side], _QUERIES), _spaced(turned[1 - side], _OTHERS)
        floors = _expected_floors(own @ other.T, aim.sizes[1 - side], aim.k)[:, None] - aim.lost
        for place, split in enumerate(splits):
            lengths = [np.linalg.norm(rows[:, split:], axis=1) for rows in (own, other)]
            most = own[:, :split] @ other[:, :split].T + np.outer(*lengths)
            costs[place] += aim.look * float((most >= floors).mean())
    return int([*splits, dim][np.argmin(costs)])


def _spaced(rows: Vectors, count: int) -> Vectors:
    return rows[:: max(1, len(rows) // count)][:count]


def _expected_floors(products: Scores, size: int, k: int) -> Scores:
    """Return the k-th highest products that rows may have among *size*, from those with a few.

    Each time that the others grow by the same factor, the highest rises by about as much.
    """
    highest = -np.sort(-products, axis=1)
    last = min(16, highest.shape[1] - 1)
    slope = (highest[:, 0] - highest[:, last]) / math.log(1 + last) if last else 0.0
    return np.asarray(highest[:, 0] + slope * math.log(max(1, size) / (k * products.shape[1])))
