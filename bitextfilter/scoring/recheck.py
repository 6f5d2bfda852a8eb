"""A second, slower model for the pairs that the first one doubts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import compress

import numpy as np

from bitextfilter.arrays import Mask, Scores
from bitextfilter.errors import SettingsError
from bitextfilter.models.folders import ModelName

Interval = tuple[float, float]
"""The lowest and the highest score that is doubted."""

Second = Callable[[Sequence[str], Sequence[str]], Scores]
"""Returns a slow model's scores of ``n`` pairs, ``(n,)``."""


def slow_name(name: str, languages: tuple[str, str]) -> str:
    """Return the name of a slow model with the languages of the fast one, if it has none."""
    named = ModelName.parse(name).languages is not None
    return name if named else f"{name}:{','.join(languages)}"


def doubted(scores: Scores, between: Interval) -> Mask:
    """Return which scores ``(n,)`` are doubted: those in the interval, its ends among them."""
    return np.asarray((scores >= between[0]) & (scores <= between[1]))


def placed(fast: Scores, slow: Scores, between: Interval) -> Scores:
    """Return the scores of doubted pairs by both models, float32 ``(n,)`` in the interval.

    The mean of the place of the first score in the interval, 0 to 1, and of the second score, of
    which less than 0 counts as 0. It rises with each.
    """
    low, high = between
    place = (fast.astype(np.float64) - low) / (high - low)
    both = low + (high - low) * (place + np.clip(slow.astype(np.float64), 0, 1)) / 2
    return np.asarray(both, np.float32)


class Recheck:
    """Replaces the scores of doubted pairs; counts them in ``counts["rechecked"]``."""

    def __init__(self, second: Second, between: Interval, counts: Counter[str]) -> None:
        """Take the slow model's scores. Raises SettingsError unless the lower end is lower."""
        low, high = between
        if not -np.inf < low < high < np.inf:
            raise SettingsError(f"low and high must be numbers, low below high: {low:g}, {high:g}")
        self._second, self._between, self._counts = second, between, counts
        counts.update(rechecked=0)

    def __call__(self, sources: Sequence[str], targets: Sequence[str], scores: Scores) -> Scores:
        """Return the scores of ``n`` pairs ``(n,)``, the doubted ones by both models."""
        doubts = doubted(scores, self._between)
        out: Scores = scores.copy()
        self._counts["rechecked"] += int(doubts.sum())
        if doubts.any():
            slow = self._second([*compress(sources, doubts)], [*compress(targets, doubts)])
            out[doubts] = placed(scores[doubts], slow, self._between)
        return out
