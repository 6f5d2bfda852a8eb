"""Global mining: pairs of translations in two collections that are not aligned.

Each sentence's k nearest on the other side, by cosine, are its candidates; a similarity scores
them, and a retrieval chooses (Artetxe & Schwenk 2019). Order decides nothing but
ties: those go to the earlier source, then to the earlier target.

CSLS knows what else is near on either side, the classifier knows the pair. And among very many
sentences some short ones always find another that is nearly as near as a translation, by chance;
long ones hardly do. Ours; the constants were chosen on development data, where half or twice as
much of either makes little difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Indices, Scores, Vectors
from bitextfilter.errors import SettingsError
from bitextfilter.io.sentence_file import SentenceFile
from bitextfilter.similarity.bidirectional import nearest_both_ways
from bitextfilter.similarity.margins import MARGINS, highest_means
from bitextfilter.similarity.neighbours import NONE, Found
from bitextfilter.similarity.pair_classifier import PairScorer, Side, VectorRows
from bitextfilter.similarity.vectors import euclidean_pairs, unit_rows

_Progress = Callable[[int], object]
"""Is told of so many more source sentences that have been compared with all targets."""

NEEDS_CLASSIFIER = ("mlp", "joint")
SIMILARITIES = ("cosine", "euclidean", *MARGINS, *NEEDS_CLASSIFIER)

BLOCK_PAIRS = 8192


@dataclass(frozen=True)
class Mined:
    """Pairs of a source row and a target row (from 0) and their scores, each ``(n,)``."""

    source: Indices
    target: Indices
    score: Scores

    def __len__(self) -> int:
        return len(self.score)

    def take(self, places: NDArray[np.int64] | NDArray[np.bool_]) -> Mined:
        """Return the pairs at some places, in their order, or where a mask is true."""
        return Mined(self.source[places], self.target[places], self.score[places])

    def ranked(self) -> Mined:
        """Return the pairs best first; among equals the earlier source, then target, first."""
        return self.take(np.lexsort((self.target, self.source, -self.score)))


@dataclass(frozen=True)
class MiningSettings:
    """How pairs are found. Raises SettingsError for what is unknown or out of range."""

    similarity: str = "csls"
    """A name in ``SIMILARITIES``; each chooses among the nearest by cosine. With ``joint``, CSLS
    chooses the pairs, and other evidence is then added to it."""
    retrieval: str = "max"
    """A name in ``RETRIEVALS``."""
    neighbours: int = 4
    """k: how many candidates a sentence has, and how many neighbours a margin's mean is over; as in
    Artetxe & Schwenk 2019."""
    min_score: float | None = None
    """Pairs below it are left out, whatever the retrieval."""
    threads: int = 1

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        for value, names in ((self.similarity, SIMILARITIES), (self.retrieval, RETRIEVALS)):
            if value not in names:
                raise SettingsError(f"{value!r} is none of {', '.join(names)}")
        if self.neighbours < 1:
            raise SettingsError(f"at least 1 neighbour is needed, not {self.neighbours}")

    def check(self, scorer: PairScorer | None) -> None:
        """Raise SettingsError where a classifier is needed, and there is no scorer."""
        if self.similarity in NEEDS_CLASSIFIER and scorer is None:
            raise SettingsError(f"the similarity {self.similarity} needs a classifier")


def mine(
    source: Vectors,
    target: Vectors,
    settings: MiningSettings,
    scorer: PairScorer | None = None,
    progress: _Progress | None = None,
) -> Mined:
    """Find pairs of translations among two collections of sentence vectors, best first.

    Time grows with n × m, memory with n + m: the vectors, a copy of them, another in a smaller
    number format where the machine is fast with one, and 40 bytes a candidate.

    Args:
        source: vectors ``(n, dim)`` of distinct sentences.
        target: vectors ``(m, dim)`` of distinct sentences.
        settings: what to look for.
        scorer: the classifier's probabilities for ``mlp``; for ``joint``, what is added to CSLS
            (:func:`bitextfilter.mining.comparable.evidence`).
        progress: is told how far the search is, out of n sentences, unless a side is small.

    Raises:
        SettingsError: the similarity is ``mlp`` or ``joint``, and there is no scorer.
    """
    settings.check(scorer)
    units, k = (unit_rows(source), unit_rows(target)), settings.neighbours
    nearest = nearest_both_ways(*units, k, settings.threads, progress)
    if settings.similarity == "euclidean":
        scorer = euclidean_scorer(source, target)
    return choose(nearest, settings, scorer)


def euclidean_scorer(source: VectorRows, target: VectorRows) -> PairScorer:
    """Return what scores pairs by the negative Euclidean distance of their vectors."""
    return lambda rows, columns: euclidean_pairs(source[rows], target[columns])


def choose(
    nearest: tuple[Found, Found],
    settings: MiningSettings,
    scorer: PairScorer | None = None,
    elsewhere: Scores | None = None,
) -> Mined:
    """Choose pairs among the nearest of n sources and of m targets, best first.

    Args:
        nearest: of each source its nearest targets, of each target its nearest sources.
        settings: what to look for; ``neighbours`` is how many there were to be.
        scorer: as of :func:`mine`; also for ``euclidean``.
        elsewhere: cosines of each target to its nearest among other sources, ``(m, any)``, that
            count for the margins, though those are no candidates.

    Raises:
        SettingsError: a scorer is needed, and there is none.
    """
    settings.check(scorer)
    forward, backward = _candidates(nearest, settings, elsewhere)
    if settings.similarity in ("euclidean", "mlp") and scorer is not None:
        forward, backward = _rescored(forward, scorer), _rescored(backward, scorer)
    found = RETRIEVALS[settings.retrieval](forward.ranked(), backward.ranked())
    if settings.similarity == "joint" and scorer is not None:
        found = replace(found, score=found.score + _rescored(found, scorer).score).ranked()
    if settings.min_score is not None:
        found = found.take(found.score >= settings.min_score)
    return found


def _candidates(
    nearest: tuple[Found, Found], settings: MiningSettings, elsewhere: Scores | None
) -> tuple[Mined, Mined]:
    """Each source's nearest targets and each target's nearest sources, by cosine or margin."""
    (cosines, targets), (cosines_back, sources) = nearest
    k, neighbours = settings.neighbours, cosines_back
    if elsewhere is not None:
        neighbours = np.hstack([cosines_back, elsewhere])
    means = highest_means(cosines, k), highest_means(neighbours, k)

    def scored(rows: Indices, columns: Indices, values: Scores) -> Mined:
        if margin := MARGINS.get("csls" if settings.similarity == "joint" else settings.similarity):
            values = margin(values, means[0][rows], means[1][columns])
        there = (rows != NONE) & (columns != NONE)
        return Mined(rows, columns, values).take(there)

    rows = np.repeat(np.arange(len(targets)), targets.shape[1])
    columns = np.repeat(np.arange(len(sources)), sources.shape[1])
    return (
        scored(rows, targets.ravel(), cosines.ravel()),
        scored(sources.ravel(), columns, cosines_back.ravel()),
    )


def _rescored(pairs: Mined, scorer: PairScorer) -> Mined:
    """The same pairs with the scores of ``scorer``, computed in blocks."""
    blocks = [slice(first, first + BLOCK_PAIRS) for first in range(0, len(pairs), BLOCK_PAIRS)]
    parts = [scorer(pairs.source[rows], pairs.target[rows]) for rows in blocks]
    scores = np.concatenate([np.zeros(0, dtype=np.float32), *parts])
    return Mined(pairs.source, pairs.target, scores)


def _best_of_each(ranked: Mined, rows: Indices) -> Mined:
    """The first of the ranked pairs for each row number that ``rows`` ``(n,)`` names."""
    return ranked.take(np.sort(np.unique(rows, return_index=True)[1]))


def _forward(forward: Mined, _: Mined) -> Mined:
    """Each source with its best candidate."""
    return _best_of_each(forward, forward.source)


def _backward(_: Mined, backward: Mined) -> Mined:
    """Each target with its best candidate."""
    return _best_of_each(backward, backward.target)


def _intersect(forward: Mined, backward: Mined) -> Mined:
    """The pairs of which each is the other's best candidate."""
    there, back = _forward(forward, backward), _backward(forward, backward)
    pairs = set(zip(back.source.tolist(), back.target.tolist(), strict=True))
    both = zip(there.source.tolist(), there.target.tolist(), strict=True)
    return there.take(np.array([pair in pairs for pair in both], dtype=np.bool_))


def _max(forward: Mined, backward: Mined) -> Mined:
    """What either of those two takes, best first, each sentence used once at most."""
    there, back = _forward(forward, backward), _backward(forward, backward)
    union = Mined(
        np.concatenate([there.source, back.source]),
        np.concatenate([there.target, back.target]),
        np.concatenate([there.score, back.score]),
    ).ranked()
    places: list[int] = []
    sources: set[int] = set()
    targets: set[int] = set()
    pairs = zip(union.source.tolist(), union.target.tolist(), strict=True)
    for place, (source, target) in enumerate(pairs):
        if source not in sources and target not in targets:
            sources.add(source)
            targets.add(target)
            places.append(place)
    return union.take(np.array(places, dtype=np.int64))


RETRIEVALS: dict[str, Callable[[Mined, Mined], Mined]] = {
    "forward": _forward,
    "backward": _backward,
    "intersect": _intersect,
    "max": _max,
}
"""What is taken of the ranked candidates of either direction, still ranked."""


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
