"""A random sample of the rows of a stream, of bounded size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "TEXT_LENGTH",
    "Reservoir",
    "Sample",
    "at_tenths",
    "near_thresholds",
    "ordered_by",
    "shortened",
]

TEXT_LENGTH = 400
"""Characters of a side that a sample keeps."""


class Sample(NamedTuple):
    """One scored row: its 1-based *number*, its texts, its *scores*, and its *label* if any."""

    number: int
    source: str
    target: str
    scores: tuple[float, ...]
    label: str = ""


def shortened(text: str, length: int = TEXT_LENGTH) -> str:
    """Return *text*, cut to *length* characters, the last of which is then an ellipsis."""
    return text if len(text) <= length else text[: length - 1] + "…"


class Reservoir:
    """A uniform sample of *size* rows without replacement.

    Each row draws a number from a generator started with *seed*; those with the smallest are the
    sample. So it depends on the rows and the seed, not on how many are offered at a time.
    """

    def __init__(self, size: int, seed: int) -> None:
        """Start with nothing."""
        self._size = size
        self._random = np.random.default_rng(seed)
        self._kept: list[tuple[float, Sample]] = []
        self._bound = 1.0

    def offer(self, rows: Sequence[Sample]) -> None:
        """Take the next *rows* of the stream into account."""
        draws = self._random.random(len(rows))
        for place in np.flatnonzero(draws < self._bound).tolist():
            row = rows[place]
            row = row._replace(source=shortened(row.source), target=shortened(row.target))
            self._kept.append((float(draws[place]), row))
        if len(self._kept) > 2 * self._size:
            self._drop_excess()

    def _drop_excess(self) -> None:
        self._kept.sort(key=lambda item: (item[0], item[1].number))
        del self._kept[self._size :]
        if len(self._kept) == self._size:
            self._bound = self._kept[-1][0]

    def rows(self) -> list[Sample]:
        """Return the sample, in random order."""
        self._drop_excess()
        return [row for _, row in self._kept]


def ordered_by(scores: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the places of the samples' *scores* (n,) from the lowest to the highest.

    Equal scores keep the random order of the sample.
    """
    return np.argsort(scores, kind="stable")


def at_tenths(order: NDArray[np.int64], count: int) -> list[list[int]]:
    """Return *count* places (all, if there are fewer) about each tenth of a sorted sample.

    Args:
        order: places from the lowest score to the highest (n,).
        count: how many about each of 0, 10, ..., 100 %.
    """
    last = max(0, len(order) - count)
    starts = [round(tenth / 10 * len(order) - count / 2) for tenth in range(11)]
    firsts = [min(max(0, start), last) for start in starts]
    return [order[first : first + count].tolist() for first in firsts]


def near_thresholds(
    order: NDArray[np.int64], ordered: NDArray[np.float32], thresholds: NDArray[np.float32]
) -> list[int]:
    """Return the places of the samples nearest to any threshold, from the lowest score up.

    Args:
        order: places of the samples from the lowest score to the highest (n,).
        ordered: their scores (n,).
        thresholds: of which each gets the two samples just above it and the two just below.
    """
    firsts = np.searchsorted(ordered, thresholds, side="left")
    near = (firsts[:, None] + np.arange(-2, 2)).ravel()
    kept = np.unique(near[(near >= 0) & (near < len(order))])
    places: list[int] = order[kept].tolist()
    return places
