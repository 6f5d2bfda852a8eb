"""Word vectors in the text format of word2vec and fastText: a word and its numbers on each line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from bitextfilter.arrays import Vectors
from bitextfilter.errors import InputError
from bitextfilter.io.files import read_lines

_WINDOW = 4096
"""Lines that are written at once."""


class _WordLine(NamedTuple):
    """A word and its vector ``(d,)``, with the number of its line, from 1."""

    number: int
    word: str
    vector: Vectors


def word_lines(path: str | Path) -> Iterator[_WordLine]:
    """Yield each line of words, repeated words too; the first line may hold the two counts.

    Raises:
        InputError: a line is not a word and finite numbers, at least one, the same number on each.
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
        yield _WordLine(number, word, vector)


def read_word_vectors(path: str | Path, most: int | None = None) -> tuple[list[str], Vectors]:
    """Read distinct words and their vectors; of a repeated word the first.

    Args:
        path: the file.
        most: read at most this number of lines, usually the most frequent words; None for all.

    Returns:
        ``n`` words, and their vectors ``(n, d)``.

    Raises:
        InputError: as :func:`word_lines`, or the file has no words.
    """
    found: dict[str, Vectors] = {}
    for line in islice(word_lines(path), most):
        found.setdefault(line.word, line.vector)
    if not found:
        raise InputError("no word vectors", file=str(path))
    return list(found), np.stack(list(found.values()))


def _numbers(cells: Sequence[str]) -> Vectors:
    """Return the cells as numbers; an empty array if one is not a finite number."""
    try:
        vector = np.array(cells, dtype=np.float32)
    except ValueError:
        return np.zeros(0, dtype=np.float32)
    return vector if np.isfinite(vector).all() else vector[:0]


def write_word_vectors(stream: BinaryIO, words: Sequence[str], vectors: Vectors) -> None:
    """Write the counts of words and of dimensions, and each word with its vector ``(n, d)``.

    Numbers have six significant digits.
    """
    stream.write(f"{len(words)} {vectors.shape[1]}\n".encode())
    form = "%s" + " %.6g" * vectors.shape[1] + "\n"
    for first in range(0, len(words), _WINDOW):
        rows = vectors[first : first + _WINDOW].tolist()
        named = zip(words[first : first + _WINDOW], rows, strict=True)
        stream.write("".join(form % (word, *row) for word, row in named).encode())
