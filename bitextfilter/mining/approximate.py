"""Approximate search of two sides on disk, as thorough as is asked, and measured to be.

How many lists of an index must be looked through, for the nearest of so many rows to be found, is
measured on a sample of either side, whose nearest are found exactly.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.files import write_whole
from bitextfilter.io.vector_file import VectorFile
from bitextfilter.mining.exact import Sides, nearest_in
from bitextfilter.mining.search import BLOCK, Neighbourhoods, Part, Work
from bitextfilter.mining.tasks import Task
from bitextfilter.similarity.approximate import Index, build, exact_cosines
from bitextfilter.similarity.found import NONE, Found
from bitextfilter.similarity.neighbours import Indices
from bitextfilter.similarity.vectors import Vectors, unit_rows

__all__ = ["Thorough", "Tuned", "block_against_index", "blocks_of", "kind_for", "tune"]

EXACT = "exact"
_EXACT_PAIRS = 2e13
"""Up to so many pairs of sentences are compared exactly unless an index is asked for."""
_FEWEST_ROWS = 10_000
"""An index of fewer is not worth making."""

_ROWS = 8192
"""Rows that are sought at a time."""
_MORE = (1, 4, 16)
"""Times as many candidates as is usual."""
_SAMPLE = 2048
"""Rows of a side that recall is measured on."""


class Tuned(NamedTuple):
    """How the index of a side is searched, for the rows of the other."""

    lists: int
    """It looks through so many,"""
    of: int
    """of so many,"""
    more: int
    """gives so many times as many candidates as is usual,"""
    recall: float
    """and finds this share of the nearest of the sample."""


@dataclass(frozen=True)
class Thorough:
    """Which kind of index, and how much it must find."""

    kind: str
    recall: float
    device: str = "cpu"


def kind_for(asked: str, sizes: tuple[int, int]) -> str:
    """Return the kind of search, ``exact`` or one of ``similarity.approximate.KINDS``.

    ``auto`` is exact up to 20 million million pairs of sentences, and beyond that ``ivf-sq8``;
    of a side of fewer than 10,000 sentences no index is made.
    """
    if min(sizes) < _FEWEST_ROWS or asked == EXACT:
        return EXACT
    if asked == "auto":
        return EXACT if sizes[0] * sizes[1] <= _EXACT_PAIRS else "ivf-sq8"
    return asked


def blocks_of(known: Neighbourhoods) -> list[Task]:
    """Every block of either side: a side, 0 or 1, and a number."""
    return [(side, block) for side in (0, 1) for block in known.blocks(side)]


def _path(sides: Sides, side: int) -> Path:
    return sides.known.folder / f"{('source', 'target')[side]}.index"


def tune(sides: Sides, wanted: Thorough) -> tuple[Tuned, Tuned]:
    """Make an index of either side where it is not there yet, and measure how it must be searched.

    Returns:
        Of the index of the target side, which sources are sought in, and of that of the source
        side.

    Raises:
        SettingsError: the recall cannot be reached by this kind of index.
    """
    for side in (0, 1):
        base, index = sides.file(side), _path(sides, side)
        if not index.exists():
            build(wanted.kind, partial(_units, base), base.shape, index, sides.threads)
    path = sides.known.folder / "tuned.json"
    if path.exists():
        return _known(path)
    tuned = []
    for side in (0, 1):
        found = _tuned(sides, side, wanted)
        if found.recall < wanted.recall:
            raise SettingsError(
                f"an index {wanted.kind} finds {found.recall:.4f} of the nearest at most, not"
                f" {wanted.recall:g}: take --index exact, or a lower --recall"
            )
        tuned.append(found)
    write_whole(path, json.dumps(tuned).encode())
    return tuned[0], tuned[1]


def _known(path: Path) -> tuple[Tuned, Tuned]:
    try:
        forward, backward = (Tuned(*some) for some in json.loads(path.read_text()))
    except (ValueError, TypeError) as error:
        raise InputError("damaged; remove it", file=str(path)) from error
    return forward, backward


def _tuned(sides: Sides, side: int, wanted: Thorough) -> Tuned:
    """Look through twice as many lists until enough of the nearest is found; else take more."""
    base, index = sides.file(1 - side), _open(sides, 1 - side, wanted)
    rows = len(sides.file(side))
    sample = np.unique(np.linspace(0, max(0, rows - 1), min(rows, _SAMPLE)).astype(np.int64))
    vectors = sides.file(side)[sample]
    nearest = nearest_in(vectors, base, 1, sides.threads)[0][:, 0]
    queries = unit_rows(vectors)
    tried = []
    for more in _MORE:
        for lists in _doubling(index.lists):
            candidates = index.candidates(queries, sides.known.k, lists, more)
            found = exact_cosines(queries, candidates, partial(_unit_at, base), 1)[0][:, 0]
            tried.append(Tuned(lists, index.lists, more, float((found >= nearest).mean())))
            if tried[-1].recall >= wanted.recall:
                return tried[-1]
    return max(tried, key=lambda some: some.recall)


def _doubling(most: int) -> Iterator[int]:
    """1, 2, 4 and so on, and the most."""
    lists = 1
    while lists < most:
        yield lists
        lists *= 2
    yield most


def _found(sides: Sides, index: Index, queries: Vectors, side: int, tuned: Tuned) -> Found:
    """The nearest of some rows; those whose lists hold too few look through all lists."""
    k, base = sides.known.k, partial(_unit_at, sides.file(1 - side))
    candidates = index.candidates(queries, k, tuned.lists, tuned.more)
    cosines, numbers = exact_cosines(queries, candidates, base, k)
    few = np.flatnonzero(numbers[:, -1] == NONE)
    if len(few) and tuned.lists < tuned.of:
        candidates = index.candidates(queries[few], k, tuned.of, tuned.more)
        cosines[few], numbers[few] = exact_cosines(queries[few], candidates, base, k)
    return cosines, numbers


def _units(file: VectorFile) -> Iterator[Vectors]:
    for first in range(0, len(file), BLOCK):
        yield unit_rows(file[first : first + BLOCK])


def _unit_at(file: VectorFile, rows: Indices) -> Vectors:
    return unit_rows(file[rows])


def _open(sides: Sides, side: int, wanted: Thorough) -> Index:
    return Index(_path(sides, side), wanted.kind, wanted.device, sides.threads)


def block_against_index(
    sides: Sides,
    wanted: Thorough,
    tuned: tuple[Tuned, Tuned],
) -> Work:
    """Return what searches a block of a side in the index of the other.

    Args:
        sides: the vectors.
        wanted: as of :func:`tune`, which has made the indexes.
        tuned: what it returned.
    """
    indexes: dict[int, Index] = {}

    def work(task: Task) -> tuple[Task, list[Part]]:
        side, block = task
        if side not in indexes:
            indexes.clear()
            indexes[side] = _open(sides, 1 - side, wanted)
        rows = sides.file(side)[block * BLOCK : (block + 1) * BLOCK]
        parts = [
            _found(sides, indexes[side], unit_rows(rows[first : first + _ROWS]), side, tuned[side])
            for first in range(0, len(rows), _ROWS)
        ]
        found = np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
        return task, [Part(side, block, found)]

    return work
