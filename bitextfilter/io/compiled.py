"""Compiled libraries of the package, which are optional: C without anything of Python in it.

``setup.py`` builds each at the install, where there is a C compiler. ``ctypes`` calls them without
the interpreter's lock. Where there is none, or ``BITEXTFILTER_NO_COMPILED=1`` stands in the
environment, numpy or torch computes the same, only slower.
"""

from __future__ import annotations

import ctypes
import functools
import os
from pathlib import Path

NO_COMPILED = "BITEXTFILTER_NO_COMPILED"
"""Variable of the environment: 1 to do without compiled libraries."""

opened: set[str] = set()
"""The libraries that were opened here, by a worker process or for a shard: NAMEs, as ``tokens``."""


def compiled_library(path: Path, layout: int) -> ctypes.CDLL | None:
    """Return a library; None if there is none, or none is wanted, or it is of another version.

    Args:
        path: of the library, ``FOLDER/_NAME.so``, which has a function ``NAME_layout()``.
        layout: the number that this function must return: of the form of all arguments.
    """
    return None if os.environ.get(NO_COMPILED) == "1" else _opened(path, layout)


@functools.cache
def _opened(path: Path, layout: int) -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL(str(path))
        name = path.stem.removeprefix("_")
        version = library[f"{name}_layout"]
        version.restype = ctypes.c_int64
    except (OSError, AttributeError):
        return None
    if version() != layout:
        return None
    opened.add(name)
    return library
