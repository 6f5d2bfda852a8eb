"""The line of the first occurrence of each 128-bit key: a hash table of 24 bytes a slot."""

from __future__ import annotations

import numpy as np

from bitextfilter.arrays import Indices, Integers, Keys

_SLOT_BYTES = 24
FULL = 0.7
"""The share of slots that may be taken: open addressing slows down beyond it."""
_FIRST_SLOTS = 1 << 12
_BLOCK = 1 << 16
"""Keys moved at once when the table grows."""


class KeyTable:
    """Keys ``(n, 2)``, evenly distributed, and their line numbers from 1; 0 stands for none.

    Open addressing with linear probing, a whole window of keys at a time. The table doubles as it
    fills, and takes at most *memory* bytes, the copy while it grows included.
    """

    def __init__(self, memory: int) -> None:
        slots = self._largest = max(1, 2 * memory // (3 * _SLOT_BYTES))
        while slots > _FIRST_SLOTS:
            slots = (slots + 1) // 2
        self._make(slots)

    def __len__(self) -> int:
        return self._count

    def has_room(self, count: int) -> bool:
        """Return whether *count* more keys fit, after growing for them if possible."""
        needed = self._count + count
        while needed > FULL * len(self._lines):
            if len(self._lines) >= self._largest:
                return False
            self._grow()
        return True

    def find(self, keys: Keys) -> Integers:
        """Return the line of each key, 0 where it is not in the table."""
        found = np.zeros(len(keys), np.int64)
        if not self._count:
            return found
        slots, left = self._homes(keys), np.arange(len(keys))
        while len(left):
            lines = self._lines[slots]
            same = (self._keys[slots] == keys[left]).all(axis=1) & (lines > 0)
            found[left[same]] = lines[same]
            on = ~same & (lines > 0)
            left, slots = left[on], (slots[on] + 1) % len(self._lines)
        return found

    def add(self, keys: Keys, lines: Integers) -> None:
        """Add *keys*, all different and none in the table, for which there must be room."""
        self._count += len(keys)
        slots, left = self._homes(keys), np.arange(len(keys))
        while len(left):
            free = self._lines[slots] == 0
            self._lines[slots[free]] = lines[left[free]]
            won = free & (self._lines[slots] == lines[left])
            # Two keys of one line may have run into one slot: only one of them can be there.
            _, first = np.unique(slots[won], return_index=True)
            places = np.flatnonzero(won)[first]
            self._keys[slots[places]] = keys[left[places]]
            left, slots = np.delete(left, places), np.delete(slots, places)
            slots = (slots + 1) % len(self._lines)

    def _homes(self, keys: Keys) -> Indices:
        homes: Indices = (keys[:, 0] % np.uint64(len(self._lines))).astype(np.int64)
        return homes

    def _make(self, slots: int) -> None:
        self._count = 0
        self._keys: Keys = np.zeros((slots, 2), np.uint64)
        self._lines: Integers = np.zeros(slots, np.int64)

    def _grow(self) -> None:
        taken = np.flatnonzero(self._lines)
        keys, lines = self._keys[taken], self._lines[taken]
        slots = min(2 * len(self._lines), self._largest)
        del taken, self._keys, self._lines
        self._make(slots)
        for start in range(0, len(keys), _BLOCK):
            self.add(keys[start : start + _BLOCK], lines[start : start + _BLOCK])
