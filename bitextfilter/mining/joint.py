"""What classifier and length say of a pair, to be added to its CSLS: the similarity ``joint``.

CSLS knows what else is near on either side, the classifier knows the pair. And among very many
sentences some short ones always find another that is nearly as near as a translation, by chance;
long ones hardly do. Ours; the constants were chosen on development data, where half or twice as
much of either makes little difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from bitextfilter.io.sentence_file import SentenceFile
from bitextfilter.mining.comparable import NEEDS_CLASSIFIER, MiningSettings, euclidean_scorer
from bitextfilter.similarity.neighbours import Indices
from bitextfilter.similarity.pair_classifier import PairScorer, Side
from bitextfilter.similarity.vectors import Scores

__all__ = ["evidence", "scorer_of"]

_LOGIT, _LENGTH = 1 / 32, 1 / 6
"""What a unit of the classifier's logit, and of the logarithm of length, is worth in CSLS."""
_LIMIT = 1e-4
"""How near to 0 and to 1 a probability may come."""
_USUAL, _LONG = 50, 150
"""Characters of a side whose length says nothing, and from which on it says no more."""


def evidence(
    probabilities: Callable[[Indices, Indices], Scores], characters: Sequence[Indices]
) -> Callable[[Indices, Indices], Scores]:
    """Return the function from places of source and target, ``(n,)`` each, to ``(n,)``.

    It gives ``log(p / (1 - p)) / 32 + log(c / 50) / 6``, from -0.94 to 0.47: p is the classifier's
    probability, not beyond 0.0001 and 0.9999; c the characters of the shorter side, 1 to 150.

    Args:
        probabilities: the classifier's, by places.
        characters: of each source ``(n,)`` and each target ``(m,)``.
    """
    lengths = [some.clip(1, _LONG).tolist() for some in characters]

    def score(rows: Indices, columns: Indices) -> Scores:
        known = probabilities(rows, columns).astype(np.float64).clip(_LIMIT, 1 - _LIMIT).tolist()
        shorter = (
            min(lengths[0][i], lengths[1][j])
            for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
        )
        said = (
            _LOGIT * math.log(p / (1 - p)) + _LENGTH * math.log(c / _USUAL)
            for p, c in zip(known, shorter, strict=True)
        )
        return np.fromiter(said, np.float32, len(rows))

    return score


def scorer_of(
    classify: Callable[[Side, Side], PairScorer | None],
    sides: tuple[Side, Side],
    settings: MiningSettings,
) -> PairScorer | None:
    """Return the scorer of pairs by their places, where the similarity needs more than cosines.

    Args:
        classify: returns the classifier's scorer of two sides, None where there is no classifier.
        sides: vectors and sentences of either side.
        settings: name the similarity.
    """
    if settings.similarity == "euclidean":
        return euclidean_scorer(sides[0][0], sides[1][0])
    if settings.similarity not in NEEDS_CLASSIFIER:
        return None
    scorer = classify(*sides)
    if settings.similarity == "joint" and scorer is not None:
        scorer = evidence(scorer, [_characters(sentences) for _, sentences in sides])
    return scorer


def _characters(sentences: Sequence[str]) -> Indices:
    """Count the characters of each sentence, ``(n,)``."""
    if isinstance(sentences, SentenceFile):
        return sentences.characters
    return np.fromiter(map(len, sentences), np.int64, len(sentences))
