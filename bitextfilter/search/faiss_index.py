"""Approximate search by indexes of faiss, which examine only a part of the rows.

The rows found are candidates: their cosines are computed again, exactly. Faiss is an optional
package (``faiss-cpu`` or ``faiss-gpu``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bitextfilter.arrays import Indices, Vectors
from bitextfilter.errors import DeviceError, ModelError, OutputError, SettingsError
from bitextfilter.io.drafts import draft, put
from bitextfilter.io.files import naming_output
from bitextfilter.settings import none_of
from bitextfilter.similarity.neighbours import NO_ROW, Neighbours, merge_neighbours, no_neighbours
from bitextfilter.similarity.vectors import unit_products_at

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

Blocks = Callable[[], Iterator[Vectors]]
"""All rows, unit, block by block."""


def require_faiss() -> Any:
    """Return the module. Raises DeviceError where it is not installed."""
    try:
        import faiss
    except ImportError as error:
        raise DeviceError(
            "approximate search needs faiss: pip install 'bitextfilter[cpu]', or [gpu]"
        ) from error
    return faiss


def build_index(
    kind: str, blocks: Blocks, shape: tuple[int, int], path: Path, threads: int = 1
) -> None:
    """Make an index of ``(n, dim)`` unit rows and write it to *path*, whole or not at all.

    Raises:
        DeviceError: faiss is not installed.
        SettingsError: no such kind, or it cannot be made of such rows.
        OutputError: it cannot be written.
    """
    faiss = require_faiss()
    if kind not in INDEX_KINDS:
        raise SettingsError(none_of(kind, INDEX_KINDS))
    rows, dim = shape
    if kind == "ivf-pq" and dim % 4:
        raise SettingsError(f"ivf-pq needs vectors of a multiple of 4 dimensions, not {dim}")
    faiss.omp_set_num_threads(threads)
    lists = 1 << max(0, round(math.log2(_LISTS * math.sqrt(max(1, rows)))))
    lists = max(1, min(lists, rows // 39))  # the fewest rows a list that faiss learns from in peace
    name = INDEX_KINDS[kind][0].format(lists=lists, parts=dim // 4)
    index = faiss.index_factory(dim, name, faiss.METRIC_INNER_PRODUCT)
    index.train(_sample(blocks, rows, max(_POINTS * lists, 1 << 14)))
    for block in blocks():
        index.add(block)
    try:
        with naming_output(path), draft(path) as new:
            faiss.write_index(index, str(new))
            put(new, path)
    except RuntimeError as error:
        raise OutputError(f"{path}: cannot be written: {error}") from error


def _sample(blocks: Blocks, rows: int, wanted: int) -> Vectors:
    """Some rows, evenly spaced."""
    step = max(1, rows // wanted)
    seen, parts = 0, []
    for block in blocks():
        parts.append(block[-seen % step :: step].copy())  # not a view, which would keep it all
        seen += len(block)
    return np.ascontiguousarray(np.concatenate(parts))


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
        if self.lists == 1:
            return np.asarray(self._index.search(queries, wanted)[1], np.int64)
        settings = self._faiss.SearchParametersIVF(nprobe=lists)
        return np.asarray(self._index.search(queries, wanted, params=settings)[1], np.int64)


def exact_cosines(
    queries: Vectors, candidates: Indices, base: Callable[[Indices], Vectors], k: int
) -> Neighbours:
    """Return the k nearest of the candidates ``(n, c)`` of each query ``(n, dim)``, exactly.

    Args:
        queries: unit rows.
        candidates: numbers of rows, ``NO_ROW`` for none.
        base: returns unit rows by their numbers.
        k: how many.
    """
    parts = [no_neighbours(0, k)]
    step = max(1, _EXACT // max(1, candidates.shape[1]))
    for first in range(0, len(queries), step):
        some = candidates[first : first + step]
        distinct, places = np.unique(some, return_inverse=True)
        rows = base(np.maximum(distinct, 0))
        columns = places.reshape(some.shape)
        cosines = unit_products_at(queries[first : first + step], rows, columns)
        cosines[some == NO_ROW] = -np.inf
        order = np.lexsort((some, -cosines), axis=1)
        ranked = np.take_along_axis(cosines, order, 1), np.take_along_axis(some, order, 1)
        parts.append(merge_neighbours(ranked, no_neighbours(len(some), 0), k))
    cosines, numbers = (np.concatenate(part) for part in zip(*parts, strict=True))
    return cosines, numbers
