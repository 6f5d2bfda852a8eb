"""Files of vectors: arrays of numbers without pickle, word vectors as text, and vectors of rows.

Named arrays are packed, and unpacked within bounds. A single array may be written row by row.

Vectors that the user gives beside a text (row i belongs to row i of the text) have two forms: an
array of NumPy (``.npy``), and float32 numbers alone, little-endian, row after row, as LASER writes
them. These files are mapped, not read into memory.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn, cast

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from bitextfilter.arrays import Indices, Mask, Vectors
from bitextfilter.errors import InputError, ModelError, NotFoundError, SettingsError
from bitextfilter.io.files import naming_input, naming_output, read_lines
from bitextfilter.io.records import file_digest, read_record, write_record
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import REMEDY, BadRow, Row, is_blank

_SPARE = 1 << 20
"""Bytes that any file may unpack to."""
_HEADER = 128
"""Bytes of the header of an array of two dimensions, with any number of rows."""


class ArrayWriter(ExitStack):
    """Writes an array of numpy (``.npy``) whose number of rows is known at the end.

    The header, which has that number, stands first. Where *output* can go back, it is written last,
    into room that was left for it; elsewhere the rows wait in a temporary file.
    """

    def __init__(self, output: BinaryIO, folder: Path | None = None) -> None:
        """Begin the array. *folder*: of the temporary file; None for the system's own."""
        super().__init__()
        self._output = self.rows = output
        """Takes the bytes of the rows, in C order."""
        if output.seekable():
            output.write(bytes(_HEADER))
        else:
            waiting = tempfile.TemporaryFile(dir=folder)
            self.rows = cast(BinaryIO, self.enter_context(waiting))

    def finish(self, shape: tuple[int, int], kind: np.dtype[np.generic]) -> None:
        """Write the header, now that all rows are written."""
        header = io.BytesIO()
        facts = {"descr": kind.str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(header, facts)
        assert len(header.getbuffer()) == _HEADER, "numpy leaves room for 21 digits"
        self.rows.seek(0)
        self._output.write(header.getbuffer())
        if self.rows is not self._output:
            shutil.copyfileobj(self.rows, self._output, 1 << 20)


def save_arrays(path: Path, arrays: Mapping[str, NDArray[np.generic]]) -> None:
    """Write arrays by name, packed: an ``.npz`` of numpy."""
    np.savez_compressed(path, **arrays)  # type: ignore[arg-type]


def load_arrays(path: Path, what: str, expansion: int) -> dict[str, NDArray[np.generic]]:
    """Read the arrays of a file by name.

    Args:
        path: the file.
        what: its content, as messages name it.
        expansion: bytes unpacked for each in the file, at most, beside a MiB.

    Raises:
        NotFoundError: no such file.
        ModelError: the file is damaged, or unpacks to more.
    """
    if not path.is_file():
        raise NotFoundError(f"{path}: no such file of {what}")
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            unpacked = sum(member.file_size for member in arrays.zip.infolist())
            if unpacked > _SPARE + expansion * path.stat().st_size:
                raise ValueError(f"{unpacked} bytes packed into {path.stat().st_size}")
            return {name: arrays[name] for name in arrays.files}
    except Exception as error:  # an unpacker has errors of many kinds
        raise ModelError(f"{path}: damaged {what}: {error}") from error


FORMS = ("float32", "float16", "int8")
"""Number types. ``int8`` has a factor for each row, and magnitudes up to 127."""

_SAFE = ".rows"


def _record(dim: int, form: str) -> np.dtype[Any]:
    """Return the type of a row in the file."""
    if form not in FORMS:
        raise SettingsError(f"{form!r} is none of {', '.join(FORMS)}")
    fields: list[Any] = [("numbers", np.dtype(form).newbyteorder("<"), (dim,))]
    return np.dtype([("factor", "<f4"), *fields] if form == "int8" else fields)


def as_kept(vectors: Vectors, form: str) -> Vectors:
    """Return vectors ``(n, dim)`` as rounded by a file of that form."""
    return _unpacked(_packed(vectors, _record(vectors.shape[1], form)))


def _packed(vectors: Vectors, record: np.dtype[Any]) -> NDArray[Any]:
    """Return vectors ``(n, dim)`` as rows of a file; SettingsError if a number is too large."""
    rows = np.zeros(len(vectors), record)
    if not np.isfinite(vectors).all():
        raise SettingsError("the model's vectors are not finite numbers")
    if "factor" in (record.names or ()):
        largest = np.abs(vectors).max(axis=1, initial=0.0)
        rows["factor"] = largest / 127
        steps = np.where(rows["factor"] > 0, rows["factor"], 1.0)
        rows["numbers"] = np.rint(vectors / steps[:, None])
    else:
        with np.errstate(over="ignore"):
            rows["numbers"] = vectors
        if not np.isfinite(rows["numbers"]).all():
            raise SettingsError("the model's vectors are too large for float16: take float32")
    return rows


def _unpacked(rows: NDArray[Any]) -> Vectors:
    """Return rows of a file as vectors ``(n, dim)``."""
    numbers: Vectors = rows["numbers"].astype(np.float32)
    return numbers * rows["factor"][:, None] if "factor" in (rows.dtype.names or ()) else numbers


class VectorFile:
    """Vectors ``(n, dim)`` in a file: indexed by a slice or by places, they are float32."""

    def __init__(self, path: Path, dim: int, form: str = "float16") -> None:
        """Open a file by a VectorWriter. Raises NotFoundError, and InputError if it is cut off."""
        record = _record(dim, form)
        try:
            with naming_input(path):
                size = path.stat().st_size
                rows = np.memmap(path, record, "r") if size else np.zeros(0, record)
        except ValueError as error:
            raise InputError("its vectors are damaged", file=str(path)) from error
        self.path, self.shape, self._rows = path, (len(rows), dim), np.asarray(rows)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | NDArray[np.int64]) -> Vectors:
        """Return the vectors of a slice, or at places in any order, ``(m, dim)``."""
        return _unpacked(self._rows[rows])


