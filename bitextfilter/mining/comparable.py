"""Global mining: pairs of translations in two collections that are not aligned.

The candidates of a sentence are its k nearest on the other side, by cosine. A similarity scores
them, and a retrieval chooses among them (Artetxe & Schwenk 2019). Order decides ties alone: they go
to the earlier source, then to the earlier target.

The similarity ``joint`` adds two kinds of evidence to CSLS, which compares the neighbours of both
sides: the classifier reads the pair itself, and short sentences are often near one of very many
others by chance, long ones hardly ever. Ours; the constants were chosen on development data, where
half or twice their values make little difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Indices, Scores
from bitextfilter.errors import SettingsError
from bitextfilter.io.spill import SentenceFile
from bitextfilter.pairs.base import EncodedSide, PairScorer
from bitextfilter.settings import Settings, from_1, setting
from bitextfilter.similarity.vectors import (
    MARGINS,
    NO_ROW,
    Neighbours,
    euclidean_pairs,
    highest_means,
)

NEEDS_CLASSIFIER = ("mlp", "joint")
MINING_SIMILARITIES = ("cosine", "euclidean", *MARGINS, *NEEDS_CLASSIFIER)
RETRIEVALS = ("forward", "backward", "intersect", "max")

_BLOCK_PAIRS = 8192
_LOGIT_WEIGHT, _LENGTH_WEIGHT = 1 / 32, 1 / 6
"""Weights of the classifier's logit and of the logarithm of length, against CSLS."""
_LIMIT = 1e-4
"""Distance that a probability keeps from 0 and from 1."""
_USUAL_LENGTH, _LONGEST = 50, 150
"""Characters at which length counts as 0, and those from which it counts no more."""


@dataclass(frozen=True)
class Mined:
    """Pairs of a source row and a target row (from 0) and their scores, each ``(n,)``."""

    source: Indices
    target: Indices
    score: Scores

    def __len__(self) -> int:
        return len(self.score)

    def __iter__(self) -> Iterator[tuple[int, int, float]]:
        return zip(self.source.tolist(), self.target.tolist(), self.score.tolist(), strict=True)

    def take(self, places: NDArray[np.int64] | NDArray[np.bool_]) -> Mined:
        """Return the pairs at some places, in their order, or where a mask is true."""
        return Mined(self.source[places], self.target[places], self.score[places])

    def joined(self, other: Mined) -> Mined:
        """Return the pairs of both, one behind the other."""
        return Mined(
            np.concatenate([self.source, other.source]),
            np.concatenate([self.target, other.target]),
            np.concatenate([self.score, other.score]),
        )

    def ranked(self) -> Mined:
        """Return the pairs best first; among equals the earlier source, then target, first."""
        return self.take(np.lexsort((self.target, self.source, -self.score)))

    def one_to_one(self) -> Mined:
        """Return the pairs, as ranked, but for those with a row of a pair before them."""
        ranked = self.ranked()
        places: list[int] = []
        taken: tuple[set[int], set[int]] = set(), set()
        for place, (source, target, _) in enumerate(ranked):
            if source not in taken[0] and target not in taken[1]:
                taken[0].add(source)
                taken[1].add(target)
                places.append(place)
        return ranked.take(np.array(places, dtype=np.int64))


@dataclass(frozen=True)
class MiningSettings(Settings):
    """Settings of mining. Raises SettingsError for a value that is unknown or out of range."""

    similarity: str = setting("csls", choices=MINING_SIMILARITIES)
    """A name in ``MINING_SIMILARITIES``, for candidates that are the nearest by cosine. With
    ``joint``, CSLS chooses the pairs, and other evidence is then added to it."""
    retrieval: str = setting("max", choices=RETRIEVALS)
    """A name in ``RETRIEVALS``."""
    neighbours: int = from_1(4)
    """k: candidates of a sentence, and neighbours in the mean of a margin; 4 as in Artetxe &
    Schwenk 2019."""
    min_score: float | None = None
    """Pairs below it are left out; None for none."""
    threads: int = 1

    def check(self, scorer: PairScorer | None) -> None:
        """Raise SettingsError where a classifier is needed, and there is no scorer."""
        if self.similarity in NEEDS_CLASSIFIER and scorer is None:
            raise SettingsError(f"the similarity {self.similarity} needs a classifier")


def scorer_for(
    settings: MiningSettings,
    sides: tuple[EncodedSide, EncodedSide],
    classify: Callable[[EncodedSide, EncodedSide], PairScorer | None],
) -> PairScorer | None:
    """Return the scorer of pairs that a similarity needs; None where cosines are enough.

    *classify* returns the classifier's scorer of two sides, None without a classifier. Raises
    SettingsError where one is needed, and there is none.
    """
    if settings.similarity == "euclidean":
        source, target = sides[0][0], sides[1][0]
        return lambda rows, columns: euclidean_pairs(source[rows], target[columns])
    if settings.similarity not in NEEDS_CLASSIFIER:
        return None
    scorer = classify(*sides)
    settings.check(scorer)
    if settings.similarity == "joint" and scorer is not None:
        scorer = joint_evidence(scorer, [_characters(sentences) for _, sentences in sides])
    return scorer


