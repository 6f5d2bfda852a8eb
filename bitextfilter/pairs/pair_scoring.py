"""Scores of pairs by a model's classifier: their types, and the way from logits; without torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Indices, Scores, Vectors
from bitextfilter.pairs.settings import (
    ClassifierSettings,
    WordClassifierSettings,
    classifier_settings,
)
from bitextfilter.text.features import Cut

Logits = NDArray[np.floating]
"""``(n, 1)`` or ``(n, 2)``. Column 0: logit that the pair is a translation (minor errors allowed).
Column 1, if present: logit that it has no minor error, given that it is one."""


class VectorRows(Protocol):
    """Vectors in memory or on disk."""

    def __getitem__(self, rows: Indices, /) -> Vectors:
        """Return the vectors at these places, ``(m, dim)``."""


EncodedSide = tuple[VectorRows, Sequence[str]]
"""Sentences of one language, and their vectors ``(n, dim)``."""

PairScorer = Callable[[Indices, Indices], Scores]
"""Scores pairs, given by the places of their sentences on both sides, ``(m,)`` each → ``(m,)``.

From 0 to 1, higher is better: the probability of a translation, or, with two logits, the
expected quality (:func:`expected_quality`)."""

Encode = Callable[[Sequence[str], int], Vectors]
"""Encodes sentences of one side, 0 or 1 → ``(n, dim)``."""

ScorerFactory = Callable[[EncodedSide, EncodedSide], PairScorer]
"""Makes a scorer of pairs from two sides; it may cache words from call to call."""


class PairScoring(Protocol):
    """A classifier, as it scores pairs."""

    @property
    def settings(self) -> ClassifierSettings:
        """Its shape."""

    def scorer_factory(
        self,
        encode: Encode,
        threads: int = 1,
        cut: Cut | None = None,
        languages: tuple[str, str] | None = None,
    ) -> ScorerFactory:
        """Return a factory of scorers of pairs.

        Args:
            encode: makes the vectors of words.
            threads: how many blocks are computed side by side.
            cut: divides words of scripts without spaces, for models of more than two languages.
            languages: of the sides; a classifier may lower the scores of text in others.
        """


def load_scoring(folder: Path) -> PairScoring | None:
    """Read the classifier of a model folder, to score with it; None if it has none.

    That of words needs no torch where its compiled network is there; else its scorers need it.

    Raises:
        NotFoundError: no model there, or the tensors are missing.
        ModelError: the model is damaged, or of a newer version.
    """
    settings = classifier_settings(folder)
    if isinstance(settings, WordClassifierSettings):
        from bitextfilter.pairs.word_scoring import load_word_scoring

        return load_word_scoring(folder, settings)
    if settings is None:
        return None
    from bitextfilter.pairs.pair_classifier import load_classifier

    return load_classifier(folder)


def scores(
    settings: ClassifierSettings,
    temperature: float,
    logits: Logits,
    offsets: Floats | float = 0.0,
) -> Scores:
    """Return the scores of pairs by their logits, ``(n,)``; see ``PairScorer``.

    *offsets* ``(n,)`` are added to the calibrated logits.
    """
    return sigmoid(joined(settings, logits) / temperature + offsets)


def joined(settings: ClassifierSettings, logits: Logits) -> NDArray[np.floating]:
    """Join the logits of pairs into one each, ``(n,)``: it rises with both.

    A weighted mean: of the logit of the expected quality, which is nearly the lower of the two,
    with weight 1, and of both, each with weight ``sum_weight``.
    """
    quality = expected_quality(logits, settings.minor_error_quality)
    if logits.shape[1] == 1 or not settings.sum_weight:
        return quality
    weight = settings.sum_weight
    both = logits[:, 0].astype(np.float64) + logits[:, 1]
    return np.asarray((quality + weight * both) / (1 + 2 * weight))


def expected_quality(logits: Logits, minor_error_quality: float) -> NDArray[np.floating]:
    """Combine the logits into one: the logit of the pair's expected quality, ``(n,)``.

    A translation has quality 1, one with a minor error q = *minor_error_quality*, any other pair
    0. With logits c, f and σ = sigmoid, the expectation is σ(c) (q + (1 - q) σ(f)). A single
    logit is returned unchanged. Computed one number at a time, as in :func:`sigmoid`.
    """
    if logits.shape[1] == 1:
        return logits[:, 0]
    scores, quality = [], minor_error_quality
    for translation, flawless in np.clip(logits, -300, 300).tolist():
        # With p = σ(c) g and g = q + (1 - q) σ(f), p / (1 - p) = g / (1 / e^c + 1 - g).
        if_right = quality + (1 - quality) / (1 + math.exp(-flawless))
        lost = (1 - quality) / (1 + math.exp(flawless))
        scores.append(math.log(if_right / (math.exp(-translation) + lost)))
    return np.array(scores, dtype=np.float64)


def sigmoid(logits: NDArray[np.floating]) -> Scores:
    """1 / (1 + e^−x), one number at a time: vectorised exponentials may depend on the place."""
    values = [1.0 / (1.0 + math.exp(-min(max(logit, -700.0), 700.0))) for logit in logits.tolist()]
    return np.array(values, dtype=np.float32)
