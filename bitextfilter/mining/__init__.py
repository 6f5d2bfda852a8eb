"""Finding translations in texts that are not aligned, and aligning documents."""

from __future__ import annotations

from bitextfilter.mining.comparable import Mined, MiningSettings, mine
from bitextfilter.mining.documents import (
    Alignment,
    Means,
    align_by_lengths,
    align_by_vectors,
    align_by_words,
)
from bitextfilter.mining.link_costs import LinkSettings
from bitextfilter.mining.monotonic import Link

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
