"""Steps that belong together, between which no signal ends a command.

The handler of a signal gives its exception to ``interrupt``; it is raised at once, or after the
``undisturbed`` block that the main thread is in. Blocking the signal would not do: any other
thread may take it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Interruptions:
    """The blocks that the main thread is in, and the exceptions that wait for their end."""

    blocks = 0
    waiting: list[BaseException]

    def __init__(self) -> None:
        self.waiting = []


_now = _Interruptions()


def interrupt(error: BaseException) -> None:
    """Raise *error*, now or at the end of the outermost ``undisturbed`` block."""
    if not _now.blocks:
        raise error
    _now.waiting.append(error)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Put off interruptions; for short steps alone, which wait for nobody."""
    if threading.current_thread() is not threading.main_thread():  # no handler runs here
        yield
        return
    _now.blocks += 1
    try:
        yield
    finally:
        _now.blocks -= 1
        if _now.waiting and not _now.blocks:
            error = _now.waiting[0]
            _now.waiting.clear()
            raise error
