"""Rows of different length in one flat array."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Ragged"]


@dataclass(frozen=True)
class Ragged:
    """Rows of numbers, one behind the other: ``flat (sum of lengths,)``, ``lengths (n,)``."""

    flat: npt.NDArray[Any]
    lengths: npt.NDArray[np.int64]

    @classmethod
    def of(cls, rows: Iterable[npt.NDArray[np.int32]]) -> Ragged:
        """Put int32 rows together."""
        listed = list(rows)
        flat = np.concatenate(listed) if listed else np.zeros(0, dtype=np.int32)
        return cls(flat, np.fromiter(map(len, listed), dtype=np.int64, count=len(listed)))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.lengths)

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        """Yield every row, in order."""
        for start, length in zip(self.starts, self.lengths, strict=True):
            yield self.flat[start : start + length]

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """Where each row begins, ``(n,)``."""
        return np.cumsum(self.lengths) - self.lengths

    def take(self, rows: npt.NDArray[np.integer]) -> Ragged:
        """Return the rows of these places, in that order."""
        lengths = self.lengths[rows]
        ends = np.cumsum(lengths)
        inside = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)
        return Ragged(self.flat[np.repeat(self.starts[rows], lengths) + inside], lengths)

    def merged(self, groups: npt.NDArray[np.int64]) -> Ragged:
        """Join runs of rows: the first ``groups[0]`` rows become one, and so on."""
        ends = np.concatenate([[0], np.cumsum(self.lengths)])
        bounds = np.concatenate([[0], np.cumsum(groups)])
        return Ragged(self.flat, np.diff(ends[bounds]))

    def padded(
        self, rows: npt.NDArray[np.integer]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return these rows, ``(n, t)`` filled up with 0, and their lengths, ``(n,)``."""
        lengths = self.lengths[rows]
        inside = np.arange(int(lengths.max(initial=0))) < lengths[:, None]
        out = np.zeros(inside.shape, dtype=np.int64)
        out[inside] = self.take(rows).flat
        return out, lengths
