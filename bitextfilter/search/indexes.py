"""Approximate search by indexes of faiss, which examine only a part of the rows.

An index divides the rows of a file into lists, and searches some of them. The number of lists is
chosen on a sample of either side, whose nearest rows are found exactly, so that the recall asked
for is reached. The rows found are candidates: their cosines are computed again, exactly. Faiss is
an optional package (``faiss-cpu`` or ``faiss-gpu``).

A saved index is the target side of a search, kept for later ones: sentences, their vectors and, for
margins, the cosines of each sentence to its nearest on the side it was searched with. Joined with
the cosines of a later search, they equal the cosines of one search of both texts at once.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bitextfilter.arrays import Indices, Scores, Vectors
from bitextfilter.errors import (
    DeviceError,
    InputError,
    ModelError,
    NotFoundError,
    OutputError,
    SettingsError,
)
from bitextfilter.io.drafts import draft, put
from bitextfilter.io.files import check_is_here, naming_output, write_whole
from bitextfilter.io.records import (
    changed_files,
    file_digest,
    parse_json,
    read_record,
    write_digests,
    write_record,
)
from bitextfilter.io.spill import SentenceFile
from bitextfilter.io.vectors import VectorFile
from bitextfilter.search.tasks import (
    BLOCK,
    BlockNeighbours,
    NeighbourFiles,
    SearchTask,
    Sides,
    TaskId,
    nearest_in_file,
    spaced_places,
)
from bitextfilter.settings import none_of
from bitextfilter.similarity.vectors import (
    NO_ROW,
    Neighbours,
    merge_neighbours,
    no_neighbours,
    unit_products_at,
    unit_rows,
)

INDEX_KINDS = {
    "flat": ("SQfp16", 2),
    "ivf": ("IVF{lists},SQfp16", 2),
    "ivf-sq8": ("IVF{lists},SQ8", 4),
    "ivf-pq": ("IVF{lists},PQ{parts}x4fs", 32),
}
"""Each kind of index with its name in faiss, and the candidates per wanted neighbour.

Exhaustive in half precision; inverted lists of vectors in half precision, of vectors of 8 bits a
number, and of codes of 4 bits for 4 numbers (fast scan)."""

_GPU_MOST = 2048
"""The most lists, and candidates, of a search on a GPU."""
_LISTS = 4
"""Lists per square root of the number of rows, as faiss's guide to indexes recommends."""
_POINTS = 40
"""Rows that a list is learnt from."""
_EXACT = 8192
"""Cosines computed at a time."""


def require_faiss() -> Any:
    """Return the module. Raises DeviceError where it is not installed."""
    try:
        import faiss
    except ImportError as error:
        raise DeviceError(
            "approximate search needs faiss: pip install 'bitextfilter[cpu]', or [gpu]"
        ) from error
    return faiss


