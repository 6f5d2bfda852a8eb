"""Map word vectors of one language into the space of another: Procrustes, refined by itself.

An orthogonal map is found from pairs of words (Procrustes), new pairs from the mapped vectors
(mutual nearest neighbours by CSLS), and so on: Artetxe et al. 2017, Conneau et al. 2018. The first
pairs are a dictionary or identical strings, or the first map is an adversarial one
(:mod:`bitextfilter.training.adversarial_mapping`).

Letters: n source words, m target words, d dimensions; words are in the order of their frequency,
the most frequent first. A map is ``(d, d)``, and maps source vectors ``x`` to ``x @ map``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.errors import InputError, SettingsError
from bitextfilter.settings import check, setting
from bitextfilter.similarity.margins import NEIGHBOURS
from bitextfilter.similarity.retrieval import matches, neighbourhood_means
from bitextfilter.similarity.vectors import Vectors, unit_rows

__all__ = [
    "Induced",
    "Map",
    "MappingSettings",
    "Pairs",
    "identical_pairs",
    "induce",
    "map_of_pairs",
    "mapped",
    "normalised",
    "procrustes",
    "refine",
    "seed_pairs",
]

Map = NDArray[np.float64]
"""An orthogonal matrix ``(d, d)``."""

Pairs = NDArray[np.int64]
"""Places of source and target words that are translations: ``(p, 2)``."""

STEPS = ("unit", "centre")


@dataclass(frozen=True)
class MappingSettings:
    """How a map is refined."""

    normalise: str = setting(
        "unit,centre,unit",
        "steps on the vectors of each language first, in this order: `unit` length, and `centre`,"
        " which takes the mean of all vectors away; the last must be `unit`",
    )
    words: int = setting(
        10_000,
        "most frequent words of each language to find translations of",
        within=">= 1",
    )
    neighbours: int = setting(NEIGHBOURS, "of CSLS", within=">= 1")
    refinements: int = setting(30, "rounds of new pairs and a new map, at most", within=">= 0")
    gain: float = setting(
        0.001,
        "the last round is the first with less; 0: any gain will do",
        within=">= 0",
    )

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        check(self)
        steps = self.normalise.split(",")
        if not set(steps) <= set(STEPS) or steps[-1] != "unit":
            raise SettingsError(
                f"normalise {self.normalise!r} is not of unit and centre, with unit at the end"
            )


class Induced(NamedTuple):
    """What a map says about its words."""

    pairs: Pairs
    """Words that are each other's best by CSLS."""
    criterion: float
    """Mean cosine of the source words with their best by CSLS, -1 to 1, higher is better: the
    model selection of Conneau et al. 2018, which needs no dictionary."""


def normalised(vectors: NDArray[np.floating], steps: str) -> Vectors:
    """Apply the steps of :class:`MappingSettings` to vectors ``(n, d)``; the last is ``unit``."""
    rows = np.asarray(vectors, dtype=np.float32)
    for step in steps.split(","):
        rows = unit_rows(rows) if step == "unit" else rows - rows.mean(axis=0, dtype=np.float64)
    return np.asarray(rows, dtype=np.float32)


def procrustes(source: NDArray[np.floating], target: NDArray[np.floating]) -> Map:
    """Return the orthogonal map for which ``source @ map`` is closest to ``target``.

    Schönemann 1966: ``U @ V.T``, of the singular value decomposition ``U S V.T`` of
    ``source.T @ target``. Row i of both, ``(p, d)``, belong together.
    """
    left, _, right = np.linalg.svd(source.astype(np.float64).T @ target.astype(np.float64))
    return np.asarray(left @ right)


def mapped(vectors: Vectors, map_: Map) -> Vectors:
    """Return unit vectors ``(n, d)`` in the other language's space, of unit length again."""
    return unit_rows(vectors.astype(np.float64) @ map_)


def induce(source: Vectors, target: Vectors, settings: MappingSettings) -> Induced:
    """Translate the most frequent words both ways by CSLS; the source is mapped already."""
    a, b = source[: settings.words], target[: settings.words]
    means = (
        neighbourhood_means(a, b, settings.neighbours),
        neighbourhood_means(b, a, settings.neighbours),
    )
    forward = matches(a, b, means=means)[:, 0]
    backward = matches(b, a, means=means[::-1])[:, 0]
    mutual = np.flatnonzero(backward[forward] == np.arange(len(a)))
    cosines = np.einsum("nd,nd->n", a, b[forward], dtype=np.float64)
    return Induced(np.stack([mutual, forward[mutual]], axis=1), float(cosines.mean()))


def refine(
    source: Vectors,
    target: Vectors,
    start: Map,
    settings: MappingSettings,
    notify: Callable[[int, Induced], object],
) -> Map:
    """Return the best map by the criterion: the first, or one of its refinements.

    Args:
        source: normalised, ``(n, d)``.
        target: normalised, ``(m, d)``.
        start: the first map.
        settings: when to end, over how many words.
        notify: told of each map: its number, from 0, and what it says.
    """
    best, highest, current = start, -np.inf, start
    for round_ in range(settings.refinements + 1):
        induced = induce(mapped(source[: settings.words], current), target, settings)
        notify(round_, induced)
        ended = induced.criterion - highest < settings.gain
        if induced.criterion > highest:
            best, highest = current, induced.criterion
        if ended or round_ == settings.refinements or not len(induced.pairs):
            break
        current = map_of_pairs(source, target, induced.pairs)
    return best


def map_of_pairs(source: Vectors, target: Vectors, pairs: Pairs) -> Map:
    """Return the Procrustes map of pairs of words."""
    return procrustes(source[pairs[:, 0]], target[pairs[:, 1]])


def seed_pairs(
    dictionary: Sequence[tuple[str, str]], source: Sequence[str], target: Sequence[str]
) -> Pairs:
    """Return the places of the entries that both languages have, each once.

    Raises InputError where there are none.
    """
    at = [{word: place for place, word in enumerate(words)} for words in (source, target)]
    known = dict.fromkeys(
        (at[0][one], at[1][other]) for one, other in dictionary if one in at[0] and other in at[1]
    )
    if not known:
        raise InputError("no entry of the dictionary has a vector on both sides")
    return np.array(list(known), dtype=np.int64)


def identical_pairs(source: Sequence[str], target: Sequence[str]) -> Pairs:
    """Return the places of the words that are the same strings in both languages.

    Raises InputError where there are none.
    """
    try:
        return seed_pairs([(word, word) for word in source], source, target)
    except InputError:
        raise InputError(
            "no word is the same in both languages", remedy="use --map adversarial or dictionary"
        ) from None
