"""What a command asks of its process before anything heavy is loaded."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress

_MMAP_THRESHOLD = -3
"""``M_MMAP_THRESHOLD`` of glibc's malloc.h."""
_LARGE = 1 << 20


def prepare() -> None:
    """Keep speed and memory steady, whatever the number and the size of the windows.

    numpy's BLAS gets one thread (unless the environment says otherwise): our threads compute
    side by side, and its own would crowd them out. Arrays of a MiB and more go back to the
    system when they are freed; by default, glibc keeps ever larger ones to itself, in pieces, and
    a long stream would take hundreds of MB more than a short one. Other C libraries are left be.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE)
