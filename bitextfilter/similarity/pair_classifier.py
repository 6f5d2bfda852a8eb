"""What every classifier of pairs is to the code around it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from bitextfilter.errors import SettingsError
from bitextfilter.similarity.vectors import Scores, Vectors

__all__ = ["Encode", "Indices", "PairScorer", "Scoring", "Side", "check_whole_numbers", "sigmoid"]

Indices = NDArray[np.int64]

Side = tuple[Vectors, Sequence[str]]
"""Sentences of one language, and their vectors ``(n, dim)``."""

PairScorer = Callable[[Indices, Indices], Scores]
"""From places of pairs among the sentences of both sides, each ``(m,)``, to probabilities."""

Encode = Callable[[Sequence[str], int], Vectors]
"""From sentences of one side, 0 or 1, to vectors ``(n, dim)``."""

Scoring = Callable[[Side, Side], PairScorer]
"""From both sides to what scores pairs of them; it may remember words from call to call."""


def check_whole_numbers(settings: object, names: Iterable[str]) -> None:
    """Raise SettingsError where one of these settings is no whole number of at least 1."""
    for name in names:
        if type(getattr(settings, name)) is not int or getattr(settings, name) < 1:
            raise SettingsError(f"{name} must be a whole number of at least 1")


def sigmoid(logits: NDArray[np.floating]) -> Scores:
    """1 / (1 + e^−x), one number at a time: vectorised exponentials may depend on the place."""
    values = (1.0 / (1.0 + math.exp(-min(max(logit, -700.0), 700.0))) for logit in logits.tolist())
    return np.fromiter(values, dtype=np.float32, count=len(logits))
