"""Drafts of files and folders, which are put in their place when they are whole.

A draft is ``.NAME.1.partial`` beside its target or the next free number, and is then put in its
place: it is on the disk before its name is, and its name is when the command ends, so that a power
cut leaves the old or the new one. An error, a Ctrl-C or a SIGTERM leaves nothing behind. A draft is
locked by its process; the next draft of the same target removes those whose process was killed.

Steps that belong together are ``undisturbed``: no signal ends a command between them. The handler
of a signal gives its exception to ``interrupt``; it is raised at once, or after the block that the
main thread is in. Blocking the signal would not do: any other thread may take it.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

_now = SimpleNamespace(blocks=0, waiting=[])
"""The blocks that the main thread is in, and the exceptions that wait for their end."""


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


def is_name_of(path: Path, descriptor: int) -> bool:
    """Return whether *path* is still the name of the open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


@contextmanager
def draft(target: Path, folder: bool = False, ending: str = "partial") -> Iterator[Path]:
    """Make an empty file, or *folder*, beside *target*; remove it afterwards unless it was put.

    Raises OSError if it cannot be made.
    """
    with ExitStack() as stack:
        with undisturbed():
            path, held = _make(target, folder, ending)
            stack.callback(_discard, path, held)
        yield path


def _discard(path: Path, held: int) -> None:
    """Remove a draft that still has its name, and let go of it."""
    with undisturbed():
        try:
            if is_name_of(path, held):
                _remove(path)
        finally:
            os.close(held)


def beside(target: Path, ending: str) -> Path:
    """Return ``.NAME.ending`` in the folder of *target*, the name cut where it is too long."""
    name = os.fsdecode(os.fsencode(target.name)[:_LONGEST_NAME])
    return target.with_name(f".{name}.{ending}")


_LONGEST_NAME = 220
"""Bytes; file systems allow 255, and the endings need some."""


def _make(target: Path, folder: bool, ending: str) -> tuple[Path, int]:
    """Return a new draft and the descriptor that locks it, after removing stale ones."""
    made: tuple[Path, int] | None = None
    for number in count(1):
        path = beside(target, f"{number}.{ending}")
        if made and not os.path.lexists(path):
            return made
        _remove_stale(path)
        while made is None and not os.path.lexists(path):
            made = _locked(path, folder)
    raise AssertionError("numbers do not end")


def _locked(path: Path, folder: bool) -> tuple[Path, int] | None:
    """Make *path* and lock it; None if another process was quicker."""
    try:
        if folder:
            path.mkdir()
        else:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
    except FileExistsError:
        return None
    try:
        held = _opened(path)
    except FileNotFoundError:  # taken for stale before it was locked
        return None
    except OSError:
        _remove(path)
        raise
    with suppress(OSError):  # a file system without locks
        fcntl.flock(held, fcntl.LOCK_EX)
    if is_name_of(path, held):
        return path, held
    os.close(held)
    return None


def remove_drafts(target: Path) -> None:
    """Remove the drafts of an output that other runs have left, if possible."""
    for number in count(1):
        path = beside(target, f"{number}.partial")
        if not os.path.lexists(path):
            return
        _remove_stale(path)


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
    """Remove a draft if possible; the next one of its target tries again."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


@contextmanager
def temporary_folder(parent: Path | None = None, prefix: str = "bitext-") -> Iterator[Path]:
    """Make a folder in *parent*, by default TMPDIR, and remove it afterwards. Raises OSError."""
    with ExitStack() as stack:
        with undisturbed():  # else a signal could leave it
            folder = TemporaryDirectory(dir=parent, prefix=prefix)
            stack.callback(_clean, folder)
        yield Path(folder.name)


def _clean(folder: TemporaryDirectory[str]) -> None:
    with undisturbed():
        folder.cleanup()


def put(draft: Path, target: Path) -> None:
    """Rename a complete *draft*, a file or a folder, to *target*, safe against a power cut.

    A folder of that name is replaced, too, and removed. Raises OSError.
    """
    sync(draft)
    rename(draft, target)


def rename(draft: Path, target: Path) -> None:
    """Rename a draft that is on the disk (:func:`sync`) to *target*. Raises OSError."""
    with undisturbed():  # the older folder is then removed, too
        if draft.is_dir() and target.exists():
            if not _exchanged(draft, target):
                _swap(draft, target)
            _remove(draft)
        else:
            os.replace(draft, target)
    _sync_file(target.parent)


def sync(path: Path) -> None:
    """Wait until a file, or a folder with all that is in it, is on the disk. Raises OSError."""
    if path.is_dir():
        for inner in path.iterdir():
            sync(inner)
    _sync_file(path)


def _sync_file(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that cannot, for folders
            raise
    finally:
        os.close(opened)


_HERE, _EXCHANGE = -100, 2
"""``AT_FDCWD`` and ``RENAME_EXCHANGE`` of Linux."""


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange two names at once; False where the system or the file system cannot."""
    try:
        exchange: Any = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:
        return False
    if exchange(_HERE, bytes(one), _HERE, bytes(other), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS):
        return False
    raise OSError(number, os.strerror(number))


def _swap(one: Path, other: Path) -> None:
    """Exchange two names one after the other, by way of ``.NAME.old``."""
    aside = beside(other, "old")
    _remove(aside)
    other.rename(aside)
    try:
        one.rename(other)
    except BaseException:
        aside.rename(other)
        raise
    aside.rename(one)
