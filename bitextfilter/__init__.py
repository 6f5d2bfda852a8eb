"""Clean, mine, align and rank parallel text, and score it by sentence embeddings.

>>> import bitextfilter
>>> model = bitextfilter.load("en-de")
>>> model.score(["Good morning!"], ["Guten Morgen!"], "cosine")

The names in ``__all__`` are the public ones; docs/python.md describes them. Each is imported on
first use, so that ``import bitextfilter`` is quick.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING

# MKL reads this at its first product. By default its sums depend on where a row begins in memory,
# as on AMD's processors: a score would depend on the other rows. STRICT: nor on how many there are.
os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")
# libgomp reads this when it is loaded. By default its threads wait for one another at full speed
# for milliseconds: beside other programs, a training with two threads took four times as long.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")

if TYPE_CHECKING:
    from bitextfilter.api.cleaning import Filter, clean, deduplicate, filter_pairs, fix, noise
    from bitextfilter.api.pairs import read_rows
    from bitextfilter.api.ranking import rank, report, sample, split, with_scores
    from bitextfilter.api.scoring import (
        align_documents,
        explain,
        load,
        mine,
        named_cut,
        pair_documents,
        recheck,
        recovery,
    )
    from bitextfilter.errors import (
        BitextError,
        DeviceError,
        InputError,
        ModelError,
        NotFoundError,
        OutputError,
        SettingsError,
        WorkerError,
    )
    from bitextfilter.scoring.model import Model

__version__ = "0.1.0"

__all__ = [
    "BitextError",
    "DeviceError",
    "Filter",
    "InputError",
    "Model",
    "ModelError",
    "NotFoundError",
    "OutputError",
    "SettingsError",
    "WorkerError",
    "__version__",
    "align_documents",
    "clean",
    "deduplicate",
    "explain",
    "filter_pairs",
    "fix",
    "load",
    "mine",
    "named_cut",
    "noise",
    "pair_documents",
    "rank",
    "read_rows",
    "recheck",
    "recovery",
    "report",
    "sample",
    "split",
    "with_scores",
]

_MODULES = {
    "errors": {name for name in __all__ if name.endswith("Error")},
    "scoring.model": {"Model"},
    "api.cleaning": {"Filter", "clean", "deduplicate", "filter_pairs", "fix", "noise"},
    "api.pairs": {"read_rows"},
    "api.ranking": {"rank", "report", "sample", "split", "with_scores"},
    "api.scoring": {
        *("align_documents", "explain", "load", "mine", "named_cut", "pair_documents"),
        *("recheck", "recovery"),
    },
}


def __getattr__(name: str) -> object:
    """Import a public name on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = next(module for module, names in _MODULES.items() if name in names)
    return getattr(import_module(f"{__name__}.{module}"), name)


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
