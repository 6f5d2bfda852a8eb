"""Exact nearest neighbours of two sides by ``nearest_rows.c``, where it was built at the install.

Rows are turned (:class:`Rotation`) and rounded to integers of 8 bits. The
product of two rows is that of their heads and that of their tails, and

- the product of the tails is at most that of their lengths (Cauchy-Schwarz): the heads have a few
  more places, *spares*, whose products add up to this bound;
- for rows x and y, rounded to x' and y', x · y - x' · y' is at most
  |x'| |y - y'| + |x - x'| |y'| + |x - x'| |y - y'|, of lengths measured row by row.

So the product of heads has a proven limit below which a row is not among another's nearest. For the
few pairs that reach it the tails follow, and for the few that are left the cosine without rounding.
The k highest of these so far are a row's *floor*, and set its limit. The result is that of
exhaustive search, to the last bit.

A search that may miss rows takes a likely bound of rounding, some four times as close. Errors are
taken for independent and even within half a step, of variance step² / 12: x' · (y - y') has a
standard deviation of |x'| step / sqrt(12), and exceeds t of them with a probability of at most
2 exp(-t² / 2), since sums of even numbers have thinner tails than normal ones.

The rotation makes few numbers of the vectors hold most of their length. The *head* of a turned row
is its first numbers, the *tail* the rest. The head holds the principal axes of a sample of both
sides. Within head and tail the axes are mixed at random, so that numbers are of a like size:
rounded to integers, they lose the least.

How well the sample fits decides how long a search takes, never what it finds.

Letters: n and m rows of the two sides, d dimensions, k neighbours.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Indices, Scores, Vectors
from bitextfilter.io.compiled import INTEGER, CompiledLibrary, Record, array_of, fields
from bitextfilter.io.workers import map_blocks
from bitextfilter.similarity.vectors import NO_ROW, Neighbours

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


_WIDTHS = (12, 32)
"""Rows of either side that stand together: ROWS and COLUMNS there."""
_SPARES = 8
_LINE = 64
"""Tails are filled up to whole cache lines."""
_CALL = 8160
"""Rows of either side that a call compares: 40 ms or so. A multiple of both widths."""
_TURNED = 480
"""Rows turned at a time."""
MOST_DIMENSIONS = 8192
"""Longer sums of products might exceed 32 bits."""
LOOKS = (40.0, 1500.0, 15000.0)
"""Time of a closer look at a pair, in products of two numbers of heads, by the kind of kernel."""
_ROOM = 1.15
"""Range of the integers, to the largest number in the sample."""
_ANY = 4.0
"""More than two products differ by."""

_ROUNDED = {
    "heads": array_of(np.uint8),
    "tails": array_of(np.uint8),
    "start": array_of(np.int32),
    "more": array_of(np.int32),
    "lengths": array_of(np.float32),
}
_F32, _I32, _I64 = array_of(np.float32), array_of(np.int32), array_of(np.int64)


class _Side(Record):
    """See ``nearest_rows.c``."""

    _fields_ = fields(
        {
            "rows": INTEGER,
            "units": _F32,
            **_ROUNDED,
            "loose": _F32,
            "floors": _F32,
            "limits": _I32,
            "cosines": _F32,
            "numbers": _I32,
        }
    )


class _Search(Record):
    """See ``nearest_rows.c``."""

    _fields_ = fields(
        {
            **dict.fromkeys(("dim", "head", "tail", "spares", "k"), INTEGER),
            **dict.fromkeys(("head_unit", "tail_unit", "error"), ctypes.c_double),
            "sides": _Side * 2,
        }
    )


class _Rounding(Record):
    """See ``nearest_rows.c``."""

    _fields_ = fields(
        {
            **dict.fromkeys(("dim", "split", "head", "tail", "spares"), INTEGER),
            "steps": ctypes.c_float * 2,
            "flip": ctypes.c_uint8,
            "width": INTEGER,
            **_ROUNDED,
            "beyond": array_of(np.bool_),
        }
    )


_SEARCH = ctypes.POINTER(_Search)
LIBRARY = CompiledLibrary(
    __file__,
    "nearest_rows",
    layout=1,
    nearest_rows_kind=(INTEGER,),
    nearest_rows_begin=(None, _SEARCH),
    nearest_rows=(None, _SEARCH, _I64, _I64, INTEGER, _I64),
    nearest_rows_round=(None, ctypes.POINTER(_Rounding), _F32, INTEGER, INTEGER),
)


def kernel() -> int:
    """Return the best kind of kernel: 2 with AVX-512 VNNI, 1 with AVX2; 0 for none of use here."""
    library = LIBRARY.open()
    return int(library.nearest_rows_kind()) if library else 0


class Turning(NamedTuple):
    """How rows are turned, and rounded to integers."""

    rotation: Rotation
    steps: NDArray[np.float32]
    """Size of an integer, ``(2, 2)``: of a side; of head and tail."""
    deviations: float = math.inf
    """Of the likely bound of rounding, for each row of a pair; infinite for the proven bound."""

    @property
    def head(self) -> int:
        """Places of the head, spares among them."""
        return -(-self.rotation.split // 4) * 4 + _SPARES

    @property
    def tail(self) -> int:
        """Places of the tail."""
        return -(-(len(self.rotation.matrix) - self.rotation.split) // _LINE) * _LINE


def choose_steps(rotation: Rotation, samples: tuple[Vectors, Vectors]) -> Turning:
    """Choose the sizes of integers by unit rows of either side, ``(any, d)``."""
    steps = np.ones((2, 2), np.float32)
    for side, sample in enumerate(samples):
        turned = sample @ rotation.matrix
        head, tail = turned[:, : rotation.split], turned[:, rotation.split :]
        spare = np.sqrt(np.square(tail).sum(axis=1).max(initial=0.0) / _SPARES)
        for part, most in enumerate((np.abs(head).max(initial=spare), np.abs(tail).max(initial=0))):
            if most > 0:
                steps[side, part] = most * _ROOM / 127
    return Turning(rotation, steps)


class RoundedRows:
    """Rows of a side as integers, with the lengths that bound their errors."""

    def __init__(self, units: Vectors, turning: Turning, side: int, threads: int = 1) -> None:
        """Turn and round rows ``(n, d)`` of side 0 or 1, made by ``unit_rows``."""
        self.turning, self._side, (rows, dim) = turning, side, units.shape
        self.arrays = _no_rows(turning, side, rows)
        self._beyond = np.zeros(rows, np.bool_)
        split, steps = turning.rotation.split, tuple(turning.steps[side].tolist())
        rounding = _Rounding(
            dim=dim,
            split=split,
            head=turning.head,
            tail=turning.tail,
            spares=_SPARES,
            steps=steps,
            flip=128 * side,
            width=_WIDTHS[side],
            **self.arrays,
            beyond=self._beyond,
        )
        import torch

        from bitextfilter.models.device import one_torch_thread

        library, matrix = LIBRARY.needed(), torch.from_numpy(turning.rotation.matrix)

        def turn(first: int) -> None:
            turned = (torch.from_numpy(units[first : first + _TURNED]) @ matrix).numpy()
            library.nearest_rows_round(rounding, turned, first, len(turned))

        with one_torch_thread():
            map_blocks(turn, range(0, rows, _TURNED), threads)
        # Clipped numbers lost more than rounding takes: their bound stays the proven one.
        likely = turning.deviations * turning.steps[side] / np.sqrt(12, dtype=np.float32)
        lost = self.arrays["lengths"][:, :2]
        np.minimum(lost, likely, out=lost, where=~self._beyond[:, None])

    def take(self, rows: Indices) -> RoundedRows:
        """Return some of the rows ``(m,)``."""
        taken, old, side = copy(self), self.arrays, self._side
        width, count = _WIDTHS[side], len(rows)
        taken.arrays = _no_rows(self.turning, side, count)
        for name in ("tails", "more", "lengths"):
            np.take(old[name], rows, axis=0, out=taken.arrays[name])
        taken.arrays["start"][:count] = old["start"][rows]
        # Four numbers that stand together are moved as one.
        tiles, places = np.divmod(rows, width)
        heads, new = (arrays["heads"].view(np.uint32)[..., 0] for arrays in (old, taken.arrays))
        whole = count // width
        moved = heads[tiles, :, places]
        full = moved[: whole * width].reshape(whole, width, new.shape[1])
        new[:whole] = full.transpose(0, 2, 1)
        new[whole:, :, : count % width] = moved[whole * width :].T
        taken._beyond = self._beyond[rows]
        return taken

    def head_lengths(self) -> tuple[float, float]:
        """Return the greatest lengths of what rounding took from heads, and of what it left.

        Of rows with a number out of range they do not count: those are compared with all.
        """
        lost, _, kept, _ = self.arrays["lengths"][~self._beyond].max(axis=0, initial=0.0).tolist()
        return lost, kept

    def looseness(self, other: RoundedRows) -> Scores:
        """Return the most by which products exceed those of heads, with spares, ``(n,)``."""
        lost, (other_lost, other_kept) = self.arrays["lengths"][:, 0], other.head_lengths()
        most = lost.astype(np.float64) * (other_kept + other_lost)
        most += other_lost * self.head_lengths()[1] + self.turning.rotation.error
        return np.where(self._beyond, _ANY, most * 1.0001).astype(np.float32)


def _no_rows(turning: Turning, side: int, rows: int) -> dict[str, NDArray[Any]]:
    """Return the arrays of some rows of a side, without their numbers."""
    width = _WIDTHS[side]
    tiles = -(-rows // width)
    return {
        "heads": _aligned((tiles, turning.head // 4, width, 4), 128 * side),
        "tails": _aligned((rows, turning.tail), 128 * side),
        "start": np.zeros(tiles * width, np.int32),
        "more": np.zeros((rows, 2), np.int32),
        "lengths": np.zeros((rows, 4), np.float32),
    }


def _aligned(shape: tuple[int, ...], value: int) -> NDArray[np.uint8]:
    """Return bytes that begin with a cache line."""
    size = int(np.prod(shape))
    space = np.full(size + _LINE, value, np.uint8)
    first = -space.ctypes.data % _LINE
    return space[first : first + size].reshape(shape)


class Part(NamedTuple):
    """Rows of a side to be searched."""

    units: Vectors
    """Made by ``unit_rows``, ``(n, d)``, in one piece."""
    rounded: RoundedRows
    reached: Scores | None
    """The lowest cosine that is wanted of each row, ``(n,)``; None for any."""


def search_parts(
    parts: tuple[Part, Part], k: int, threads: int = 1, kind: int | None = None
) -> tuple[Neighbours, Neighbours]:
    """Find the k nearest rows of the other part for each row of two parts.

    Args:
        parts: of side 0 and of side 1, turned alike.
        k: how many; fewer are found where no more reach what is wanted, then -inf and ``NO_ROW``.
        threads: blocks of rows compared side by side.
        kind: of the kernel; None for the best.
    """
    library, turning = LIBRARY.needed(), parts[0].rounded.turning
    arrays = [_arrays(part, parts[1 - side].rounded, k) for side, part in enumerate(parts)]
    sides = [_Side(rows=len(each["units"]), **each) for each in arrays]
    search = _search(turning, parts[0].units.shape[1], k, sides)
    with_kind = kernel() if kind is None else kind
    library.nearest_rows_begin(search)
    bounds = [_bounds(len(part.units), threads) for part in parts]

    def compare(cell: tuple[int, int]) -> NDArray[np.int64]:
        places = np.array([bounds[side][number] for side, number in enumerate(cell)], np.int64)
        first, last = np.ascontiguousarray(places.T)
        counts = np.zeros(2, np.int64)
        library.nearest_rows(search, first, last, with_kind, counts)
        return counts

    # No two blocks that are compared at a time have rows in common.
    most = max(map(len, bounds))
    for shift in range(most):
        cells = ((row, (row + shift) % most) for row in range(len(bounds[0])))
        map_blocks(compare, [cell for cell in cells if cell[1] < len(bounds[1])], threads)
    forward, backward = ((side["cosines"], side["numbers"].astype(np.int64)) for side in arrays)
    return forward, backward


def _search(turning: Turning, dim: int, k: int, sides: list[_Side]) -> _Search:
    """Return what the library reads; the *sides* must live as long."""
    head_unit, tail_unit = turning.steps.astype(np.float64).prod(axis=0).tolist()
    return _Search(
        dim=dim,
        head=turning.head,
        tail=turning.tail,
        spares=_SPARES,
        k=k,
        head_unit=head_unit,
        tail_unit=tail_unit,
        error=turning.rotation.error,
        sides=(_Side * 2)(*sides),
    )


def _arrays(part: Part, other: RoundedRows, k: int) -> dict[str, NDArray[Any]]:
    """Return the arrays of a side by their names in the library."""
    rows, rounded = len(part.units), part.rounded
    floors = np.full(rows, -np.inf, np.float32)
    if part.reached is not None:
        floors[:] = part.reached
    return {
        "units": part.units,
        **rounded.arrays,
        "loose": rounded.looseness(other),
        "floors": floors,
        "limits": np.zeros(len(rounded.arrays["start"]), np.int32),
        "cosines": np.full((rows, k), -np.inf, np.float32),
        "numbers": np.full((rows, k), NO_ROW, np.int32),
    }


def _bounds(rows: int, threads: int) -> list[tuple[int, int]]:
    """Return the first row and the last of each of some blocks, as many for each thread."""
    count = threads * max(1, -(-rows // (_CALL * threads)))
    size = -(-rows // (count * 96)) * 96
    return [(first, min(first + size, rows)) for first in range(0, rows, size)]
