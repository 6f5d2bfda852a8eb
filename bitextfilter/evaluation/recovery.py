"""Alignment recovery: shuffle one side, and find each sentence's translation again.

Kim et al. 2019, section 4.1, after Schwenk & Douze 2017: each source takes the target that scores
best, each target the source; the error is the part with a wrong one.

Contrasts: how often a damaged pair scores lower than the same pair without the damage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from bitextfilter.arrays import Floats, Indices, Scores, Vectors
from bitextfilter.evaluation.result import Bootstrap, Estimate, Result, estimates, record
from bitextfilter.similarity.vectors import (
    MARGINS,
    NEIGHBOURS,
    cosine_matrix,
    euclidean_matrix,
    mean_similarity,
)

RowScorer = Callable[[slice], Scores]
"""Scores the sources of a slice with all ``n`` targets: ``(rows, n)``; higher is better."""

_BLOCK_ROWS = 256


@dataclass(frozen=True)
class Recovery:
    """Recovery errors in percent, and the numbers of pairs."""

    forward: float
    """Part of the sources that found a wrong target."""
    backward: float
    """Part of the targets that found a wrong source."""
    pairs: int
    """The number of pairs to find."""
    set_aside: int
    """The number of pairs left out because they repeat a text."""

    @property
    def mean(self) -> float:
        """The mean of both directions, in percent."""
        return (self.forward + self.backward) / 2


def distinct_pairs(sources: Sequence[str], targets: Sequence[str]) -> list[int]:
    """Return the places of the pairs that repeat no text of an earlier pair kept."""
    seen: tuple[set[str], set[str]] = (set(), set())
    kept = []
    for place, (source, target) in enumerate(zip(sources, targets, strict=True)):
        if source not in seen[0] and target not in seen[1]:
            seen[0].add(source)
            seen[1].add(target)
            kept.append(place)
    return kept


def recover(sources: Sequence[str], targets: Sequence[str], scores: Scores | RowScorer) -> Recovery:
    """Measure how well *scores* find the pairs (source i, target i) again.

    Pairs that repeat a text are set aside (see :func:`distinct_pairs`), so that every other text
    is a wrong answer; a tie with one counts as wrong, and so does a score that is not a number.

    Args:
        sources: ``n`` sentences.
        targets: their translations.
        scores: of every source with every target, ``(n, n)``, or a function of a slice of rows;
            then memory holds some hundred rows.

    Raises:
        ValueError: the sides or the scores differ in number, or there is no pair.
    """
    kept = distinct_pairs(sources, targets)
    if not kept:
        raise ValueError("no pairs to find")
    n = len(sources)
    if not callable(scores):
        if scores.shape != (n, n):
            raise ValueError(f"scores of shape {scores.shape}, expected {(n, n)}")
        scores = scores.__getitem__
    forward, backward = _unfound(scores, np.array(kept), n)
    return Recovery(
        forward=100 * forward / len(kept),
        backward=100 * backward / len(kept),
        pairs=len(kept),
        set_aside=len(sources) - len(kept),
    )


def _unfound(scores: RowScorer, kept: Indices, n: int) -> tuple[int, int]:
    """Count the sources, and the targets, with another text that scores as high as their own."""
    right = np.empty(len(kept), dtype=np.float32)
    row_rivals = np.empty(len(kept), dtype=np.float32)
    column_rivals = np.full(len(kept), -np.inf, dtype=np.float32)
    for start in range(0, len(kept), _BLOCK_ROWS):
        places = np.arange(start, min(start + _BLOCK_ROWS, len(kept)))
        rows = kept[places]
        scored = scores(slice(int(rows[0]), int(rows[-1]) + 1))
        if scored.shape != (rows[-1] + 1 - rows[0], n):
            raise ValueError(f"rows of shape {scored.shape}, expected {n} columns")
        block = scored[np.ix_(rows - rows[0], kept)]
        own = (np.arange(len(places)), places)
        right[places] = block[own]
        block[own] = -np.inf
        row_rivals[places] = block.max(axis=1)
        column_rivals = np.maximum(column_rivals, block.max(axis=0))
    found = [int((right > rivals).sum()) for rivals in (row_rivals, column_rivals)]
    return len(kept) - found[0], len(kept) - found[1]


_PairScorer = Callable[[Indices, Indices], Scores]
"""Scores pairs by the places of source and target, ``(n,)`` each → ``(n,)``."""

MATRICES = ("cosine", "euclidean", *MARGINS, "mlp")
"""The similarities of vectors, by name."""

_PAIRS = 16_384

BASELINES = ("levenshtein", "random")
"""The similarities that need no vectors."""


def vector_scorer(
    name: str,
    source: Vectors,
    target: Vectors,
    probabilities: _PairScorer | None = None,
    k: int = NEIGHBOURS,
) -> RowScorer:
    """Return the scorer of *source* rows with all of *target* by a name in ``MATRICES``.

    The margins take each side's *k* nearest on the other side as its neighbours. *probabilities*
    is the classifier's, for ``mlp``. Raises KeyError for another name, or an mlp without it.
    """
    if name in MARGINS:
        margin = MARGINS[name]
        rows, columns = mean_similarity(source, target, k), mean_similarity(target, source, k)
        return lambda part: margin(
            cosine_matrix(source[part], target), rows[part, None], columns[None, :]
        )
    if name == "mlp" and probabilities is not None:
        return pair_rows(probabilities, len(source), len(target))
    matrix = {"cosine": cosine_matrix, "euclidean": euclidean_matrix}[name]
    return lambda part: matrix(source[part], target)


def pair_rows(score: _PairScorer, sources: int, targets: int) -> RowScorer:
    """Return the scorer of rows made of a scorer of pairs."""
    size = max(1, _PAIRS // targets)

    def scored(part: slice) -> Scores:
        rows = np.arange(sources)[part]
        blocks = [rows[start : start + size] for start in range(0, len(rows), size)]
        pairs = ((np.repeat(block, targets), len(block)) for block in blocks)
        parts = [score(rows, np.tile(np.arange(targets), count)) for rows, count in pairs]
        return np.concatenate(parts).reshape(-1, targets)

    return scored


def baseline(name: str, sources: Sequence[str], targets: Sequence[str], seed: int) -> RowScorer:
    """Return the scorer of rows of *sources* with all *targets* by a name in ``BASELINES``.

    ``levenshtein`` is 1 - edit distance / length of the longer, in lower-cased characters, from
    0 to 1; ``random`` is uniform in [0, 1), by *seed*. Raises KeyError for another name.
    """
    source, target = [text.lower() for text in sources], [text.lower() for text in targets]

    def levenshtein(part: slice) -> Scores:
        similar: Scores = cdist(
            source[part], target, scorer=Levenshtein.normalized_similarity, dtype=np.float32
        )
        return similar

    def random(part: slice) -> Scores:
        generators = [np.random.default_rng([seed, row]) for row in range(len(source))[part]]
        return np.array([g.random(len(target), dtype=np.float32) for g in generators])

    return {"levenshtein": levenshtein, "random": random}[name]


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
