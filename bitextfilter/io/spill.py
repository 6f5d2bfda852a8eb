"""Data larger than memory: temporary files, sorting on disk, a table of keys, sentences."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import cached_property
from itertools import islice, pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from bitextfilter.arrays import Indices, Integers, Keys
from bitextfilter.errors import InputError, OutputError
from bitextfilter.io.files import naming_input, open_output, write_whole
from bitextfilter.io.lines import ReadStream

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_LINES = 1 << 10
"""Lines written at once."""

_READ_BYTES = 1 << 25
"""Buffers of all runs together."""

_LEAST_BUFFER, MOST_BUFFER = 1 << 12, 1 << 18


@contextmanager
def _naming(done: str = "written") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"a temporary file in {tempfile.gettempdir()} cannot be {done}"
        reason = error.strerror or error
        raise OutputError(f"{message}: {reason}; TMPDIR names another folder") from error


class Scratch(AbstractContextManager["Scratch"]):
    """A temporary file, appended to and read anywhere. Raises OutputError if the disk is full."""

    def __init__(self) -> None:
        with _naming():
            self._file = tempfile.TemporaryFile(buffering=MOST_BUFFER)
        self._flushed = True
        self.size = 0

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # a full disk does not matter any more
            self._file.close()

    def write(self, data: ReadableBuffer) -> None:
        """Append *data*."""
        with _naming():
            self._file.write(data)
        self.size += memoryview(data).nbytes
        self._flushed = False

    def read(self, start: int, size: int) -> bytes:
        """Return *size* bytes from *start* on."""
        self._flush()
        with _naming("read"):
            return os.pread(self._file.fileno(), size, start)

    def stream(self) -> IO[bytes]:
        """Return the file, to be read from its start; nothing may be written meanwhile."""
        self._flush()
        self._file.seek(0)
        return self._file

    def load(self, kind: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return the whole file as an array in memory; nothing may be added any more."""
        return np.fromfile(self.stream(), kind)

    def array(self, kind: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return the whole file as an array that stays on the disk."""
        self._flush()
        if not self.size:
            return np.empty(0, kind)
        return np.memmap(self._file, kind, mode="r").view(np.ndarray)

    def zeros(self, kind: npt.DTypeLike, count: int) -> npt.NDArray[Any]:
        """Return a writable array of *count* zeros, kept in this (empty) file."""
        if not count:
            return np.empty(0, kind)
        self.size = count * np.dtype(kind).itemsize
        with _naming():
            if hasattr(os, "posix_fallocate"):  # a full disk would end the process at a later write
                os.posix_fallocate(self._file.fileno(), 0, self.size)
            return np.memmap(self._file, kind, mode="w+", shape=count).view(np.ndarray)

    def _flush(self) -> None:
        if not self._flushed:
            with _naming():
                self._file.flush()
            self._flushed = True


class Records(ExitStack):
    """Byte strings on the disk, read in any order; each takes 8 bytes more."""

    def __init__(self) -> None:
        super().__init__()
        self._data, self._ends = (self.enter_context(Scratch()) for _ in range(2))
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def extend(self, records: Sequence[bytes]) -> None:
        """Append *records*."""
        sizes = np.fromiter(map(len, records), np.int64, len(records))
        ends = self._data.size + np.cumsum(sizes)
        self._data.write(b"".join(records))
        self._ends.write(ends.tobytes())
        self._count += len(records)

    def __getitem__(self, index: int) -> bytes:
        if not 0 <= index < self._count:
            raise IndexError(index)
        first = max(index - 1, 0)
        ends = np.frombuffer(self._ends.read(8 * first, 16 if index else 8), np.int64).tolist()
        start = ends[0] if index else 0
        return self._data.read(start, ends[-1] - start)

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of all records run together; nothing may be added meanwhile."""
        return iter(self._data.stream())


class Spill(ExitStack):
    """Runs of lines on the disk, and other temporary files that are closed with them.

    Runs are read side by side, each forwards, with some 32 MiB of buffers in all.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lines = self.file()
        self._starts: list[int] = []

    def begin_run(self) -> None:
        """Begin a new run: the lines that follow belong to it."""
        self._starts.append(self._lines.size)

    def write(self, lines: Iterable[bytes]) -> None:
        """Append *lines*, each with its newline, to the run. Raises OutputError."""
        rest = iter(lines)
        while part := b"".join(islice(rest, _LINES)):
            self._lines.write(part)

    def readers(self) -> list[Callable[[], bytes]]:
        """Return a function for each run that returns its next line, and ``b""`` at its end."""
        size = min(max(_LEAST_BUFFER, _READ_BYTES // max(1, len(self._starts))), MOST_BUFFER)
        bounds = pairwise([*self._starts, self._lines.size])
        return [io.BufferedReader(_Run(self._lines, *run), size).readline for run in bounds]

    def file(self) -> Scratch:
        """Return a new file. Raises OutputError."""
        return self.enter_context(Scratch())


class _Run(ReadStream):
    """Part of a file as a stream of its own."""

    def __init__(self, file: Scratch, start: int, stop: int) -> None:
        self._file, self._place, self._stop = file, start, stop

    def next_bytes(self, most: int) -> bytes:
        part = self._file.read(self._place, min(most, self._stop - self._place))
        self._place += len(part)
        return part


_Column = npt.NDArray[Any]

_SORT_COPIES = 4
"""Copies of the rows in memory while they are sorted."""

_LEAST_ROWS = 64

_SAMPLES = 4
"""Samples of each run for each part of the merged output."""


class ExternalSort(ExitStack):
    """Collects rows of numbers, then yields them sorted by the first column.

    Rows of equal keys stay in the order of their addition, and in one part. Takes about *memory*
    bytes, more only for a key with too many rows; other rows go to temporary files.
    """

    def __init__(self, kinds: Sequence[npt.DTypeLike], memory: int) -> None:
        """Expect columns of these *kinds*, the key first."""
        super().__init__()
        self._kinds = [np.dtype(kind) for kind in kinds]
        width = sum(kind.itemsize for kind in self._kinds)
        self._most = max(_LEAST_ROWS, memory // (_SORT_COPIES * width))
        self._held: list[tuple[_Column, ...]] = []
        self._held_rows = 0
        self._stops = [0]
        self._files: list[Scratch] = []

    def add(self, *columns: _Column) -> None:
        """Add rows: one array for each column, all of one length."""
        self._held.append(columns)
        self._held_rows += len(columns[0])
        if self._held_rows >= self._most:
            self._write_run()

    def parts(self) -> Iterator[list[_Column]]:
        """Yield the sorted rows in consecutive parts; may be called again."""
        if len(self._stops) == 1:
            if self._held_rows:
                yield self._sorted(self._held)
            return
        if self._held_rows:
            self._write_run()
        # All runs are cut at the same keys; the rows between two cuts fit in memory.
        kinds = zip(self._files, self._kinds, strict=True)
        columns = [file.array(kind) for file, kind in kinds]
        runs = list(pairwise(self._stops))
        starts = self._stops[:-1]
        for cut in [*self._cuts(columns[0], runs), None]:
            ends = self._stops[1:]
            if cut is not None:
                found = (np.searchsorted(columns[0][start:stop], cut) for start, stop in runs)
                ends = [start + int(place) for (start, _), place in zip(runs, found, strict=True)]
            if starts != ends:
                places = list(zip(starts, ends, strict=True))
                yield self._sorted([[column[i:j] for column in columns] for i, j in places])
            starts = ends

    def _write_run(self) -> None:
        if not self._files:
            self._files = [self.enter_context(Scratch()) for _ in self._kinds]
        for file, column in zip(self._files, self._sorted(self._held), strict=True):
            file.write(np.ascontiguousarray(column).data)
        self._stops.append(self._stops[-1] + self._held_rows)
        self._held, self._held_rows = [], 0

    def _sorted(self, parts: Sequence[Sequence[_Column]]) -> list[_Column]:
        columns = [
            np.concatenate(column, dtype=kind)
            for column, kind in zip(zip(*parts, strict=True), self._kinds, strict=True)
        ]
        order = np.argsort(columns[0], kind="stable")
        return [column[order] for column in columns]

    def _cuts(self, keys: _Column, runs: Sequence[tuple[int, int]]) -> _Column:
        """Return the keys of the cuts, ascending, from samples of each run."""
        step = max(1, self._most // (_SAMPLES * len(runs)))
        samples = [keys[start:stop:step] for start, stop in runs]
        every = max(1, self._most // step)
        return np.unique(np.sort(np.concatenate(samples))[every::every])


_SLOT_BYTES = 24
_FULL = 0.7
"""The share of slots that may be taken: open addressing slows down beyond it."""
_FIRST_SLOTS = 1 << 12
_BLOCK = 1 << 16
"""Keys moved at once when the table grows."""


class KeyTable:
    """Keys ``(n, 2)``, evenly distributed, and their line numbers from 1; 0 stands for none.

    Open addressing with linear probing, a whole window of keys at a time. The table doubles as it
    fills, and takes at most *memory* bytes, the copy while it grows included.
    """

    def __init__(self, memory: int) -> None:
        slots = self._largest = max(1, 2 * memory // (3 * _SLOT_BYTES))
        while slots > _FIRST_SLOTS:
            slots = (slots + 1) // 2
        self._make(slots)

    def __len__(self) -> int:
        return self._count

    def has_room(self, count: int) -> bool:
        """Return whether *count* more keys fit, after growing for them if possible."""
        needed = self._count + count
        while needed > _FULL * len(self._lines):
            if len(self._lines) >= self._largest:
                return False
            self._grow()
        return True

    def find(self, keys: Keys) -> Integers:
        """Return the line of each key, 0 where it is not in the table."""
        found = np.zeros(len(keys), np.int64)
        if not self._count:
            return found
        slots, left = self._homes(keys), np.arange(len(keys))
        while len(left):
            lines = self._lines[slots]
            same = (self._keys[slots] == keys[left]).all(axis=1) & (lines > 0)
            found[left[same]] = lines[same]
            on = ~same & (lines > 0)
            left, slots = left[on], (slots[on] + 1) % len(self._lines)
        return found

    def add(self, keys: Keys, lines: Integers) -> None:
        """Add *keys*, all different and none in the table, for which there must be room."""
        self._count += len(keys)
        slots, left = self._homes(keys), np.arange(len(keys))
        while len(left):
            free = self._lines[slots] == 0
            self._lines[slots[free]] = lines[left[free]]
            won = free & (self._lines[slots] == lines[left])
            # Two keys of one line may have run into one slot: only one of them can be there.
            _, first = np.unique(slots[won], return_index=True)
            places = np.flatnonzero(won)[first]
            self._keys[slots[places]] = keys[left[places]]
            left, slots = np.delete(left, places), np.delete(slots, places)
            slots = (slots + 1) % len(self._lines)

    def _homes(self, keys: Keys) -> Indices:
        homes: Indices = (keys[:, 0] % np.uint64(len(self._lines))).astype(np.int64)
        return homes

    def _make(self, slots: int) -> None:
        self._count = 0
        self._keys: Keys = np.zeros((slots, 2), np.uint64)
        self._lines: Integers = np.zeros(slots, np.int64)

    def _grow(self) -> None:
        taken = np.flatnonzero(self._lines)
        keys, lines = self._keys[taken], self._lines[taken]
        slots = min(2 * len(self._lines), self._largest)
        del taken, self._keys, self._lines
        self._make(slots)
        for start in range(0, len(keys), _BLOCK):
            self.add(keys[start : start + _BLOCK], lines[start : start + _BLOCK])


_STARTS, _COPIES = ".starts", ".copies"
_DIGEST_BYTES = 16
_UNBOUNDED = 1 << 50
_WINDOW = 4096
_NO_BYTES = np.zeros(0, np.uint8)


class SentenceFile(Sequence[str]):
    """Distinct sentences, one a line, in a file that :func:`write_distinct` wrote.

    Memory: 8 bytes a sentence.
    """

    def __init__(self, path: Path) -> None:
        """Open the file. Raises NotFoundError if it is missing, InputError if it is damaged."""
        self.path = path
        self._starts = _read(path, _STARTS)
        with naming_input(path):
            some = path.stat().st_size > 0
            self._bytes = np.asarray(np.memmap(path, np.uint8, "r")) if some else _NO_BYTES
        ends = self._starts[:1].tolist(), self._starts[-1:].tolist()
        if ends != ([0], [len(self._bytes)]) or (np.diff(self._starts) <= 0).any():
            raise InputError("its sentences are damaged", file=str(path))

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __iter__(self) -> Iterator[str]:
        for first in range(0, len(self), _WINDOW):
            yield from self[first : first + _WINDOW]

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> list[str]: ...

    def __getitem__(self, place: int | slice) -> str | list[str]:
        """Return the sentence at a place from 0, or those of a slice in the order of the file."""
        if isinstance(place, slice):
            first, last, step = place.indices(len(self))
            return self._lines(first, max(first, last))[::step]
        if not 0 <= place < len(self):
            raise IndexError(place)
        return self._lines(place, place + 1)[0]

    @cached_property
    def characters(self) -> Integers:
        """Their lengths in characters, ``(n,)``; reads all of them."""
        return np.fromiter(map(len, self), np.int64, len(self))

    def copies(self) -> Integers:
        """Return the number of occurrences of each in the gathered text, ``(n,)``."""
        found = _read(self.path, _COPIES)
        if len(found) != len(self):
            raise InputError("its copies are damaged", file=str(self.path))
        return found

    def digest(self) -> str:
        """Return 32 hexadecimal digits over all sentences in order, and their copies."""
        whole = hashlib.blake2b(self._bytes.data, digest_size=_DIGEST_BYTES)
        whole.update(self.copies().data)
        return whole.hexdigest()

    def _lines(self, first: int, last: int) -> list[str]:
        start, stop = self._starts[first], self._starts[last]
        return self._bytes[start:stop].tobytes().decode().split("\n")[:-1]


def write_distinct(
    path: Path, windows: Iterable[Sequence[str]], firsts: list[Indices] | None = None
) -> SentenceFile:
    """Write the distinct sentences of all windows, in order of appearance, to the file *path*.

    Writes ``.starts`` and ``.copies`` beside it. To *firsts*, the numbers of the sentences that
    are the first of their kind are appended, counted from 0 over all windows. Sentences are
    compared by digests of 128 bits. Memory: some 50 to 100 bytes a distinct sentence. Raises
    OutputError.
    """
    table, count, read = KeyTable(_UNBOUNDED), 0, 0
    sizes, copies = [np.zeros(1, np.int64)], np.zeros(1, np.int64)
    with open_output(path) as stream:
        for window in windows:
            known = {sentence: number for number, sentence in enumerate(dict.fromkeys(window))}
            lines = [sentence.encode() + b"\n" for sentence in known]
            digests = [hashlib.blake2b(line, digest_size=_DIGEST_BYTES).digest() for line in lines]
            keys = np.frombuffer(b"".join(digests), np.uint64).reshape(-1, 2)
            table.has_room(len(keys))
            places = table.find(keys) - 1
            new = np.flatnonzero(places < 0)
            places[new] = count + np.arange(len(new))
            table.add(keys[new], places[new] + 1)
            added = [lines[number] for number in new.tolist()]
            stream.write(b"".join(added))
            sizes.append(np.fromiter(map(len, added), np.int64, len(added)))
            count += len(added)
            if count > len(copies):
                copies = np.pad(copies, (0, count))
            occurrences = np.array([known[s] for s in window], np.int64)
            copies[places] += np.bincount(occurrences, minlength=len(known))
            if firsts is not None:
                firsts.append(read + np.unique(occurrences, return_index=True)[1][new])
            read += len(window)
    write_whole(_beside(path, _STARTS), np.cumsum(np.concatenate(sizes)).tobytes())
    write_whole(_beside(path, _COPIES), copies[:count].tobytes())
    return SentenceFile(path)


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _read(path: Path, ending: str) -> Integers:
    with naming_input(path):
        return np.fromfile(_beside(path, ending), np.int64)
