"""Which of the rows that are ranked by score to keep."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from math import floor, isnan
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["BLOCK", "Choice", "Order", "Selection", "Verdict", "select"]

BLOCK = 1 << 13
"""Rows that arrays are walked through by, so that what is derived from them stays small."""

Order = npt.NDArray[np.unsignedinteger[Any]]
"""Row numbers from 0, in as few bytes as they need."""


class Verdict(IntEnum):
    """What became of a row: kept, or left out by its fold, its score, chance, or its rank."""

    KEPT = 0
    FOLD = 1
    SCORE = 2
    SAMPLE = 3
    RANK = 4


@dataclass(frozen=True)
class Choice:
    """Which rows to keep.

    First *fold* ``(i, k)`` takes the i-th of k equal parts, of which 1 is the worst; of that,
    *min_score* takes what has at least that score, *sample* as many rows by chance (*seed*), and
    the best of those are kept: as many as *rows*, the sum of their sizes *size*, and *fraction*
    (of the fold, or of the sample) allow together. None of these is ever exceeded.
    """

    rows: int | None = None
    size: int | None = None
    fraction: Fraction | None = None
    min_score: float | None = None
    fold: tuple[int, int] | None = None
    sample: int | None = None
    seed: int = 1

    def bounds(self, count: int) -> tuple[int, int]:
        """Return the first rank (from 0) and the end of the fold, of *count* rows."""
        part, parts = self.fold or (1, 1)
        return count * (parts - part) // parts, count * (parts - part + 1) // parts

    def most(self, count: int) -> int:
        """Return how many rows may be kept of *count*, sizes aside."""
        share = count if self.fraction is None else floor(self.fraction * count)
        return share if self.rows is None else min(share, self.rows)


@dataclass(frozen=True)
class Selection:
    """The rows that a choice kept."""

    choice: Choice
    verdicts: npt.NDArray[np.uint8]
    """The Verdict on each row, best first."""
    count: int
    size: int
    """The sum of the sizes of the kept rows."""
    end: int
    """The rank of the last row kept, from 1; where none is, how many rows rank above the fold."""
    threshold: float | None
    """The score of the last row kept, NaN if it has none; None if no row is kept."""

    def reason(self, rank: int, score: float) -> str:
        """Return why the row of this *rank*, from 0, and *score* was left out."""
        verdict, choice = self.verdicts[rank], self.choice
        if verdict == Verdict.FOLD and choice.fold is not None:
            return "not in fold {}/{}".format(*choice.fold)
        if verdict == Verdict.SCORE and choice.min_score is not None:
            least = _shortest(choice.min_score)
            return "no score" if isnan(score) else f"score {_shortest(score)} < {least}"
        if verdict == Verdict.SAMPLE:
            return "not in the sample"
        return f"rank {rank + 1} > {self.end}"


def _shortest(score: float) -> str:
    """Return the shortest text that stands for exactly this number."""
    return repr(score).removesuffix(".0")


def select(
    choice: Choice, keys: npt.NDArray[np.float64], sizes: npt.NDArray[np.uint32], order: Order
) -> Selection:
    """Return what *choice* keeps of ``n`` rows.

    Args:
        choice: what to keep.
        keys: negative scores ``(n,)``, NaN where there is none.
        sizes: ``(n,)``; only the choice's ``size`` asks what they mean.
        order: rows, best first ``(n,)``.
    """
    start, stop = choice.bounds(len(order))
    verdicts = np.full(len(order), Verdict.FOLD, np.uint8)
    verdicts[start:stop] = Verdict.KEPT
    base = stop - start
    if choice.min_score is not None:
        passing = int(np.count_nonzero(keys <= -choice.min_score))
        verdicts[max(start, passing) : stop] = Verdict.SCORE
        stop = max(start, min(stop, passing))
    if choice.sample is not None:
        base = min(choice.sample, stop - start)
        taken = np.zeros(stop - start, np.bool_)
        taken[:base] = True
        np.random.default_rng(choice.seed).shuffle(taken)
        verdicts[start:stop][~taken] = Verdict.SAMPLE
    count, size, end = _cut(choice, verdicts[:stop], (start, choice.most(base)), sizes, order)
    threshold = 0.0 - float(keys[order[end - 1]]) if count else None
    return Selection(choice, verdicts, count, size, end, threshold)


def _cut(
    choice: Choice,
    verdicts: npt.NDArray[np.uint8],
    bounds: tuple[int, int],
    sizes: npt.NDArray[np.uint32],
    order: Order,
) -> tuple[int, int, int]:
    """Keep rows as long as they fit, and mark the rest.

    *bounds* are the first rank and how many rows may be kept. Returns how many rows were kept,
    the sum of their sizes, and the rank of the last from 1.
    """
    count = size = 0
    end, most = bounds
    for low in range(end, len(verdicts), BLOCK):
        ranks = low + np.flatnonzero(verdicts[low : low + BLOCK] == Verdict.KEPT)
        totals = size + np.cumsum(sizes[order[ranks]], dtype=np.int64)
        fits = min(len(ranks), most - count)
        if choice.size is not None:
            fits = min(fits, int(np.searchsorted(totals, choice.size, "right")))
        if fits:
            count, size, end = count + fits, int(totals[fits - 1]), int(ranks[fits - 1]) + 1
        if fits < len(ranks):
            rest = verdicts[end:]
            rest[rest == Verdict.KEPT] = Verdict.RANK
            break
    return count, size, end
