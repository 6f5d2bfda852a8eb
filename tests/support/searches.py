"""Searches of small files: how they are written, run here, and compared with scanning."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bitextfilter.arrays import Vectors
from bitextfilter.io.vectors import VectorWriter
from bitextfilter.search.tasks import NeighbourFiles, Sides, TaskId
from bitextfilter.similarity.vectors import Neighbours, scan, unit_rows


def written_sides(folder: Path, rows: tuple[Vectors, Vectors], k: int, form: str) -> Sides:
    """Write the rows of both sides, or what a file lacks of them; tasks have two threads."""
    files = folder / "a", folder / "b"
    for file, own in zip(files, rows, strict=True):
        with VectorWriter(file, own.shape[1], form) as writer:
            writer.append(own[writer.rows :].astype(np.float32))
    known = NeighbourFiles(folder, (len(rows[0]), len(rows[1])), k)
    return Sides(files, rows[0].shape[1], (form, form), known, threads=2)


def map_here(prepare: Callable[[], Any], tasks: Sequence[TaskId]) -> Iterator[Any]:
    """Do tasks one after the other in this process."""
    return map(prepare(), tasks)


def check_exact(results: tuple[Neighbours, Neighbours], sides: Sides) -> None:
    """Compare with scanning, to the last bit."""
    units = unit_rows(sides.file(0)[:]), unit_rows(sides.file(1)[:])
    for (cosines, numbers), (queries, base) in zip(results, (units, units[::-1]), strict=True):
        exactly = scan(queries, base, sides.neighbours.k)
        assert np.array_equal(cosines[:, : len(base)], exactly[0])
        assert np.array_equal(numbers[:, : len(base)], exactly[1])
        assert (numbers[:, len(base) :] == -1).all()
