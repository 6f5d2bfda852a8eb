"""Documents that are translations of each other: candidates, their scores, and a choice of pairs.

A pair's evidence is how well the parts of both documents match, and the words that both have:
names, numbers, addresses. The match is also compared with those of the other candidates of the two
documents. The score is a probability, of a logistic regression.

Letters: n and m documents of either side, c candidate pairs, a and b rows of two sketches.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Indices, Integers, Scores, Vectors
from bitextfilter.io.vector_file import VectorFile
from bitextfilter.mining.comparable import Mined
from bitextfilter.similarity.neighbours import NO_ROW, Neighbours

WEIGHTS, BIAS = (14.0, 48.0, 2.4), -4.6
"""Weights of the match, of the match beyond that of others, and of the words; chosen on 34 sets of
documents of 9 language pairs, some without partners."""
RECOMMENDED_SCORE = 0.8
"""Pairs with this probability and more had a precision of 0.998 on these sets."""
_FLOAT32_DIM = 1 << 10
"""Up to it, float32 holds sums of products of magnitudes up to 127 without rounding."""


@dataclass(frozen=True)
class SketchedSide:
    """The documents of a side, each with the rows of its sketch and its rare words."""

    rows: VectorFile
    """All sketches, ``(r, dim)``, of whole numbers: so their products are exact."""
    starts: Integers
    """The first row of each document, and the end, ``(n + 1,)``."""
    shares: Scores
    """The part of its document's weight that each row has, ``(r,)``."""
    means: Scores
    """The mean cosine of each row to its nearest among unrelated text, ``(r,)``."""
    word_starts: Integers
    """The first word of each document, and the end, ``(n + 1,)``."""
    words: Integers
    """Numbers of words, ascending in each document, ``(w,)``."""
    word_weights: Scores
    """Their weights, ``(w,)``."""

    def sketch(self, number: int) -> tuple[Vectors, Scores, Scores]:
        """Return a document's rows, at length 1 (``(a, dim)`` and ``(a,)``), shares and means."""
        part = slice(int(self.starts[number]), int(self.starts[number + 1]))
        return self.rows[part], self.shares[part], self.means[part]

    def rare(self, number: int) -> tuple[Integers, Scores]:
        """Return a document's words and their weights."""
        part = slice(int(self.word_starts[number]), int(self.word_starts[number + 1]))
        return self.words[part], self.word_weights[part]


def candidates(nearest: tuple[Neighbours, Neighbours]) -> tuple[Indices, Indices]:
    """Return the pairs in which one is among the nearest of the other, ``(c,)`` each, in order.

    *nearest*: the nearest targets of each source, and the nearest sources of each target.
    """
    (_, targets), (_, sources) = nearest
    there = np.repeat(np.arange(len(targets)), targets.shape[1]), targets.ravel()
    back = sources.ravel(), np.repeat(np.arange(len(sources)), sources.shape[1])
    pairs = np.concatenate([np.stack(there), np.stack(back)], axis=1)
    pairs = np.unique(pairs[:, (pairs != NO_ROW).all(axis=0)], axis=1)
    return pairs[0], pairs[1]


def evidence(
    sides: tuple[SketchedSide, SketchedSide],
    pairs: tuple[Indices, Indices],
    done: Callable[[int], object] = lambda _: None,
) -> tuple[Scores, Scores]:
    """Return how well the parts of each pair match, and the share of their words, ``(c,)`` each.

    *pairs* are in order of the source; *done* is called with the number of pairs just done.
    """
    matches, words = np.zeros((2, len(pairs[0])), np.float32)
    bounds = np.flatnonzero(np.diff(pairs[0], prepend=-1, append=-1)).tolist()
    for first, last in pairwise(bounds):
        source = int(pairs[0][first])
        own, known = _unit(sides[0].sketch(source)), sides[0].rare(source)
        for place in range(first, last):
            target = int(pairs[1][place])
            matches[place] = match(own, _unit(sides[1].sketch(target)))
            words[place] = shared(known, sides[1].rare(target))
        done(last - first)
    return matches, words


