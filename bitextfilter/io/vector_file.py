"""Files of vectors: rows of numbers, and word vectors as text.

Arrays in files, without pickle.

Named arrays are packed, and unpacked within bounds. A single array may be written row by row.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Vectors
from bitextfilter.errors import InputError, ModelError, NotFoundError, SettingsError
from bitextfilter.io.digests import read_record, write_record
from bitextfilter.io.files import naming_input, naming_output, read_lines

_SPARE = 1 << 20
"""Bytes that any file may unpack to."""
_HEADER = 128
"""Bytes of the header of an array of two dimensions, with any number of rows."""


class ArrayWriter(AbstractContextManager["ArrayWriter"]):
    """Writes an array of numpy (``.npy``) whose number of rows is known at the end.

    The header, which has that number, stands first. Where *output* can go back, it is written last,
    into room that was left for it; elsewhere the rows wait in a temporary file.
    """

    def __init__(self, output: BinaryIO, folder: Path | None = None) -> None:
        """Begin the array. *folder*: of the temporary file; None for the system's own."""
        self._output, self._stack = output, ExitStack()
        self.rows = output
        """Takes the bytes of the rows, in C order."""
        if output.seekable():
            output.write(bytes(_HEADER))
        else:
            waiting = tempfile.TemporaryFile(dir=folder)
            self.rows = cast(BinaryIO, self._stack.enter_context(waiting))

    def __exit__(self, *error: object) -> None:
        self._stack.close()

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
