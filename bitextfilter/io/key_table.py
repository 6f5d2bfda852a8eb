"""Which line a key of 128 bits was first seen in: a table of 24 bytes a slot."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[np.uint64]
"""Keys of 128 bits, evenly distributed: ``(n, 2)``."""

Lines = npt.NDArray[np.int64]
"""Line numbers, from 1; 0 is none."""

SLOT_BYTES = 24
FULL = 0.7
"""The share of slots that may be taken: open addressing slows down beyond it."""

FIRST_SLOTS = 1 << 12

_BLOCK = 1 << 16
"""How many keys are moved at once when the table grows."""


class KeyTable:
    """Keys and their lines, by open addressing with linear probing, whole windows at a time.

    It doubles as it fills, and takes at most *memory* bytes, the copy while it grows included.
    """

    def __init__(self, memory: int) -> None:
        """Make an empty table that may grow to *memory* bytes."""
        slots = self._largest = max(1, 2 * memory // (3 * SLOT_BYTES))
        while slots > FIRST_SLOTS:
            slots = (slots + 1) // 2
        self._count = 0
        self._make(slots)

    def __len__(self) -> int:
        """Return the number of keys."""
        return self._count

    def has_room(self, count: int) -> bool:
        """Say whether *count* more keys fit, and make room for them if so."""
        needed = self._count + count
        while needed > FULL * len(self._lines):
            if len(self._lines) >= self._largest:
                return False
            self._grow()
        return True

    def find(self, keys: Keys) -> Lines:
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

    def add(self, keys: Keys, lines: Lines) -> None:
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
            on = np.ones(len(left), bool)
            on[places] = False
            left, slots = left[on], (slots[on] + 1) % len(self._lines)

    def _homes(self, keys: Keys) -> npt.NDArray[np.int64]:
        slots: Lines = (keys[:, 0] % np.uint64(len(self._lines))).astype(np.int64)
        return slots

    def _make(self, slots: int) -> None:
        self._keys: Keys = np.zeros((slots, 2), np.uint64)
        self._lines: Lines = np.zeros(slots, np.int64)

    def _grow(self) -> None:
        taken = np.flatnonzero(self._lines)
        keys, lines = self._keys[taken], self._lines[taken]
        slots = min(2 * len(self._lines), self._largest)
        del taken, self._keys, self._lines
        self._count = 0
        self._make(slots)
        for start in range(0, len(keys), _BLOCK):
            self.add(keys[start : start + _BLOCK], lines[start : start + _BLOCK])
