"""Settings of deduplication, and the keys that duplicate rows share."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bitextfilter.settings import Settings, from_1, setting
from bitextfilter.text.wording import IGNORABLE, IGNORED, Wording, normaliser

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

    ``similarity`` of texts that are near is on each side, by pair; the first 10,000 characters of a
    text count. ``languages`` are codes of source and target.
    """

    match: str = setting(
        "exact", "Texts that count as duplicates: see above.", choices=MATCH, option="--match"
    )
    by: str = setting(
        "pair",
        "Compare both sides together, one, or either: then no text comes twice.",
        choices=BY,
        option="--by",
    )
    keep: str = setting(
        "first", "Row to keep; best is by the score in --column.", choices=KEEP, option="--keep"
    )
    ignore: tuple[str, ...] = setting(
        IGNORED,
        f"Parts that normalised and near ignore, of {', '.join(IGNORABLE)}  "
        f"[default: {','.join(IGNORED)}]",
        option="--ignore NAME[,NAME...]",
    )
    similarity: float = setting(
        0.8,
        "Least Jaccard similarity of near texts, above 0, up to 1  [default: 0.8]",
        within="> 0, <= 1",
        option="--similarity",
    )
    shingle: int = from_1(
        4, "Characters of the n-grams that near compares  [default: 4]", option="--shingle"
    )
    memory: int = setting(
        1 << 30,
        "Approximate memory: 500M, 4G. No result depends on it.",
        within="> 0",
        option="--memory BYTES",
    )
    languages: tuple[str, str] | None = setting(
        None,
        "By whose rules capitals become small letters, such as en,tr: for normalised and near.",
        option="--languages SOURCE,TARGET",
    )

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
