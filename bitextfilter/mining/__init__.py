"""Finding translations in texts that are not aligned, and aligning documents."""

from __future__ import annotations

from bitextfilter.mining.comparable import Mined, MiningSettings, mine
from bitextfilter.mining.documents import (
    Alignment,
    Link,
    LinkSettings,
    Means,
    align_by_lengths,
    align_by_vectors,
    align_by_words,
)

__all__ = [
    "Alignment",
    "Link",
    "LinkSettings",
    "Means",
    "Mined",
    "MiningSettings",
    "align_by_lengths",
    "align_by_vectors",
    "align_by_words",
    "mine",
]
