"""Approximate search between two on-disk sides, tuned on a sample; and indexes saved for later.

How many lists of an index must be looked through, for the nearest of so many rows to be found, is
measured on a sample of either side, whose nearest are found exactly.

An index has sentences, vectors, and of each sentence the cosines to its nearest on the side that
it was searched with: what margins need. Joined with those of a later search, they are what one
search of both texts at once would find.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bitextfilter.arrays import Indices, Scores, Vectors
from bitextfilter.errors import InputError, NotFoundError, OutputError, SettingsError
from bitextfilter.io.files import draft, write_whole
from bitextfilter.io.sentence_file import SentenceFile
from bitextfilter.io.vector_file import VectorFile
from bitextfilter.mining.search import BLOCK, Neighbourhoods, Part, Sides, Task, Work, nearest_in
from bitextfilter.similarity.index import Index, build, exact_cosines
from bitextfilter.similarity.neighbours import NONE, Found
from bitextfilter.similarity.vectors import unit_rows

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


_FORMAT = 1
_DESCRIPTION, _SENTENCES, _VECTORS, _NEAREST = "index.json", "sentences", "vectors", "nearest"


@dataclass(frozen=True)
class Description:
    """What an index is of."""

    model: str
    """The digest of the model."""
    dim: int
    form: str
    """One of ``io.vector_file.FORMS``."""
    neighbours: int
    """How many cosines are kept of each sentence."""
    sources: int
    """How many sentences of the other side it has been searched with."""


class SavedIndex:
    """An index in a folder."""

    def __init__(self, folder: Path) -> None:
        """Open it. Raises NotFoundError where there is none, InputError where it is damaged."""
        self.folder = folder
        path = folder / _DESCRIPTION
        if not path.is_file():
            raise NotFoundError(f"{folder}: no index there (bitext-align --index-save makes one)")
        try:
            known: dict[str, Any] = json.loads(path.read_text())
            form = known.pop("format")
            if form != _FORMAT:
                raise SettingsError(f"{folder}: an index of format {form}, this reads {_FORMAT}")
            self.description = Description(**known)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InputError(f"damaged: {error}", file=str(path)) from error
        self.sentences_path, self.vectors_path = folder / _SENTENCES, folder / _VECTORS
        self.sentences = SentenceFile(self.sentences_path)
        self.vectors = VectorFile(self.vectors_path, self.description.dim, self.description.form)
        if len(self.vectors) != len(self.sentences):
            raise InputError("its vectors are damaged", file=str(self.vectors_path))

    def nearest(self) -> Scores:
        """Cosines of each sentence to its nearest, best first, ``(m, neighbours)``.

        -inf where there were fewer. Raises InputError where they are damaged.
        """
        path = self.folder / _NEAREST
        kept = np.fromfile(path, "<f4") if path.is_file() else np.zeros(0, np.float32)
        shape = len(self.sentences), self.description.neighbours
        if len(kept) != shape[0] * shape[1]:
            raise InputError("its neighbours are damaged", file=str(path))
        return kept.reshape(shape)

    def digest(self) -> str:
        """32 hexadecimal digits over all of it but the vectors, which the model decides."""
        whole = hashlib.blake2b(self.sentences.digest().encode(), digest_size=16)
        whole.update((self.folder / _DESCRIPTION).read_bytes())
        whole.update(self.nearest().tobytes())
        return whole.hexdigest()

    def check(self, model: str, neighbours: int) -> None:
        """Raise SettingsError where it cannot serve a search by this model and so many."""
        known = self.description
        if known.model != model:
            raise SettingsError(
                f"{self.folder}: was made by the model {known.model}, not by {model};"
                " take that model, or make the index again"
            )
        if known.neighbours < neighbours:
            raise SettingsError(
                f"{self.folder}: keeps {known.neighbours} neighbours, not {neighbours};"
                f" take -k {known.neighbours}, or make the index again"
            )


def merged(nearest: Scores, elsewhere: Scores | None, k: int) -> Scores:
    """Join cosines to the nearest ``(m, any)`` here and elsewhere: the k highest, ``(m, k)``."""
    parts = [nearest, np.full((len(nearest), k), -np.inf, np.float32)]
    if elsewhere is not None:
        parts.append(elsewhere)
    return np.asarray(-np.sort(-np.hstack(parts), axis=1)[:, :k])


def save_index(
    folder: Path, files: tuple[Path, Path], nearest: Scores, description: Description
) -> None:
    """Write an index to a folder that must not exist, or be this index, whole or not at all.

    Args:
        folder: where.
        files: its sentences and its vectors; they are copied.
        nearest: as :meth:`SavedIndex.nearest`.
        description: what it is of.

    Raises:
        OutputError: it cannot be written.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with draft(folder, folder=True) as new:
            for path in files[0].parent.glob(files[0].name + "*"):
                shutil.copyfile(path, new / (_SENTENCES + path.name.removeprefix(files[0].name)))
            shutil.copyfile(files[1], new / _VECTORS)
            write_whole(new / _NEAREST, nearest.astype("<f4").tobytes())
            known = {"format": _FORMAT, **asdict(description)}
            write_whole(new / _DESCRIPTION, (json.dumps(known, indent=1) + "\n").encode())
            if not folder.exists():
                new.rename(folder)
            elif SavedIndex(new).digest() != SavedIndex(folder).digest():
                raise OutputError(f"{folder}: holds another index; choose another folder")
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written: {error.strerror or error}") from error
