"""Rows that wait on the disk until all are in, and are then decided together."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bitextfilter.corpus.comparison import DedupSettings
from bitextfilter.corpus.external_sort import ExternalSort
from bitextfilter.corpus.resolution import Dropped, Order, first_of_each, one_of_matching
from bitextfilter.errors import DeviceError
from bitextfilter.io.key_table import Keys, Lines

if TYPE_CHECKING:
    from bitextfilter.corpus.near_duplicates import NearTexts

__all__ = ["Preferences", "WaitingRows", "preferences"]

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

    def settle(self, lines: Lines, keepers: Lines) -> None:
        """Note the rows that duplicate one decided before: those with a line other than 0."""
        self._gone.add(lines[keepers > 0], keepers[keepers > 0])

    def add(self, lines: Lines, keys: Keys, wanted: Preferences) -> None:
        """Add rows by their keys."""
        if self._settings.keys == 1:
            self._entries.add(keys[:, 0], keys[:, 1], wanted, lines)
        else:
            self._entries.add(keys[:, 0], keys[:, 1], np.repeat(lines, self._settings.keys))
            self._prefer(wanted, lines)

    def add_near(self, lines: Lines, texts: Sequence[Sequence[str]], wanted: Preferences) -> None:
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

    def _prefer(self, wanted: Preferences, lines: Lines) -> None:
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
