"""Keys of rows, for texts that are compared by their keys, and their search in a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bitextfilter.arrays import Integers, Keys
from bitextfilter.corpus.duplicate_keys import DedupSettings, text_key
from bitextfilter.io.spill import KeyTable


def row_keys(rows: Sequence[Sequence[str]], settings: DedupSettings) -> list[bytes]:
    """Return the keys of all rows, ``settings.keys`` of each, given the texts to compare."""
    if settings.keys == 1:
        return [text_key(row) for row in rows]
    return [side_key(text, side) for row in rows for side, text in enumerate(row)]


def side_key(text: str, side: int) -> bytes:
    """Return the key of the text of one side, 0 or 1, of a row that is compared by either."""
    return text_key((text,), b"%d" % side)


def as_keys(digests: Sequence[bytes]) -> Keys:
    """Return keys as numbers, ``(n, 2)``."""
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64).reshape(-1, 2)


def first_known(table: KeyTable, keys: Keys, width: int) -> Integers:
    """Return the first line in a table with one of the *width* keys of each row, or 0."""
    found = table.find(keys).reshape(-1, width)
    none = np.iinfo(np.int64).max
    first = np.where(found > 0, found, none).min(axis=1)
    return np.where(first < none, first, 0)
