"""Precision, recall and F1 of mined pairs, and of sentence links, against gold ones.

Pairs: Zweigenbaum, Sharoff & Rapp 2017, "Overview of the second BUCC shared task", section 3: of
the mined pairs, the part that is right (precision); of the gold pairs, the part that is mined
(recall); and their harmonic mean (F1). Pairs are equal if both texts are, character for character.
Pairs that tie in score are kept or dropped together.

Links: Thompson & Koehn 2019, "Vecalign", section 5, after Sennrich & Volk 2011: a link is right
*strictly* if it is a gold link; *laxly* also if a gold link joins one of its source sentences with
one of its target sentences. Precision is the part of the links found that is right, including those
with an empty side; recall the part of the gold links without an empty side that is found; F1 their
harmonic mean. Links of several documents count together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bitextfilter.arrays import Floats, Mask
from bitextfilter.evaluation.filtering import best_counts, mean_precision
from bitextfilter.evaluation.result import Bootstrap, Estimate, Result, estimates, record
from bitextfilter.evaluation.thresholds import Origin
from bitextfilter.io.documents import LinkedIndices

SentencePair = tuple[str, str]
"""Source and target."""

_OF_A_CUT = ("f1", "precision", "recall")


@dataclass(frozen=True)
class MinedScores:
    """Scores of ``n`` distinct mined pairs, and which of them are right."""

    scores: Floats
    """``(n,)``, higher is better; minus infinity, which is below all, for a pair without one."""
    right: Mask
    """The gold pairs among them, ``(n,)``."""
    gold: int
    """The number of distinct gold pairs, mined or not."""

    def __post_init__(self) -> None:
        """Raise ValueError for numbers that do not fit, NaN, no gold pair, no score at all."""
        if self.scores.shape != self.right.shape or self.scores.ndim != 1:
            raise ValueError(f"{self.scores.shape} scores of {self.right.shape} pairs")
        if not 1 <= self.gold >= self.right.sum():
            raise ValueError(f"{self.right.sum()} pairs found of {self.gold}")
        if np.isnan(self.scores).any() or not (self.scores > -np.inf).any():
            raise ValueError("scores are needed, and NaN is none")


@dataclass(frozen=True)
class MiningFigure:
    """One figure of keeping the pairs that score at least ``threshold``."""

    measure: str
    """``f1``, ``precision``, ``recall`` or ``average_precision``."""
    cut: str
    """``best`` (highest F1), ``given``, or ``all`` pairs."""
    threshold: float | None
    """None where all are kept."""
    estimate: Estimate
    """From 0 to 1."""
    kept: int
    """The number of distinct pairs kept."""
    right: int
    """The number of gold pairs among them."""


def compare_pairs(
    mined: Mapping[SentencePair, float], gold: Collection[SentencePair]
) -> MinedScores:
    """Compare mined pairs, each with its score, with gold pairs; copies of these count once.

    Raises ValueError as :class:`MinedScores` does.
    """
    distinct = frozenset(gold)
    right = np.fromiter((pair in distinct for pair in mined), np.bool_, len(mined))
    return MinedScores(np.fromiter(mined.values(), np.float64, len(mined)), right, len(distinct))


class _Ranking:
    """The distinct scores from the best down, ``(cells,)``, and the pairs that have each."""

    def __init__(self, scored: MinedScores) -> None:
        """Count right and wrong pairs by score."""
        ascending, places = np.unique(scored.scores, return_inverse=True)
        self.scores: Floats = ascending[::-1]
        by_cell = len(ascending) - 1 - places
        self.right, self.wrong = (
            np.bincount(by_cell[chosen], minlength=len(ascending)).astype(np.float64)
            for chosen in (scored.right, ~scored.right)
        )
        self._gold = scored.gold
        self.stratum: Floats = np.concatenate(
            [self.right, [scored.gold - self.right.sum()], self.wrong]
        )
        """Right pairs by score, gold pairs not found, wrong pairs by score: ``(2 cells + 1,)``."""

    def best(self) -> int:
        """Return the number of cells that the cut of the highest F1 keeps; of ties, the lowest cut.

        Ties are exact: F1 is one division of whole numbers, which rounds equal fractions alike.
        """
        usable = int((self.scores > -np.inf).sum())
        right, kept = np.cumsum(self.right), np.cumsum(self.right + self.wrong)
        found = (right / (kept + self._gold))[:usable]
        return int(np.flatnonzero(found == found.max())[-1]) + 1

    def kept(self, end: int) -> tuple[int, int]:
        """Return the number of pairs in the first *end* cells, and of right ones among them."""
        right = int(self.right[:end].sum())
        return right + int(self.wrong[:end].sum()), right

    def statistic(self, counts: Floats, ends: Sequence[int]) -> Floats:
        """Return F1, precision and recall of each cut, then the average precision.

        Args:
            counts: the stratum, or a resample of it.
            ends: the number of cells that each cut keeps.

        Returns:
            ``(3 cuts + 1,)``, NaN without gold pairs.
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


