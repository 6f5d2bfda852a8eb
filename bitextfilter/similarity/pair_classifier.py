"""The interface shared by both pair classifiers, and their scores from logits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Indices, Scores, Vectors
from bitextfilter.errors import SettingsError

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


def check_whole_numbers(settings: object, names: Iterable[str]) -> None:
    """Raise SettingsError where one of these settings is no whole number of at least 1."""
    for name in names:
        if type(getattr(settings, name)) is not int or getattr(settings, name) < 1:
            raise SettingsError(f"{name} must be a whole number of at least 1")


def check_minor_error_quality(quality: object) -> None:
    """Raise SettingsError for a quality of pairs with a minor error outside [0, 1/2)."""
    if type(quality) not in (int, float) or not 0 <= quality < 0.5:  # type: ignore[operator]
        raise SettingsError(
            f"minor_error_quality {quality!r}: must be a number from 0 to below 0.5"
        )


def expected_quality(logits: Logits, minor_error_quality: float) -> NDArray[np.floating]:
    """Combine the logits into one: the logit of the pair's expected quality, ``(n,)``.

    A translation has quality 1, one with a minor error q = *minor_error_quality*, any other pair
    0. With logits c, f and σ = sigmoid, the expectation is σ(c) (q + (1 - q) σ(f)). A single
    logit is returned unchanged. Computed one number at a time, as in :func:`sigmoid`.
    """
    if logits.shape[1] == 1:
        return logits[:, 0]
    rows = (_expected(c, f, minor_error_quality) for c, f in np.clip(logits, -300, 300).tolist())
    return np.fromiter(rows, dtype=np.float64, count=len(logits))


def _expected(translation: float, flawless: float, quality: float) -> float:
    """With p = σ(c) g and g = q + (1 - q) σ(f), p / (1 - p) = g / (1 / e^c + 1 - g)."""
    if_right = quality + (1 - quality) / (1 + math.exp(-flawless))
    lost = (1 - quality) / (1 + math.exp(flawless))
    return math.log(if_right / (math.exp(-translation) + lost))


def quality_scores(logits: Logits, minor_error_quality: float, temperature: float) -> Scores:
    """Return the scores of pairs ``(n,)``, as ``PairScorer`` defines them, from their logits."""
    return sigmoid(expected_quality(logits, minor_error_quality) / temperature)


def sigmoid(logits: NDArray[np.floating]) -> Scores:
    """1 / (1 + e^−x), one number at a time: vectorised exponentials may depend on the place."""
    values = (1.0 / (1.0 + math.exp(-min(max(logit, -700.0), 700.0))) for logit in logits.tolist())
    return np.fromiter(values, dtype=np.float32, count=len(logits))
