"""Order rows by score in bounded memory.

The lines wait on disk, and so do scores and sizes until all are there. Then at most 24 bytes a row
are in memory: its score, its size, its place in the order, and what sorting needs. Lines are
spilled in runs, each written best first: read in the order of all rows, every run then goes
forwards, so that the disk is never searched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bitextfilter.io.selection import BLOCK, Choice, Order, Selection, select
from bitextfilter.io.spill import Spill

__all__ = ["Ranked", "RankedRows", "Ranking"]

RUN_ROWS = 1 << 16
RUN_BYTES = 1 << 24
"""A run ends at this many rows or bytes: what is held before it is written."""

READ_ROWS = 1 << 8
"""Rows that come back from the disk at a time, in the hope that none is very long."""


class RankedRows(NamedTuple):
    """Some rows that are back from the disk, in the order in which they were to be read."""

    indices: npt.NDArray[np.integer[Any]]
    """Which row of the input each is, from 0."""
    ranks: npt.NDArray[np.integer[Any]]
    """From 0."""
    verdicts: npt.NDArray[np.uint8]
    lines: list[bytes]


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
        self._keys, self._sizes = spill.file(), spill.file()
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
        self._sizes.write(np.asarray(sizes, np.uint32).data)
        if len(self._lines) >= self._run_rows or self._held >= RUN_BYTES:
            self._write_run()

    def finish(self) -> Ranked:
        """Return the rows ranked; nothing can be added any more."""
        self._write_run()
        keys = self._keys.load(np.float64)
        order = keys.argsort(kind="stable").astype(np.min_scalar_type(len(keys)))
        firsts = self._firsts if self._best_first else None
        return Ranked(self._spill, keys, self._sizes.load(np.uint32), order, firsts)

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
        self._keys.write(keys.data)
        self._count += len(keys)
        self._lines, self._scores, self._held = [], [], 0


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

    def read(self, selection: Selection, everything: bool = False) -> Iterator[RankedRows]:
        """Yield rows, a few at a time, best first or in input order, as the Ranking was made.

        All that is kept comes, and, if *everything* is asked for, all that is not. Can be done
        once.
        """
        if self._firsts is None:
            return self._in_input_order(selection.verdicts)
        return self._best_first(selection.verdicts, len(self) if everything else selection.end)

    def _best_first(self, verdicts: npt.NDArray[np.uint8], end: int) -> Iterator[RankedRows]:
        next_lines = self._spill.readers()
        firsts = np.array(self._firsts)
        for start in range(0, end, READ_ROWS):
            indices = self._order[start : min(start + READ_ROWS, end)]
            runs = np.searchsorted(firsts, indices, "right") - 1
            lines = [next_lines[run]() for run in runs.tolist()]
            ranks = np.arange(start, start + len(lines))
            yield RankedRows(indices, ranks, verdicts[start : start + len(lines)], lines)

    def _in_input_order(self, verdicts: npt.NDArray[np.uint8]) -> Iterator[RankedRows]:
        (next_line,) = self._spill.readers()
        ranks_of_all = self._ranks()
        for start in range(0, len(self), READ_ROWS):
            ranks = ranks_of_all[start : start + READ_ROWS]
            lines = [next_line() for _ in range(len(ranks))]
            indices = np.arange(start, start + len(lines))
            yield RankedRows(indices, ranks, verdicts[ranks], lines)

    def _ranks(self) -> Order:
        """Return the rank of each row, in input order."""
        ranks = np.empty_like(self._order)
        for start in range(0, len(self), BLOCK):
            part = self._order[start : start + BLOCK]
            ranks[part] = np.arange(start, start + len(part))
        return ranks
