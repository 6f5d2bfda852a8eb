"""How much of what differs between paraphrases a lexicon of paraphrases explains. Ours.

Of the words of a source sentence that do not stand in its target, those are explained at rank k
of which one of the k best paraphrases stands in the target, as a whole. What chance explains is
measured in the same way on pairs that do not belong together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats
from bitextfilter.evaluation.filtering import Bootstrap, Estimate, estimates

RANKS = (1, 5, 10)

Words = Sequence[str]
"""Those of a sentence or phrase."""
Paraphrases = Mapping[str, Sequence[Words]]
"""Of words, the best first."""


@dataclass(frozen=True)
class Explained:
    """Recall at a rank, in percent: 0 to 100."""

    rank: int
    recall: Estimate
    """With its 95 % interval over the pairs."""
    random: float
    """That of targets that belong to other sources."""
    words: int
    """Words that differ."""


def best_first(entries: Iterable[tuple[str, Words, float]]) -> dict[str, list[Words]]:
    """Order the paraphrases of each word by score, of equal ones the first first; ten are kept."""
    found: dict[str, list[tuple[float, int, Words]]] = {}
    for number, (word, paraphrase, score) in enumerate(entries):
        found.setdefault(word, []).append((-score, number, paraphrase))
    return {word: [each[2] for each in sorted(some)[: RANKS[-1]]] for word, some in found.items()}


def measure_lexicon(
    pairs: Sequence[tuple[Words, Words]], paraphrases: Paraphrases, bootstrap: Bootstrap
) -> list[Explained]:
    """Measure a lexicon on at least two pairs of sentences, at each of ``RANKS``.

    A figure is NaN where no word differs.
    """
    counts = explained(pairs, paraphrases)
    order = np.random.default_rng(bootstrap.seed).permutation(len(pairs))
    others = dict(zip(order.tolist(), np.roll(order, 1).tolist(), strict=True))
    mixed = [(source, pairs[others[row]][1]) for row, (source, _) in enumerate(pairs)]
    random = _recalls(explained(mixed, paraphrases).sum(axis=0))
    cells, where = np.unique(counts, axis=0, return_inverse=True)
    rows = np.bincount(where.reshape(-1), minlength=len(cells)).astype(np.float64)

    def statistic(strata: Sequence[Floats]) -> Floats:
        return _recalls(strata[0] @ cells)

    figures = estimates([rows], statistic, bootstrap)
    words = int(counts[:, 0].sum())
    return [
        Explained(rank, Estimate(*figures[:, place].tolist()), float(random[place]), words)
        for place, rank in enumerate(RANKS)
    ]


def explained(pairs: Sequence[tuple[Words, Words]], paraphrases: Paraphrases) -> NDArray[np.int64]:
    """Of each pair the distinct words that differ, and those explained at each rank: ``(n, 4)``."""
    rows = []
    for source, target in pairs:
        text = f" {' '.join(target)} "
        there = set(target)
        row = [0] * (1 + len(RANKS))
        for word in sorted({w for w in source if w not in there and any(map(str.isalnum, w))}):
            found = (f" {' '.join(words)} " in text for words in paraphrases.get(word, ()))
            rank = next((rank for rank, hit in enumerate(found, 1) if hit), RANKS[-1] + 1)
            row[0] += 1
            for place, most in enumerate(RANKS, 1):
                row[place] += rank <= most
        rows.append(row)
    return np.array(rows, dtype=np.int64)


def _recalls(sums: NDArray[np.float64] | NDArray[np.int64]) -> Floats:
    """Percentages of the first sum."""
    return 100 * sums[1:] / sums[0] if sums[0] else np.full(len(RANKS), np.nan)
