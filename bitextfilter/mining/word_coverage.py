"""Coverage of words: how much of a link's words has no similar word on its other side.

A word is covered by the most similar word of the other side's sentences: by nothing up to the
cosine LOW, wholly from HIGH on, and in between by a part. Words weigh the logarithm of their rarity
among the sentences of their side. So each word at the edge of a link counts for itself, while the
vector of a whole text hardly changes with a short sentence more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Indices, Vectors
from bitextfilter.mining.monotonic import LinkSize
from bitextfilter.similarity.vectors import unit_products, unit_rows
from bitextfilter.text.ragged import Ragged
from bitextfilter.text.words import word_forms

LOW = 0.15
"""Cosine of words up to which they are unlike."""
HIGH = 0.6
"""Cosine of words from which they are translations."""
MOST_WORDS = 256
"""Most different words of a sentence that count; of more, some from everywhere."""
_PRODUCTS = 1 << 22
"""Pairs of words compared at a time, unless those of a single sentence are more."""

Encode = Callable[[list[str]], Vectors]
"""Function from texts to their vectors ``(n, dim)``."""


@dataclass(frozen=True)
class DocumentWords:
    """The words of a document."""

    numbers: Ragged
    """The numbers of the different words of each sentence, ``(n,)`` rows."""
    vectors: Vectors
    """Unit vectors of the words, ``(size, dim)``."""
    weights: Floats
    """Weights of the words, ``(size,)``."""

    @property
    def masses(self) -> Floats:
        """Sums of the weights of each sentence, ``(n,)``."""
        before = np.concatenate([[0.0], np.cumsum(self.weights[self.numbers.flat])])
        starts = self.numbers.starts
        return np.asarray(before[starts + self.numbers.lengths] - before[starts])


def document_words(sentences: Sequence[str], encode: Encode) -> DocumentWords:
    """Return the words of sentences, with the vectors that *encode* gives each word."""
    number: dict[str, int] = {}
    bags = [
        [number.setdefault(word, len(number)) for word in _at_most(sorted(word_forms(sentence)))]
        for sentence in sentences
    ]
    words = sorted(number)
    place = np.empty(len(words), np.int32)
    place[[number[word] for word in words]] = np.arange(len(words))
    found = Ragged.of_lists(bags)
    numbers = Ragged(place[found.flat], found.lengths)
    counts = np.bincount(numbers.flat, minlength=len(words))
    weights = np.log((1 + len(sentences)) / np.maximum(counts, 1))
    return DocumentWords(numbers, unit_rows(encode(words)), weights)


def _at_most(words: list[str]) -> list[str]:
    return words[:: -(-len(words) // MOST_WORDS)] if len(words) > MOST_WORDS else words


class WordCoverage:
    """Weights of words without a similar one on the other side of a link.

    The words of a sentence weigh 1 in the mean over both documents.
    """

    def __init__(self, source: DocumentWords, target: DocumentWords, largest: int) -> None:
        """Take the words of both documents, and the most sentences of a side in a link."""
        self._sides, self._largest = (source, target), largest
        masses = [side.masses for side in self._sides]
        self._unit = float(np.concatenate(masses).mean()) if sum(map(len, masses)) else 0.0
        self._unit = self._unit or 1.0
        self.masses = masses[0] / self._unit, masses[1] / self._unit
        """Weight of all words of each sentence, ``(n,)`` and ``(m,)``."""

    def uncovered(
        self, links: Sequence[LinkSize], rows: slice, columns: slice
    ) -> NDArray[np.float32]:
        """Return the weight of both sides' uncovered words, ``(links, rows, columns)``.

        It is that of each link that ends at these source and target positions; any number where a
        link would begin before 0.
        """
        parts = self._part(0, rows), self._part(1, columns)
        best = _best(parts[0], parts[1])
        source, target = (
            part.uncovered(most, self._largest) / np.float32(self._unit)
            for part, most in zip(parts, best, strict=True)
        )
        reach, height, width = self._largest, len(parts[0]), len(parts[1])
        height, width = height - reach + 1, width - reach + 1
        found = np.zeros((len(links), height, width), np.float32)
        for link, (n, m) in zip(found, links, strict=True):
            for back in range(1, n + 1):
                link += source[m - 1, reach - back : reach - back + height]
            for back in range(1, m + 1):
                link += target[n - 1, reach - back : reach - back + width].T
        return found

    def _part(self, side: int, positions: slice) -> _Part:
        """Return the sentences that links ending at some positions may hold."""
        words = self._sides[side]
        sentences = range(positions.start - self._largest, positions.stop - 1)
        known = np.arange(max(sentences.start, 0), sentences.stop)
        before = np.zeros(len(sentences) - len(known), np.int64)
        lengths = np.concatenate([before, words.numbers.lengths[known]])
        flat = words.numbers.flat[words.numbers.places(known)]
        return _Part(words, flat, lengths)


class _Part:
    """The words of some neighbouring sentences, the first of which may stand before the text."""

    def __init__(self, words: DocumentWords, flat: Indices, lengths: Indices) -> None:
        self.words, self.flat, self.lengths = words, flat, lengths
        self.stops = np.concatenate([[0], np.cumsum(lengths)])

    def __len__(self) -> int:
        return len(self.lengths)

    def uncovered(self, best: NDArray[np.float32], largest: int) -> NDArray[np.float32]:
        """Return the weights ``(largest, sentences, positions)`` that groups leave uncovered.

        ``best`` ``(words, others)`` is how well each word is covered by each other sentence. In
        row k - 1 are groups of k; positions begin behind the first *largest* sentences.
        """
        weights = self.words.weights[self.flat].astype(np.float32)[:, None]
        some = np.flatnonzero(self.lengths)
        found = np.zeros((largest, len(self), best.shape[1] - largest + 1), np.float32)
        most = best.copy()
        for count, sums in enumerate(found, 1):
            if count > 1:
                most[:, count - 1 :] = np.maximum(
                    most[:, count - 1 :], best[:, : best.shape[1] - count + 1]
                )
            if len(some):
                open_parts = (1 - most[:, largest - 1 :]) * weights
                sums[some] = np.add.reduceat(open_parts, self.stops[some], axis=0)
        return found


def _best(source: _Part, target: _Part) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return how well each word is covered by each sentence of the other part.

    Shapes: ``(source words, target sentences)`` and ``(target words, source sentences)``.
    """
    best = [
        np.zeros((len(part.flat), len(other)), np.float32)
        for part, other in ((source, target), (target, source))
    ]
    some = [np.flatnonzero(part.lengths) for part in (source, target)]
    distinct, places = np.unique(source.flat, return_inverse=True)
    for first, last in pairwise(_bounds(target, len(source.flat))):
        words = slice(target.stops[first], target.stops[last])
        if words.start == words.stop or not len(source.flat):
            continue
        others, other_places = np.unique(target.flat[words], return_inverse=True)
        cosines = unit_products(source.words.vectors[distinct], target.words.vectors[others])
        alike = np.clip((cosines - LOW) / (HIGH - LOW), 0, 1).astype(np.float32)
        alike = alike[places][:, other_places]
        here = some[1][(some[1] >= first) & (some[1] < last)]
        starts = target.stops[here] - words.start
        best[0][:, here] = np.maximum.reduceat(alike, starts, axis=1)
        best[1][words, some[0]] = np.maximum.reduceat(alike, source.stops[some[0]], axis=0).T
    return best[0], best[1]


def _bounds(part: _Part, others: int) -> list[int]:
    """Divide sentences into groups whose words are compared with *others* at a time."""
    most, bounds = max(1, _PRODUCTS // max(others, 1)), [0]
    for sentence in range(1, len(part)):
        if part.stops[sentence + 1] - part.stops[bounds[-1]] > most:
            bounds.append(sentence)
    return [*bounds, len(part)]
