"""Rows of different length in one flat array, and tokens between white space as such rows.

Tokens are numbered in order of appearance; compiled (``tokens.c``) where it was built: see
:mod:`bitextfilter.io.compiled`. Python numbers the same, several times as slowly, and with the
interpreter's lock.
"""

from __future__ import annotations

import ctypes
import os
import sys
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bitextfilter.arrays import Integers, Mask
from bitextfilter.io.compiled import INTEGER, CompiledLibrary, array_of


@dataclass(frozen=True)
class Ragged:
    """Rows of numbers, one behind the other: ``flat (sum of lengths,)``, ``lengths (n,)``."""

    flat: npt.NDArray[Any]
    lengths: Integers

    @classmethod
    def of(cls, rows: Iterable[npt.NDArray[np.int32]]) -> Ragged:
        """Concatenate int32 rows."""
        listed = list(rows)
        flat = np.concatenate(listed) if listed else np.zeros(0, dtype=np.int32)
        return cls(flat, np.fromiter(map(len, listed), dtype=np.int64, count=len(listed)))

    @classmethod
    def of_lists(cls, rows: Sequence[Sequence[int]]) -> Ragged:
        """Concatenate rows as int32."""
        lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
        return cls(np.fromiter(chain.from_iterable(rows), np.int32, int(lengths.sum())), lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        for start, length in zip(self.starts, self.lengths, strict=True):
            yield self.flat[start : start + length]

    @cached_property
    def starts(self) -> Integers:
        """Offsets of the rows, ``(n,)``."""
        return np.cumsum(self.lengths) - self.lengths

    def take(self, rows: npt.NDArray[np.integer]) -> Ragged:
        """Return rows by index, in that order."""
        return Ragged(self.flat[self.places(rows)], self.lengths[rows])

    def places(self, rows: npt.NDArray[np.integer]) -> Integers:
        """Return the offsets in ``flat`` of the numbers of these rows, one row behind the other."""
        lengths = self.lengths[rows]
        ends = np.cumsum(lengths)
        inside = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)
        places: Integers = np.repeat(self.starts[rows], lengths) + inside
        return places

    def followed_by(self, other: Ragged) -> Ragged:
        """Append the rows of *other*."""
        return Ragged(
            np.concatenate([self.flat, other.flat]), np.concatenate([self.lengths, other.lengths])
        )

    def merged(self, groups: Integers) -> Ragged:
        """Join runs of rows: the first ``groups[0]`` rows become one, and so on."""
        return Ragged(self.flat, _sums(self.lengths, groups))

    def only(self, kept: Mask) -> Ragged:
        """Drop the numbers that are not *kept*, ``(sum of lengths,)``."""
        return Ragged(self.flat[kept], _sums(kept, self.lengths))

    def holding(self, number: int) -> Mask:
        """Return which rows hold *number*, ``(n,)``."""
        return _sums(self.flat == number, self.lengths) > 0

    def first(self, most: int) -> Ragged:
        """Cut each row after its first *most* numbers."""
        if not (self.lengths > most).any():
            return self
        inside = np.arange(len(self.flat)) - np.repeat(self.starts, self.lengths)
        return Ragged(self.flat[inside < most], np.minimum(self.lengths, most))

    def filled(self, number: int) -> Ragged:
        """Put *number* into empty rows."""
        if self.lengths.all():
            return self
        lengths = np.maximum(self.lengths, 1)
        flat = np.full(int(lengths.sum()), number, dtype=self.flat.dtype)
        flat[np.repeat(self.lengths > 0, lengths)] = self.flat
        return Ragged(flat, lengths)

    def padded(self, rows: npt.NDArray[np.integer]) -> tuple[Integers, Integers]:
        """Return these rows, ``(n, t)`` filled up with 0, and their lengths, ``(n,)``."""
        lengths = self.lengths[rows]
        inside = np.arange(int(lengths.max(initial=0))) < lengths[:, None]
        out = np.zeros(inside.shape, dtype=np.int64)
        out[inside] = self.take(rows).flat
        return out, lengths


def _sums(numbers: npt.NDArray[Any], lengths: Integers) -> Integers:
    """Return the sum of the first ``lengths[0]`` numbers, of the next ``lengths[1]``, and so on."""
    before, ends = (np.concatenate([[0], np.cumsum(each)]) for each in (numbers, lengths))
    sums: Integers = np.diff(before[ends])
    return sums


class RaggedStore:
    """Growing rows: appending some costs no more than their own number, on average."""

    def __init__(self, rows: Ragged) -> None:
        """Begin with some rows, which give the kind of number."""
        self._flat, self._lengths, self._starts = rows.flat, rows.lengths, rows.starts
        self._used, self._count = len(rows.flat), len(rows)

    def __len__(self) -> int:
        return self._count

    def append(self, rows: Ragged) -> None:
        """Put rows behind the others."""
        if not len(rows):
            return
        starts = rows.starts + self._used
        self._flat = _with_room(self._flat, self._used, rows.flat)
        self._lengths = _with_room(self._lengths, self._count, rows.lengths)
        self._starts = _with_room(self._starts, self._count, starts)
        self._used, self._count = self._used + len(rows.flat), self._count + len(rows)

    def take(self, rows: npt.NDArray[np.integer]) -> Ragged:
        """Return rows by index, in that order."""
        every = Ragged(self._flat[: self._used], self._lengths[: self._count])
        every.__dict__["starts"] = self._starts[: self._count]  # known already
        return every.take(rows)


def _with_room(array: npt.NDArray[Any], used: int, added: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the array with *added* behind its *used* numbers, and perhaps room for more."""
    end = used + len(added)
    if end > len(array):
        larger = np.empty(end + end // 2, dtype=array.dtype)
        larger[:used] = array[:used]
        array = larger
    array[used:end] = added
    return array


PIECES, TRIGRAMS = "pieces", "trigrams"
"""Views of a sentence: the pieces of its segmentation, or its words' trigrams."""


@dataclass(frozen=True)
class View:
    """One view of some sentences: their tokens, and the ids of each distinct token.

    A token is the text between white space, or, after :meth:`one_by_one`, an id.
    """

    rows: Ragged
    """Indices in ``tokens`` of the tokens of each sentence; at least one."""
    tokens: Ragged
    """Ids of each distinct token; at least one."""

    def ids(self) -> Ragged:
        """Return the ids of each sentence."""
        return self.tokens.take(self.rows.flat).merged(self.rows.lengths)

    def one_by_one(self) -> View:
        """Return the same sentences with one token for each id."""
        ids = self.ids()
        tokens, places = np.unique(ids.flat, return_inverse=True)
        return View(Ragged(places, ids.lengths), Ragged(tokens, np.ones(len(tokens), np.int64)))


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
    """Numbers of distinct words, in order of appearance: its ``list`` has the words by number."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
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

    def __new__(cls) -> TokenTable:
        """Return a table of the library, where it is there."""
        return object.__new__(_Compiled if LIBRARY.open() else TokenTable)

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def read(self, sentences: Sequence[str]) -> TokenWindow:
        """Number the tokens of some sentences; all that are new stay known."""
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
    number = WordNumbers({_BETWEEN: 0})
    places = np.fromiter(map(number.__getitem__, words), dtype=np.int64, count=len(words))
    bounds = np.concatenate([[-1], np.flatnonzero(places == 0), [len(places)]])
    lengths = np.diff(bounds)[: len(sentences)] - 1
    return Ragged(places[places > 0], lengths), ["", *list(number)[1:]]


class _Compiled(TokenTable):
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
