"""Distinct sentences on disk: gathered once, then read by their indices."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import overload

import numpy as np

from bitextfilter.arrays import Indices, Integers
from bitextfilter.errors import InputError
from bitextfilter.io.files import naming_input, open_output, write_whole
from bitextfilter.io.spill import KeyTable

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
