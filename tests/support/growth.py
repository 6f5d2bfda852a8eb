"""Whether the time of some work grows as its size, on processors of any speed."""

from __future__ import annotations

import time
from collections.abc import Callable

SECONDS, MOST_SECONDS = 1.0, 15.0
"""What takes no longer than the first is not looked at closer: the square of the sizes here takes
longer. Nothing takes longer than the second, even on a slow processor."""

PART, MOST = 4, 8
"""Work of a PART of the size is timed, too: it takes a PART-th of the time, or, if the time grows
as the square of the size, a sixteenth. MOST is between."""


def seconds(work: Callable[[], object]) -> float:
    """Return the time of the processor that some work takes."""
    began = time.process_time()
    work()
    return time.process_time() - began


def assert_linear(work: Callable[[int], object], size: int) -> None:
    """Fail if work of a size takes long, and much longer than its share of a smaller size."""
    took = seconds(lambda: work(size))
    assert took < MOST_SECONDS
    if took > SECONDS:
        part = seconds(lambda: work(size // PART))
        assert took < MOST * part, f"{took:.2f} s for {size}, {part:.2f} s for {size // PART}"
