"""Resolution of duplicates on disk: the choice of a row to keep among rows that share keys.

Rows are taken in order of preference. A row that matches a kept row is dropped, as a duplicate of
the most preferred of those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import numpy.typing as npt

from bitextfilter.arrays import Integers
from bitextfilter.corpus.external_sort import ExternalSort
from bitextfilter.io.spill import Scratch

_Array = npt.NDArray[Any]

Dropped = Iterator[tuple[Integers, Integers]]
"""Lines dropped, and the line kept instead of each: in parts, in any order."""

Matches = Callable[[int, int], bool]
"""Returns True if two rows that share a key match, by their lines."""

_MOST_COMPARED = 100
"""Most rows that a row is compared with: those with which it shares the most keys."""


def first_of_each(entries: ExternalSort) -> Dropped:
    """Yield all but the most preferred row of each key.

    *entries* has the two halves of each row's key, its preference (smaller is better) and its
    line; of equal preferences, the first line is kept.
    """
    for high, low, preference, lines in entries.parts():
        order = np.lexsort((lines, preference, low, high))
        starts = _starts(high[order], low[order])
        lines = lines[order]
        keepers = np.repeat(lines[starts], np.diff(starts, append=len(lines)))
        gone = keepers != lines
        yield lines[gone], keepers[gone]


def one_of_matching(entries: ExternalSort, order: Order, matches: Matches, memory: int) -> Dropped:
    """Yield the rows that match a kept row, for rows of several keys.

    *entries* has the keys of each row, in one or two columns, and its line. Only rows that share
    a key are compared.
    """
    with ExitStack() as stack:
        links = stack.enter_context(ExternalSort(["i8", "i8", "i8"], memory))
        count = 0
        for columns in entries.parts():
            lines, buckets = _shared(columns, count)
            links.add(order.ranks(lines), lines, buckets)
            count += len(lines)
        kept = _Buckets(stack, count)
        for _, lines, buckets in links.parts():
            yield _greedily(lines, buckets, kept, order, matches)


class Order:
    """The order of preference of rows: by line, or by a number and then by line."""

    def __init__(self) -> None:
        """Order rows by line."""
        self._first = self._stop = 0
        self._ranks: _Array | None = None
        self._lines: _Array | None = None

    def extend(self, lines: Integers) -> None:
        """Take in *lines*, which ascend."""
        if len(lines):
            self._first, self._stop = self._first or int(lines[0]), int(lines[-1]) + 1

    def prefer(self, preferences: ExternalSort, stack: ExitStack) -> None:
        """Order by *preferences* instead: columns of numbers (smaller is better) and lines.

        It takes 16 bytes a line on disk, in files that are closed with *stack*.
        """
        self._ranks, self._lines = (
            stack.enter_context(Scratch()).zeros("i8", self._stop - self._first) for _ in range(2)
        )
        done = 0
        for _, lines in preferences.parts():
            self._lines[done : done + len(lines)] = lines
            self._ranks[lines - self._first] = np.arange(done, done + len(lines))
            done += len(lines)

    def ranks(self, lines: Integers) -> Integers:
        """Return the rank of each line."""
        return lines if self._ranks is None else self._ranks[lines - self._first]

    def line(self, rank: int) -> int:
        """Return the line of a rank."""
        return rank if self._lines is None else int(self._lines[rank])


class _Buckets:
    """Kept rows on disk, by the keys that they share with others."""

    def __init__(self, stack: ExitStack, count: int) -> None:
        """Make room for *count* rows in all buckets; a bucket is identified by its first place."""
        self._ranks = stack.enter_context(Scratch()).zeros("i8", count)
        self._filled = stack.enter_context(Scratch()).zeros("i4", count)

    def ranks(self, buckets: _Array) -> Integers:
        """Return the ranks of the rows in these buckets, the most preferred first."""
        filled = self._filled[buckets]
        live = [
            self._ranks[start : start + number]
            for start, number in zip(buckets[filled > 0], filled[filled > 0], strict=True)
        ]
        if not live:
            return np.empty(0, np.int64)
        ranks, shared = np.unique(np.concatenate(live), return_counts=True)
        if len(ranks) <= _MOST_COMPARED:
            return ranks
        return np.sort(ranks[np.argsort(-shared, kind="stable")[:_MOST_COMPARED]])

    def add(self, rank: int, buckets: _Array) -> None:
        """Put a row into each of these buckets."""
        self._ranks[buckets + self._filled[buckets]] = rank
        self._filled[buckets] += 1


def _greedily(
    lines: Integers, buckets: _Array, kept: _Buckets, order: Order, matches: Matches
) -> tuple[Integers, Integers]:
    """Take rows in order of preference, each with its buckets; return the rows dropped."""
    gone, keepers = [], []
    starts = _starts(lines).tolist()
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        line, its_buckets = int(lines[start]), buckets[start:stop]
        others = (order.line(rank) for rank in kept.ranks(its_buckets).tolist())
        keeper = next((other for other in others if matches(line, other)), None)
        if keeper is None:
            kept.add(int(order.ranks(lines[start : start + 1])[0]), its_buckets)
        else:
            gone.append(line)
            keepers.append(keeper)
    return np.array(gone, np.int64), np.array(keepers, np.int64)


def _shared(columns: Sequence[_Array], count: int) -> tuple[Integers, _Array]:
    """Return the rows whose key others share, and a bucket for each such key, from *count*."""
    *keys, lines = columns
    order = np.lexsort(keys[::-1])
    starts = _starts(*(key[order] for key in keys))
    sizes = np.diff(starts, append=len(lines))
    shared = np.repeat(sizes > 1, sizes)
    sizes = sizes[sizes > 1]
    return lines[order][shared], np.repeat(count + np.cumsum(sizes) - sizes, sizes)


def _starts(*columns: _Array) -> npt.NDArray[np.int64]:
    """Return the starts of runs of equal rows, in columns that are not empty."""
    new = np.ones(len(columns[0]), bool)
    new[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return np.flatnonzero(new)
