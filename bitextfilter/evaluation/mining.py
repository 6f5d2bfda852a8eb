"""How well mined sentence pairs are those that are known to be translations.

Zweigenbaum, Sharoff & Rapp 2017, "Overview of the second BUCC shared task", section 3: of the
pairs found, the part that is right (precision), the part of the gold pairs that is found (recall),
and their harmonic mean (F1). Pairs are the same if both texts are, character for character. Pairs
that tie in score are kept together or not at all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats
from bitextfilter.evaluation.filtering import Bootstrap, Estimate, estimates
from bitextfilter.similarity.separation import best_counts, mean_precision

Pair = tuple[str, str]
"""Source and target."""

_OF_A_CUT = ("f1", "precision", "recall")


@dataclass(frozen=True)
class Compared:
    """Scores of ``n`` distinct mined pairs, and which of them are right."""

    scores: Floats
    """``(n,)``, higher is better; minus infinity, which is below all, for a pair without one."""
    right: NDArray[np.bool_]
    """Which are gold pairs, ``(n,)``."""
    gold: int
    """How many distinct gold pairs there are, found or not."""

    def __post_init__(self) -> None:
        """Raise ValueError for numbers that do not fit, NaN, no gold pair, no score at all."""
        if self.scores.shape != self.right.shape or self.scores.ndim != 1:
            raise ValueError(f"{self.scores.shape} scores of {self.right.shape} pairs")
        if not 1 <= self.gold >= self.right.sum():
            raise ValueError(f"{self.right.sum()} pairs found of {self.gold}")
        if np.isnan(self.scores).any() or not (self.scores > -np.inf).any():
            raise ValueError("scores are needed, and NaN is none")


@dataclass(frozen=True)
class MiningSettings:
    """What to measure beside the best cut, and how often to draw anew."""

    threshold: float | None = None
    """Pairs that score at least so much are kept; None for all, those without a score too."""
    bootstrap: Bootstrap = field(default_factory=Bootstrap)


@dataclass(frozen=True)
class MiningFigure:
    """One figure of keeping the pairs that score at least ``threshold``."""

    measure: str
    """``f1``, ``precision``, ``recall`` or ``average_precision``."""
    cut: str
    """``best``, the one of the highest F1; ``given``; or ``all`` pairs."""
    threshold: float | None
    """None where all are kept."""
    estimate: Estimate
    """From 0 to 1."""
    kept: int
    """How many distinct pairs are kept."""
    right: int
    """How many of these are gold pairs."""


def compare(mined: Mapping[Pair, float], gold: Collection[Pair]) -> Compared:
    """Hold mined pairs, each with its score, against gold pairs, of which copies count once.

    Raises ValueError as :class:`Compared` does.
    """
    distinct = frozenset(gold)
    right = np.fromiter((pair in distinct for pair in mined), np.bool_, len(mined))
    return Compared(np.fromiter(mined.values(), np.float64, len(mined)), right, len(distinct))


class _Ranking:
    """The distinct scores from the best down, ``(cells,)``, and the pairs that have each."""

    def __init__(self, compared: Compared) -> None:
        """Count right and wrong pairs by score."""
        ascending, places = np.unique(compared.scores, return_inverse=True)
        self.scores: Floats = ascending[::-1]
        by_cell = len(ascending) - 1 - places
        self.right, self.wrong = (
            np.bincount(by_cell[chosen], minlength=len(ascending)).astype(np.float64)
            for chosen in (compared.right, ~compared.right)
        )
        self._gold = compared.gold
        self.stratum: Floats = np.concatenate(
            [self.right, [compared.gold - self.right.sum()], self.wrong]
        )
        """Right pairs by score, gold pairs not found, wrong pairs by score: ``(2 cells + 1,)``."""

    def best(self) -> int:
        """Return how many cells the cut of the highest F1 keeps; the lowest of those that tie.

        Ties are exact: F1 is one division of whole numbers, which rounds equal fractions alike.
        """
        usable = int((self.scores > -np.inf).sum())
        right, kept = np.cumsum(self.right), np.cumsum(self.right + self.wrong)
        found = (right / (kept + self._gold))[:usable]
        return int(np.flatnonzero(found == found.max())[-1]) + 1

    def kept(self, end: int) -> tuple[int, int]:
        """Return how many pairs the first *end* cells have, and how many of these are right."""
        right = int(self.right[:end].sum())
        return right + int(self.wrong[:end].sum()), right

    def statistic(self, counts: Floats, ends: Sequence[int]) -> Floats:
        """Return F1, precision and recall of keeping so many cells, then the average precision.

        Args:
            counts: a stratum, perhaps drawn anew.
            ends: how many cells each cut keeps.

        Returns:
            ``(3 cuts + 1,)``, NaN where there are no gold pairs to find.
        """
        cells = len(self.scores)
        gold = counts[: cells + 1].sum()
        if gold == 0:
            return np.full(len(_OF_A_CUT) * len(ends) + 1, np.nan)
        found, wrong = counts[:cells], counts[cells + 1 :]
        right, kept = best_counts(found), best_counts(found + wrong)
        precision = right / np.maximum(kept, 1)
        figures = [
            (2 * right[end] / (kept[end] + gold), precision[end], right[end] / gold) for end in ends
        ]
        return np.append(figures, mean_precision(found, np.cumsum(wrong), gold))


def measure_mining(compared: Compared, settings: MiningSettings) -> list[MiningFigure]:
    """Measure the best cut, then the one given (or all pairs), then the average precision.

    - Precision is the part of the pairs kept that is right, 0 if none is kept; recall the part of
      the gold pairs that is kept; F1 = 2 right / (kept + gold), their harmonic mean.
    - The best cut is at a score that a pair has, so that ties stay together; of cuts that tie in
      F1, the lowest.
    - The average precision is the sum of (R_i - R_(i-1)) P_i over the distinct scores from the
      best down, without interpolation; gold pairs that were not found add nothing.

    For the intervals, all pairs that are mined or gold are drawn anew together, and the best cut
    stays where it is: that it was chosen on the same pairs makes its figures a little too good.
    """
    ranking, threshold = _Ranking(compared), settings.threshold
    best, end = ranking.best(), len(ranking.scores)
    everything = ("all", None, *ranking.kept(end))
    chosen: tuple[str, float | None, int, int] = everything
    if threshold is not None:
        end = int((ranking.scores >= threshold).sum())
        chosen = ("given", threshold, *ranking.kept(end))
    cuts = [("best", float(ranking.scores[best - 1]), *ranking.kept(best)), chosen]
    found = estimates(
        [ranking.stratum],
        lambda strata: ranking.statistic(strata[0], (best, end)),
        settings.bootstrap,
    )
    named = [(measure, cut) for cut in cuts for measure in _OF_A_CUT]
    named.append(("average_precision", everything))
    return [
        MiningFigure(measure, name, at, Estimate(*column), kept, right)
        for (measure, (name, at, kept, right)), column in zip(named, found.T.tolist(), strict=True)
    ]
