"""Finding translations in texts that are not aligned."""

from __future__ import annotations

from bitextfilter.mining.comparable import Mined, MiningSettings, mine

__all__ = ["Mined", "MiningSettings", "mine"]
