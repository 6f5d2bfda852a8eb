"""Vectors of sentence groups as evidence for links: a model's, or learnt from the two documents.

What a link costs is how far the vectors of the two groups' texts are apart, against how far they
are from unrelated sentences, times the size of the link (Thompson & Koehn 2019, "Vecalign", section
3.1). Ours: how much the groups differ in length costs too, and the size is not only the number of
sentence pairs in the link; both were chosen on development data.

Words that stand in both documents (names, numbers, loans), or begin alike, say which sentences
belong together, roughly. Once sentences are linked, words that often stand in the same links
translate each other: each link gets a random vector, a word the sum of those of its links, a
sentence the weighted sum of its words' vectors, and translations are near each other (the random
indexing of Sahlgren & Karlgren 2005, "Automatic bilingual lexicon acquisition using random indexing
of parallel corpora"). What a sentence's own link gives its words is left out, so
that no link confirms itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Indices, Integers, Vectors
from bitextfilter.mining.link_costs import LinkSettings, halved, link_size, whole
from bitextfilter.mining.monotonic import Link, Span, Step
from bitextfilter.similarity.vectors import cosine_pairs, unit_products, unit_rows
from bitextfilter.text.tokens import word_forms

Strangers = tuple[Vectors, Vectors]
"""Of the source side's language and of the target side's, unit vectors ``(m, dim)``."""

_SAMPLE = 128
"""So many sentences of a side stand for unrelated ones."""
SMOOTHING = 10
"""Characters added to every length: ratios of short texts say little."""
COARSE_LARGEST = 2
"""So many sentences of a coarser document may be in a link with one: what is two sentences here
and one and a half there begins, at times, in the middle of the other."""
_BLOCK_ROWS = 1024


@dataclass(frozen=True)
class Document:
    """Sentences in their order, as vectors of groups and lengths."""

    groups: Vectors
    """``(largest, n + 1, dim)``: in row i of part k - 1, of length 1, that of the text of the k
    sentences up to position i; 0 where there are no k."""
    ends: NDArray[np.int64]
    """``(n + 1,)``: characters up to each position."""

    def __len__(self) -> int:
        return len(self.ends) - 1

    @property
    def sentences(self) -> Vectors:
        """The vectors of single sentences, ``(n, dim)``."""
        return self.groups[0, 1:]

    def coarser(self) -> Document:
        """Return it with every two sentences as one; what is left over stays."""
        odd = len(self) % 2
        pairs = np.pad(self.sentences, ((0, odd), (0, 0)))
        return Document(group_sums(pairs[0::2] + pairs[1::2], COARSE_LARGEST), halved(self.ends))

    def with_groups(self, others: Vectors, weight: float) -> Document:
        """Return it with further vectors ``(largest, n + 1, dim)`` beside its own."""
        both = np.concatenate([self.groups, np.float32(weight) * others], axis=-1)
        return Document(np.stack([unit_rows(part) for part in both]), self.ends)


def group_sums(vectors: Vectors, largest: int) -> Vectors:
    """Return the groups of a document, as the sums of the vectors ``(n, dim)`` of sentences."""
    n, dim = vectors.shape
    parts = np.zeros((largest, n + 1, dim), np.float32)
    parts[0, 1:] = vectors
    for count in range(2, min(largest, n) + 1):
        parts[count - 1, count:] = parts[count - 2, count - 1 : -1] + vectors[count - 1 :]
    return np.stack([unit_rows(part) for part in parts])


def groups(sentences: Sequence[str], largest: int) -> list[str]:
    """Return the texts that :func:`document` wants vectors of: single sentences, then twos, ..."""
    counts = range(1, min(largest, len(sentences)) + 1)
    return [
        " ".join(sentences[first : first + count])
        for count in counts
        for first in range(len(sentences) - count + 1)
    ]


def document(sentences: Sequence[str], vectors: Vectors, largest: int) -> Document:
    """Return sentences with the vectors ``(g, dim)`` of their :func:`groups` as a document."""
    n, start = len(sentences), 0
    parts = np.zeros((largest, n + 1, vectors.shape[1]), np.float32)
    for part, count in zip(parts, range(1, min(largest, n) + 1), strict=False):
        part[count:] = unit_rows(vectors[start : start + n - count + 1])
        start += n - count + 1
    lengths = [len(sentence) for sentence in sentences]
    return Document(parts, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))


class VectorPairing:
    """Costs of links between two documents by their vectors and lengths."""

    def __init__(
        self,
        source: Document,
        target: Document,
        settings: LinkSettings,
        ratio: float | None = None,
        strangers: Strangers | None = None,
    ) -> None:
        """Look at unrelated sentences: some of the one document with some of the other.

        Args:
            source: with groups of ``settings.largest``.
            target: likewise.
            settings: what links there are, and what counts.
            ratio: target characters for a source character in translations; None if not known,
                and lengths do not count.
            strangers: unit vectors of sentences of either side's language, which short documents
                are held against beside each other.
        """
        self._source, self._target, self._settings = source, target, settings
        self._ratio, self._strangers = ratio, strangers
        self.links = settings.links()
        samples = [
            _sample(side.sentences, strangers[number] if strangers else side.sentences[:0])
            for number, side in enumerate((source, target))
        ]
        self._strangeness = _strangeness(source, samples[1]), _strangeness(target, samples[0])
        skip = int(whole(np.asarray(settings.skip)))
        self.skip_source = np.full(len(source), skip)
        self.skip_target = np.full(len(target), skip)

    def block(self, rows: slice, columns: slice) -> Integers:
        """Return ``(links, rows, columns)``: the size of a link × how unlike its sides are."""
        ends = np.arange(rows.start, rows.stop), np.arange(columns.start, columns.stop)
        unlike = (self._distance(step, *ends) + self._excess(step, *ends) for step in self.links)
        sizes = map(link_size, self.links)
        return np.stack([whole(size * part) for size, part in zip(sizes, unlike, strict=True)])

    def coarser(self) -> VectorPairing:
        """Return it with every two sentences of either side as one, and links of up to two."""
        settings = replace(self._settings, largest=COARSE_LARGEST)
        return VectorPairing(
            self._source.coarser(), self._target.coarser(), settings, None, self._strangers
        )

    def scores(self, spans: Sequence[Span]) -> list[float]:
        """Return the cosines of linked groups' texts, -1 to 1."""
        if not spans:
            return []
        source = [self._source.groups[span[1] - span[0] - 1, span[1]] for span in spans]
        target = [self._target.groups[span[3] - span[2] - 1, span[3]] for span in spans]
        return list(map(float, cosine_pairs(np.array(source), np.array(target))))

    def unlikeness(self, spans: Sequence[Span]) -> float:
        """Return how far apart linked groups are, on average of all sentences, 0 to about 1.

        Unrelated ones are 1 apart, and so is a sentence that is left out; 0 for no sentences.
        """
        count = len(self._source) + len(self._target)
        apart = 0.0
        for span in spans:
            size = Step(span[1] - span[0], span[3] - span[2])
            far = 1.0
            if all(size):
                far = float(self._distance(size, np.array(span[1:2]), np.array(span[3:4]))[0, 0])
            apart += sum(size) * far
        return apart / max(count, 1)

    def _distance(self, step: Step, rows: Indices, columns: Indices) -> Floats:
        """(1 - cosine) of groups, 1 for those as far apart as from unrelated sentences."""
        a, b = step.source - 1, step.target - 1
        cosines = unit_products(self._source.groups[a, rows], self._target.groups[b, columns])
        usual = self._strangeness[0][a, rows][:, None] + self._strangeness[1][b, columns]
        return np.asarray(2 * (1 - cosines.astype(np.float64)) / np.maximum(usual, 2.0**-10))

    def _excess(self, step: Step, rows: Indices, columns: Indices) -> Floats:
        """The squared logarithm of the lengths' ratio against the usual one, weighed."""
        if self._ratio is None:
            return np.zeros((len(rows), len(columns)))
        lengths = [
            document.ends[places] - document.ends[np.maximum(places - count, 0)] + SMOOTHING
            for document, places, count in (
                (self._source, rows, step.source),
                (self._target, columns, step.target),
            )
        ]
        ratios = np.log(lengths[1]) - np.log(lengths[0])[:, None] - math.log(self._ratio)
        return np.asarray(self._settings.length * ratios**2)


