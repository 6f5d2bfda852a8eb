"""Arrays in files, without pickle.

Named arrays are packed, and unpacked within bounds. A single array may be written row by row.
"""

from __future__ import annotations

import io
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from bitextfilter.errors import ModelError, NotFoundError

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
