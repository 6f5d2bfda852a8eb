"""Duplicates among sentence pairs, in bounded memory: exact, normalised or near."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import numpy as np

from bitextfilter.corpus.comparison import DedupSettings, digest, normaliser
from bitextfilter.corpus.external_sort import ExternalSort
from bitextfilter.corpus.waiting_rows import WaitingRows, preferences
from bitextfilter.errors import SettingsError
from bitextfilter.io.key_table import Keys, KeyTable, Lines

__all__ = ["DedupSettings", "Deduplicator", "duplicates"]


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

    def _seen(self, keys: Keys) -> Lines:
        """Return the first line in the table that has one of a row's keys, 0 if none has."""
        found = self._table.find(keys).reshape(-1, self._settings.keys)
        none = np.iinfo(np.int64).max
        first = np.where(found > 0, found, none).min(axis=1)
        return np.where(first < none, first, 0)

    def _decide(
        self, lines: Sequence[int], digests: Sequence[bytes], keys: Keys, seen: Lines
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
