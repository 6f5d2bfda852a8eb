"""The loops of ``ngrams.c``, where it was built: see :mod:`bitextfilter.io.compiled`.

Each function returns None without the library, or for arrays that it does not take; numpy then
computes the same.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Keys, places_of
from bitextfilter.io.compiled import INTEGER, CompiledLibrary, array_of
from bitextfilter.text.ragged import Ragged

_SLOT = np.dtype([("key", np.uint64), ("id", np.int64)])
_I32, _I64, _U64, _SLOTS = (
    array_of(np.int32),
    array_of(np.int64),
    array_of(np.uint64),
    array_of(_SLOT),
)
_SECRET = ctypes.c_uint64

LIBRARY = CompiledLibrary(
    __file__,
    "ngrams",
    layout=2,
    ngrams_evidence=(
        *(None, array_of(np.uint32), _I64, _I64, INTEGER),
        *(array_of(np.int8), INTEGER, INTEGER, _I32),
    ),
    ngrams_sums=(
        *(INTEGER, array_of(np.int8, np.int32), INTEGER, INTEGER, INTEGER),
        *(_I64, INTEGER, _I64, INTEGER, _I32),
    ),
    ngrams_runs=(
        *(INTEGER, _I32, INTEGER, INTEGER, INTEGER, INTEGER),
        *(_I64, INTEGER, _I64, INTEGER, _I32),
    ),
    ngrams_index=(None, _U64, _I32, INTEGER, _SECRET, _SLOTS, INTEGER),
    ngrams_find=(None, _U64, INTEGER, _SECRET, _SLOTS, INTEGER, _I32),
)


def _is(array: NDArray[Any], kind: Any) -> bool:
    return array.dtype == kind and array.flags.c_contiguous


def evidence(
    characters: NDArray[np.uint32], runs: Ragged, words: int, weights: NDArray[np.int8]
) -> NDArray[np.int32] | None:
    """Return the sums of the weights of each word's n-grams, and their numbers: ``(words, l + 1)``.

    Args:
        characters: of all runs of letters, a space at either end of each.
        runs: the word of each run (``flat``), and its number of characters (``lengths``).
        words: how many there are.
        weights: ``(buckets, l)``; the number of buckets is a power of 2.
    """
    library = LIBRARY.open()
    if library is None or not _is(weights, np.int8) or not _is(characters, np.uint32):
        return None
    buckets, width = weights.shape
    owners, sizes = (np.ascontiguousarray(each, np.int64) for each in (runs.flat, runs.lengths))
    out, shift = np.zeros((words, width + 1), dtype=np.int32), 64 - (buckets.bit_length() - 1)
    text = characters, sizes, owners, len(sizes)
    library.ngrams_evidence(*text, weights, width, shift, out)
    return out


def group_sums(rows: NDArray[np.integer], groups: Ragged) -> NDArray[np.int32] | None:
    """Add up the *rows* ``(m, l)``, int8 or int32, at the places of each group: ``(n, l)``."""
    library = LIBRARY.open()
    if library is None or not (_is(rows, np.int8) or _is(rows, np.int32)):
        return None
    flat, lengths = (np.ascontiguousarray(each, np.int64) for each in (groups.flat, groups.lengths))
    count, width = rows.shape
    out = np.empty((len(lengths), width), dtype=np.int32)
    table = rows, rows.itemsize, count, width
    places = flat, len(flat), lengths, len(lengths)
    return None if library.ngrams_sums(*table, *places, out) else out


def longest_runs(
    rows: NDArray[np.int32], groups: Ragged, places: tuple[int, int]
) -> NDArray[np.int32] | None:
    """See :func:`bitextfilter.text.identifier.longest_runs`."""
    library = LIBRARY.open()
    if library is None or not _is(rows, np.int32):
        return None
    flat, lengths = (np.ascontiguousarray(each, np.int64) for each in (groups.flat, groups.lengths))
    out = np.empty((len(lengths), 3), dtype=np.int32)
    table = rows, len(rows), rows.shape[1] - 1, *places
    failed = library.ngrams_runs(*table, flat, len(flat), lengths, len(lengths), out)
    return None if failed else out


class KeyTable:
    """Finds the ids of keys."""

    def __init__(self, keys: Keys, ids: NDArray[np.int32]) -> None:
        """Take the keys, ascending, and the ids of each, which are not 0."""
        self._keys, self._ids = keys, ids
        self._slots: NDArray[Any] | None = None
        self._secret = int.from_bytes(os.urandom(8), "little")

    def find(self, keys: Keys) -> NDArray[np.int32]:
        """Return the id of each key, 0 for one that is unknown."""
        library = LIBRARY.open()
        if library is None or not _is(keys, np.uint64):
            return np.append(self._ids, np.int32(0))[places_of(keys, self._keys)]
        slots = self._slots  # held here: another thread may put its own in their place
        if slots is None:
            slots = self._slots = self._index(library)
        ids, rest = np.empty(len(keys), np.int32), (slots, len(slots) - 1)
        library.ngrams_find(keys, len(keys), self._secret, *rest, ids)
        return ids

    def _index(self, library: ctypes.CDLL) -> NDArray[Any]:
        slots = np.zeros(1 << (2 * len(self._keys)).bit_length(), dtype=_SLOT)
        keys, ids = (np.ascontiguousarray(each) for each in (self._keys, self._ids))
        given = keys, ids, len(keys), self._secret
        library.ngrams_index(*given, slots, len(slots) - 1)
        return slots
