"""Training sentences as arrays of ids, and the mini-batches made of them.

Everything is a function of the seed and the pass, so that a resumed run sees the very batches
an uninterrupted one would have seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bitextfilter.errors import SettingsError

Ids = NDArray[np.int32]

POOL_BATCHES = 32
"""Batches that are sorted by length together: neighbours in length, yet mixed anew each pass."""


class Sentences:
    """Many id sequences in one flat array."""

    def __init__(self, rows: Iterable[Ids]) -> None:
        listed = list(rows)
        self.lengths = np.fromiter((len(row) for row in listed), dtype=np.int64, count=len(listed))
        self.flat = np.concatenate(listed) if listed else np.zeros(0, dtype=np.int32)
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)[:-1]]).astype(np.int64)
        seen: dict[bytes, int] = {}
        keys = (seen.setdefault(row.tobytes(), len(seen)) for row in listed)
        self.keys = np.fromiter(keys, dtype=np.int64, count=len(listed))
        """Equal for equal sentences, ``(n,)``."""

    def __len__(self) -> int:
        return len(self.lengths)

    def rows(self) -> Iterator[Ids]:
        """Every sequence, in order."""
        for start, length in zip(self.starts, self.lengths, strict=True):
            yield self.flat[start : start + length]

    def padded(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Ids ``(n, t)``, padded with 0, and lengths ``(n,)`` of the chosen rows."""
        lengths = self.lengths[rows]
        out = np.zeros((len(rows), int(lengths.max())), dtype=np.int64)
        for i, (start, length) in enumerate(zip(self.starts[rows], lengths, strict=True)):
            out[i, :length] = self.flat[start : start + length]
        return out, lengths


@dataclass(frozen=True)
class Corpus:
    """Parallel sentences, row-aligned, each row with the weight of its file."""

    source: Sentences
    target: Sentences
    weights: NDArray[np.float64]
    """How often a row is read in a pass, ``(n,)``; a fraction is a chance drawn each pass."""

    def __len__(self) -> int:
        return len(self.source)

    def side(self, side: int) -> Sentences:
        """Source (0) or target (1)."""
        return self.target if side else self.source


def short_pairs(source: Sequence[Ids], target: Sequence[Ids], longest: int) -> NDArray[np.bool_]:
    """True for pairs of which neither side has more than ``longest`` ids, shape ``(n,)``."""
    return np.array(
        [max(len(a), len(b)) <= longest for a, b in zip(source, target, strict=True)], dtype=bool
    )


def rows_of_pass(weights: NDArray[np.float64], seed: int, number: int) -> NDArray[np.int64]:
    """Row numbers read in a pass, repeated by weight and shuffled."""
    random = np.random.default_rng([seed, number])
    whole = np.floor(weights)
    times = whole + (random.random(len(weights)) < weights - whole)
    rows = np.repeat(np.arange(len(weights)), times.astype(np.int64))
    return random.permutation(rows)


def batches_of_pass(
    lengths: NDArray[np.int64], weights: NDArray[np.float64], size: int, seed: int, number: int
) -> list[NDArray[np.int64]]:
    """Row numbers of a pass, cut into mini-batches of similar length in random order.

    The last batch may be smaller than ``size``; every drawn row stands in exactly one batch.
    """
    rows = rows_of_pass(weights, seed, number)
    batches: list[NDArray[np.int64]] = []
    for start in range(0, len(rows), size * POOL_BATCHES):
        pool = rows[start : start + size * POOL_BATCHES]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        batches += [pool[i : i + size] for i in range(0, len(pool), size)]
    order = np.random.default_rng([seed, number, 1]).permutation(len(batches))
    return [batches[i] for i in order]


def endless_batches(
    lengths: NDArray[np.int64], weights: NDArray[np.float64], size: int, seed: int, skip: int = 0
) -> Iterator[NDArray[np.int64]]:
    """Mini-batches pass after pass, from the ``skip``-th on."""
    number = 0
    if not weights.sum() > 0:
        raise SettingsError("no sentences to train on: every weight is 0")
    while True:
        batches = batches_of_pass(lengths, weights, size, seed, number)
        yield from batches[skip:]
        skip = max(0, skip - len(batches))
        number += 1
