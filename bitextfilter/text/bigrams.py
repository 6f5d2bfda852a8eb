"""Bigrams, two neighbouring words, and how familiar they are: a small table of their counts.

A bigram that no text has, of two words that many texts have, is a sign of a mistake: *a book
books*, *until two years of activity*. The counts of a training text are kept as four levels, in 2
bits each, in a table of buckets that bigrams are hashed to.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Integers
from bitextfilter.text.ragged import Ragged

_EDGE = 1 << 33
"""In place of the hash of a word, which is below 2³²: the start or the end of a sentence."""
_LEFT, _RIGHT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
"""Odd factors that spread the bits of a product: of the golden ratio, and a prime of xxHash."""
HIGHEST = 3
"""The level of the most frequent bigrams; 0 is that of rare and of unknown ones."""
_STEP = 4
"""Each level begins at so many times the occurrences of the one below,"""
_LEAST = 2
"""and level 1 at no fewer than these: of a training text's own, one is its own."""
_FULL = 1 / 4
"""The largest part of the buckets that are taken: level 1 begins at more occurrences if need be."""
IN_A_BYTE = 4
"""Levels in a byte."""


def bigrams(rows: Ragged, hashes: Integers) -> Ragged:
    """Return the bigrams of each sentence: one more than it has words, its edges counted as words.

    Args:
        rows: the words of each sentence, as places in *hashes*.
        hashes: of each word in lower case, ``(u,)``, from 0 to 2³² - 1.

    Returns:
        Keys from 0 to 2⁶³ - 1; different for different bigrams, but for one in 2⁶³.
    """
    ends = rows.lengths + 1
    left = np.full(int(ends.sum()), _EDGE, dtype=np.uint64)
    right = left.copy()
    places = np.arange(len(rows.flat)) + np.repeat(np.arange(len(rows)), rows.lengths)
    words = hashes[rows.flat].astype(np.uint64)
    left[places + 1] = words
    right[places] = words
    mixed = (left * _LEFT) ^ (right * _RIGHT)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * _LEFT
    return Ragged((mixed >> np.uint64(1)).astype(np.int64), ends)


def bytes_of(buckets: int) -> int:
    """Return the length of a table of so many buckets."""
    return -(-buckets // IN_A_BYTE)


def level_table(keys: Integers, buckets: int) -> NDArray[np.uint8]:
    """Count bigrams, and return the levels of *buckets*, packed: ``(bytes_of(buckets),)``.

    Bigrams that share a bucket have the highest level of them all; those of level 0 take no bucket.

    Args:
        keys: of all bigrams of a text, each as often as it occurs.
        buckets: at least 1.
    """
    distinct, counts = np.unique(keys, return_counts=True)
    ranked = -np.sort(-counts)[int(buckets * _FULL) :]
    least = max(_LEAST, int(ranked[:1].sum()) + 1)
    bounds = [least * _STEP**level for level in range(HIGHEST)]
    levels = np.searchsorted(bounds, counts, side="right").astype(np.uint8)
    table = np.zeros(bytes_of(buckets) * IN_A_BYTE, dtype=np.uint8)
    np.maximum.at(table, distinct % buckets, levels)
    parts = (table[place::IN_A_BYTE] << (2 * place) for place in range(IN_A_BYTE))
    packed: NDArray[np.uint8] = np.bitwise_or.reduce(np.stack(list(parts)), axis=0)
    return packed
