"""Named arrays in a file: packed, without pickle, unpacked within bounds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bitextfilter.errors import ModelError, NotFoundError

_SPARE = 1 << 20
"""Bytes that any file may unpack to."""


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