def build_index(kind: str, vectors: VectorFile, path: Path, threads: int = 1) -> None:
    """Make an index of the vectors of a file and write it to *path*, whole or not at all.

    Raises:
        DeviceError: faiss is not installed.
        SettingsError: no such kind, or it cannot be made of such rows.
        OutputError: it cannot be written.
    """
    faiss = require_faiss()
    if kind not in INDEX_KINDS:
        raise SettingsError(none_of(kind, INDEX_KINDS))
    rows, dim = vectors.shape
    if kind == "ivf-pq" and dim % 4:
        raise SettingsError(f"ivf-pq needs vectors of a multiple of 4 dimensions, not {dim}")
    faiss.omp_set_num_threads(threads)
    lists = 1 << max(0, round(math.log2(_LISTS * math.sqrt(max(1, rows)))))
    lists = max(1, min(lists, rows // 39))  # the fewest rows a list that faiss learns from in peace
    name = INDEX_KINDS[kind][0].format(lists=lists, parts=dim // 4)
    index = faiss.index_factory(dim, name, faiss.METRIC_INNER_PRODUCT)
    step = max(1, rows // max(_POINTS * lists, 1 << 14))
    index.train(unit_rows(vectors[0:rows:step]))
    for first in range(0, rows, BLOCK):
        index.add(unit_rows(vectors[first : first + BLOCK]))
    try:
        with naming_output(path), draft(path) as new:
            faiss.write_index(index, str(new))
            put(new, path)
    except RuntimeError as error:
        raise OutputError(f"{path}: cannot be written: {error}") from error


class Index:
    """An index that :func:`build_index` wrote."""

    def __init__(self, path: Path, kind: str, device: str = "cpu", threads: int = 1) -> None:
        """Open it. Raises ModelError if it is damaged, DeviceError for a missing device."""
        faiss = require_faiss()
        self._faiss, (_, self._times) = faiss, INDEX_KINDS[kind]
        try:
            self._index = faiss.read_index(str(path))
        except RuntimeError as error:
            raise ModelError(f"{path}: damaged index; remove it") from error
        faiss.omp_set_num_threads(threads)
        self.lists = int(getattr(self._index, "nlist", 1))
        """The number of lists that a search can examine."""
        self._most = 1 << 62
        gpus = int(getattr(faiss, "get_num_gpus", int)())
        if device.startswith("cuda") or (device == "auto" and gpus and kind != "ivf-pq"):
            number = int(device.partition(":")[2] or 0)
            if number >= gpus:
                raise DeviceError("faiss has no such GPU here: pip install 'bitextfilter[gpu]'")
            if kind == "ivf-pq":
                raise DeviceError("ivf-pq is for processors only: take --index ivf-sq8")
            self._resources = faiss.StandardGpuResources()
            self._index = faiss.index_cpu_to_gpu(self._resources, number, self._index)
            # On a GPU, lists and candidates have a limit.
            self._most, self.lists = _GPU_MOST, min(self.lists, _GPU_MOST)

    def candidates(self, queries: Vectors, k: int, lists: int, more: int = 1) -> Indices:
        """Return candidates for the k nearest, row numbers ``(n, c)`` padded with ``NO_ROW``.

        Args:
            queries: unit rows ``(n, dim)``.
            k: how many are wanted.
            lists: how many lists to examine.
            more: factor on the usual number of candidates of the kind.
        """
        wanted = min(k * self._times * more, self._most)
        several = self.lists > 1
        settings = self._faiss.SearchParametersIVF(nprobe=lists) if several else None
        return np.asarray(self._index.search(queries, wanted, params=settings)[1], np.int64)


def exact_cosines(queries: Vectors, candidates: Indices, base: VectorFile, k: int) -> Neighbours:
    """Return the k nearest of the candidates ``(n, c)`` of each query ``(n, dim)``, exactly.

    Args:
        queries: unit rows.
        candidates: numbers of rows, ``NO_ROW`` for none.
        base: the vectors that candidates are of.
        k: how many.
    """
    parts = [no_neighbours(0, k)]
    step = max(1, _EXACT // max(1, candidates.shape[1]))
    for first in range(0, len(queries), step):
        some = candidates[first : first + step]
        distinct, places = np.unique(some, return_inverse=True)
        rows = unit_rows(base[np.maximum(distinct, 0)])
        columns = places.reshape(some.shape)
        cosines = unit_products_at(queries[first : first + step], rows, columns)
        cosines[some == NO_ROW] = -np.inf
        order = np.lexsort((some, -cosines), axis=1)
        ranked = np.take_along_axis(cosines, order, 1), np.take_along_axis(some, order, 1)
        parts.append(merge_neighbours(ranked, no_neighbours(len(some), 0), k))
    cosines, numbers = (np.concatenate(part) for part in zip(*parts, strict=True))
    return cosines, numbers


_ROWS = 8192
"""Rows searched at a time."""
_CANDIDATE_FACTORS = (1, 4, 16)
"""Factors on the usual number of candidates, tried in this order."""
_SAMPLE = 2048
"""Rows of a side that recall is measured on."""


class TunedSearch(NamedTuple):
    """Settings of the search in the index of one side, for the rows of the other."""

    lists: int
    """Lists looked through."""
    all_lists: int
    """Lists of the index."""
    candidate_factor: int
    """Factor on the usual number of candidates."""
    recall: float
    """Share of the sample whose nearest row is found, 0 to 1."""


@dataclass(frozen=True)
class IndexSettings:
    """Kind of an index, one of ``search.indexes.INDEX_KINDS``, and the recall it must reach."""

    kind: str
    recall: float
    device: str = "cpu"


def tune_indexes(sides: Sides, settings: IndexSettings) -> tuple[TunedSearch, TunedSearch]:
    """Make the index of either side, if it is not there yet, and choose how to search it.

    Returns the search of sources in the index of targets, and of targets in the index of sources.
    Raises SettingsError where an index of this kind cannot reach the recall.
    """
    for side in (0, 1):
        base, index = sides.file(side), _path(sides, side)
        if not index.exists() or not _sealed(index).exists():
            build_index(settings.kind, base, index, sides.threads)
            write_record(_sealed(index), {"digest": file_digest(index)})
    path = sides.neighbours.folder / "tuned.json"
    if path.exists():
        forward, backward = read_record(path, "remove it")["searches"]
        return TunedSearch(*forward), TunedSearch(*backward)
    tuned = []
    for side in (0, 1):
        found = _tune(sides, side, settings)
        if found.recall < settings.recall:
            raise SettingsError(
                f"an index {settings.kind} finds {found.recall:.4f} of the nearest at most, not"
                f" {settings.recall:g}: take --index exact, or a lower --recall"
            )
        tuned.append(found)
    write_record(path, {"searches": tuned})
    return tuned[0], tuned[1]


def _tune(sides: Sides, side: int, settings: IndexSettings) -> TunedSearch:
    """Double the lists until the recall is reached, then take more candidates."""
    queries, base = sides.file(side), sides.file(1 - side)
    index, rows = _open(sides, 1 - side, settings), len(queries)
    sample = spaced_places(rows, _SAMPLE)
    vectors = queries[sample]
    nearest = nearest_in_file(vectors, base, 1, sides.threads)[0][:, 0]
    units, tried = unit_rows(vectors), []
    doubling = [1 << power for power in range((index.lists - 1).bit_length())]
    for factor, lists in product(_CANDIDATE_FACTORS, [*doubling, index.lists]):
        candidates = index.candidates(units, sides.neighbours.k, lists, factor)
        found = exact_cosines(units, candidates, base, 1)[0][:, 0]
        recall = float((found >= nearest).mean())
        tried.append(TunedSearch(lists, index.lists, factor, recall))
        if recall >= settings.recall:
            return tried[-1]
    return max(tried, key=lambda search: search.recall)


def _path(sides: Sides, side: int) -> Path:
    return sides.neighbours.folder / f"{('source', 'target')[side]}.index"


def _sealed(index: Path) -> Path:
    """Return the file with the digest of an index."""
    return index.with_name(index.name + ".json")


def _open(sides: Sides, side: int, settings: IndexSettings) -> Index:
    path = _path(sides, side)
    if read_record(_sealed(path), "remove it")["digest"] != file_digest(path):
        raise InputError("damaged", file=str(path), remedy="remove it")
    return Index(path, settings.kind, settings.device, sides.threads)


def block_tasks(neighbours: NeighbourFiles) -> list[TaskId]:
    """Return a task for each block of either side: the side, 0 or 1, and the block."""
    return [(side, block) for side in (0, 1) for block in neighbours.blocks(side)]


def search_indexes(
    sides: Sides, settings: IndexSettings, tuned: tuple[TunedSearch, TunedSearch]
) -> SearchTask:
    """Return the function that searches a block of a side in the index of the other.

    *tuned* is the result of :func:`tune_indexes` with these *sides* and *settings*.
    """
    indexes: dict[int, Index] = {}

    def work(task: TaskId) -> list[BlockNeighbours]:
        side, block = task
        if side not in indexes:
            indexes.clear()
            indexes[side] = _open(sides, 1 - side, settings)
        rows = sides.file(side)[block * BLOCK : (block + 1) * BLOCK]
        parts = [
            _nearest(sides, indexes[side], unit_rows(rows[i : i + _ROWS]), side, tuned[side])
            for i in range(0, len(rows), _ROWS)
        ]
        cosines, numbers = (np.concatenate(part) for part in zip(*parts, strict=True))
        return [BlockNeighbours(side, block, (cosines, numbers))]

    return work


def _nearest(
    sides: Sides, index: Index, queries: Vectors, side: int, tuned: TunedSearch
) -> Neighbours:
    """Return the nearest of some rows; where the lists hold too few, look through all lists."""
    k, base = sides.neighbours.k, sides.file(1 - side)
    candidates = index.candidates(queries, k, tuned.lists, tuned.candidate_factor)
    cosines, numbers = exact_cosines(queries, candidates, base, k)
    few = np.flatnonzero(numbers[:, -1] == NO_ROW)
    if len(few) and tuned.lists < tuned.all_lists:
        candidates = index.candidates(queries[few], k, tuned.all_lists, tuned.candidate_factor)
        cosines[few], numbers[few] = exact_cosines(queries[few], candidates, base, k)
    return cosines, numbers


_FORMAT = 1
_DESCRIPTION, _SENTENCES, _VECTORS, _NEAREST = "index.json", "sentences", "vectors", "nearest"


@dataclass(frozen=True)
class IndexDescription:
    """Model, vectors and neighbours of a saved index."""

    model: str
    """Digest of the model that made the vectors, or :func:`given_maker`."""
    dim: int
    form: str
    """Number format of the vectors, one of ``io.vectors.FORMS``."""
    neighbours: int
    """Cosines kept of each sentence."""
    sources: int
    """Sentences of the other side that it has been searched with."""


class SavedIndex:
    """A target side in a folder: sentences, vectors, and cosines to the nearest sources."""

    def __init__(self, folder: Path) -> None:
        """Open it. Raises NotFoundError where there is none, InputError where it is damaged."""
        self.folder = folder
        for name, fault in changed_files(folder):
            raise InputError(fault, file=str(folder / name), remedy="make the index again")
        path = folder / _DESCRIPTION
        if not path.is_file():
            raise NotFoundError(f"{folder}: no index there (bitext-align --index-save makes one)")
        try:
            known: dict[str, Any] = parse_json(path.read_text())
            form = known.pop("format")
            if form != _FORMAT:
                raise SettingsError(f"{folder}: an index of format {form}, this reads {_FORMAT}")
            self.description = IndexDescription(**known)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InputError(f"damaged: {error}", file=str(path)) from error
        self.sentences, self.vectors_path = SentenceFile(folder / _SENTENCES), folder / _VECTORS
        self.vectors = VectorFile(self.vectors_path, self.description.dim, self.description.form)
        if len(self.vectors) != len(self.sentences):
            raise InputError("its vectors are damaged", file=str(self.vectors_path))

    def nearest(self) -> Scores:
        """Return the cosines of each sentence to its nearest, best first, ``(m, neighbours)``.

        -inf fills up where there were fewer. Raises InputError where they are damaged.
        """
        path = self.folder / _NEAREST
        kept = np.fromfile(path, "<f4") if path.is_file() else np.zeros(0, np.float32)
        shape = len(self.sentences), self.description.neighbours
        if len(kept) != shape[0] * shape[1]:
            raise InputError("its neighbours are damaged", file=str(path))
        return kept.reshape(shape)

    def digest(self) -> str:
        """Return 32 hexadecimal digits over everything but the vectors, which follow from it."""
        whole = hashlib.blake2b(self.sentences.digest().encode(), digest_size=16)
        whole.update((self.folder / _DESCRIPTION).read_bytes())
        whole.update(self.nearest().tobytes())
        return whole.hexdigest()

    def check(self, model: str, neighbours: int) -> None:
        """Raise SettingsError unless it is of this model, and has this number of neighbours.

        *model*: as in :class:`IndexDescription`.
        """
        known = self.description
        if known.model != model:
            raise SettingsError(
                f"{self.folder}: was made by {_named(known.model)}, not by {_named(model)};"
                " take these, or make the index again"
            )
        if known.neighbours < neighbours:
            raise SettingsError(
                f"{self.folder}: keeps {known.neighbours} neighbours, not {neighbours};"
                f" take -k {known.neighbours}, or make the index again"
            )


_GIVEN = "given vectors of "


def given_maker(dim: int) -> str:
    """Return the maker of vectors of *dim* numbers that the user gives."""
    return f"{_GIVEN}{dim} numbers"


def _named(maker: str) -> str:
    return maker if maker.startswith(_GIVEN) else f"the model {maker}"


def highest_cosines(nearest: Scores, older: Scores | None, k: int) -> Scores:
    """Return the k highest of the cosines of both searches, ``(m, any)`` each, as ``(m, k)``."""
    parts = [nearest, np.full((len(nearest), k), -np.inf, np.float32)]
    if older is not None:
        parts.append(older)
    return np.asarray(-np.sort(-np.hstack(parts), axis=1)[:, :k])


@contextmanager
def new_index(folder: Path) -> Iterator[Path]:
    """Make a draft for ``write_index``, put in its place when the block ends without an error.

    *folder* must not exist, or be this index. Raises OutputError.
    """
    check_is_here(folder)
    with ExitStack() as stack:
        with naming_output(folder):
            folder.parent.mkdir(parents=True, exist_ok=True)
            new = stack.enter_context(draft(folder, folder=True))
        yield new
        with naming_output(folder):
            if not folder.exists():
                put(new, folder)
            elif SavedIndex(new).digest() != SavedIndex(folder).digest():
                raise OutputError(f"{folder}: holds another index; choose another folder")


def write_index(
    folder: Path, files: tuple[Path, Path], nearest: Scores, description: IndexDescription
) -> None:
    """Write an index into an empty folder.

    *files*, of sentences and of vectors, are copied; *nearest* is as of :meth:`SavedIndex.nearest`.
    Raises OutputError.
    """
    with naming_output(folder):
        own = files[0].name
        for path in files[0].parent.iterdir():  # glob takes a folder that it cannot list for empty
            if path.name.startswith(own):
                shutil.copyfile(path, folder / (_SENTENCES + path.name.removeprefix(own)))
        shutil.copyfile(files[1], folder / _VECTORS)
        write_whole(folder / _NEAREST, nearest.astype("<f4").tobytes())
        known = {"format": _FORMAT, **asdict(description)}
        write_whole(folder / _DESCRIPTION, (json.dumps(known, indent=1) + "\n").encode())
        write_digests(folder)
