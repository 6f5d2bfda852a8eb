"""Vectors that the user gives beside a text: row i of the file is the vector of row i.

Two forms: an array of NumPy (``.npy``), and float32 numbers alone, little-endian, row after row, as
LASER writes them. Files are mapped, not read into memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from bitextfilter.arrays import Indices, Mask, Vectors
from bitextfilter.errors import InputError
from bitextfilter.io.digests import file_digest
from bitextfilter.io.files import naming_input
from bitextfilter.io.rows import REMEDY, BadRow, Row, RowReader, is_blank

_ENDING = ".npy"
_KINDS = ("float16", "float32", "float64")
_BLOCK = 4096
"""Rows that are checked at a time."""

_NOT_PLAIN = {
    b"\x93NUMPY": "an array of NumPy: give it a name that ends with .npy",
    b"PK\x03\x04": "a zip archive (.npz): take the .npy out of it",
    b"\x1f\x8b": "compressed: unpack it",
    b"\xfd7zXZ": "compressed: unpack it",
    b"BZh": "compressed: unpack it",
    b"\x28\xb5\x2f\xfd": "compressed: unpack it",
}
"""Beginnings of files that are no plain numbers."""


class GivenVectors:
    """Vectors ``(n, dim)`` of a file."""

    def __init__(self, path: str, dim: int | None = None) -> None:
        """Open the file; *dim*: the numbers of a vector, needed where it is no ``.npy``.

        Raises NotFoundError, and InputError for a file that holds no such vectors.
        """
        self.name, self._path = path, Path(path)
        with naming_input(path):
            self._path.stat()
            if not self._path.is_file():
                self._fail("not a plain file: vectors are read at any place")
            with self._path.open("rb") as stream:
                start = stream.read(8)
        self._rows = self._array() if path.endswith(_ENDING) else self._numbers(start, dim)
        self.dim = self._rows.shape[1]
        if dim not in (None, self.dim):
            self._fail(f"vectors of {self.dim} numbers, not of --dim {dim}")
        self._block: int | None = None
        self._finite: list[bool] = []

    def _fail(self, problem: str) -> NoReturn:
        raise InputError(problem, file=self.name)

    def _array(self) -> NDArray[np.floating]:
        """Map an array of NumPy; nothing in it is ever unpickled."""
        try:
            with self._path.open("rb") as stream:
                version = npy.read_magic(stream)
                read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
                shape, _, kind = read[version](stream)
                expected = stream.tell() + int(np.prod(shape, dtype=object)) * kind.itemsize
        except (ValueError, KeyError, TypeError, EOFError) as error:
            raise InputError(f"not an array of NumPy: {error}", file=self.name) from error
        if len(shape) != 2 or kind.newbyteorder("=").name not in _KINDS or shape[1] < 1:
            found = "x".join(map(str, shape)) or "one number"
            self._fail(f"an array {found} of {kind}, not n vectors of {', '.join(_KINDS)}")
        if (size := self._path.stat().st_size) != expected:
            self._fail(f"damaged: {size} bytes, its header says {expected}")
        if not shape[0]:
            return np.zeros(shape, np.float32)
        mapped: NDArray[np.floating] = npy.open_memmap(self._path, mode="r")
        return mapped

    def _numbers(self, start: bytes, dim: int | None) -> NDArray[np.floating]:
        """Map plain float32 numbers."""
        for magic, problem in _NOT_PLAIN.items():
            if start.startswith(magic):
                self._fail(problem)
        if dim is None:
            self._fail("no .npy: its vectors have --dim N numbers, of float32")
        size = self._path.stat().st_size
        if size % (4 * dim):
            self._fail(f"{size} bytes are no whole vectors of {dim} numbers of float32 (--dim)")
        if not size:
            return np.zeros((0, dim), np.float32)
        return np.memmap(self._path, "<f4", "r").reshape(-1, dim)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, places: slice | Indices) -> Vectors:
        """Return the vectors of a slice, or at places from 0, float32 ``(m, dim)``."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.array(self._rows[places], dtype=np.float32)

    def is_finite(self, place: int) -> bool:
        """Whether a vector has finite numbers alone. Fast for one place after another."""
        block = place // _BLOCK
        if self._block != block:
            rows = self[block * _BLOCK : (block + 1) * _BLOCK]
            finite: Mask = np.isfinite(rows).all(axis=1)  # type: ignore[assignment]
            self._block, self._finite = block, finite.tolist()
        return self._finite[place % _BLOCK]

    def digest(self) -> str:
        """Return twelve hexadecimal digits over the file."""
        return file_digest(self._path)[:12]


def open_sides(paths: Sequence[str], dim: int | None = None) -> tuple[GivenVectors, ...]:
    """Open the vectors of each side. Raises InputError, too, where they differ in width."""
    files = tuple(GivenVectors(path, dim) for path in paths)
    for file in files[1:]:
        if file.dim != files[0].dim:
            problem = f"vectors of {file.dim} numbers, those of {files[0].name} have {files[0].dim}"
            raise InputError(problem, file=file.name)
    return files


class GivenRows:
    """The rows of a reader, each with a vector of each file: iterates as the reader does.

    A good row whose vector is not finite (as bitext-embed writes for a rejected line) is bad,
    unless its texts are blank.
    """

    def __init__(
        self, reader: RowReader, files: Sequence[GivenVectors], whole: bool = True
    ) -> None:
        """Take the vectors of the rows; *whole*: whether the reader has all rows of the text."""
        self._reader, self._files, self._whole = reader, files, whole
        self._first = 2 if reader.header is not None else 1
        self.last = 0
        """Number of the last row of the text, from 1, once all were read."""

    def __iter__(self) -> Iterator[Row | BadRow]:
        """Yield the rows. Raises InputError where text and vectors differ in number."""
        fewest, count, rows = min(map(len, self._files)), 0, iter(self._reader)
        for row in rows:
            count = row.number - self._first + 1
            if count > fewest:
                break
            yield self._checked(row, count - 1)
        count += sum(1 for _ in rows)
        check_count(self._files, count, self._reader.name, exact=self._whole)
        self.last = count

    def _checked(self, row: Row | BadRow, place: int) -> Row | BadRow:
        if isinstance(row, Row) and not all(map(is_blank, row.texts)):
            for file in self._files:
                if not file.is_finite(place):
                    reason = f"row {place + 1} of {file.name} is not finite"
                    return self._reader.parser.refused(row, reason, REMEDY)
        return row

    def places(self, rows: Iterable[Row]) -> Indices:
        """Return the places of the vectors of some rows, ``(n,)``."""
        return np.array([row.number - self._first for row in rows], dtype=np.int64)


def check_count(files: Sequence[GivenVectors], count: int, name: str, exact: bool = True) -> None:
    """Raise InputError unless each file has a vector for each of *count* rows of the text *name*.

    If not *exact*, more vectors are good.
    """
    for file in files:
        if len(file) < count or (exact and len(file) > count):
            least = "" if exact else "at least "
            problem = f"{len(file)} vectors, and {name} has {least}{count} rows"
            remedy = "row i of the vectors belongs to row i of the text"
            raise InputError(problem, file=file.name, remedy=remedy)
