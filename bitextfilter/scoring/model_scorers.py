"""Scores of sentence pairs by translators and language models.

Cached scores, and the digests of the models and settings that made them.

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
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import numpy as np

from bitextfilter import __version__
from bitextfilter.arrays import Floats, Indices, Mask, Scores
from bitextfilter.errors import ModelError, SettingsError
from bitextfilter.io.cache import KEY_BYTES, Cache
from bitextfilter.models.folders import full_model_digest, read_config
from bitextfilter.models.foreign import files_of
from bitextfilter.scoring.measures import MEASURES, TRANSLATION_MEASURES
from bitextfilter.scoring.model import check_measures, distinct
from bitextfilter.similarity.compiled_words import lanes
from bitextfilter.translation.translator import (
    AnyTranslator,
    TranslationScorer,
    dual_cross_entropy,
)

if TYPE_CHECKING:
    from bitextfilter.scoring.background import BackgroundSample
    from bitextfilter.scoring.model import Model

Fluency = Callable[[Sequence[str]], Floats]
"""Mean natural-log probability of the tokens of ``n`` sentences, their end marks included."""

LONGEST = 512
"""Translators truncate sentences to this many subwords: one of this length costs as much as a
hundred average ones."""

WEIGHTS = (0.25, 0.25, 0.25, 0.25)


@dataclass(frozen=True)
class ModelScorers:
    """The models that score a pair; each is optional."""

    forward: AnyTranslator | None = None
    """From the source to the target language."""
    backward: AnyTranslator | None = None
    fluency: tuple[Fluency | None, Fluency | None] = (None, None)
    """Language models of the source and of the target."""
    weights: tuple[float, float, float, float] = WEIGHTS
    """Weights of the log-linear measure, in the order of the fields above."""
    digests: tuple[str, str, str, str] = ("", "", "", "")
    """Digests of the four models, in the same order; empty for a missing one."""


class SentenceScores:
    """Lazily computed model scores for the sentences of both sides; each is read once."""

    def __init__(
        self, scorers: ModelScorers, sources: Sequence[str], targets: Sequence[str]
    ) -> None:
        self.scorers = scorers
        self._sides = sources, targets

    @cached_property
    def forward(self) -> TranslationScorer:
        """Scores targets given sources."""
        assert self.scorers.forward is not None, "check_scorers comes first"
        return self.scorers.forward.pair_scorer(*self._sides, longest=LONGEST)

    @cached_property
    def backward(self) -> TranslationScorer:
        """Scores sources given targets."""
        assert self.scorers.backward is not None, "check_scorers comes first"
        return self.scorers.backward.pair_scorer(*self._sides[::-1], longest=LONGEST)

    @cached_property
    def fluency(self) -> tuple[Floats | None, Floats | None]:
        """Fluency of the sentences of each side ``(n,)``; None without a language model."""
        source, target = (
            model and model(side)
            for model, side in zip(self.scorers.fluency, self._sides, strict=True)
        )
        return source, target

    def truncated(self, rows: Indices, columns: Indices) -> Mask:
        """Return True for pairs with a sentence that a translator truncated: ``(n,)``."""
        out = np.zeros(len(rows), dtype=bool)
        if "forward" in vars(self):
            out |= self.forward.truncated[0][rows] | self.forward.truncated[1][columns]
        if "backward" in vars(self):
            out |= self.backward.truncated[0][columns] | self.backward.truncated[1][rows]
        return out

    def score(self, rows: Indices, columns: Indices, measures: Sequence[str]) -> Scores:
        """Score pairs by places of source and target, ``(n,)`` each → float32 ``(n, m)``."""
        wanted, scorers = [TRANSLATION_MEASURES[name] for name in measures], self.scorers
        directions: list[Floats] = []
        if any(measure.translators for measure in wanted):
            directions += [] if scorers.forward is None else [self.forward(rows, columns)]
            directions += [] if scorers.backward is None else [self.backward(columns, rows)]
        fluencies: list[Floats] = []
        if any(measure.language_models for measure in wanted):
            sides = zip(self.fluency, (rows, columns), strict=True)
            fluencies = [values[places] for values, places in sides if values is not None]
        formulas: dict[str, Callable[[], Floats]] = {
            "translation": lambda: np.mean(directions, axis=0),
            "dual": lambda: dual_cross_entropy(*directions),
            "language-model": lambda: np.mean(fluencies, axis=0),
            "log-linear": lambda: np.array(scorers.weights) @ np.stack([*directions, *fluencies]),
        }
        return np.stack([formulas[name]() for name in measures], axis=1).astype(np.float32)


def check_scorers(scorers: ModelScorers, measures: Sequence[str]) -> None:
    """Raise SettingsError for measures that need more models."""
    translators = sum(model is not None for model in (scorers.forward, scorers.backward))
    models = sum(model is not None for model in scorers.fluency)
    for name in measures:
        measure = TRANSLATION_MEASURES[name]
        if translators < measure.translators:
            folders = "DIR,DIR" if measure.translators == 2 else "DIR"
            raise SettingsError(f"{name} needs --translator {folders}")
        if models < measure.language_models:
            files = "FILE,FILE" if measure.language_models == 2 else "FILE"
            raise SettingsError(f"{name} needs --language-models {files}")


def score_by_models(
    scorers: ModelScorers, sources: Sequence[str], targets: Sequence[str], measures: Sequence[str]
) -> tuple[Scores, Mask]:
    """Score ``n`` pairs by ``m`` translation measures; each score depends on its pair alone.

    Returns:
        Scores, float32 ``(n, m)``, higher is better; and the pairs with a sentence truncated to
        ``LONGEST`` subwords, ``(n,)``.
    """
    if not sources:
        return np.zeros((0, len(measures)), np.float32), np.zeros(0, dtype=bool)
    pairs, places = distinct(list(zip(sources, targets, strict=True)))
    (source, rows), (target, columns) = (distinct([pair[i] for pair in pairs]) for i in (0, 1))
    sentences = SentenceScores(scorers, source, target)
    scores = sentences.score(rows, columns, measures)[places]
    return scores, sentences.truncated(rows, columns)[places]


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
