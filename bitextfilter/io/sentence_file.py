"""Distinct sentences on disk: gathered once, then read by their indices."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, overload

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Integers
from bitextfilter.errors import InputError
from bitextfilter.io.files import naming_input, open_output, write_whole
from bitextfilter.io.spill import KeyTable

_STARTS, _COPIES = ".starts", ".copies"
_DIGEST_BYTES = 16
_DIGEST_BLOCK = 1 << 24
_UNBOUNDED = 1 << 50
_WINDOW = 4096


class SentenceFile(Sequence[str]):
    """Distinct sentences, one a line, in a file that :func:`gather` wrote.

    Memory: 8 bytes a sentence.
    """

    def __init__(self, path: Path) -> None:
        """Open the file. Raises NotFoundError if it is missing, InputError if it is damaged."""
        self.path = path
        self._starts = _read(path, _STARTS)
        self._bytes = _mapped(path)
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
        whole = hashlib.blake2b(digest_size=_DIGEST_BYTES)
        for first in range(0, len(self._bytes), _DIGEST_BLOCK):
            whole.update(self._bytes[first : first + _DIGEST_BLOCK].data)
        whole.update(self.copies().tobytes())
        return whole.hexdigest()

    def _lines(self, first: int, last: int) -> list[str]:
        start, stop = self._starts[first], self._starts[last]
        return self._bytes[start:stop].tobytes().decode().split("\n")[:-1]


def gather(path: Path, windows: Iterable[Sequence[str]]) -> SentenceFile:
    """Write the distinct sentences of all windows, in order of appearance, to the file *path*.

    Writes ``.starts`` and ``.copies`` beside it. Sentences are compared by digests of 128 bits.
    Memory: some 50 to 100 bytes a distinct sentence. Raises OutputError.
    """
    with open_output(path) as stream:
        writer = _Writer(stream)
        for window in windows:
            writer.add(window)
    write_whole(_beside(path, _STARTS), np.concatenate(writer.starts).tobytes())
    write_whole(_beside(path, _COPIES), writer.copies[: writer.count].tobytes())
    return SentenceFile(path)


class _Writer:
    """Writes each sentence once, and counts its copies."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._table = KeyTable(_UNBOUNDED)
        self.starts = [np.zeros(1, np.int64)]
        self.copies = np.zeros(1, np.int64)
        self.count = 0

    def add(self, sentences: Sequence[str]) -> None:
        """Add sentences without newlines."""
        known = {sentence: place for place, sentence in enumerate(dict.fromkeys(sentences))}
        lines = [sentence.encode() + b"\n" for sentence in known]
        keys = np.frombuffer(b"".join(map(_key, lines)), np.uint64).reshape(-1, 2)
        self._table.has_room(len(keys))
        places = self._table.find(keys) - 1
        new = np.flatnonzero(places < 0)
        places[new] = self.count + np.arange(len(new))
        self._table.add(keys[new], places[new] + 1)
        self._write([lines[place] for place in new.tolist()])
        counts = np.bincount([known[sentence] for sentence in sentences], minlength=len(known))
        self.copies[places] += counts

    def _write(self, lines: list[bytes]) -> None:
        if not lines:
            return
        self._stream.write(b"".join(lines))
        ends = np.cumsum([len(line) for line in lines])
        self.starts.append(self.starts[-1][-1] + ends)
        self.count += len(lines)
        if self.count > len(self.copies):
            self.copies = np.pad(self.copies, (0, self.count))


def _key(line: bytes) -> bytes:
    return hashlib.blake2b(line, digest_size=_DIGEST_BYTES).digest()


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _read(path: Path, ending: str) -> Integers:
    with naming_input(path):
        return np.fromfile(_beside(path, ending), np.int64)


def _mapped(path: Path) -> NDArray[np.uint8]:
    """Return the bytes of a file as an array that stays on the disk."""
    with naming_input(path):
        if path.stat().st_size == 0:
            return np.zeros(0, np.uint8)
        return np.asarray(np.memmap(path, np.uint8, "r"))
