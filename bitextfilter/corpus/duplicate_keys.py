"""Settings of deduplication, and the keys that duplicate rows share."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bitextfilter.settings import Settings, setting
from bitextfilter.text.wording import IGNORED, Wording, normaliser

if TYPE_CHECKING:
    from bitextfilter.arrays import Keys

MATCH = ("exact", "normalised", "near")
BY = ("pair", "source", "target", "either")
KEEP = ("first", "best")

_KEY_BYTES = 16
"""Keys are BLAKE2b of 128 bits: two of 10⁸ different texts share one with odds of 1 to 10²²."""


@dataclass(frozen=True)
class DedupSettings(Settings):
    """Definition of duplicates, and the choice of the row to keep.

    ``match``: texts are equal (exact), or equal without the parts in ``ignore`` (normalised), or
    their ``shingle``-grams of characters have a Jaccard similarity of ``similarity`` or more
    (near; by pair, on each side; the first 10,000 characters of a text count). ``by``: compare
    both sides together, one, or either. ``keep``: the first row, or the first with the best score.
    ``memory``: approximate bytes to use. ``languages``: codes of source and target, for the case of
    their letters.
    """

    match: str = setting("exact", choices=MATCH)
    by: str = setting("pair", choices=BY)
    keep: str = setting("first", choices=KEEP)
    ignore: tuple[str, ...] = IGNORED
    similarity: float = setting(0.8, within="> 0, <= 1")
    shingle: int = setting(4, within="> 0")
    memory: int = setting(1 << 30, within="> 0")
    languages: tuple[str, str] | None = None

    @property
    def sides(self) -> int:
        """Number of texts of a row that are compared."""
        return 1 if self.by in ("source", "target") else 2

    @property
    def keys(self) -> int:
        """Number of keys of a row (not for near): a row with a known key is a duplicate."""
        return 2 if self.by == "either" else 1

    @property
    def normalisers(self) -> list[Wording]:
        """A function for the texts of each side that are compared.

        Raises SettingsError for an unknown part to ignore, or an unknown language.
        """
        if self.match == "exact":
            return [str] * self.sides
        sides = {"source": slice(1), "target": slice(1, 2)}.get(self.by, slice(2))
        return [normaliser(self.ignore, code) for code in (self.languages or ("", ""))[sides]]


def text_key(texts: Sequence[str], kind: bytes = b"") -> bytes:
    """Return the key of *texts* together, of one *kind*: 16 bytes.

    It covers the length of each text, so that no other division gives the same key.
    """
    parts = [kind]
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        parts += (b"%d:" % len(data), data)
    return hashlib.blake2b(b"".join(parts), digest_size=_KEY_BYTES).digest()


def as_keys(digests: Sequence[bytes]) -> Keys:
    """Return keys as numbers, ``(n, 2)``."""
    import numpy as np

    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64).reshape(-1, 2)
