"""Every source with every target, some rows at a time, by each similarity and two baselines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from bitextfilter.evaluation.recovery import RowScorer, Scores
from bitextfilter.similarity.margins import MARGINS, NEIGHBOURS
from bitextfilter.similarity.neighbours import mean_similarity
from bitextfilter.similarity.vectors import Vectors, cosine_matrix, euclidean_matrix

__all__ = ["BASELINES", "MATRICES", "baseline", "pair_rows", "vector_scorer"]

Indices = NDArray[np.int64]
PairScorer = Callable[[Indices, Indices], Scores]
"""Scores pairs by the places of source and target, ``(n,)`` each → ``(n,)``."""

MATRICES = ("cosine", "euclidean", *MARGINS, "mlp")
"""The similarities of vectors, by name."""

_PAIRS = 16_384

BASELINES = ("levenshtein", "random")
"""What needs no vectors."""


def vector_scorer(
    name: str,
    source: Vectors,
    target: Vectors,
    probabilities: PairScorer | None = None,
    k: int = NEIGHBOURS,
) -> RowScorer:
    """Return what scores rows of *source* with all of *target* by a name in ``MATRICES``.

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


def pair_rows(score: PairScorer, sources: int, targets: int) -> RowScorer:
    """Return what scores rows of so many sources with all targets, by a scorer of pairs."""
    return lambda part: _all_pairs(score, np.arange(sources)[part], targets)


def _all_pairs(score: PairScorer, rows: Indices, count: int) -> Scores:
    """Score the sources at *rows* ``(n,)`` with each of *count* targets → ``(n, count)``."""
    size = max(1, _PAIRS // count)
    blocks = [rows[start : start + size] for start in range(0, len(rows), size)]
    targets = np.arange(count)
    parts = [score(np.repeat(block, count), np.tile(targets, len(block))) for block in blocks]
    return np.concatenate(parts).reshape(len(rows), count)


def baseline(name: str, sources: Sequence[str], targets: Sequence[str], seed: int) -> RowScorer:
    """Return what scores rows of *sources* with all *targets* by a name in ``BASELINES``.

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
