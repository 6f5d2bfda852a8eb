"""Numbers kept by key in a folder, for later runs: an SQLite table that many add to at once.

Each number carries a checksum over its key and itself: a damaged one is as good as none.
"""

from __future__ import annotations

import os
import sqlite3
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Mask, Scores
from bitextfilter.errors import BitextError, InputError, OutputError

KEY_BYTES = 16
"""The width of a key, which must be a digest: evenly distributed."""

CACHE_FILE = "scores.sqlite"
_FORMAT = 1
"""The table's ``user_version``."""

PENDING = 1 << 16
SECONDS = 5.0
"""New entries wait in memory: up to this many, or this long."""

ASKED = 1024
"""Keys in one query."""

_PATIENCE = 600.0
"""Seconds that a writer waits for the others."""

TABLE = "create table if not exists scores (key blob primary key, entry integer) without rowid"
QUERY = "select key, entry from scores where typeof(entry) = 'integer' and key in ({})"


class Cache:
    """The numbers of a folder, which is made when there is something to keep.

    Processes of one machine may share it: one at a time adds, none waits to read, and each finds
    the entries of the others. A killed process has kept all but its last five seconds. Used as a
    context, it keeps all that waits at the end.
    """

    def __init__(self, folder: str | Path) -> None:
        """Open the cache; raises InputError where *folder* is something else, or damaged."""
        self._folder = Path(folder)
        self._file = self._folder / CACHE_FILE
        self._base: sqlite3.Connection | None = None
        self._opened: os.stat_result | None = None
        self._pending: dict[bytes, float] = {}
        self._kept = time.monotonic()
        try:
            with self._naming():
                self._open()
        except BitextError:
            self.close()
            raise

    def __enter__(self) -> Cache:
        """Return the cache itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Keep all that waits, and close; an error that is on its way is not hidden by another."""
        try:
            self.keep()
        except BitextError:
            if error is None:
                raise
        finally:
            self.close()

    def close(self) -> None:
        """Close the table; entries that wait are not kept."""
        if self._base is not None:
            with suppress(sqlite3.Error):
                self._base.close()
        self._base = None

    def get(self, keys: Sequence[bytes]) -> tuple[Scores, Mask]:
        """Look up ``n`` keys → their numbers ``(n,)``, and whether each is there, ``(n,)``.

        Raises InputError where the table is damaged.
        """
        with self._naming():
            known = self._stored(keys) | self._pending
        numbers = [known.get(key) for key in keys]
        values = np.array([0.0 if number is None else number for number in numbers], np.float32)
        return values, np.array([number is not None for number in numbers], np.bool_)

    def put(self, keys: Sequence[bytes], values: Scores) -> None:
        """Add ``n`` keys and their numbers ``(n,)``. Raises OutputError."""
        self._pending.update(zip(keys, values.tolist(), strict=True))
        if len(self._pending) >= PENDING or time.monotonic() - self._kept >= SECONDS:
            self.keep()

    def keep(self) -> None:
        """Write all that waits. Raises OutputError, and InputError where the table is damaged."""
        self._kept = time.monotonic()
        if not self._pending:
            return
        keys = sorted(self._pending)
        bits = np.array([self._pending[key] for key in keys], dtype=np.float32).view(np.uint32)
        with self._naming():
            self._folder.mkdir(parents=True, exist_ok=True)
            if not self._is_current():
                self.close()
            base = self._base or self._open() or self._connected()
            with base:
                base.execute("begin immediate")
                rows = zip(keys, _sealed(keys, bits).tolist(), strict=True)
                base.executemany("insert or replace into scores values (?, ?)", rows)
        self._pending.clear()

    def _open(self) -> sqlite3.Connection | None:
        """Return the table if there is one. Raises InputError where there is something else."""
        if self._file.exists():
            return self._connected()
        if self._folder.exists() and not _is_empty(self._folder):
            raise self._refusal()
        return None

    def _connected(self) -> sqlite3.Connection:
        """Return the table, made if need be."""
        base = sqlite3.connect(self._file, timeout=_PATIENCE, isolation_level=None)
        self._base, self._opened = base, self._file.stat()
        base.execute("pragma synchronous = normal")
        base.execute("pragma cell_size_check = on")
        base.execute("pragma cache_size = -16384")
        if base.execute("pragma user_version").fetchone() == (0,):  # an empty file, so far
            with base:
                base.execute("begin immediate")
                base.execute(TABLE)
                base.execute(f"pragma user_version = {_FORMAT}")
        if base.execute("pragma user_version").fetchone() != (_FORMAT,):
            raise self._refusal()
        return base

    def _is_current(self) -> bool:
        """Whether the open table is still the file of its name, which others may have deleted."""
        try:
            return self._opened is not None and os.path.samestat(self._file.stat(), self._opened)
        except FileNotFoundError:
            return False

    def _refusal(self) -> InputError:
        message = "not a cache of this version of bitextfilter"
        return InputError(
            message, file=str(self._folder), remedy="name a new folder, or an empty one"
        )

    def _stored(self, keys: Sequence[bytes]) -> dict[bytes, float]:
        """Return the sound entries of these keys in the table."""
        base = self._base or self._open()
        if base is None:
            return {}
        rows: list[tuple[bytes, int]] = []
        wanted = sorted(keys)
        for start in range(0, len(wanted), ASKED):
            some = wanted[start : start + ASKED]
            rows += base.execute(QUERY.format(",".join("?" * len(some))), some)
        entries = np.array([entry for _, entry in rows], dtype=np.int64)
        bits = (entries & 0xFFFFFFFF).astype(np.uint32)
        found = [key for key, _ in rows]
        intact = (_sealed(found, bits) == entries).tolist()
        values = bits.view(np.float32).tolist()
        return {
            key: value for key, value, sound in zip(found, values, intact, strict=True) if sound
        }

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Raise the errors of the disk and of SQLite as ours, with the file."""
        try:
            yield
        except OSError as error:
            reason = error.strerror or error
            raise OutputError(f"{self._folder}: cannot be written: {reason}") from error
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and "no such" not in str(error):
                raise OutputError(f"{self._file}: cannot be used: {error}") from error
            remedy = "delete it, and its scores are computed again"
            raise InputError("damaged cache", file=str(self._file), remedy=remedy) from error


def _sealed(keys: Sequence[bytes], bits: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Return entries: the *bits* of float32 numbers, below a CRC-32 over these and the key."""
    checks = np.fromiter(map(zlib.crc32, keys, bits.tolist()), dtype=np.uint64, count=len(keys))
    entries: NDArray[np.uint64] = checks << np.uint64(32) | bits
    return entries.view(np.int64)


def _is_empty(folder: Path) -> bool:
    """Whether there is nothing in a folder but drafts of the killed; a file is no folder."""
    return folder.is_dir() and all(path.suffix == ".partial" for path in folder.iterdir())