def joint_evidence(probabilities: PairScorer, characters: Sequence[Indices]) -> PairScorer:
    """Return the function from places of source and target, ``(n,)`` each, to evidence ``(n,)``.

    It gives ``log(p / (1 - p)) / 32 + log(c / 50) / 6``, from -0.94 to 0.47: p is the classifier's
    probability, kept within 0.0001 and 0.9999; c the characters of the shorter side, 1 to 150.

    *characters*: of each source ``(n,)`` and of each target ``(m,)``.
    """
    lengths = [side.clip(1, _LONGEST).tolist() for side in characters]

    def score(rows: Indices, columns: Indices) -> Scores:
        known = probabilities(rows, columns).astype(np.float64).clip(_LIMIT, 1 - _LIMIT).tolist()
        shorter = (
            min(lengths[0][i], lengths[1][j])
            for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
        )
        evidence = (
            _LOGIT_WEIGHT * math.log(p / (1 - p)) + _LENGTH_WEIGHT * math.log(c / _USUAL_LENGTH)
            for p, c in zip(known, shorter, strict=True)
        )
        return np.fromiter(evidence, np.float32, len(rows))

    return score


def _characters(sentences: Sequence[str]) -> Indices:
    """Count the characters of each sentence, ``(n,)``."""
    if isinstance(sentences, SentenceFile):
        return sentences.characters
    return np.fromiter(map(len, sentences), np.int64, len(sentences))


def choose_pairs(
    nearest: tuple[Neighbours, Neighbours],
    settings: MiningSettings,
    scorer: PairScorer | None = None,
    other_cosines: Scores | None = None,
) -> Mined:
    """Choose pairs among the nearest of n sources and of m targets, best first.

    Args:
        nearest: the nearest targets of each source, and the nearest sources of each target.
        settings: ``neighbours`` is the number that was searched for.
        scorer: from :func:`scorer_for`.
        other_cosines: cosines of each target to its nearest among other sources, ``(m, any)``;
            they count in margins, but those sources are no candidates.

    Raises SettingsError where a scorer is needed, and there is none.
    """
    settings.check(scorer)
    forward, backward = _candidates(nearest, settings, other_cosines)
    if settings.similarity in ("euclidean", "mlp") and scorer is not None:
        forward, backward = _rescored(forward, scorer), _rescored(backward, scorer)
    found = _retrieved(settings.retrieval, forward, backward)
    if settings.similarity == "joint" and scorer is not None:
        found = replace(found, score=found.score + _rescored(found, scorer).score).ranked()
    if settings.min_score is not None:
        found = found.take(found.score >= settings.min_score)
    return found


def _candidates(
    nearest: tuple[Neighbours, Neighbours], settings: MiningSettings, other_cosines: Scores | None
) -> tuple[Mined, Mined]:
    """Return sources with their nearest targets, targets with their nearest sources, scored."""
    (cosines, targets), (cosines_back, sources) = nearest
    k, neighbours = settings.neighbours, cosines_back
    if other_cosines is not None:
        neighbours = np.hstack([cosines_back, other_cosines])
    means = highest_means(cosines, k), highest_means(neighbours, k)
    margin = MARGINS.get("csls" if settings.similarity == "joint" else settings.similarity)

    def scored(rows: Indices, columns: Indices, values: Scores) -> Mined:
        if margin is not None:
            values = margin(values, means[0][rows], means[1][columns])
        return Mined(rows, columns, values).take((rows != NO_ROW) & (columns != NO_ROW))

    rows = np.repeat(np.arange(len(targets)), targets.shape[1])
    columns = np.repeat(np.arange(len(sources)), sources.shape[1])
    return (
        scored(rows, targets.ravel(), cosines.ravel()),
        scored(sources.ravel(), columns, cosines_back.ravel()),
    )


def _rescored(pairs: Mined, scorer: PairScorer) -> Mined:
    """Return the pairs with the scores of *scorer*, computed in blocks."""
    blocks = [slice(i, i + _BLOCK_PAIRS) for i in range(0, len(pairs), _BLOCK_PAIRS)]
    parts = [scorer(pairs.source[rows], pairs.target[rows]) for rows in blocks]
    return replace(pairs, score=np.concatenate([np.zeros(0, dtype=np.float32), *parts]))


def _retrieved(retrieval: str, forward: Mined, backward: Mined) -> Mined:
    """Return the pairs that a retrieval chooses among the candidates of either direction, ranked.

    The best candidate of each source, or of each target; the pairs in which each is the best of the
    other; or the best of all these, no sentence twice.
    """
    if retrieval == "forward":
        return _first_of_each(forward.ranked(), "source")
    back = _first_of_each(backward.ranked(), "target")
    if retrieval == "backward":
        return back
    there = _first_of_each(forward.ranked(), "source")
    if retrieval == "intersect":
        pairs = {(source, target) for source, target, _ in back}
        return there.take(np.array([pair[:2] in pairs for pair in there], dtype=np.bool_))
    return there.joined(back).one_to_one()


def _first_of_each(ranked: Mined, side: str) -> Mined:
    """Return the first of the ranked pairs for each row of a side."""
    return ranked.take(np.sort(np.unique(getattr(ranked, side), return_index=True)[1]))
