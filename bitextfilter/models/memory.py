"""How this process asks the system for memory."""

from __future__ import annotations

import ctypes
import sys

__all__ = ["keep_freed_memory"]

SETTINGS = {"M_TRIM_THRESHOLD": (-1, 2**31 - 1), "M_TOP_PAD": (-2, 2**26), "M_MMAP_MAX": (-4, 0)}
"""Parameters of glibc's mallopt(3): give nothing back, ask for 64 MiB at a time, map nothing."""


def keep_freed_memory() -> bool:
    """Keep memory that is freed for what is made next, to the end of the process.

    By default the GNU C library gives large pieces back at once, so that each tensor of each
    update of a training is written to pages that the system has to clear first; to keep them
    makes training on a processor 1.3 to 1.5 times as fast. The process then stays as large as it
    was at most. Returns False, without effect, where there is no such library.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    return mallopt is not None and all(mallopt(*pair) == 1 for pair in SETTINGS.values())
