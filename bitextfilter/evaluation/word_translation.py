"""Word translation: precision at k of the nearest target words.

As in Conneau et al. 2018, section 3: over the source words of a dictionary that have a vector and a
translation with a vector. A source word is right if any of its translations is among the k best of
all target words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Vectors
from bitextfilter.errors import InputError
from bitextfilter.evaluation.result import Bootstrap, Estimate, Result, estimates, record
from bitextfilter.similarity.neighbours import NEIGHBOURS, matches, neighbourhood_means
from bitextfilter.similarity.vectors import unit_rows

WORD_SIMILARITIES = ("cosine", "csls")
PRECISION_RANKS = (1, 5)


class Lexicon(NamedTuple):
    """The words of a language and their vectors."""

    words: Sequence[str]
    """``n`` distinct words."""
    vectors: Vectors
    """``(n, d)``, of any length."""


@dataclass(frozen=True)
class Precision:
    """Precision at a rank by a similarity."""

    similarity: str
    rank: int
    precision: Estimate
    """In percent, 0 to 100, with its 95 % interval over the source words."""


@dataclass(frozen=True)
class Translations:
    """Precisions, and the numbers of words."""

    precisions: list[Precision]
    words: int
    """Source words measured."""
    without: int
    """Source words of the dictionary without a vector, or without one of any translation."""


def translate_words(
    source: Lexicon,
    target: Lexicon,
    dictionary: Sequence[tuple[str, str]],
    neighbours: int = NEIGHBOURS,
    bootstrap: Bootstrap | None = None,
) -> Translations:
    """Translate the source words of a dictionary by cosine and by CSLS, and measure the precision.

    Both languages share one vector space. CSLS averages over the *neighbours* nearest words of the
    other language.

    Raises:
        InputError: the vectors differ in width, or no entry has a vector on both sides.
    """
    widths = source.vectors.shape[1], target.vectors.shape[1]
    if widths[0] != widths[1]:
        raise InputError(f"source vectors of {widths[0]} numbers, target vectors of {widths[1]}")
    right = _right(source.words, target.words, dictionary)
    asked = len({word for word, _ in dictionary})
    if not right:
        raise InputError("no entry of the dictionary has a vector on both sides")
    hits = _hits(np.array(list(right)), list(right.values()), (source, target), neighbours)
    cells, counts = np.unique(hits, axis=0, return_counts=True)

    def percent(strata: Sequence[Floats]) -> Floats:
        return np.asarray(100 * strata[0] @ cells / strata[0].sum())

    figures = estimates([counts.astype(np.float64)], percent, bootstrap or Bootstrap())
    kinds = [(similarity, rank) for similarity in WORD_SIMILARITIES for rank in PRECISION_RANKS]
    precisions = [
        Precision(*kind, Estimate(*map(float, figures[:, place])))
        for place, kind in enumerate(kinds)
    ]
    return Translations(precisions, len(right), asked - len(right))


def _right(
    source: Sequence[str], target: Sequence[str], dictionary: Sequence[tuple[str, str]]
) -> dict[int, set[int]]:
    """Return the places of the right target words by the place of the source word."""
    at = [{word: place for place, word in enumerate(words)} for words in (source, target)]
    right: dict[int, set[int]] = {}
    for one, other in dictionary:
        if one in at[0] and other in at[1]:
            right.setdefault(at[0][one], set()).add(at[1][other])
    return right


def _hits(
    places: NDArray[np.int64],
    right: Sequence[set[int]],
    sides: tuple[Lexicon, Lexicon],
    neighbours: int,
) -> NDArray[np.bool_]:
    """Return the words that are right, by similarity and rank: ``(words, 4)``."""
    every, base = (unit_rows(side.vectors) for side in sides)
    queries = every[places]
    means = (
        neighbourhood_means(queries, base, neighbours),
        neighbourhood_means(base, every, neighbours),
    )
    columns = []
    for chosen in (None, means):
        found = matches(queries, base, max(PRECISION_RANKS), chosen).tolist()
        for rank in PRECISION_RANKS:
            best = (set(row[:rank]) for row in found)
            columns.append([bool(one & other) for one, other in zip(best, right, strict=True)])
    return np.stack([np.array(column, dtype=np.bool_) for column in columns], axis=1)


def word_translation_result(found: Translations, neighbours: int, bootstrap: Bootstrap) -> Result:
    """Return a record for each similarity and rank."""
    records = []
    for each in found.precisions:
        made = record(
            each,
            f"precision@{each.rank} = {each.precision.value:.2f}",
            n=found.words,
            without=found.without,
            sim=each.similarity,
            **({"k": neighbours} if each.similarity == "csls" else {}),
            **bootstrap.facts,
        )
        records.append(made)
    names = "similarity", "rank", "precision", "low", "high", "words", "without", "signature"
    facts = {"words": found.words, "without": found.without}
    return Result("words", dict.fromkeys(names, ".2f"), {"results": records}, facts)
