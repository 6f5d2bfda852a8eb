"""Rows of different length in one flat array."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Ragged:
    """Rows of numbers, one behind the other: ``flat (sum of lengths,)``, ``lengths (n,)``."""

    flat: npt.NDArray[Any]
    lengths: npt.NDArray[np.int64]

    @classmethod
    def of(cls, rows: Iterable[npt.NDArray[np.int32]]) -> Ragged:
        """Put int32 rows together."""
        listed = list(rows)
        flat = np.concatenate(listed) if listed else np.zeros(0, dtype=np.int32)
        return cls(flat, np.fromiter(map(len, listed), dtype=np.int64, count=len(listed)))

    @classmethod
    def of_lists(cls, rows: Sequence[Sequence[int]]) -> Ragged:
        """Put rows together as int32."""
        lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
        return cls(np.fromiter(chain.from_iterable(rows), np.int32, int(lengths.sum())), lengths)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.lengths)

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        """Yield every row, in order."""
        for start, length in zip(self.starts, self.lengths, strict=True):
            yield self.flat[start : start + length]

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """Where each row begins, ``(n,)``."""
        return np.cumsum(self.lengths) - self.lengths

    def take(self, rows: npt.NDArray[np.integer]) -> Ragged:
        """Return the rows of these places, in that order."""
        return Ragged(self.flat[self.places(rows)], self.lengths[rows])

    def places(self, rows: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
        """Return where in ``flat`` the numbers of these rows stand, one row behind the other."""
        lengths = self.lengths[rows]
        ends = np.cumsum(lengths)
        inside = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)
        places: npt.NDArray[np.int64] = np.repeat(self.starts[rows], lengths) + inside
        return places

    def followed_by(self, other: Ragged) -> Ragged:
        """Return these rows, and behind them those of *other*."""
        return Ragged(
            np.concatenate([self.flat, other.flat]), np.concatenate([self.lengths, other.lengths])
        )

    def merged(self, groups: npt.NDArray[np.int64]) -> Ragged:
        """Join runs of rows: the first ``groups[0]`` rows become one, and so on."""
        ends = np.concatenate([[0], np.cumsum(self.lengths)])
        bounds = np.concatenate([[0], np.cumsum(groups)])
        return Ragged(self.flat, np.diff(ends[bounds]))

    def only(self, kept: npt.NDArray[np.bool_]) -> Ragged:
        """Leave out the numbers that are not *kept*, ``(sum of lengths,)``."""
        before = np.concatenate([[0], np.cumsum(kept)])
        ends = np.concatenate([[0], np.cumsum(self.lengths)])
        return Ragged(self.flat[kept], np.diff(before[ends]))

    def first(self, most: int) -> Ragged:
        """Leave out what stands behind the first *most* numbers of a row."""
        if not (self.lengths > most).any():
            return self
        inside = np.arange(len(self.flat)) - np.repeat(self.starts, self.lengths)
        return Ragged(self.flat[inside < most], np.minimum(self.lengths, most))

    def filled(self, number: int) -> Ragged:
        """Put *number* into the rows that are empty."""
        if self.lengths.all():
            return self
        lengths = np.maximum(self.lengths, 1)
        flat = np.full(int(lengths.sum()), number, dtype=self.flat.dtype)
        flat[np.repeat(self.lengths > 0, lengths)] = self.flat
        return Ragged(flat, lengths)

    def padded(
        self, rows: npt.NDArray[np.integer]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return these rows, ``(n, t)`` filled up with 0, and their lengths, ``(n,)``."""
        lengths = self.lengths[rows]
        inside = np.arange(int(lengths.max(initial=0))) < lengths[:, None]
        out = np.zeros(inside.shape, dtype=np.int64)
        out[inside] = self.take(rows).flat
        return out, lengths


PIECES, TRIGRAMS = "pieces", "trigrams"
"""What a sentence can be read as: the pieces it is segmented into, or its words' trigrams."""


@dataclass(frozen=True)
class View:
    """Some sentences read in one way: their tokens, and the ids that each distinct token is.

    A token is what stands between white space, or, :meth:`one_by_one`, an id.
    """

    rows: Ragged
    """Places in ``tokens`` of the tokens of each sentence; at least one."""
    tokens: Ragged
    """Ids of each distinct token; at least one."""

    def ids(self) -> Ragged:
        """Return the ids of each sentence, those of all its tokens together."""
        return self.tokens.take(self.rows.flat).merged(self.rows.lengths)

    def one_by_one(self) -> View:
        """Return the same sentences with a token for each id."""
        ids = self.ids()
        tokens, places = np.unique(ids.flat, return_inverse=True)
        return View(Ragged(places, ids.lengths), Ragged(tokens, np.ones(len(tokens), np.int64)))


class _Numbers(dict[str, int]):
    """Numbers words in the order they come."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


_BETWEEN = "\0"
"""Stands between sentences as a word; a control character, which within one is white space."""


def numbered(sentences: Sequence[str]) -> tuple[Ragged, list[str]]:
    """Return the words of each sentence, as places among the distinct words, and those.

    The first of the distinct words is the empty one, and is in no sentence.
    """
    text = f" {_BETWEEN} ".join(sentences)
    if text.count(_BETWEEN) >= max(len(sentences), 1):
        text = f" {_BETWEEN} ".join(sentence.replace(_BETWEEN, " ") for sentence in sentences)
    words = text.split()
    number = _Numbers({_BETWEEN: 0})
    places = np.fromiter(map(number.__getitem__, words), dtype=np.int64, count=len(words))
    bounds = np.concatenate([[-1], np.flatnonzero(places == 0), [len(places)]])
    lengths = np.diff(bounds)[: len(sentences)] - 1
    return Ragged(places[places > 0], lengths), ["", *islice(number, 1, None)]


def split_words(normalised: Sequence[str]) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Return the words of normalised sentences in one list, and how many each sentence has.

    A list for each would keep the garbage collector busy.
    """
    counts = (sentence.count(" ") + 1 if sentence else 0 for sentence in normalised)
    return " ".join(normalised).split(), np.fromiter(counts, np.int64, len(normalised))
