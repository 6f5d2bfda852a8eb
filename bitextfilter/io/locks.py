"""File locks between processes: one at a time changes a shared file."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bitextfilter.errors import OutputError


@contextmanager
def locked(path: str | Path) -> Iterator[None]:
    """Hold the lock of the file *path*, which need not exist; waits for its present holder.

    The lock is ``.NAME.lock`` beside the file (a link is followed), and is removed afterwards; one
    left by a killed process blocks nobody. Raises OutputError if it cannot be made.
    """
    target = Path(os.path.realpath(path))
    lock = target.with_name(f".{target.name}.lock")
    try:
        held = _acquired(lock)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(held)


def _acquired(lock: Path) -> int:
    """Return a locked descriptor whose file still has the name."""
    while True:
        held = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
            if is_name_of(lock, held):
                return held
        except BaseException:
            os.close(held)
            raise
        os.close(held)


def is_name_of(path: Path, descriptor: int) -> bool:
    """Return whether *path* is still the name of the open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
