"""Numbers kept by key in a folder, for later runs: added to by many, damaged by none.

The folder holds *parts*: files of records sorted by key, written whole or not at all and never
changed. A key is looked up in each of them by binary search where they lie, so memory does not
grow with the cache. Once eight parts are of like size they are merged, so there are few (some
twenty for 100 million entries), and an entry is written about once for each eightfold growth.
An entry carries a checksum over its key and its number: a damaged one is as good as none. It may
hide others from the search, which are then put there again; never is another number returned.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from bitextfilter.errors import BitextError, InputError, OutputError
from bitextfilter.io.cache_parts import (
    Found,
    Records,
    look_up,
    merged,
    open_part,
    records_of,
    write_part,
)
from bitextfilter.io.files import write_whole
from bitextfilter.io.locks import locked

__all__ = ["KEY_BYTES", "Cache"]

KEY_BYTES = 16
"""The width of a key, which must be a digest: evenly distributed."""

FORMAT = b"bitextfilter cache, format 1\n"
"""What the file ``MARK`` of a cache says."""

MARK = "format"
FAN = 8
"""So many parts of like size are merged."""

PENDING = 1 << 16
SECONDS = 5.0
"""What is added waits in memory up to so many entries, or so long."""

Numbers = NDArray[np.float32]


class Cache:
    """The numbers of a folder, which is made when there is something to keep.

    Processes of one machine may share it: one at a time adds, none waits to read, and each finds
    what the others have added. What a killed one had added is there but for the last five
    seconds. As a context, it keeps at the end what still waits.
    """

    def __init__(self, folder: str | Path) -> None:
        """Open the cache; raises InputError where *folder* is something else."""
        self._folder = Path(folder)
        self._parts: dict[str, Records] = {}
        self._pending: dict[bytes, float] = {}
        self._kept = time.monotonic()
        self._check()

    def __enter__(self) -> Cache:
        """Return the cache itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Keep what waits; where another error is on its way, that it cannot is no matter."""
        if error is None:
            self.keep()
        else:
            with suppress(BitextError):
                self.keep()

    def get(self, keys: Sequence[bytes]) -> tuple[Numbers, Found]:
        """Look up ``n`` keys → their numbers ``(n,)``, and whether each is there, ``(n,)``.

        Raises InputError where a file of the cache is none of its parts.
        """
        wanted = records_of(keys)
        found = look_up(wanted, self._open_parts())
        values = wanted["value"].copy()
        for place in np.flatnonzero(~found).tolist():
            if (value := self._pending.get(keys[place])) is not None:
                values[place], found[place] = value, True
        return values, found

    def put(self, keys: Sequence[bytes], values: Numbers) -> None:
        """Add ``n`` keys and their numbers ``(n,)``. Raises OutputError."""
        self._pending.update(zip(keys, values.tolist(), strict=True))
        if len(self._pending) >= PENDING or time.monotonic() - self._kept >= SECONDS:
            self.keep()

    def keep(self) -> None:
        """Write what waits. Raises OutputError."""
        self._kept = time.monotonic()
        if not self._pending:
            return
        values = np.array(list(self._pending.values()), dtype=np.float32)
        records = records_of(list(self._pending), values)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = error.strerror or error
            raise OutputError(f"{self._folder}: cannot be written: {reason}") from error
        with locked(self._folder / "parts"):
            self._check()
            self._clear()
            write_part(self._new(), [records])
            self._merge()
        self._pending.clear()

    def _check(self) -> None:
        """Raise InputError where the folder is neither a cache of this format, nor empty."""
        mark = b""
        with suppress(OSError):  # whatever stands there and cannot be read is no cache
            if not self._folder.exists() or _is_empty(self._folder):
                return
            mark = (self._folder / MARK).read_bytes()
        if mark != FORMAT:
            other = mark.startswith(FORMAT[:-2])
            what = "a cache of another version of bitextfilter" if other else "not a cache"
            remedy = "name a new folder, or an empty one"
            raise InputError(what, file=str(self._folder), remedy=remedy)

    def _clear(self) -> None:
        """Remove what killed processes left half written: who has the lock is the only writer.

        The mark comes before any part: where there is something and no mark, that is no cache.
        """
        for path in self._folder.glob(".*.part.*.partial"):
            path.unlink(missing_ok=True)
        if not (self._folder / MARK).exists():
            write_whole(self._folder / MARK, FORMAT)

    def _new(self) -> Path:
        """Return a name that no part has."""
        return self._folder / f"{os.urandom(8).hex()}.part"

    def _open_parts(self) -> list[Records]:
        """Return the parts that there are now, the largest first."""
        if self._folder.is_dir():
            names = {path.name for path in self._folder.glob("*.part")}
            self._parts = {name: part for name, part in self._parts.items() if name in names}
            for name in names - set(self._parts):
                with suppress(FileNotFoundError):  # it has been merged into another meanwhile
                    self._parts[name] = open_part(self._folder / name)
        return sorted((part for part in self._parts.values() if len(part)), key=len)[::-1]

    def _merge(self) -> None:
        """Merge parts of like size as long as there are enough of them."""
        while True:
            self._open_parts()
            levels: dict[int, list[str]] = {}
            for name, part in self._parts.items():
                levels.setdefault(len(part).bit_length() // 3, []).append(name)
            names = next((names for names in levels.values() if len(names) >= FAN), None)
            if names is None:
                return
            write_part(self._new(), merged([self._parts[name] for name in names]))
            for name in names:
                (self._folder / name).unlink(missing_ok=True)


def _is_empty(folder: Path) -> bool:
    """Whether there is nothing in a folder but locks and drafts."""
    return not any(path.suffix not in {".lock", ".partial"} for path in folder.iterdir())
