"""The background sample of a model: sentence vectors that margins are measured against.

A margin compares the cosine of a pair with the cosines of either sentence to its neighbours. A
model stores a fixed sample of its training sentences' vectors for this, so that a pair's margin
depends on the pair and the model alone. An input can be its own background sample, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Scores, Vectors
from bitextfilter.errors import ModelError
from bitextfilter.io.rows import Row
from bitextfilter.io.vectors import load_arrays, save_arrays
from bitextfilter.scoring.measures import INPUT
from bitextfilter.similarity.vectors import NEIGHBOURS, highest_means, scan, unit_rows

if TYPE_CHECKING:
    from bitextfilter.io.spill import Scratch

BACKGROUND = "neighbours.npz"
"""The file of the background sample in a model folder."""

_DIGEST_ROWS = 4096
"""Vectors read at a time for the digest."""
_KEY_BYTES = 8

_EXPANSION = 16
"""Bytes unpacked for each in a file, at most: vectors hardly compress."""

SIDES = ("source", "target")
"""Names of the vectors in the file of a model of two languages; of more, they are the codes."""


def names_in_file(languages: Sequence[str]) -> Sequence[str]:
    """Return the names of the samples in the file of a model of these languages, all of them."""
    return SIDES if len(languages) <= 2 else languages


class BackgroundSample:
    """Unit vectors of source sentences ``(m, dim)`` and target sentences ``(l, dim)``.

    The neighbourhood of a vector is its ``k`` nearest sentences on the other side.
    """

    def __init__(
        self, source: Vectors, target: Vectors, k: int = NEIGHBOURS, *, unit: bool = False
    ) -> None:
        """Scale the vectors to length 1, unless ``unit`` says that they are: then keep them.

        Raises ValueError where their widths differ.
        """
        if source.shape[1] != target.shape[1]:
            raise ValueError(f"samples of widths {source.shape[1]} and {target.shape[1]}")
        sides = (source, target) if unit else (unit_rows(source), unit_rows(target))
        (self.source, self.target), self.k = sides, k

    @property
    def dim(self) -> int:
        """The width of the vectors."""
        return int(self.source.shape[1])

    def source_means(self, vectors: Vectors, threads: int = 1) -> Scores:
        """Mean cosine ``(n,)`` of source-side vectors ``(n, dim)`` to their k nearest targets."""
        return highest_means(scan(unit_rows(vectors), self.target, self.k, threads)[0], self.k)

    def target_means(self, vectors: Vectors, threads: int = 1) -> Scores:
        """Mean cosine ``(n,)`` of target-side vectors ``(n, dim)`` to their k nearest sources."""
        return highest_means(scan(unit_rows(vectors), self.source, self.k, threads)[0], self.k)

    def digest(self) -> str:
        """Return BLAKE2b over both samples and ``k``, in hexadecimal digits.

        The order of the sentences changes it, though no score.
        """
        total = hashlib.blake2b(f"{self.source.shape} {self.target.shape} {self.k}".encode())
        for sample in (self.source, self.target):
            for first in range(0, len(sample), _DIGEST_ROWS):
                total.update(sample[first : first + _DIGEST_ROWS].tobytes())
        return total.hexdigest()

    def save(self, path: Path) -> None:
        """Write k and both samples; vectors as int8, scaled to a largest magnitude of 127."""
        save_samples(path, dict(zip(SIDES, (self.source, self.target), strict=True)), self.k)

    @classmethod
    def load(
        cls, path: Path, dim: int | None = None, names: Sequence[str] = SIDES
    ) -> BackgroundSample:
        """Read the file that :meth:`save` or :func:`save_samples` wrote.

        Args:
            path: the file.
            dim: the required width of the vectors; None for any.
            names: of both sides in the file.

        Raises:
            NotFoundError: no such file.
            ModelError: the file is damaged, or its vectors are of another width.
        """
        arrays = load_arrays(path, "neighbours", _EXPANSION)
        if not {"k", *names} <= arrays.keys() or arrays["k"].shape or arrays["k"].dtype.kind != "i":
            raise ModelError(f"{path}: not a file of neighbours of {' and '.join(names)}")
        k, (source, target) = int(arrays["k"]), (arrays[name] for name in names)
        for sample in (source, target):
            if sample.dtype != np.int8 or sample.ndim != 2 or not len(sample) or k < 1:
                raise ModelError(f"{path}: not a file of neighbours")
            if sample.shape[1] != (dim or source.shape[1]):
                expected = f"the model's are {dim}" if dim else "the other side's are not"
                raise ModelError(f"{path}: vectors of width {sample.shape[1]}, {expected}")
        return cls(source.astype(np.float32), target.astype(np.float32), k)


def load_background(
    folder: Path, dim: int | None = None, names: Sequence[str] = SIDES
) -> BackgroundSample | None:
    """Load the background sample of a model folder, if it has one; see :meth:`load`."""
    path = folder / BACKGROUND
    return BackgroundSample.load(path, dim, names) if path.exists() else None


def named_background(neighbours: str, dim: int) -> BackgroundSample:
    """Return the sample of a file, or of ``INPUT`` an empty one, until its rows are read.

    Raises NotFoundError and ModelError as :meth:`BackgroundSample.load`.
    """
    if neighbours == INPUT:
        nothing = np.zeros((0, dim), dtype=np.float32)
        return BackgroundSample(nothing, nothing)
    return BackgroundSample.load(Path(neighbours), dim)


def load_samples(folder: Path) -> dict[str, Vectors]:
    """Load the vectors ``(m, dim)`` of a model's sample by name, a side or a language.

    Raises NotFoundError and ModelError as :meth:`BackgroundSample.load`.
    """
    arrays = load_arrays(folder / BACKGROUND, "neighbours", _EXPANSION)
    return {name: array.astype(np.float32) for name, array in arrays.items() if name != "k"}


def save_samples(path: Path, samples: Mapping[str, Vectors], k: int = NEIGHBOURS) -> None:
    """Write vectors ``(m, dim)`` by name, a side or a language, as int8, and k.

    The largest magnitude of each vector becomes 127: its direction is kept.
    """
    arrays = {name: as_int8(vectors) for name, vectors in samples.items()}
    save_arrays(path, {**arrays, "k": np.array(k, dtype=np.int64)})


def as_int8(rows: NDArray[np.floating]) -> NDArray[np.int8]:
    """Round rows ``(n, dim)``, scaled to a largest magnitude of 127, to int8."""
    highest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    scaled = np.rint(rows / np.where(highest > 0, highest, 1.0) * 127)
    return np.asarray(scaled, dtype=np.int8)


RowVectors = Callable[[Sequence[Row], int], Vectors]
"""Returns the vectors ``(n, dim)`` of ``n`` rows on side 0 or 1."""


class InputBackground:
    """Collects the distinct sentences of an input, window by window, as a background sample.

    Memory: about 100 bytes a distinct sentence. Disk: ``4 * dim`` bytes.
    """

    def __init__(self, vectors: RowVectors, dim: int, files: Sequence[Scratch]) -> None:
        """Write the vectors ``(n, dim)`` of source and target to these two (empty) files."""
        self._vectors, self._dim, self._files = vectors, dim, files
        self._seen: tuple[set[bytes], set[bytes]] = (set(), set())

    def add(self, rows: Sequence[Row]) -> None:
        """Add the sentences of a window that were not seen before."""
        for side, (file, seen) in enumerate(zip(self._files, self._seen, strict=True)):
            fresh = []
            for row in rows:
                text = row.texts[side].encode()
                key = hashlib.blake2b(text, digest_size=_KEY_BYTES).digest()
                if key not in seen:
                    seen.add(key)
                    fresh.append(row)
            file.write(unit_rows(self._vectors(fresh, side)).tobytes())

    def sample(self, k: int = NEIGHBOURS) -> BackgroundSample:
        """Return the background sample of all added sentences; its vectors stay on disk."""
        source, target = (file.array(np.float32).reshape(-1, self._dim) for file in self._files)
        return BackgroundSample(source, target, k, unit=True)