_Sketch = tuple[Vectors, Scores, Scores, Scores]
"""Rows ``(a, dim)``, and their lengths, shares and means, each ``(a,)``."""


def _unit(sketch: tuple[Vectors, Scores, Scores]) -> _Sketch:
    rows, shares, means = sketch
    lengths = np.sqrt(np.einsum("nd,nd->n", rows, rows, dtype=np.float64))
    return rows, np.maximum(lengths, 1.0), shares, means


def match(source: _Sketch, target: _Sketch) -> float:
    """Return how well two documents' parts match, from 0 to 1.

    Two parts match if each is the nearest of the other, by cosine less the mean of both parts' mean
    cosines to unrelated text. The result is the sum of these margins, where above 0, each times the
    lower share of both parts in the weight of their documents.
    """
    # Products of whole numbers up to 127: their sums are exact, in any order.
    exact = np.float32 if source[0].shape[1] <= _FLOAT32_DIM else np.float64
    products = (source[0].astype(exact) @ target[0].T.astype(exact)).astype(np.float64)
    margins = products / (source[1][:, None] * target[1][None, :])
    margins -= (source[3].astype(np.float64)[:, None] + target[3][None, :]) / 2
    nearest = margins.argmax(axis=1)
    rows = np.flatnonzero(margins.argmax(axis=0)[nearest] == np.arange(len(nearest)))
    columns = nearest[rows]
    lower = np.minimum(source[2][rows], target[2][columns]).astype(np.float64)
    return float((lower * np.maximum(margins[rows, columns], 0.0)).sum())


def shared(source: tuple[Integers, Scores], target: tuple[Integers, Scores]) -> float:
    """Return the part of the weights of two documents' words that is of words of both, 0 to 1.

    That is their cosine, if each word has the root of its weight.
    """
    whole = float(source[1].sum()) * float(target[1].sum())
    if whole <= 0:
        return 0.0
    common = np.isin(source[0], target[0], assume_unique=True)
    return float(source[1][common].sum()) / math.sqrt(whole)


def beyond_others(values: Scores, pairs: tuple[Indices, Indices]) -> Scores:
    """Return by how much each pair's value, ``(c,)``, is above that of the best other, ``(c,)``.

    Others are the other candidates of its source and of its target; without any, they count as 0.
    """
    exact = values.astype(np.float64)
    others = [_best_others(exact, numbers) for numbers in pairs]
    return np.asarray(exact - np.maximum(*others), np.float32)


def _best_others(values: NDArray[np.float64], numbers: Indices) -> NDArray[np.float64]:
    """Return the highest of the other values with the same number, or 0: ``(c,)``."""
    order = np.lexsort((-values, numbers))
    firsts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    counts = np.diff(firsts, append=len(order))
    found = np.repeat(values[order[firsts]], counts)
    found[firsts] = 0.0
    several = firsts[counts > 1]
    found[several] = values[order[several + 1]]
    others = np.empty_like(found)
    others[order] = found
    return others


def probabilities(matches: Scores, words: Scores, pairs: tuple[Indices, Indices]) -> Scores:
    """Return the probability ``(c,)`` that each pair are translations, of their evidence."""
    columns = matches, beyond_others(matches, pairs), words
    logits = np.full(len(matches), BIAS)
    for weight, column in zip(WEIGHTS, columns, strict=True):
        logits += weight * column.astype(np.float64)
    return np.asarray(1 / (1 + np.exp(-logits)), np.float32)


def one_to_one(pairs: tuple[Indices, Indices], scores: Scores) -> Mined:
    """Choose pairs, best first, unless one of the two is taken; ties go to the earlier ones."""
    ranked = Mined(*pairs, scores).ranked()
    places: list[int] = []
    taken: tuple[set[int], set[int]] = set(), set()
    for place, pair in enumerate(zip(ranked.source.tolist(), ranked.target.tolist(), strict=True)):
        if all(number not in side for number, side in zip(pair, taken, strict=True)):
            places.append(place)
            for number, side in zip(pair, taken, strict=True):
                side.add(number)
    return ranked.take(np.array(places, dtype=np.int64))