def _sample(sentences: Vectors, strangers: Vectors) -> Vectors:
    """Sentences from everywhere in a document, and if it has too few, some of the strangers."""
    count = min(len(sentences), _SAMPLE)
    places = np.linspace(0, max(len(sentences) - 1, 0), count).astype(int)
    found = np.concatenate([sentences[places], strangers[: _SAMPLE - count]])
    return found if len(found) else np.zeros((1, sentences.shape[1]), np.float32)


def _strangeness(document: Document, strangers: Vectors) -> Floats:
    """The mean of 1 - cosine of each group with unrelated sentences, ``(largest, n + 1)``."""
    means = np.zeros(document.groups.shape[:2])
    for part, found in zip(document.groups, means, strict=True):
        for first in range(0, len(part), _BLOCK_ROWS):
            rows = slice(first, first + _BLOCK_ROWS)
            found[rows] = unit_products(part[rows], strangers).mean(axis=1, dtype=np.float64)
    return 1.0 - means


DIM = 512
BEGINNING = 5
"""Words that begin with the same so many letters are alike."""
SEED = 20051


def surface_vectors(source: Sequence[str], target: Sequence[str]) -> tuple[Vectors, Vectors]:
    """Return vectors ``(n, DIM)`` and ``(m, DIM)`` of what the sentences are written with.

    Random vectors of their words, and of the beginnings of longer ones, added up, each weighted by
    how rare it is among the sentences of its side.
    """
    bags = _bags([[_surface(sentence) for sentence in side] for side in (source, target)])
    random = np.random.default_rng(SEED)
    vectors = random.standard_normal((bags[0].size, DIM), dtype=np.float32)
    return _weighted(bags[0], vectors), _weighted(bags[1], vectors)