class VectorWriter(AbstractContextManager["VectorWriter"]):
    """Appends vectors to a file, from the last ``sync`` of a killed writer on."""

    def __init__(self, path: Path, dim: int, form: str = "float16") -> None:
        """Open *path*, check the rows up to the last ``sync``, and cut off those after it.

        Raises OutputError, and InputError if rows before it are missing or have changed.
        """
        self._path, self._record = path, _record(dim, form)
        self._safe, known = path.with_name(path.name + _SAFE), {"rows": 0}
        with suppress(FileNotFoundError):
            known = read_record(self._safe, "remove it") if path.exists() else known
        self.rows, self._digest = known["rows"], hashlib.sha256()
        with naming_output(self._path):
            self._file = open(path, "r+b" if path.exists() else "w+b")
            left = self.rows * self._record.itemsize
            while block := self._file.read(min(left, 1 << 20)):
                self._digest.update(block)
                left -= len(block)
            if left or known.get("digest", self._digest.hexdigest()) != self._digest.hexdigest():
                self._file.close()
                raise InputError("its vectors are damaged; remove it", file=str(path))
            self._file.truncate()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with naming_output(self._path):
            try:
                if kind is None:
                    self.sync()
            finally:
                self._file.close()

    def append(self, vectors: Vectors) -> None:
        """Append ``(n, dim)``. Raises OutputError, and SettingsError if a number is too large."""
        rows = _packed(vectors, self._record).tobytes()
        self._digest.update(rows)
        with naming_output(self._path):
            self._file.write(rows)
        self.rows += len(vectors)

    def sync(self) -> None:
        """Make the rows so far safe against a kill. Raises OutputError."""
        with naming_output(self._path):
            self._file.flush()
            os.fsync(self._file.fileno())
        write_record(self._safe, {"rows": self.rows, "digest": self._digest.hexdigest()})


