"""Drafts: files and folders with a passing name, until they are complete.

A draft is ``.NAME.1.partial`` beside its target, or the first number that is free. Its process
holds a lock on it, which ends with the process, however that ends. So the next draft of the same
target removes those that killed processes left, and never one that is being written.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from bitextfilter.io.locks import is_name_of

__all__ = ["draft"]


@contextmanager
def draft(target: Path, folder: bool = False, ending: str = "partial") -> Iterator[Path]:
    """Make an empty file, or *folder*, beside *target*; if it is still there afterwards, it goes.

    Raises OSError if it cannot be made.
    """
    path, held = _made(target, folder, ending)
    try:
        yield path
    finally:
        try:
            if is_name_of(path, held):
                _remove(path)
        finally:
            os.close(held)


def _made(target: Path, folder: bool, ending: str) -> tuple[Path, int]:
    """Return a new draft and the descriptor that locks it, after removing stale ones."""
    made: tuple[Path, int] | None = None
    for number in count(1):
        path = target.with_name(f".{target.name}.{number}.{ending}")
        if made and not os.path.lexists(path):
            return made
        _remove_stale(path)
        while made is None and not os.path.lexists(path):
            made = _taken(path, folder)
    raise AssertionError("numbers do not end")


def _taken(path: Path, folder: bool) -> tuple[Path, int] | None:
    """Make *path* and lock it; None if another process was quicker."""
    with suppress(FileExistsError):
        if folder:
            path.mkdir()
        else:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
        with suppress(FileNotFoundError):  # taken for stale before it was locked
            held = _opened(path)
            with suppress(OSError):  # a file system without locks
                fcntl.flock(held, fcntl.LOCK_EX)
            if is_name_of(path, held):
                return path, held
            os.close(held)
    return None


def _remove_stale(path: Path) -> None:
    """Remove a draft that nobody has a lock on."""
    with suppress(OSError):
        held = _opened(path)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if is_name_of(path, held):
                _remove(path)
        finally:
            os.close(held)


def _opened(path: Path) -> int:
    mode = os.O_RDONLY if path.is_dir() else os.O_RDWR  # some network locks ask for the latter
    return os.open(path, mode | os.O_NOFOLLOW | os.O_CLOEXEC)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
