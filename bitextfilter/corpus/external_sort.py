"""Sort columns of numbers in bounded memory: sorted runs on the disk, read back side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from bitextfilter.io.spill import Scratch

Column = npt.NDArray[Any]

COPIES = 4
"""How often what is sorted stands in memory: the rows, their order, and the rows in it."""

LEAST_ROWS = 64

SAMPLES = 4
"""Each run is sampled this many times for each part that all runs are read back in."""


class ExternalSort:
    """Collects rows of numbers, then yields them sorted by the first column.

    Rows of equal keys stay in the order in which they were added, and in one part. Memory is
    about *memory* bytes, but for a key that more rows than that have. What does not fit in it
    goes to temporary files.
    """

    def __init__(self, kinds: Sequence[npt.DTypeLike], memory: int) -> None:
        """Expect columns of these *kinds*, the key first."""
        self._kinds = [np.dtype(kind) for kind in kinds]
        width = sum(kind.itemsize for kind in self._kinds)
        self._most = max(LEAST_ROWS, memory // (COPIES * width))
        self._held: list[tuple[Column, ...]] = []
        self._held_rows = 0
        self._stops = [0]
        self._files: list[Scratch] = []
        self._stack = ExitStack()

    def __enter__(self) -> ExternalSort:
        """Return the sort itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close and thereby remove the files."""
        self._stack.close()

    def add(self, *columns: Column) -> None:
        """Add rows: one array for each column, all of one length."""
        self._held.append(columns)
        self._held_rows += len(columns[0])
        if self._held_rows >= self._most:
            self._write_run()

    def parts(self) -> Iterator[list[Column]]:
        """Yield the rows in parts that follow each other; may be asked for again."""
        if len(self._stops) == 1:
            if self._held_rows:
                yield self._sorted(self._held)
            return
        if self._held_rows:
            self._write_run()
        yield from self._merged()

    def _write_run(self) -> None:
        if not self._files:
            self._files = [self._stack.enter_context(Scratch()) for _ in self._kinds]
        for file, column in zip(self._files, self._sorted(self._held), strict=True):
            file.write(np.ascontiguousarray(column).data)
        self._stops.append(self._stops[-1] + self._held_rows)
        self._held, self._held_rows = [], 0

    def _sorted(self, parts: Sequence[Sequence[Column]]) -> list[Column]:
        columns = [
            np.concatenate(column, dtype=kind)
            for column, kind in zip(zip(*parts, strict=True), self._kinds, strict=True)
        ]
        order = np.argsort(columns[0], kind="stable")
        return [column[order] for column in columns]

    def _merged(self) -> Iterator[list[Column]]:
        """Cut all runs at the same keys; what lies between two cuts fits in memory."""
        starts = self._stops[:-1]
        for cut in [*self._cuts(), None]:
            ends = self._places(cut) if cut is not None else self._stops[1:]
            if starts != ends:
                yield self._sorted(self._read(starts, ends))
            starts = ends

    def _read(self, starts: Sequence[int], ends: Sequence[int]) -> list[list[Column]]:
        """Return the rows of each run from its start to its end."""
        columns = self._columns()
        places = zip(starts, ends, strict=True)
        return [[column[start:end] for column in columns] for start, end in places]

    def _places(self, key: Column) -> list[int]:
        """Return where in each run the first row is whose key is not below *key*."""
        keys = self._columns()[0]
        return [start + int(np.searchsorted(keys[start:stop], key)) for start, stop in self._runs()]

    def _cuts(self) -> Column:
        """Return the keys at which to cut, ascending, from samples of each run."""
        step = max(1, self._most // (SAMPLES * len(self._runs())))
        samples = [self._columns()[0][start:stop:step].copy() for start, stop in self._runs()]
        every = max(1, self._most // step)
        return np.unique(np.sort(np.concatenate(samples))[every::every])

    def _runs(self) -> list[tuple[int, int]]:
        """Return the first row of each run, and the one after its last."""
        return list(pairwise(self._stops))

    def _columns(self) -> list[Column]:
        """Map the files into memory, where they stay as long as the arrays do."""
        return [file.array(kind) for file, kind in zip(self._files, self._kinds, strict=True)]
