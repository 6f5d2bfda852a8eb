"""Cached scores, and the digests of the models and settings that made them.

The key of a score is made of both sentences and a digest of everything else that it depends on:
measure, model or model scorers, background sample, versions and processor. A cached score is the
very float32 that was computed.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import numpy as np

from bitextfilter import __version__
from bitextfilter.arrays import Scores
from bitextfilter.errors import ModelError
from bitextfilter.io.cache import KEY_BYTES, Cache
from bitextfilter.models.folders import full_model_digest, read_config
from bitextfilter.models.foreign import files_of
from bitextfilter.pairs.compiled_words import lanes
from bitextfilter.scoring.measures import MEASURES, TRANSLATION_MEASURES
from bitextfilter.scoring.model import check_measures, distinct

if TYPE_CHECKING:
    from bitextfilter.scoring.background import BackgroundSample
    from bitextfilter.scoring.model import Model
    from bitextfilter.scoring.model_scorers import ModelScorers


Compute = Callable[[Sequence[str], Sequence[str], Sequence[str]], Mapping[str, Scores]]
"""Scores ``n`` pairs, sources and targets, by some measures → the scores of each ``(n,)``."""

_UTF8 = "utf-8", "surrogatepass"

SCORES = 3
"""Raised where a change of the code changes the scores of an existing model."""

PACKAGES = (
    *("morfessor", "numpy", "regex", "sacremoses", "sentencepiece", "subword-nmt"),
    "torch",
)
"""Packages that read sentences, or compute."""


FOREIGN_PACKAGES = ("onnxruntime", "sentence-transformers", "tokenizers", "transformers")
"""Packages of encoders of other libraries."""


class CachedScores:
    """Scores each pair only once by each measure.

    ``counts["cached"]`` counts the pairs with nothing to compute: all scores are in the cache, or
    the pair stands earlier in the window; ``counts["scored"]`` counts the others.
    """

    def __init__(self, cache: Cache, counts: Counter[str]) -> None:
        """Use *cache*, and count in *counts*."""
        self._cache, self._counts = cache, counts
        self._counts.update(cached=0, scored=0)

    def __call__(
        self,
        digests: Mapping[str, bytes],
        sources: Sequence[str],
        targets: Sequence[str],
        compute: Compute,
    ) -> dict[str, Scores]:
        """Score ``n`` pairs → float32 ``(n,)`` by measure, equal to *compute* of all of them.

        ``digests``: for each measure, everything but the pair that its scores depend on. Raises
        InputError and OutputError of the cache.
        """
        pairs, rows = distinct(list(zip(sources, targets, strict=True)))
        keys = {name: pair_keys(digest, pairs) for name, digest in digests.items()}
        scores, missing = {}, {}
        for name in digests:
            scores[name], found = self._cache.get(keys[name])
            missing[name] = ~found

        new = np.flatnonzero(np.any([*missing.values()], axis=0))
        if names := [name for name in digests if missing[name].any()]:
            left, right = ([pairs[place][side] for place in new] for side in (0, 1))
            computed = compute(left, right, names)
            for name in names:
                scores[name][new] = computed[name]
                fresh = np.flatnonzero(missing[name])
                self._cache.put([keys[name][place] for place in fresh], scores[name][fresh])
        self._counts.update(cached=len(sources) - len(new), scored=len(new))
        return {name: values[rows] for name, values in scores.items()}


def pair_keys(digest: bytes, pairs: Sequence[tuple[str, str]]) -> list[bytes]:
    """Return the key of each pair: BLAKE2b of both sides, with the length of the first.

    *digest*: of everything else that the scores depend on.
    """
    sides = ((source.encode(*_UTF8), target.encode(*_UTF8)) for source, target in pairs)
    texts = (b"%d:%b%b" % (len(source), source, target) for source, target in sides)
    return [hashlib.blake2b(text, digest_size=KEY_BYTES, key=digest).digest() for text in texts]


def vector_digest(model: Model, measure: str, background: BackgroundSample | None) -> bytes:
    """Return the digest of one of ``MEASURES``; ``background`` is None for the model's own.

    Raises SettingsError as ``score_pairs`` does, and ModelError where the model's folder has
    changed since the model was loaded.
    """
    background = background or model.background
    check_measures(model, [measure], background)
    folder = full_model_digest(model.folder)
    short, _, width = model.digest.partition("@")
    if not folder.startswith(short):
        raise ModelError(f"{model.folder}: has changed since it was read")
    parts = [*_software(model.encoder.arithmetic()), folder, measure]
    parts += [f"@{width}"] if width else []
    if len(model.processor.known) > 2 or model.exchanged:
        parts += model.languages
    if files_of(model.folder, read_config(model.folder)) is not None:
        parts += [[name, _version(name)] for name in FOREIGN_PACKAGES]
    needs = MEASURES[measure].needs
    if background is not None and needs == "neighbours":
        parts.append(background.digest())
    if needs == "classifier":
        parts.append(lanes() or _of_torch())
    return _digest(parts)


def scorer_digest(scorers: ModelScorers, measure: str) -> bytes:
    """Return the digest of a translation measure, or of ``overlong``, a property of translators.

    Only the model scorers that the measure uses count, by ``ModelScorers.digests``.
    """
    from bitextfilter.models.device import CPU, arithmetic
    from bitextfilter.scoring.model_scorers import LONGEST

    known = TRANSLATION_MEASURES.get(measure)
    forward, backward, *language_models = scorers.digests
    fluent = known is not None and known.language_models
    parts: list[object] = [measure]
    parts.append([forward, backward, LONGEST] if known is None or known.translators else [])
    parts.append([*language_models, _version("kenlm")] if fluent else [])
    parts.append(list(scorers.weights) if measure == "log-linear" else [])
    translators = [model for model in (scorers.forward, scorers.backward) if model is not None]
    packages = sorted({name for model in translators for name in model.packages})
    parts += [[name, _version(name)] for name in packages]
    device = translators[0].device if translators else CPU
    return _digest([*_software(arithmetic(device)), *parts])


def _software(computer: list[str]) -> list[object]:
    """Return the versions that all scores depend on, and the result of ``arithmetic``."""
    versions = [[name, _version(name)] for name in PACKAGES]
    return [SCORES, __version__, versions, unicodedata.unidata_version, computer]


def _of_torch() -> list[str]:
    """Return the ``arithmetic`` of torch, which is not imported otherwise."""
    from bitextfilter.models.device import CPU, arithmetic

    return arithmetic(CPU)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _digest(parts: list[object]) -> bytes:
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=32).digest()