_WINDOW = 4096
"""Lines that are written at once."""


class _WordLine(NamedTuple):
    """A word and its vector ``(d,)``, with the number of its line, from 1."""

    number: int
    word: str
    vector: Vectors


def word_lines(path: str | Path) -> Iterator[_WordLine]:
    """Yield each line of words, repeated words too; the first line may hold the two counts.

    Raises InputError unless each line is a word and finite numbers, the same number on each.
    """
    width = 0
    for number, line in enumerate(read_lines(path), 1):
        word, *cells = line.rstrip(" ").split(" ")
        if number == 1 and len(cells) == 1:
            continue
        vector = _numbers(cells)
        width = width or len(vector)
        if len(vector) != width or not width:
            problem = f"expected a word and {width or 'some'} numbers"
            raise InputError(problem, file=str(path), line=number, remedy="remove the line")
        yield _WordLine(number, word, vector)


def read_word_vectors(path: str | Path, most: int | None = None) -> tuple[list[str], Vectors]:
    """Read distinct words and their vectors ``(n, d)``; of a repeated word the first.

    At most *most* lines are read, usually the most frequent words. Raises InputError as
    :func:`word_lines`, or if the file has no words.
    """
    found: dict[str, Vectors] = {}
    for line in islice(word_lines(path), most):
        found.setdefault(line.word, line.vector)
    if not found:
        raise InputError("no word vectors", file=str(path))
    return list(found), np.stack(list(found.values()))


def _numbers(cells: Sequence[str]) -> Vectors:
    """Return the cells as numbers; an empty array if one is not a finite number."""
    try:
        vector = np.array(cells, dtype=np.float32)
    except ValueError:
        return np.zeros(0, dtype=np.float32)
    return vector if np.isfinite(vector).all() else vector[:0]


def write_word_vectors(stream: BinaryIO, words: Sequence[str], vectors: Vectors) -> None:
    """Write the counts of words and of dimensions, and each word with its vector ``(n, d)``.

    Numbers have six significant digits.
    """
    stream.write(f"{len(words)} {vectors.shape[1]}\n".encode())
    form = "%s" + " %.6g" * vectors.shape[1] + "\n"
    for first in range(0, len(words), _WINDOW):
        rows = vectors[first : first + _WINDOW].tolist()
        named = zip(words[first : first + _WINDOW], rows, strict=True)
        stream.write("".join(form % (word, *row) for word, row in named).encode())


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
        self.dim: int = self._rows.shape[1]
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
        self.files, self._reader, self._whole = files, reader, whole
        self._first = 2 if reader.header is not None else 1

    def __iter__(self) -> Iterator[Row | BadRow]:
        """Yield the rows. Raises InputError where text and vectors differ in number."""
        fewest, count, rows = min(map(len, self.files)), 0, iter(self._reader)
        for row in rows:
            count = row.number - self._first + 1
            if count > fewest:
                break
            yield self._checked(row, count - 1)
        count += sum(1 for _ in rows)
        check_count(self.files, count, self._reader.name, exact=self._whole)

    def _checked(self, row: Row | BadRow, place: int) -> Row | BadRow:
        if isinstance(row, Row) and not all(map(is_blank, row.texts)):
            for file in self.files:
                if not file.is_finite(place):
                    reason = f"row {place + 1} of {file.name} is not finite"
                    return self._reader.parser.refused(row, reason, REMEDY)
        return row

    def places(self, rows: Iterable[Row]) -> Indices:
        """Return the places of the vectors of some rows, ``(n,)``."""
        return np.array([row.number - self._first for row in rows], dtype=np.int64)

    def vectors(self, rows: Iterable[Row], side: int) -> Vectors:
        """Return the vectors ``(n, dim)`` of some rows in the file of a side."""
        return self.files[side][self.places(rows)]


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
