"""Score, mine and filter parallel sentence pairs with bilingual sentence embeddings.

>>> import bitextfilter
>>> model = bitextfilter.load("en-de")
>>> model.score(["Good morning!"], ["Guten Morgen!"], measures=("cosine",))

``load`` is imported on first use, so that ``import bitextfilter`` costs nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

# MKL reads this at its first product. By default the sums of a row may take another order where
# the row begins elsewhere in memory, as on AMD's processors: then a score depends on its company.
os.environ.setdefault("MKL_CBWR", "AUTO")

if TYPE_CHECKING:
    from bitextfilter.scoring.model import load as load

__all__ = ["__version__", "load"]

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Import ``load`` when it is first asked for."""
    if name == "load":
        from bitextfilter.scoring.model import load

        return load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