def _weighted(bag: _Bag, vectors: Vectors) -> Vectors:
    """Sums of the vectors ``(size, DIM)`` of what stands in each row, by rarity."""
    rows = vectors * bag.rarity().astype(np.float32)[:, None]
    return bag.sums(lambda _, things: rows[things])


def learned_vectors(
    source: Sequence[str], target: Sequence[str], links: Sequence[Link]
) -> tuple[Vectors, Vectors]:
    """Return vectors ``(n, DIM)`` and ``(m, DIM)`` by the links that words stand in; 0 where none.

    Args:
        source: n sentences.
        target: m sentences.
        links: an alignment of them.
    """
    signs = np.random.default_rng(SEED).integers(0, 2, (len(links) + 1, DIM))
    vectors = (2 * signs - 1).astype(np.float32)
    vectors[-1] = 0  # of sentences without a link
    link_of = np.full(len(source), len(links)), np.full(len(target), len(links))
    for number, link in enumerate(links):
        if link.source and link.target:
            link_of[0][link.source] = link_of[1][link.target] = number
    return _learned(source, link_of[0], vectors), _learned(target, link_of[1], vectors)


def _learned(sentences: Sequence[str], link_of: Indices, vectors: Vectors) -> Vectors:
    """The vectors of the sentences of one side; the sum of a word is that of other links alone.

    Sums of 1 and -1 are exact: what a link gives to its own words is taken away without a rest.
    """
    (bag,) = _bags([[word_forms(sentence) for sentence in sentences]])
    sums = bag.transposed().sums(lambda _, rows: vectors[link_of[rows]])
    weights = (bag.rarity() / np.sqrt(bag.counts())).astype(np.float32)
    own = bag.times_by(link_of)

    def others(part: slice, words: Indices) -> Vectors:
        itself = vectors[link_of[bag.places[part]]] * own[part, None]
        return (sums[words] - itself) * weights[words, None]

    return bag.sums(others)


def _surface(sentence: str) -> set[str]:
    """Words, and the beginnings of those that go on, which no word is written as."""
    words = word_forms(sentence)
    return words | {word[:BEGINNING] + " " for word in words if len(word) > BEGINNING}


class _Bag:
    """Which of ``size`` things stand in which of ``rows`` rows: two arrays, sorted by row."""

    def __init__(self, rows: int, size: int, places: Indices, things: Indices) -> None:
        """Take the row and the number of each thing that stands somewhere, ``(t,)`` each."""
        self.rows, self.size = rows, size
        self.places, self.things = places, things

    def transposed(self) -> _Bag:
        """Return which rows hold which thing."""
        order = np.argsort(self.things, kind="stable")
        return _Bag(self.size, self.rows, self.things[order], self.places[order])

    def counts(self) -> Floats:
        """Return in how many rows each thing stands, ``(size,)``."""
        return np.bincount(self.things, minlength=self.size).astype(np.float64)

    def times_by(self, group_of: Indices) -> NDArray[np.float32]:
        """Return in how many rows of its row's group each thing stands, ``(t,)``."""
        both = group_of[self.places] * self.size + self.things
        _, where, counts = np.unique(both, return_inverse=True, return_counts=True)
        return np.asarray(counts[where], dtype=np.float32)

    def rarity(self) -> Floats:
        """Return log((1 + rows) / rows with it) of each thing, ``(size,)``."""
        return np.asarray(np.log((1 + self.rows) / np.maximum(self.counts(), 1)))

    def sums(self, values: Callable[[slice, Indices], Vectors]) -> Vectors:
        """Return the sum of what stands in each row, ``(rows, DIM)``.

        ``values``: from a part of the t and the things there to their vectors, to be added.
        """
        found = np.zeros((self.rows, DIM), np.float32)
        for first in range(0, self.rows, _BLOCK_ROWS):
            begin, end = np.searchsorted(self.places, [first, first + _BLOCK_ROWS])
            part = slice(int(begin), int(end))
            rows, starts = np.unique(self.places[part], return_index=True)
            if len(rows):
                found[rows] = np.add.reduceat(values(part, self.things[part]), starts, axis=0)
        return found


def _bags(sides: Sequence[Sequence[set[str]]]) -> list[_Bag]:
    """The words of each side's sentences; the same word has the same number on all sides."""
    words = sorted(set().union(*chain.from_iterable(sides)))
    numbers = {word: number for number, word in enumerate(words)}
    bags = []
    for side in sides:
        things = [sorted(numbers[word] for word in sentence) for sentence in side]
        places = np.repeat(np.arange(len(side)), list(map(len, things)))
        flat = np.fromiter(chain.from_iterable(things), np.int64, len(places))
        bags.append(_Bag(len(side), len(words), places, flat))
    return bags
