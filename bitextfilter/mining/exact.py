"""Exact search of two sides on disk, block against block, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bitextfilter.io.vector_file import VectorFile
from bitextfilter.mining.search import BLOCK, Neighbourhoods, Part, Work
from bitextfilter.mining.tasks import Task
from bitextfilter.similarity.both_ways import Wanted, nearest_among_parts
from bitextfilter.similarity.found import NONE, Found, best_of, nothing
from bitextfilter.similarity.vectors import Vectors, unit_rows

__all__ = ["Sides", "block_against_block", "cells", "nearest_in"]

_BEYOND = 2.0
"""A cosine that nothing reaches."""


@dataclass(frozen=True)
class Sides:
    """Two files of vectors, and what is wanted of them."""

    files: tuple[Path, Path]
    dim: int
    forms: tuple[str, str]
    """Of either, one of ``io.vector_file.FORMS``."""
    known: Neighbourhoods
    threads: int = 1

    def file(self, side: int) -> VectorFile:
        """Open the vectors of a side, 0 or 1."""
        return VectorFile(self.files[side], self.dim, self.forms[side])


def cells(known: Neighbourhoods) -> list[Task]:
    """Every block of the source side with every block of the target side."""
    return [(row, column) for row in known.blocks(0) for column in known.blocks(1)]


def block_against_block(sides: Sides) -> Work:
    """Return what searches a cell: a block of either side, and its number.

    What is known of the blocks already only makes it faster: what is found is the same in the
    end, whatever the order of cells, and wherever they are searched. Memory: about 1 GB, for 512
    dimensions.
    """
    files = [_Blocks(sides.file(side)) for side in (0, 1)]
    known = sides.known

    def work(task: Task) -> tuple[Task, list[Part]]:
        row, column = task
        own, opposite = known.read(0, row), known.read(1, column)
        reached = own[0][:, -1], opposite[0][:, -1]
        wanted = Wanted(known.k, reached, threads=sides.threads)
        forward, backward = nearest_among_parts(files[0].read(row), files[1].read(column), wanted)
        parts = [Part(0, row, _moved(forward, column)), Part(1, column, _moved(backward, row))]
        return task, parts

    return work


def nearest_in(queries: Vectors, base: VectorFile, k: int, threads: int = 1) -> Found:
    """Return the k nearest rows of a file for each of some vectors ``(n, dim)``: ``(n, ≤ k)``."""
    best, units = nothing(len(queries), k), unit_rows(queries)
    for block in range(-(-len(base) // BLOCK)):
        rows = unit_rows(base[block * BLOCK : (block + 1) * BLOCK])
        nobody = np.full(len(rows), _BEYOND, np.float32)
        wanted = Wanted(k, (best[0][:, -1], nobody), threads)
        best = best_of(best, _moved(nearest_among_parts(units, rows, wanted)[0], block), k)
    columns = min(k, len(base))
    return best[0][:, :columns], best[1][:, :columns]


def _moved(found: Found, block: int) -> Found:
    """Numbers within a block as numbers of the whole side."""
    cosines, numbers = found
    numbers[numbers != NONE] += block * BLOCK
    return cosines, numbers


class _Blocks:
    """The unit rows of blocks of a file; that of the last one is kept."""

    def __init__(self, file: VectorFile) -> None:
        self._file = file
        self._last: tuple[int, Vectors] | None = None

    def read(self, block: int) -> Vectors:
        """Return the unit rows of a block."""
        if self._last is None or self._last[0] != block:
            self._last = None
            rows = self._file[block * BLOCK : (block + 1) * BLOCK]
            self._last = block, unit_rows(rows)
        return self._last[1]
