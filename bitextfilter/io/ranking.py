"""Order rows by score in bounded memory.

The lines wait on disk; of each row at most 24 bytes are in memory: its score, its size, its place
in the order, and what sorting needs. Lines are spilled in runs, each written best first: read in
the order of all rows, every run then goes forwards, so that the disk is never searched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bitextfilter.io.columns import Columns, Wanted
from bitextfilter.io.selection import BLOCK, Choice, Order, Selection, select
from bitextfilter.io.spill import Spill

__all__ = ["Ranked", "Ranking", "ScoredColumns"]

RUN_ROWS = 1 << 17
RUN_BYTES = 1 << 25
"""A run ends at this many rows or bytes: what is held before it goes to the disk."""


@dataclass(frozen=True)
class ScoredColumns(Columns):
    """The column of the score, which may be empty, and those of the *sides* whose size counts."""

    score: int | str = -1
    sides: tuple[str, ...] = ()

    def wanted(self) -> tuple[Wanted, ...]:
        """Return the score, then the sides."""
        sides = (side for side in super().wanted() if side.name in self.sides)
        return (Wanted("score", "--column", self.score), *sides)


class Ranking:
    """Collects rows, to be ranked by score; equal scores rank in input order."""

    def __init__(self, spill: Spill, best_first: bool = True, run_rows: int = RUN_ROWS) -> None:
        """Keep lines in *spill*, to be read back *best_first* or in input order."""
        self._spill = spill
        self._best_first = best_first
        self._run_rows = run_rows
        self._lines: list[bytes] = []
        self._scores: list[float] = []
        self._held = 0
        self._firsts: list[int] = []
        self._keys: list[npt.NDArray[np.float64]] = [np.empty(0)]
        self._sizes: list[npt.NDArray[np.uint32]] = [np.empty(0, np.uint32)]
        self._count = 0

    def __len__(self) -> int:
        """Return the number of rows so far."""
        return self._count + len(self._lines)

    def add(
        self, lines: Sequence[bytes], scores: Sequence[float], sizes: Sequence[int] = ()
    ) -> None:
        """Add rows: *lines* with their newlines, *scores* (NaN: none), and perhaps *sizes*.

        Infinite scores are scores. Either all rows have a size (below 2³²) or none has.
        Raises OutputError where the disk takes no more.
        """
        self._lines += lines
        self._scores += scores
        self._held += sum(map(len, lines))
        if sizes:
            self._sizes.append(np.array(sizes, np.uint32))
        if len(self._lines) >= self._run_rows or self._held >= RUN_BYTES:
            self._write_run()

    def finish(self) -> Ranked:
        """Return the rows ranked; nothing can be added any more."""
        self._write_run()
        keys = _joined(self._keys)
        sizes = _joined(self._sizes)
        order = keys.argsort(kind="stable").astype(np.min_scalar_type(len(keys)))
        return Ranked(self._spill, keys, sizes, order, self._firsts if self._best_first else None)

    def _write_run(self) -> None:
        """Write the rows held, best first if they are to be read so."""
        keys = np.negative(np.array(self._scores, np.float64))
        lines: Sequence[bytes] | map[bytes] = self._lines
        if self._best_first:
            lines = map(self._lines.__getitem__, keys.argsort(kind="stable").tolist())
        if self._best_first or not self._firsts:
            self._spill.begin_run()
            self._firsts.append(self._count)
        self._spill.write(lines)
        self._keys.append(keys)
        self._count += len(keys)
        self._lines, self._scores, self._held = [], [], 0


def _joined(parts: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return one array of all, and forget the parts."""
    whole = np.concatenate(parts)
    parts.clear()
    return whole


class Ranked:
    """Rows in their order. Made by :meth:`Ranking.finish`."""

    def __init__(
        self,
        spill: Spill,
        keys: npt.NDArray[np.float64],
        sizes: npt.NDArray[np.uint32],
        order: Order,
        firsts: list[int] | None,
    ) -> None:
        """Take the negated scores and the sizes by row, the rows by rank, the runs' first rows.

        ``firsts`` is None where the lines are in input order.
        """
        self._spill, self._keys, self._order, self._firsts = spill, keys, order, firsts
        self._sizes = sizes if len(sizes) else np.broadcast_to(np.uint32(0), len(keys))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._keys)

    def score(self, rank: int) -> float:
        """Return the score of the row of this rank from 0; NaN if it has none."""
        return 0.0 - float(self._keys[self._order[rank]])

    def unscored(self) -> int:
        """Return how many rows have no score."""
        return int(np.isnan(self._keys).sum())

    def size(self) -> int:
        """Return the sum of the sizes of all rows."""
        return int(self._sizes.sum(dtype=np.int64))

    def select(self, choice: Choice) -> Selection:
        """Return what *choice* keeps."""
        return select(choice, self._keys, self._sizes, self._order)

    def read(
        self, selection: Selection, everything: bool = False
    ) -> Iterator[tuple[int, int, int, bytes]]:
        """Yield each row's index in input order, rank (both from 0), Verdict, and line.

        Best first or in input order, as the Ranking was made; can be read once. All that is kept
        comes, and, if *everything* is asked for, all that is not.
        """
        if self._firsts is None:
            return self._in_input_order(selection.verdicts)
        return self._best_first(selection.verdicts, len(self) if everything else selection.end)

    def _best_first(
        self, verdicts: npt.NDArray[np.uint8], end: int
    ) -> Iterator[tuple[int, int, int, bytes]]:
        readers = self._spill.readers()
        for start in range(0, end, BLOCK):
            indices = self._order[start : start + BLOCK]
            runs = np.searchsorted(self._firsts or [0], indices, "right") - 1
            lines = (readers[run]() for run in runs.tolist())
            ranks = range(start, start + len(indices))
            part = verdicts[start : start + BLOCK].tolist()
            yield from zip(indices.tolist(), ranks, part, lines, strict=True)

    def _in_input_order(
        self, verdicts: npt.NDArray[np.uint8]
    ) -> Iterator[tuple[int, int, int, bytes]]:
        (next_line,) = self._spill.readers()
        ranks = self._ranks()
        for start in range(0, len(self), BLOCK):
            part = ranks[start : start + BLOCK]
            lines = (next_line() for _ in range(len(part)))
            indices = range(start, start + len(part))
            yield from zip(indices, part.tolist(), verdicts[part].tolist(), lines, strict=True)

    def _ranks(self) -> Order:
        """Return the rank of each row, in input order."""
        ranks = np.empty_like(self._order)
        for start in range(0, len(self), BLOCK):
            part = self._order[start : start + BLOCK]
            ranks[part] = np.arange(start, start + len(part))
        return ranks
