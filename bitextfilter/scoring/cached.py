"""Cached scores, and the digests of all that a score depends on.

A score's key is made of both sentences and of the digest of all else that it depends on
(``contexts.py``). A score comes back as the very float32 that was computed.

Measure, model or judges, the neighbours if it is measured against some, and what computes:
versions and processor.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import numpy as np

from bitextfilter import __version__
from bitextfilter.arrays import Scores
from bitextfilter.errors import ModelError
from bitextfilter.io.cache import KEY_BYTES, Cache
from bitextfilter.models.device import arithmetic, resolve_device
from bitextfilter.models.folders import full_model_digest
from bitextfilter.scoring.measures import MEASURES, TRANSLATION_MEASURES
from bitextfilter.scoring.model import check_measures, distinct
from bitextfilter.scoring.translation import LONGEST

if TYPE_CHECKING:
    from bitextfilter.scoring.background import Reference
    from bitextfilter.scoring.model import Model
    from bitextfilter.scoring.translation import Judges


Compute = Callable[[Sequence[str], Sequence[str], Sequence[int]], Scores]
"""Scores ``n`` pairs, sources and targets, for ``m`` columns by their places: ``(n, m)``."""

_UTF8 = "utf-8", "surrogatepass"


class CachedScores:
    """Has each pair scored only once for each column.

    ``counts["cached"]`` counts the pairs for which nothing had to be computed: known to the
    cache, or the same as one before in the window; ``counts["scored"]`` counts the others.
    """

    def __init__(self, cache: Cache, counts: Counter[str]) -> None:
        """Use *cache*, and count in *counts*."""
        self._cache, self._counts = cache, counts
        self._counts.update(cached=0, scored=0)

    def __call__(
        self,
        contexts: Sequence[bytes],
        sources: Sequence[str],
        targets: Sequence[str],
        compute: Compute,
    ) -> Scores:
        """Score ``n`` pairs → float32 ``(n, m)``: what *compute* would give for all columns.

        ``contexts``: of each of the ``m`` columns, a digest of all but the pair that its scores
        depend on. Raises InputError and OutputError of the cache.
        """
        pairs, places = distinct(list(zip(sources, targets, strict=True)))
        flat = [key for context in contexts for key in _keys(context, pairs)]
        values, found = self._cache.get(flat)
        shape = len(contexts), len(pairs)
        scores: Scores = values.reshape(shape).T
        missing = ~found.reshape(shape).T

        rows, columns = (np.flatnonzero(missing.any(axis=axis)).tolist() for axis in (1, 0))
        if rows:
            left, right = ([pairs[row][side] for row in rows] for side in (0, 1))
            scores[np.ix_(rows, columns)] = compute(left, right, columns)
            new = missing.T.reshape(-1)
            fresh = [flat[place] for place in np.flatnonzero(new)]
            self._cache.put(fresh, scores.T.reshape(-1)[new])
        self._counts.update(cached=len(sources) - len(rows), scored=len(rows))
        return np.asarray(scores[places])


def _keys(context: bytes, pairs: Sequence[tuple[str, str]]) -> list[bytes]:
    """Return the key of each pair: BLAKE2b of both sides, with the length of the first."""
    sides = ((source.encode(*_UTF8), target.encode(*_UTF8)) for source, target in pairs)
    return [_key(context, source, target) for source, target in sides]


def _key(context: bytes, source: bytes, target: bytes) -> bytes:
    text = b"%d:%b%b" % (len(source), source, target)
    return hashlib.blake2b(text, digest_size=KEY_BYTES, key=context).digest()


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
    """Return the digest of a translation measure, or of ``overlong``, which asks translators alone.

    Only those judges count whom the measure asks, by ``Judges.contents``.
    """
    known = TRANSLATION_MEASURES.get(measure)
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
    digest = full_model_digest(model.folder)
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
