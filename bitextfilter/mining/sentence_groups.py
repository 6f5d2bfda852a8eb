"""Documents as vectors of groups: neighbouring sentences, up to some number of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Indices, Vectors
from bitextfilter.similarity.vectors import unit_rows

COARSE_LARGEST = 2
"""Most sentences of a coarser document in a link. Its pairs of sentences may begin within a pair
of the other document."""
STRIP = 1024
"""Positions whose groups are computed together; an even number, as sentences are joined by twos."""
_STRIPS = 3
"""Strips kept in memory; a path goes through them one after the other."""


@dataclass(frozen=True)
class Document:
    """Sentences in their order, as vectors and lengths.

    Groups are computed where they are asked for, so that memory holds a vector of each sentence,
    and not one of each group.
    """

    vectors: Vectors
    """``(n, dim)``, of the sentences: a group has the direction of their sum."""
    ends: NDArray[np.int64]
    """Characters up to each position, ``(n + 1,)``."""
    largest: int
    """Most sentences of a group."""
    beside: Vectors | None = None
    """Further vectors ``(n, other dim)``; those of a group stand beside its others."""
    _strips: dict[int, Vectors] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.vectors)

    def groups(self, count: int, stops: Indices) -> Vectors:
        """Return the unit vectors of the groups of *count* sentences that end at some positions.

        ``stops`` ``(g,)`` from 0 to n, *count* from 1 to ``largest`` → ``(g, all dims)``; 0 where
        a group would begin before the first sentence.
        """
        strips = stops // STRIP
        if len(stops) and strips[0] == strips[-1] and (strips == strips[0]).all():
            found: Vectors = self._strip(int(strips[0]))[count - 1, stops % STRIP]
            return found
        dim = self.vectors.shape[1] + (0 if self.beside is None else self.beside.shape[1])
        found = np.zeros((len(stops), dim), np.float32)
        for number in np.unique(strips).tolist():
            here = strips == number
            found[here] = self._strip(number)[count - 1, stops[here] % STRIP]
        return found

    def _strip(self, number: int) -> Vectors:
        """Return the groups that end at some positions, ``(largest, positions, all dims)``."""
        if number not in self._strips:
            while len(self._strips) >= _STRIPS:
                del self._strips[next(iter(self._strips))]
            self._strips[number] = self._computed(number * STRIP)
        return self._strips[number]

    def _computed(self, first: int) -> Vectors:
        low, last = max(0, first - self.largest), min(first + STRIP, len(self) + 1)
        parts = [group_sums(self.vectors[low : last - 1], self.largest)]
        if self.beside is not None:
            parts.append(group_sums(self.beside[low : last - 1], self.largest))
            parts = [np.stack([unit_rows(each) for each in np.concatenate(parts, axis=-1)])]
        return parts[0][:, first - low :]

    def coarser(self) -> Document:
        """Return it with every two sentences as one; an odd last one stays."""
        pairs = np.zeros((-(-len(self) // 2), self.groups(1, np.arange(0)).shape[1]), np.float32)
        for first in range(0, len(self), STRIP):
            stops = np.arange(first, min(first + STRIP, len(self))) + 1
            units = self.groups(1, stops)
            pairs[first // 2 : (first + len(units) + 1) // 2] = units[0::2]
            pairs[first // 2 : (first + len(units)) // 2] += units[1::2]
        return Document(pairs, halved(self.ends), COARSE_LARGEST)

    def with_vectors(self, others: Vectors) -> Document:
        """Return it with further vectors ``(n, other dim)`` beside its own."""
        return Document(self.vectors, self.ends, self.largest, others)


def group_sums(vectors: Vectors, largest: int) -> Vectors:
    """Return the groups of some sentences, as the sums of their vectors ``(n, dim)``.

    Unit vectors ``(largest, n + 1, dim)``: row i of part k - 1 is the direction of the sum of the
    k sentences up to position i, 0 where there are fewer.
    """
    n, dim = vectors.shape
    parts = np.zeros((largest, n + 1, dim), np.float32)
    parts[0, 1:] = vectors
    for count in range(2, min(largest, n) + 1):
        parts[count - 1, count:] = parts[count - 2, count - 1 : -1] + vectors[count - 1 :]
    for part in parts:
        part[:] = unit_rows(part)
    return parts


def halved(ends: Indices) -> Indices:
    """Return the ends of every two sentences, and of one left over, of ends ``(n + 1,)``."""
    return np.append(ends[0:-1:2], ends[-1])


def character_ends(sentences: Sequence[str]) -> Indices:
    """Return the characters up to each position, ``(n + 1,)``."""
    return np.cumsum([0, *map(len, sentences)], dtype=np.int64)
