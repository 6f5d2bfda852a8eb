"""Deduplication of sentence pairs in bounded memory: exact, normalised or near.

Rows are taken in order of preference. A row that matches a kept row is dropped, as a duplicate of
the most preferred of those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from bitextfilter.arrays import Integers, Keys, begin_runs
from bitextfilter.corpus.duplicate_keys import DedupSettings, as_keys, text_key
from bitextfilter.errors import DeviceError, SettingsError
from bitextfilter.io.spill import ExternalSort, KeyTable, Scratch

if TYPE_CHECKING:
    from bitextfilter.corpus.near_duplicates import NearTexts
    from bitextfilter.corpus.other_texts import OtherTexts


_Array = npt.NDArray[Any]

_Dropped = Iterator[tuple[Integers, Integers]]
"""Lines dropped, and the line kept instead of each: in parts, in any order."""

_Matches = Callable[[int, int], bool]
"""Returns True if two rows that share a key match, by their lines."""

_MOST_COMPARED = 100
"""Most rows that a row is compared with: those with which it shares the most keys."""


def _first_of_each(entries: ExternalSort) -> _Dropped:
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


def _one_of_matching(
    entries: ExternalSort, order: _Order, matches: _Matches, memory: int
) -> _Dropped:
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


class _Order:
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
    lines: Integers, buckets: _Array, kept: _Buckets, order: _Order, matches: _Matches
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
    return np.flatnonzero(begin_runs(*columns))


_T = TypeVar("_T")

_END = (1 << 62, 0)
"""Behind the last dropped line."""


def _preferences(scores: Sequence[float] | None, count: int) -> Keys:
    """Return numbers that order rows by descending score; NaN, no score, comes last."""
    if scores is None:
        return np.zeros(count, np.uint64)
    values = np.array(scores, np.float64) + 0.0
    bits = values.view(np.uint64)
    # Positive IEEE 754 numbers ascend with their bits, negative ones descend.
    order = np.where(values < 0, bits, ~bits & np.uint64(2**63 - 1))
    return np.where(np.isnan(values), np.uint64(2**64 - 1), order)


class Deduplicator(ExitStack):
    """Finds the duplicates among rows, at once while its table of keys has room.

    Later rows, and all with best scores or near duplicates, wait on disk until ``finish``. A
    context, which removes its temporary files.
    """

    def __init__(
        self, settings: DedupSettings, wait: bool = False, others: OtherTexts | None = None
    ) -> None:
        """Compare rows by *settings*; with *wait*, all are decided at the end.

        Rows that are found in *others* are dropped before the rest is compared, as if they
        duplicated a line of a negative number: that of the other texts.
        """
        super().__init__()
        self._settings, self._order = settings, _Order()
        self._others = others
        self._normalisers = settings.normalisers
        self._near: NearTexts | None = None
        kinds = ["u8", "u8", "u8", "i8"] if settings.keys == 1 else ["u8", "u8", "i8"]
        if settings.match == "near":
            try:
                from bitextfilter.corpus.near_duplicates import NearTexts
            except ModuleNotFoundError as error:
                remedy = "pip install 'bitextfilter[near]'"
                raise DeviceError(f"near duplicates need {error.name}: {remedy}") from error
            self._near = self.enter_context(NearTexts(settings))
            kinds = ["u8", "i8"]
        self._entries, self._gone = self._sort(kinds), self._sort(["i8", "i8"])
        self._preferences = self._sort(["u8", "i8"])
        self.waiting = wait or settings.match == "near" or settings.keep == "best"
        self._table = KeyTable(1 if self.waiting else settings.memory // 2)

    def add(
        self,
        lines: Sequence[int],
        texts: Sequence[Sequence[str]],
        scores: Sequence[float] | None = None,
    ) -> list[int] | None:
        """Take the next rows: line numbers, ascending from 1, and a text for each side compared.

        *scores* are needed to keep the best; NaN, no score, comes last. Returns for each row the
        line that it duplicates, or 0 if it is kept; None once rows wait. Raises SettingsError for
        the best row without scores.
        """
        numbers = np.array(lines, np.int64)
        if self._settings.keep == "first":
            scores = None
        elif scores is None:
            raise SettingsError("keeping the best row needs scores")
        order = _preferences(scores, len(texts))
        found = np.zeros(len(texts), np.int64) if self._others is None else self._others.find(texts)
        texts = self._normalised(texts)
        if self._near is not None:
            new = found == 0
            self._gone.add(numbers[~new], -found[~new])
            kept = [text for text, stays in zip(texts, new.tolist(), strict=True) if stays]
            near = self._near.add(numbers[new], kept)
            self._hold([near.ravel()], numbers[new], order[new])
            return None
        digests = self._digests(texts)
        keys = as_keys(digests)
        self.waiting = self.waiting or not self._table.has_room(len(keys))
        seen = self._table.find(keys).reshape(-1, self._settings.keys)
        seen = np.where(seen > 0, seen, _END[0]).min(axis=1)
        seen = np.where(seen < _END[0], seen, 0)
        seen = np.where(found > 0, -found, seen)
        if not self.waiting:
            return self._decide(lines, digests, keys, seen)
        self._gone.add(numbers[seen != 0], seen[seen != 0])
        new = seen == 0
        self._hold(list(keys[np.repeat(new, self._settings.keys)].T), numbers[new], order[new])
        return None

    def _normalised(self, rows: Sequence[Sequence[str]]) -> list[list[str]]:
        """Return the texts that are compared."""
        each = self._normalisers
        return [
            [normalise(text) for normalise, text in zip(each, row, strict=True)] for row in rows
        ]

    def _digests(self, rows: Sequence[Sequence[str]]) -> list[bytes]:
        """Return the keys of all rows, ``settings.keys`` of each."""
        if self._settings.keys == 1:
            return [text_key(row) for row in rows]
        return [text_key((text,), b"%d" % side) for row in rows for side, text in enumerate(row)]

    def _hold(self, keys: Sequence[Keys], lines: Integers, preferences: Keys) -> None:
        """Keep rows until all are read; the columns of *keys* have one or more keys of each."""
        if self._near is None and self._settings.keys == 1:
            self._entries.add(*keys, preferences, lines)
            return
        self._entries.add(*keys, np.repeat(lines, len(keys[0]) // max(1, len(lines))))
        self._order.extend(lines)
        if self._settings.keep == "best":
            self._preferences.add(preferences, lines)

    def _sort(self, kinds: Sequence[str]) -> ExternalSort:
        return self.enter_context(ExternalSort(kinds, self._settings.memory // 8))

    def finish(self) -> ExternalSort:
        """Return the waiting rows dropped: their lines, ascending, and the lines they duplicate."""
        self._table = KeyTable(1)
        if self._near is None and self._settings.keys == 1:
            dropped = _first_of_each(self._entries)
        else:
            if self._settings.keep == "best":
                self._order.prefer(self._preferences, self)
            matches = (lambda *_: True) if self._near is None else self._near.similar
            memory = self._settings.memory // 8
            dropped = _one_of_matching(self._entries, self._order, matches, memory)
        for lines, keepers in dropped:
            self._gone.add(lines, keepers)
        return self._gone

    def groups(self) -> Iterator[tuple[int, int, bool]]:
        """Yield each row of each group after ``finish``: the group, the line, True if kept.

        Groups are numbered from 1, in the order of the lines kept, which come first.
        """
        by_keeper = self._sort(["i8", "i8"])
        for lines, keepers in self._gone.parts():
            by_keeper.add(keepers[keepers > 0], lines[keepers > 0])
        group = last = 0
        for keepers, lines in by_keeper.parts():
            for keeper, line in zip(keepers.tolist(), lines.tolist(), strict=True):
                if keeper != last:
                    group, last = group + 1, keeper
                    yield group, keeper, True
                yield group, line, False

    def _decide(
        self, lines: Sequence[int], digests: Sequence[bytes], keys: Keys, seen: Integers
    ) -> list[int]:
        """Return the line that each row duplicates, or 0, and add the keys of rows kept."""
        here: dict[bytes, int] = {}
        width = self._settings.keys
        keepers: list[int] = seen.tolist()
        for row, line in enumerate(lines):
            if not keepers[row]:
                mine = digests[row * width : (row + 1) * width]
                keepers[row] = min((here[key] for key in mine if key in here), default=0)
                if not keepers[row]:
                    here.update(dict.fromkeys(mine, line))
        stay = np.array(keepers, np.int64) == 0
        self._table.add(
            keys[np.repeat(stay, width)], np.repeat(np.array(lines, np.int64)[stay], width)
        )
        return keepers


@dataclass(frozen=True)
class DedupWindow(Generic[_T]):
    """Consecutive items, and the rows to compare among them."""

    items: Sequence[_T]
    lines: Sequence[int]
    """Line numbers of the rows, ascending."""
    texts: Sequence[Sequence[str]] = ()
    scores: Sequence[float] | None = None


def decided_windows(
    deduplicator: Deduplicator,
    windows: Iterable[DedupWindow[_T]],
    hold: Callable[[DedupWindow[_T]], object],
    held: Callable[[], Iterable[DedupWindow[_T]]],
) -> Iterator[tuple[DedupWindow[_T], dict[int, int]]]:
    """Yield each window with the line that each of its rows duplicates; 0 or none: kept.

    Windows that must wait are passed to *hold*; after the last one, *held* returns them in order
    (without texts, cut as it likes).
    """
    waiting = False
    for window in windows:
        keepers: list[int] | None = None if waiting else []
        if window.lines:
            keepers = deduplicator.add(window.lines, window.texts, window.scores)
        if keepers is None:
            waiting = True
            hold(window)
        else:
            yield window, dict(zip(window.lines, keepers, strict=True))
    if not waiting:
        return
    decisions = Decisions(deduplicator)
    for window in held():
        yield window, decisions.up_to(window.lines[-1] if window.lines else 0)


class Decisions:
    """The decisions on rows that waited, once all have been added."""

    def __init__(self, deduplicator: Deduplicator) -> None:
        parts = deduplicator.finish().parts()
        self._dropped = chain.from_iterable(
            zip(lines.tolist(), keepers.tolist(), strict=True) for lines, keepers in parts
        )
        self._next = next(self._dropped, _END)

    def up_to(self, last: int) -> dict[int, int]:
        """Return the next rows dropped, up to the line *last*, and the line kept instead of each.

        Lines ascend from call to call.
        """
        found = {}
        while self._next[0] <= last:
            line, keeper = self._next
            found[line] = keeper
            self._next = next(self._dropped, _END)
        return found
