"""What every classifier of pairs is to the code around it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Indices, Scores, Vectors
from bitextfilter.errors import SettingsError

Answers = NDArray[np.floating]
"""``(n, 1)`` or ``(n, 2)``, logits: of a pair's being a translation, with a small mistake perhaps;
and of its having none, if it is one."""


class VectorRows(Protocol):
    """Vectors in memory or on disk."""

    def __getitem__(self, rows: Indices, /) -> Vectors:
        """Return those at some places, ``(m, dim)``."""


Side = tuple[VectorRows, Sequence[str]]
"""Sentences of one language, and their vectors ``(n, dim)``."""

PairScorer = Callable[[Indices, Indices], Scores]
"""From places of pairs among the sentences of both sides, each ``(m,)``, to scores.

From 0 to 1, higher is better: the probability that they are translations, or, of two answers, what
they may be expected to be worth (:func:`expected`)."""

Encode = Callable[[Sequence[str], int], Vectors]
"""From sentences of one side, 0 or 1, to vectors ``(n, dim)``."""

Scoring = Callable[[Side, Side], PairScorer]
"""From both sides to what scores pairs of them; it may remember words from call to call."""


def check_whole_numbers(settings: object, names: Iterable[str]) -> None:
    """Raise SettingsError where one of these settings is no whole number of at least 1."""
    for name in names:
        if type(getattr(settings, name)) is not int or getattr(settings, name) < 1:
            raise SettingsError(f"{name} must be a whole number of at least 1")


def check_worth(worth: object) -> None:
    """Raise SettingsError where what a pair with a small mistake is worth is not from 0 to 1/2."""
    if type(worth) not in (int, float) or not 0 <= worth < 0.5:  # type: ignore[operator]
        raise SettingsError(f"worth {worth!r}: must be a number from 0 to below 0.5")


def expected(answers: Answers, worth: float) -> NDArray[np.floating]:
    """From answers to one logit each, ``(n,)``: of what the pairs may be expected to be worth.

    A translation is worth 1, one with a small mistake *worth*, anything else 0. With logits c, f
    and σ = sigmoid, that is σ(c) (worth + (1 - worth) σ(f)). Where c is the only answer, it is
    returned as it is. One number at a time, as in :func:`sigmoid`.
    """
    if answers.shape[1] == 1:
        return answers[:, 0]
    rows = (_expected(c, f, worth) for c, f in np.clip(answers, -300, 300).tolist())
    return np.fromiter(rows, dtype=np.float64, count=len(answers))


def _expected(translation: float, flawless: float, worth: float) -> float:
    """With p = σ(c) g and g = worth + (1 - worth) σ(f), p / (1 - p) = g / (1 / e^c + 1 - g)."""
    if_right = worth + (1 - worth) / (1 + math.exp(-flawless))
    lost = (1 - worth) / (1 + math.exp(flawless))
    return math.log(if_right / (math.exp(-translation) + lost))


def sigmoid(logits: NDArray[np.floating]) -> Scores:
    """1 / (1 + e^−x), one number at a time: vectorised exponentials may depend on the place."""
    values = (1.0 / (1.0 + math.exp(-min(max(logit, -700.0), 700.0))) for logit in logits.tolist())
    return np.fromiter(values, dtype=np.float32, count=len(logits))
