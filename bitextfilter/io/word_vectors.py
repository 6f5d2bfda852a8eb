"""Word vectors in the text format of word2vec and fastText: a word and its numbers on each line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.errors import InputError
from bitextfilter.io.files import read_lines

_WINDOW = 4096
"""Lines that are written at once."""


class WordLine(NamedTuple):
    """A word and its vector ``(d,)``, with the number of its line, from 1."""

    number: int
    word: str
    vector: NDArray[np.float32]


def word_lines(path: str | Path) -> Iterator[WordLine]:
    """Yield each line of words, repeated words too; the first line of all may hold the two counts.

    Raises:
        InputError: a line is no word and as many finite numbers, at least one, as those before.
    """
    width = 0
    for number, line in enumerate(read_lines(path), 1):
        word, *cells = line.rstrip(" ").split(" ")
        if number == 1 and len(cells) == 1:
            continue
        vector = _numbers(cells)
        width = width or len(vector)
        if len(vector) != width or not width:
            problem = f"expected a word and {width or 'some'} numbers"
            raise InputError(problem, file=str(path), line=number, remedy="remove the line")
        yield WordLine(number, word, vector)


def read_word_vectors(
    path: str | Path, most: int | None = None
) -> tuple[list[str], NDArray[np.float32]]:
    """Read distinct words and their vectors; of a repeated word the first.

    Files have the most frequent words first, by custom.

    Args:
        path: the file.
        most: read so many lines of words at most; None for all of them.

    Returns:
        ``n`` words, and their vectors ``(n, d)``.

    Raises:
        InputError: as :func:`word_lines`, or there is no word.
    """
    found: dict[str, NDArray[np.float32]] = {}
    for line in islice(word_lines(path), most):
        found.setdefault(line.word, line.vector)
    if not found:
        raise InputError("no word vectors", file=str(path))
    return list(found), np.stack(list(found.values()))


def _numbers(cells: Sequence[str]) -> NDArray[np.float32]:
    """The cells as numbers; none where one of them is no finite number."""
    try:
        vector = np.array(cells, dtype=np.float32)
    except ValueError:
        return np.zeros(0, dtype=np.float32)
    return vector if np.isfinite(vector).all() else vector[:0]


def write_word_vectors(
    stream: BinaryIO, words: Sequence[str], vectors: NDArray[np.float32]
) -> None:
    """Write the counts of words and of dimensions, and each word with its vector ``(n, d)``.

    Numbers have six significant digits.
    """
    stream.write(f"{len(words)} {vectors.shape[1]}\n".encode())
    form = "%s" + " %.6g" * vectors.shape[1] + "\n"
    for first in range(0, len(words), _WINDOW):
        rows = vectors[first : first + _WINDOW].tolist()
        named = zip(words[first : first + _WINDOW], rows, strict=True)
        stream.write("".join(form % (word, *row) for word, row in named).encode())