def measure_mining(
    scored: MinedScores, threshold: float | None, bootstrap: Bootstrap
) -> list[MiningFigure]:
    """Measure the best cut, then that at *threshold* (None: all pairs), then average precision.

    - Precision is the part of the pairs kept that is right, 0 if none is kept; recall the part of
      the gold pairs that is kept; F1 = 2 right / (kept + gold), their harmonic mean.
    - The best cut is at the score of a pair, so that ties stay together; of cuts that tie in F1,
      the lowest.
    - The average precision is the sum of (R_i - R_(i-1)) P_i over the distinct scores from the
      best down, without interpolation; gold pairs that were not mined add nothing.

    For the intervals, all mined and gold pairs are drawn anew together; the best cut stays where it
    is. As it was chosen on the same pairs, its figures are slightly too good.
    """
    ranking = _Ranking(scored)
    best, end = ranking.best(), len(ranking.scores)
    everything = ("all", None, *ranking.kept(end))
    chosen: tuple[str, float | None, int, int] = everything
    if threshold is not None:
        end = int((ranking.scores >= threshold).sum())
        chosen = ("given", threshold, *ranking.kept(end))
    cuts = [("best", float(ranking.scores[best - 1]), *ranking.kept(best)), chosen]
    found = estimates(
        [ranking.stratum], lambda strata: ranking.statistic(strata[0], (best, end)), bootstrap
    )
    named = [(measure, cut) for cut in cuts for measure in _OF_A_CUT]
    named.append(("average_precision", everything))
    return [
        MiningFigure(measure, name, at, Estimate(*column), kept, right)
        for (measure, (name, at, kept, right)), column in zip(named, found.T.tolist(), strict=True)
    ]


def mining_result(
    scored: MinedScores, threshold: float | None, bootstrap: Bootstrap, file: str, gold: Origin
) -> Result:
    """Return a record for each figure; the best cut is recommended.

    Args:
        scored: the mined pairs, of *file*.
        threshold: of the given cut; None for all pairs.
        bootstrap: resamples and seed.
        file: path of the mined pairs.
        gold: origin of the gold pairs.
    """
    found = measure_mining(scored, threshold, bootstrap)
    records = []
    for each in found:
        made = record(
            each,
            f"{each.measure} = {each.estimate.value:.4f}",
            n=len(scored.scores),
            gold=scored.gold,
            cut=each.cut,
            **({} if each.threshold is None else {"threshold": each.threshold}),
            **bootstrap.facts,
        )
        records.append(made)
    best = {each.measure: each for each in found if each.cut == "best"}
    cut, recommended = best["f1"].threshold, []
    if cut is not None and np.isfinite(cut):
        known = {"use": "mining", "measure": None, "model": None, "goal": "f1", "noise_share": None}
        figures = {name: each.estimate for name, each in best.items()}
        numbers = {"threshold": cut, "rows": scored.gold}
        recommended.append(gold.recommendation(known | numbers, figures))
    names = ("measure", "cut", "threshold", "value", "low", "high", "kept", "right", "gold")
    columns = dict.fromkeys((*names, "signature"), ".4f") | {"threshold": ""}
    facts = {"file": file, "gold_file": gold.file, "gold": scored.gold, "recommended": recommended}
    return Result("mining", columns, {"results": records}, facts)


