"""Deduplication of sentence pairs in bounded memory: exact, normalised or near."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bitextfilter.arrays import Integers, Keys
from bitextfilter.corpus.duplicate_keys import DedupSettings, digest, normaliser
from bitextfilter.corpus.external_sort import ExternalSort
from bitextfilter.corpus.resolution import Dropped, Order, first_of_each, one_of_matching
from bitextfilter.errors import DeviceError, SettingsError
from bitextfilter.io.key_table import KeyTable

if TYPE_CHECKING:
    from bitextfilter.corpus.near_duplicates import NearTexts


Preferences = npt.NDArray[np.uint64]
"""Numbers that are the smaller, the sooner a row is kept."""


class WaitingRows:
    """Rows that cannot be decided yet, and then are."""

    def __init__(self, settings: DedupSettings, stack: ExitStack) -> None:
        """Keep what waits in files that are closed with *stack*."""
        self._settings = settings
        self._stack = stack
        self._near: NearTexts | None = None
        kinds = ["u8", "u8", "i8"]
        if settings.match == "near":
            self._near = stack.enter_context(_near_texts(settings))
            kinds = ["u8", "i8"]
        elif settings.keys == 1:
            kinds = ["u8", "u8", "u8", "i8"]
        self._entries = self._sort(kinds)
        self._preferences = self._sort(["u8", "i8"])
        self._gone = self._sort(["i8", "i8"])
        self._order = Order()

    def settle(self, lines: Integers, keepers: Integers) -> None:
        """Note the rows that duplicate one decided before: those with a line other than 0."""
        self._gone.add(lines[keepers > 0], keepers[keepers > 0])

    def add(self, lines: Integers, keys: Keys, wanted: Preferences) -> None:
        """Add rows by their keys."""
        if self._settings.keys == 1:
            self._entries.add(keys[:, 0], keys[:, 1], wanted, lines)
        else:
            self._entries.add(keys[:, 0], keys[:, 1], np.repeat(lines, self._settings.keys))
            self._prefer(wanted, lines)

    def add_near(
        self, lines: Integers, texts: Sequence[Sequence[str]], wanted: Preferences
    ) -> None:
        """Add rows by their normalised texts."""
        assert self._near is not None
        keys = self._near.add(lines, texts)
        self._entries.add(keys.ravel(), np.repeat(lines, keys.shape[1]))
        self._prefer(wanted, lines)

    def resolved(self) -> ExternalSort:
        """Return the lines that go and those that they duplicate."""
        for lines, keepers in self._resolve():
            self._gone.add(lines, keepers)
        return self._gone

    def by_keeper(self) -> ExternalSort:
        """Return what is resolved the other way round: lines that stay, and their duplicates."""
        turned = self._sort(["i8", "i8"])
        for lines, keepers in self._gone.parts():
            turned.add(keepers, lines)
        return turned

    def _resolve(self) -> Dropped:
        if self._near is None and self._settings.keys == 1:
            return first_of_each(self._entries)
        if self._settings.keep == "best":
            self._order.prefer(self._preferences, self._stack)
        matches = (lambda *_: True) if self._near is None else self._near.similar
        return one_of_matching(self._entries, self._order, matches, self._settings.memory // 8)

    def _prefer(self, wanted: Preferences, lines: Integers) -> None:
        self._order.extend(lines)
        if self._settings.keep == "best":
            self._preferences.add(wanted, lines)

    def _sort(self, kinds: Sequence[str]) -> ExternalSort:
        return self._stack.enter_context(ExternalSort(kinds, self._settings.memory // 8))


def _near_texts(settings: DedupSettings) -> NearTexts:
    """Return where near duplicates are found. Raises DeviceError without the package for it."""
    try:
        from bitextfilter.corpus.near_duplicates import NearTexts
    except ModuleNotFoundError as error:
        remedy = "pip install 'bitextfilter[near]'"
        raise DeviceError(f"near duplicates need {error.name}: {remedy}") from error
    return NearTexts(settings)


def preferences(scores: Sequence[float] | None, count: int) -> Preferences:
    """Return numbers that are the smaller, the better the score; NaN, no score, is the worst."""
    if scores is None:
        return np.zeros(count, np.uint64)
    values = np.array(scores, np.float64) + 0.0
    bits = values.view(np.uint64)
    # Of IEEE 754's numbers, those above 0 grow with their bits, those below 0 shrink.
    order = np.where(values < 0, bits, ~bits & np.uint64(2**63 - 1))
    return np.where(np.isnan(values), np.uint64(2**64 - 1), order)


class Deduplicator:
    """Takes rows in order and says which duplicate which, at once while its table has room.

    After that, or from the start (best scores, near duplicates), rows wait on the disk: ``finish``
    has the answers once all are in. A context: its temporary files go when it is left.
    """

    def __init__(self, settings: DedupSettings, wait: bool = False) -> None:
        """Take rows by *settings*; if they are to *wait*, all answers come at the end."""
        self._settings = settings
        self._normalise = str if settings.match == "exact" else normaliser(settings.ignore)
        self._stack = ExitStack()
        self._rows = WaitingRows(settings, self._stack)
        self.waiting = wait or settings.match == "near" or settings.keep == "best"
        self._table = KeyTable(1 if self.waiting else settings.memory // 2)

    def __enter__(self) -> Deduplicator:
        """Return the deduplicator itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the temporary files."""
        self._stack.close()

    def add(
        self,
        lines: Sequence[int],
        texts: Sequence[Sequence[str]],
        scores: Sequence[float] | None = None,
    ) -> list[int] | None:
        """Take the next rows: their numbers, which ascend from 1, and texts, one for each side.

        *scores* are needed to keep the best; NaN is none, and comes last. Returns, while it can,
        for each row the line that it duplicates, or 0 if it stays; None once rows wait.
        """
        numbers = np.array(lines, np.int64)
        if self._settings.keep == "first":
            scores = None
        texts = [[self._normalise(text) for text in row] for row in texts]
        if self._settings.match == "near":
            self._rows.add_near(numbers, texts, preferences(scores, len(texts)))
            return None
        digests = self._digests(texts)
        keys = np.frombuffer(b"".join(digests), "<u8").astype(np.uint64).reshape(-1, 2)
        self.waiting = self.waiting or not self._table.has_room(len(keys))
        seen = self._seen(keys)
        if not self.waiting:
            return self._decide(lines, digests, keys, seen)
        self._rows.settle(numbers, seen)
        new = seen == 0
        wanted = preferences(scores, len(texts))[new]
        self._rows.add(numbers[new], keys[np.repeat(new, self._settings.keys)], wanted)
        return None

    def finish(self) -> ExternalSort:
        """Return the waiting rows that go: their lines, ascending, and those they duplicate."""
        self._table = KeyTable(1)
        return self._rows.resolved()

    def groups(self) -> Iterator[tuple[int, int, bool]]:
        """Yield the rows of each group after :meth:`finish`: its number, a line, if that stays.

        Groups are in the order of the lines that stay, which come first, and numbered from 1.
        """
        group = last = 0
        for keepers, lines in self._rows.by_keeper().parts():
            for keeper, line in zip(keepers.tolist(), lines.tolist(), strict=True):
                if keeper != last:
                    group, last = group + 1, keeper
                    yield group, keeper, True
                yield group, line, False

    def _digests(self, texts: Sequence[Sequence[str]]) -> list[bytes]:
        """Return the keys of the rows, run together."""
        if self._settings.keys == 1:
            return [digest(row) for row in texts]
        return [digest((text,), b"%d" % side) for row in texts for side, text in enumerate(row)]

    def _seen(self, keys: Keys) -> Integers:
        """Return the first line in the table that has one of a row's keys, 0 if none has."""
        found = self._table.find(keys).reshape(-1, self._settings.keys)
        none = np.iinfo(np.int64).max
        first = np.where(found > 0, found, none).min(axis=1)
        return np.where(first < none, first, 0)

    def _decide(
        self, lines: Sequence[int], digests: Sequence[bytes], keys: Keys, seen: Integers
    ) -> list[int]:
        """Return the line that each row duplicates, or 0, and add the keys of those that stay."""
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


def duplicates(
    rows: Sequence[Sequence[str]],
    settings: DedupSettings,
    scores: Sequence[float] | None = None,
) -> dict[int, int]:
    """Return the rows that go, by index from 0, each with the row that it is a duplicate of.

    *rows* have one text (by source or target) or two. Raises SettingsError if the best is to be
    kept and there are no *scores*.
    """
    if settings.keep == "best" and scores is None:
        raise SettingsError("to keep the best row takes scores")
    lines = range(1, len(rows) + 1)
    with Deduplicator(settings, wait=True) as deduplicator:
        deduplicator.add(lines, rows, scores)
        parts = [
            zip(*(p.tolist() for p in part), strict=True) for part in deduplicator.finish().parts()
        ]
    return {line - 1: keeper - 1 for part in parts for line, keeper in part}
