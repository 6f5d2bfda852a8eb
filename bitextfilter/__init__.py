"""Clean, mine, align and rank parallel text, and score it by sentence embeddings.

>>> import bitextfilter
>>> model = bitextfilter.load("en-de")
>>> model.score(["Good morning!"], ["Guten Morgen!"], "cosine")

The names in ``__all__`` are the public ones; docs/python.md describes them. Each is imported on
first use, so that ``import bitextfilter`` costs nothing.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING

# MKL reads this at its first product. By default the sums of a row may take another order where
# the row begins elsewhere in memory, as on AMD's processors: then a score depends on its company.
os.environ.setdefault("MKL_CBWR", "AUTO")

if TYPE_CHECKING:
    from bitextfilter.api.cleaning import Filter as Filter
    from bitextfilter.api.cleaning import deduplicate as deduplicate
    from bitextfilter.api.cleaning import filter_pairs as filter_pairs
    from bitextfilter.api.cleaning import fix as fix
    from bitextfilter.api.cleaning import noise as noise
    from bitextfilter.api.cleaning import rank as rank
    from bitextfilter.api.finding import align_documents as align_documents
    from bitextfilter.api.finding import mine as mine
    from bitextfilter.api.finding import recovery as recovery
    from bitextfilter.api.reading import read_rows as read_rows
    from bitextfilter.errors import BitextError as BitextError
    from bitextfilter.errors import DeviceError as DeviceError
    from bitextfilter.errors import InputError as InputError
    from bitextfilter.errors import ModelError as ModelError
    from bitextfilter.errors import NotFoundError as NotFoundError
    from bitextfilter.errors import OutputError as OutputError
    from bitextfilter.errors import SettingsError as SettingsError
    from bitextfilter.errors import WorkerError as WorkerError
    from bitextfilter.scoring.model import Model as Model
    from bitextfilter.scoring.model import load as load

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
    "deduplicate",
    "filter_pairs",
    "fix",
    "load",
    "mine",
    "noise",
    "rank",
    "read_rows",
    "recovery",
]

__version__ = "0.1.0"


_HOMES = {
    "api.cleaning": ("Filter", "deduplicate", "filter_pairs", "fix", "noise", "rank"),
    "api.finding": ("align_documents", "mine", "recovery"),
    "api.reading": ("read_rows",),
    "scoring.model": ("Model", "load"),
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    homes = (home for home, names in _HOMES.items() if name in names)
    return getattr(import_module(f"{__name__}.{next(homes, 'errors')}"), name)


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