_FIGURES = [(how, what) for how in ("strict", "lax") for what in ("precision", "recall", "f1")]


@dataclass(frozen=True)
class LinkCounts:
    """Numbers of links that are right strictly, right laxly only, and wrong, ``(3,)``."""

    found: Floats
    """Of the links found."""
    gold: Floats
    """Of the gold links without an empty side, against the links found."""

    def __add__(self, other: LinkCounts) -> LinkCounts:
        """Return the counts of both."""
        return LinkCounts(self.found + other.found, self.gold + other.gold)


@dataclass(frozen=True)
class AlignmentFigure:
    """One figure of an alignment."""

    how: str
    """``strict`` or ``lax``."""
    measure: str
    """``precision``, ``recall`` or ``f1``."""
    estimate: Estimate
    """From 0 to 1."""


def compare_links(gold: Iterable[LinkedIndices], found: Iterable[LinkedIndices]) -> LinkCounts:
    """Compare the links found in a document with its gold links; copies count once."""
    known, given = ({link for link in links if any(link)} for links in (gold, found))
    known_whole, given_whole = ({link for link in links if all(link)} for links in (known, given))
    return LinkCounts(_right(given, known), _right(known_whole, given_whole))


def _right(links: Collection[LinkedIndices], reference: Collection[LinkedIndices]) -> Floats:
    """Count the links that are in the reference, that only overlap it on both sides, and others."""
    joined: dict[int, set[int]] = {}
    for sources, targets in reference:
        for source in sources:
            joined.setdefault(source, set()).update(targets)
    counts = np.zeros(3)
    for link in links:
        laxly = any(not joined.get(source, set()).isdisjoint(link[1]) for source in link[0])
        counts[0 if link in reference else 1 if laxly else 2] += 1
    return counts


def _figures(found: Floats, gold: Floats) -> Floats:
    """Return precision, recall and F1, strict, then lax; 0 where no link is right."""
    figures = []
    for kinds in (1, 2):
        precision, recall = (part[:kinds].sum() / max(part.sum(), 1) for part in (found, gold))
        both = precision + recall
        figures += [precision, recall, 2 * precision * recall / both if both else 0.0]
    return np.array(figures)


def measure_alignment(counts: LinkCounts, bootstrap: Bootstrap) -> list[AlignmentFigure]:
    """Return precision, recall and F1, strict, then lax.

    For the intervals, links found and gold links are drawn anew separately.

    Raises ValueError without a link found, or without a gold link that joins sentences.
    """
    if not counts.found.sum() or not counts.gold.sum():
        raise ValueError("there are no links to compare")
    ends = estimates([counts.found, counts.gold], lambda strata: _figures(*strata), bootstrap)
    return [
        AlignmentFigure(how, what, Estimate(*column))
        for (how, what), column in zip(_FIGURES, ends.T.tolist(), strict=True)
    ]


def alignment_result(counts: LinkCounts, bootstrap: Bootstrap) -> Result:
    """Return a record for each figure. Raises ValueError as :func:`measure_alignment` does."""
    sizes = {"links": int(counts.found.sum()), "gold": int(counts.gold.sum())}
    records = []
    for each in measure_alignment(counts, bootstrap):
        figure = f"{each.how}.{each.measure} = {each.estimate.value:.4f}"
        records.append(record(each, figure, **sizes, **bootstrap.facts))
    names = ("how", "measure", "value", "low", "high", "links", "gold", "signature")
    return Result("alignment", dict.fromkeys(names, ".4f"), {"results": records}, sizes)
