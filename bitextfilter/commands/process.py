"""What a command asks of its process before anything heavy is loaded."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""``M_TRIM_THRESHOLD``, ``M_MMAP_THRESHOLD`` and ``M_ARENA_MAX`` of glibc's malloc.h."""
_LARGE, _KEPT, _ARENAS = 1 << 22, 1 << 25, 2


def prepare() -> None:
    """Keep speed and memory steady, whatever the number and the size of the windows.

    numpy's BLAS gets one thread (unless the environment says otherwise): our threads compute
    side by side, and its own would crowd them out. Arrays of 4 MiB and more go back to the
    system when they are freed; by default, glibc keeps ever larger ones to itself, in pieces, and
    a long stream would take hundreds of MB more than a short one. Of smaller ones it keeps 32 MiB
    at hand: else some are taken from the system at every step of a recurrent encoder, and given
    back. All threads share two arenas, where each would keep one, with holes of its own. Other C
    libraries are left be.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with suppress(OSError, AttributeError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_MMAP_THRESHOLD, _LARGE)
        mallopt(_TRIM_THRESHOLD, _KEPT)
        mallopt(_ARENA_MAX, _ARENAS)
