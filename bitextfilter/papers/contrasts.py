"""Contrasts: how often a damaged pair scores lower than the same pair without the damage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bitextfilter.arrays import Floats, Scores
from bitextfilter.evaluation.result import (
    Bootstrap,
    Estimate,
    Result,
    estimates,
    record,
)

MEAN = "mean"
"""The name of the unweighted mean of all kinds."""


@dataclass(frozen=True)
class ContrastFigure:
    """The pairs with one kind of damage."""

    kind: str
    """The kind, or ``mean`` of all."""
    lower: Estimate
    """Part of the pairs that score lower than without the damage, 0 to 1, higher is better. A tie
    does not count: the score does not see the damage."""
    tied: float
    """Part of the pairs that score the same."""
    pairs: int


def measure_contrasts(
    better: Scores, worse: Scores, kinds: Sequence[str], bootstrap: Bootstrap
) -> list[ContrastFigure]:
    """Measure each kind of damage, and the mean of all kinds, which comes last.

    Args:
        better: scores of ``n`` pairs without damage, ``(n,)``, one at least.
        worse: scores of the same pairs with damage, ``(n,)``.
        kinds: the kind of each damage.
        bootstrap: resamples and seed of the intervals.
    """
    names, places = np.unique(np.array(kinds), return_inverse=True)
    order = np.sign(np.asarray(better, dtype=np.float64) - worse).astype(np.int64) + 1
    strata = [np.bincount(order[places == n], minlength=3).astype(float) for n in range(len(names))]
    found = estimates(strata, _shares, bootstrap)
    tied = [float(counts[1] / counts.sum()) for counts in strata]
    rows = [int(counts.sum()) for counts in strata]
    return [
        ContrastFigure(kind, Estimate(*ends), share, count)
        for kind, ends, share, count in zip(
            [*names.tolist(), MEAN],
            found.T.tolist(),
            [*tied, float(np.mean(tied))],
            [*rows, sum(rows)],
            strict=True,
        )
    ]


def _shares(strata: Sequence[Floats]) -> Floats:
    """Return the part of each stratum in its last cell, and the mean of all: ``(kinds + 1,)``."""
    shares = [counts[2] / counts.sum() for counts in strata]
    return np.array([*shares, np.mean(shares)])


def contrasts_result(
    figures: Sequence[ContrastFigure], facts: dict[str, str | float], bootstrap: Bootstrap
) -> Result:
    """Return a record for each figure; *facts* are for the signatures."""
    records = []
    for each in figures:
        head = f"lower = {each.lower.value:.4f}"
        line = {"kind": each.kind, **facts, **bootstrap.facts}
        records.append(record(each, head, n=each.pairs, **line))
    columns = {"kind": "", **dict.fromkeys(("lower", "low", "high", "tied"), ".4f")}
    return Result("contrasts", {**columns, "pairs": "", "signature": ""}, {"results": records})
