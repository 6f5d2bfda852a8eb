"""Sorting of columns of numbers in bounded memory, by runs on disk that are merged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from bitextfilter.io.spill import Scratch

_Column = npt.NDArray[Any]

_COPIES = 4
"""Copies of the rows in memory while they are sorted."""

_LEAST_ROWS = 64

_SAMPLES = 4
"""Samples of each run for each part of the merged output."""


class ExternalSort:
    """Collects rows of numbers, then yields them sorted by the first column.

    Rows of equal keys stay in the order of their addition, and in one part. Takes about *memory*
    bytes, more only for a key with too many rows; other rows go to temporary files.
    """

    def __init__(self, kinds: Sequence[npt.DTypeLike], memory: int) -> None:
        """Expect columns of these *kinds*, the key first."""
        self._kinds = [np.dtype(kind) for kind in kinds]
        width = sum(kind.itemsize for kind in self._kinds)
        self._most = max(_LEAST_ROWS, memory // (_COPIES * width))
        self._held: list[tuple[_Column, ...]] = []
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

    def add(self, *columns: _Column) -> None:
        """Add rows: one array for each column, all of one length."""
        self._held.append(columns)
        self._held_rows += len(columns[0])
        if self._held_rows >= self._most:
            self._write_run()

    def parts(self) -> Iterator[list[_Column]]:
        """Yield the sorted rows in consecutive parts; may be called again."""
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

    def _sorted(self, parts: Sequence[Sequence[_Column]]) -> list[_Column]:
        columns = [
            np.concatenate(column, dtype=kind)
            for column, kind in zip(zip(*parts, strict=True), self._kinds, strict=True)
        ]
        order = np.argsort(columns[0], kind="stable")
        return [column[order] for column in columns]

    def _merged(self) -> Iterator[list[_Column]]:
        """Cut all runs at the same keys; the rows between two cuts fit in memory."""
        starts = self._stops[:-1]
        for cut in [*self._cuts(), None]:
            ends = self._places(cut) if cut is not None else self._stops[1:]
            if starts != ends:
                yield self._sorted(self._read(starts, ends))
            starts = ends

    def _read(self, starts: Sequence[int], ends: Sequence[int]) -> list[list[_Column]]:
        """Return the rows of each run from its start to its end."""
        columns = self._columns()
        places = zip(starts, ends, strict=True)
        return [[column[start:end] for column in columns] for start, end in places]

    def _places(self, key: _Column) -> list[int]:
        """Return the first row of each run with a key not below *key*."""
        keys = self._columns()[0]
        return [start + int(np.searchsorted(keys[start:stop], key)) for start, stop in self._runs()]

    def _cuts(self) -> _Column:
        """Return the keys of the cuts, ascending, from samples of each run."""
        step = max(1, self._most // (_SAMPLES * len(self._runs())))
        samples = [self._columns()[0][start:stop:step].copy() for start, stop in self._runs()]
        every = max(1, self._most // step)
        return np.unique(np.sort(np.concatenate(samples))[every::every])

    def _runs(self) -> list[tuple[int, int]]:
        """Return the start and the end of each run."""
        return list(pairwise(self._stops))

    def _columns(self) -> list[_Column]:
        """Return the files as memory-mapped arrays."""
        return [file.array(kind) for file, kind in zip(self._files, self._kinds, strict=True)]
