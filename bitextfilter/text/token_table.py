"""Tokens between white space, numbered in order of appearance.

Compiled (``tokens.c``) where it was built: see :mod:`bitextfilter.io.compiled`. Python numbers
the same, several times as slowly, and with the interpreter's lock.
"""

from __future__ import annotations

import ctypes
import os
import sys
import weakref
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bitextfilter.arrays import Integers
from bitextfilter.io.compiled import INTEGER, CompiledLibrary, array_of
from bitextfilter.text.ragged import Ragged

_TABLE, _SECRET, _I64 = ctypes.c_void_p, ctypes.c_uint64, array_of(np.int64)
LIBRARY = CompiledLibrary(
    __file__,
    "tokens",
    layout=1,
    tokens_make=(_TABLE, _SECRET, _SECRET),
    tokens_free=(None, _TABLE),
    tokens_read=(INTEGER, _TABLE, array_of(np.uint32), _I64, INTEGER, *[_I64] * 5),
)
_CODES = f"utf-32-{'le' if sys.byteorder == 'little' else 'be'}"
"""The encoding of an array of code points in memory."""


class WordNumbers(dict[str, int]):
    """Numbers of distinct words, given in order of appearance."""

    def __init__(self, first: str | None = None) -> None:
        """Begin with the word number 0, if one is given."""
        self.words: list[str] = []
        """The words by number."""
        if first is not None:
            self[first]  # numbered by __missing__

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self.words)
        self.words.append(word)
        return number


class TokenWindow(NamedTuple):
    """The tokens of some sentences."""

    rows: Ragged
    """The tokens of each sentence, as places in ``numbers``."""
    numbers: Integers
    """Of the distinct tokens, in order of appearance; the first is the empty one, number 0, which
    is in no sentence."""
    new: list[str]
    """Tokens that no window before had, in the order of their numbers."""


class TokenTable:
    """Numbers distinct tokens in order of appearance; the empty one is number 0.

    Tokens stand between white space, as that of ``str.split``, or control characters 0.
    """

    def __init__(self) -> None:
        self._table = _Compiled() if LIBRARY.open() else _Table()

    def read(self, sentences: Sequence[str]) -> TokenWindow:
        """Number the tokens of some sentences; all that are new stay known."""
        return self._table.read(sentences)


class _Table:
    """A table in Python."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def read(self, sentences: Sequence[str]) -> TokenWindow:
        rows, tokens = _numbered(sentences)
        known = self._numbers
        new = [token for token in tokens if token not in known]
        known.update(zip(new, range(len(known), len(known) + len(new)), strict=True))
        numbers = np.fromiter(map(known.__getitem__, tokens), np.int64, len(tokens))
        return TokenWindow(rows, numbers, new)


_BETWEEN = "\0"
"""A word put between sentences; within one, this control character counts as white space."""


def _numbered(sentences: Sequence[str]) -> tuple[Ragged, list[str]]:
    """Return the tokens of each sentence, as places of distinct tokens, and the distinct tokens."""
    # One text for all sentences is split much faster than one after the other.
    text = f" {_BETWEEN} ".join(sentences)
    if text.count(_BETWEEN) >= max(len(sentences), 1):  # a sentence holds it, too
        text = f" {_BETWEEN} ".join(sentence.replace(_BETWEEN, " ") for sentence in sentences)
    words = text.split()
    number = WordNumbers(_BETWEEN)
    places = np.fromiter(map(number.__getitem__, words), dtype=np.int64, count=len(words))
    bounds = np.concatenate([[-1], np.flatnonzero(places == 0), [len(places)]])
    lengths = np.diff(bounds)[: len(sentences)] - 1
    return Ragged(places[places > 0], lengths), ["", *number.words[1:]]


class _Compiled:
    """A table in the memory of the library."""

    def __init__(self) -> None:
        library = LIBRARY.needed()
        keys = np.frombuffer(os.urandom(16), np.uint64).tolist()
        self._table = library.tokens_make(*keys)
        if not self._table:
            raise MemoryError
        self._read = library.tokens_read
        # Not at exit: a daemon thread may still read.
        weakref.finalize(self, library.tokens_free, self._table).atexit = False

    def read(self, sentences: Sequence[str]) -> TokenWindow:
        text = "".join(sentences)
        codes = np.frombuffer(text.encode(_CODES, "surrogatepass"), np.uint32)
        sizes = np.fromiter(map(len, sentences), np.int64, len(sentences))
        room = (len(text) + len(sentences)) // 2 + 2  # white space, or a sentence's end, follows
        flat, distinct, spans = (np.empty(n, np.int64) for n in (room, room, 2 * room))
        lengths, counts = np.empty(len(sentences), np.int64), np.empty(3, np.int64)
        rest = len(sentences), flat, lengths, distinct, spans, counts
        if self._read(self._table, codes, sizes, *rest):
            raise MemoryError
        tokens, places, new = counts.tolist()
        bounds = spans[: 2 * new].tolist()
        words = [text[a:b] for a, b in zip(bounds[::2], bounds[1::2], strict=True)]
        return TokenWindow(Ragged(flat[:tokens].copy(), lengths), distinct[:places].copy(), words)
