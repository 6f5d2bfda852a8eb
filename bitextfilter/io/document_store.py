"""Distinct documents on disk: their sentences are written once, then read some documents at a time.

Memory: some 200 bytes a document, and its names.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType

import numpy as np

from bitextfilter.arrays import Integers
from bitextfilter.io.files import naming_input, naming_output

_DIGEST_BYTES = 16


class DocumentStore(AbstractContextManager["DocumentStore"]):
    """Documents by their numbers from 0; documents of equal sentences are one, with several names.

    Documents are added within a ``with`` block, and read after it.
    """

    def __init__(self, path: Path) -> None:
        """Begin a new file. Raises OutputError."""
        self.path = path
        self.names: list[list[str]] = []
        """The names of each document, in the order in which they were added."""
        self._places: dict[bytes, int] = {}
        self._starts, self._counts = array("q", [0]), array("q")
        self._whole = hashlib.blake2b(digest_size=_DIGEST_BYTES)
        with naming_output(path):
            self._file = open(path, "wb")

    def __len__(self) -> int:
        return len(self.names)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with naming_output(self.path):
            self._file.close()

    def add(self, name: str, sentences: Sequence[str]) -> bool:
        """Add a document of at least one sentence; False if an earlier one has the same sentences.

        No sentence has a line end in it. Raises OutputError.
        """
        text = "".join(f"{sentence}\n" for sentence in sentences).encode()
        digest = hashlib.blake2b(text, digest_size=_DIGEST_BYTES).digest()
        self._whole.update(digest + f"{name}\n".encode("utf-8", "surrogateescape"))
        place = self._places.setdefault(digest, len(self.names))
        if place < len(self.names):
            self.names[place].append(name)
            return False
        with naming_output(self.path):
            self._file.write(text)
        self.names.append([name])
        self._starts.append(self._starts[-1] + len(text))
        self._counts.append(len(sentences))
        return True

    @property
    def counts(self) -> Integers:
        """The number of sentences of each document, ``(n,)``."""
        return np.array(self._counts, dtype=np.int64)

    def digest(self) -> str:
        """Return 32 hexadecimal digits over all names and sentences in order."""
        return self._whole.hexdigest()

    def windows(self, sentences: int, first: int = 0) -> Iterator[range]:
        """Yield the numbers of documents from *first* on, in parts of about as many sentences."""
        start, size = first, 0
        for number in range(first, len(self)):
            size += self._counts[number]
            if size >= sentences:
                yield range(start, number + 1)
                start, size = number + 1, 0
        if start < len(self):
            yield range(start, len(self))

    def read(self, numbers: range) -> list[list[str]]:
        """Return the sentences of each of some documents in a row. Raises NotFoundError."""
        if not numbers:
            return []
        with naming_input(self.path), open(self.path, "rb") as file:
            file.seek(self._starts[numbers[0]])
            text = file.read(self._starts[numbers[-1] + 1] - self._starts[numbers[0]])
        lines, found, first = text.decode().split("\n"), [], 0
        for number in numbers:
            found.append(lines[first : first + self._counts[number]])
            first += self._counts[number]
        return found
