"""What a score depends on besides its pair, as digests: the keys of a cache are made of them.

Measure, model or judges, the neighbours if it is measured against some, and what computes:
versions and processor.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from bitextfilter import __version__
from bitextfilter.errors import ModelError
from bitextfilter.models.device import arithmetic, resolve_device
from bitextfilter.models.folders import full_digest
from bitextfilter.scoring.scorers import MEASURES, check_measures
from bitextfilter.scoring.translation import JUDGED, LONGEST

if TYPE_CHECKING:
    from bitextfilter.scoring.model import Model
    from bitextfilter.scoring.reference import Reference
    from bitextfilter.scoring.translation import Judges

__all__ = ["VectorContexts", "judged_context"]

SCORES = 1
"""Goes up where a change of the code changes the scores of a model that is already there."""

PACKAGES = (
    *("ftfy", "morfessor", "numpy", "regex", "sacremoses", "sentencepiece", "subword-nmt"),
    "torch",
)
"""What reads sentences, or computes."""


class VectorContexts:
    """Those of a model's measures, each computed once for as long as the model is the same."""

    def __init__(self) -> None:
        self._model: Model | None = None
        self._reference: Reference | None = None
        self._shared: list[object] = []
        self._known: dict[str, bytes] = {}

    def __call__(self, model: Model, measure: str, reference: Reference | None) -> bytes:
        """Return the digest of a measure; ``reference`` is None for the model's own.

        Raises SettingsError as ``score_pairs`` does, and ModelError where the model's folder is
        no longer what was loaded.
        """
        check_measures(model, [measure], reference or model.reference)
        if self._model is not model:
            self._shared = _of_model(model)
            self._model, self._known = model, {}
        if self._reference is not reference:
            self._reference, self._known = reference, {}
        if measure not in self._known:
            parts = [*self._shared, measure]
            neighbours = reference or model.reference
            if neighbours is not None and MEASURES[measure].needs == "neighbours":
                parts.append(neighbours.digest())
            self._known[measure] = _digest(parts)
        return self._known[measure]


def judged_context(judges: Judges, measure: str) -> bytes:
    """Return the digest of one of ``JUDGED``, or of ``overlong``, which asks translators alone.

    Only those judges count whom the measure asks, by ``Judges.contents``.
    """
    known = JUDGED.get(measure)
    forward, backward, *language_models = judges.contents
    fluent = known is not None and known.language_models
    parts: list[object] = [measure]
    parts.append([forward, backward, LONGEST] if known is None or known.translators else [])
    parts.append([*language_models, _version("kenlm")] if fluent else [])
    parts.append(list(judges.weights) if measure == "log-linear" else [])
    translators = [judge for judge in (judges.forward, judges.backward) if judge is not None]
    device = translators[0].device if translators else resolve_device("cpu")
    return _digest([*_circumstances(arithmetic(device)), *parts])


def _of_model(model: Model) -> list[object]:
    """Return what the scores of a model depend on whatever the measure."""
    digest = full_digest(model.folder)
    if not digest.startswith(model.digest):
        raise ModelError(f"{model.folder}: has changed since it was read")
    return [*_circumstances(arithmetic(model.encoder.device)), digest]


def _circumstances(computer: list[str]) -> list[object]:
    """Return what all scores depend on; ``computer`` is what ``arithmetic`` says."""
    versions = [[name, _version(name)] for name in PACKAGES]
    return [SCORES, __version__, versions, unicodedata.unidata_version, computer]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _digest(parts: list[object]) -> bytes:
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=32).digest()
