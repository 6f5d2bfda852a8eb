"""Scores of pairs that were scored before, taken from a cache; all others go into it.

What a score depends on is its key: both sentences, measure, model, the neighbours if it is
measured against some, and what computes: versions and processor. A score comes back as the very
float32 that was computed.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import numpy as np

from bitextfilter import __version__
from bitextfilter.errors import ModelError
from bitextfilter.io.cache import KEY_BYTES, Cache
from bitextfilter.models.device import arithmetic
from bitextfilter.models.folders import full_digest
from bitextfilter.scoring.scorers import MEASURES, check_measures, distinct, score_pairs
from bitextfilter.similarity.vectors import Scores

if TYPE_CHECKING:
    from bitextfilter.scoring.model import Model
    from bitextfilter.scoring.reference import Reference

__all__ = ["CachedScores"]

SCORES = 1
"""Goes up where a change of the code changes the scores of a model that is already there."""

PACKAGES = (
    *("ftfy", "morfessor", "numpy", "regex", "sacremoses", "sentencepiece", "subword-nmt"),
    "torch",
)
"""What reads sentences, or computes."""

_UTF8 = "utf-8", "surrogatepass"


class CachedScores:
    """Scores pairs as ``score_pairs`` does, each by each measure only once.

    ``counts["cached"]`` counts the pairs for which nothing had to be computed: known to the
    cache, or the same as one before in the window; ``counts["scored"]`` counts the others.
    """

    def __init__(self, cache: Cache, counts: Counter[str]) -> None:
        """Use *cache*, and count in *counts*."""
        self._cache, self._counts = cache, counts
        self._counts.update(cached=0, scored=0)
        self._model: Model | None = None
        self._reference: Reference | None = None
        self._shared: list[object] = []
        self._contexts: dict[str, bytes] = {}

    def __call__(
        self,
        model: Model,
        sources: Sequence[str],
        targets: Sequence[str],
        measures: Sequence[str],
        reference: Reference | None = None,
    ) -> Scores:
        """Score ``n`` pairs by ``m`` measures → float32 ``(n, m)``: see ``score_pairs``.

        Also raises InputError and OutputError of the cache, and ModelError where the model's
        folder is no longer what was loaded.
        """
        check_measures(model, measures, reference or model.reference)
        pairs, places = distinct(list(zip(sources, targets, strict=True)))
        keys = [_keys(self._context(model, name, reference), pairs) for name in measures]
        flat = [key for column in keys for key in column]
        values, found = self._cache.get(flat)
        shape = len(measures), len(pairs)
        scores: Scores = values.reshape(shape).T
        missing = ~found.reshape(shape).T

        rows, columns = (np.flatnonzero(missing.any(axis=axis)).tolist() for axis in (1, 0))
        if rows:
            wanted = [pairs[row] for row in rows]
            names = [measures[column] for column in columns]
            sides = [source for source, _ in wanted], [target for _, target in wanted]
            scores[np.ix_(rows, columns)] = score_pairs(model, *sides, names, reference)
            new = missing.T.reshape(-1)
            fresh = [flat[place] for place in np.flatnonzero(new)]
            self._cache.put(fresh, scores.T.reshape(-1)[new])
        self._counts.update(cached=len(sources) - len(rows), scored=len(rows))
        return np.asarray(scores[places])

    def _context(self, model: Model, measure: str, reference: Reference | None) -> bytes:
        """Return a digest of all but the pair that a score depends on."""
        if self._model is not model:
            self._shared = _circumstances(model)
            self._model, self._contexts = model, {}
        if self._reference is not reference:
            self._reference, self._contexts = reference, {}
        if measure not in self._contexts:
            parts = [*self._shared, measure]
            neighbours = reference or model.reference
            if neighbours is not None and MEASURES[measure].needs == "neighbours":
                parts.append(neighbours.digest())
            text = json.dumps(parts).encode()
            self._contexts[measure] = hashlib.blake2b(text, digest_size=32).digest()
        return self._contexts[measure]


def _circumstances(model: Model) -> list[object]:
    """Return what the scores of a model depend on whatever the measure."""
    digest = full_digest(model.folder)
    if not digest.startswith(model.digest):
        raise ModelError(f"{model.folder}: has changed since it was read")
    versions = [[name, _version(name)] for name in PACKAGES]
    text = unicodedata.unidata_version
    return [SCORES, __version__, digest, versions, text, arithmetic(model.encoder.device)]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _keys(context: bytes, pairs: Sequence[tuple[str, str]]) -> list[bytes]:
    """Return the key of each pair: BLAKE2b of both sides, with the length of the first."""
    sides = ((source.encode(*_UTF8), target.encode(*_UTF8)) for source, target in pairs)
    return [_key(context, source, target) for source, target in sides]


def _key(context: bytes, source: bytes, target: bytes) -> bytes:
    text = b"%d:%b%b" % (len(source), source, target)
    return hashlib.blake2b(text, digest_size=KEY_BYTES, key=context).digest()
