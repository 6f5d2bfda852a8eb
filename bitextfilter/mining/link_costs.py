"""Costs of links between sentences: by their lengths, and by vectors.

Translations are about as long as their sources. With δ the difference of two lengths in standard
deviations, a link costs -log P(its size) - log P(|δ| or more). Sizes and constants are from the
paper (sections 3.1 to 3.3, table 5), but target characters for a source character are counted in
the documents.

The cost of a link is the distance of the vectors of its sides, relative to their distance from
unrelated sentences (Thompson & Koehn 2019, "Vecalign", section 3.1), times half its sentences.
Ours: words without a similar one on the other side cost, those of sentences left out, too; so does
a difference in length, as in Gale & Church, and each further sentence of a side. The weights are
about those of a conditional random field that was learnt on development documents.

Without a model, words that stand in both documents (names, numbers, loans), or begin alike, give
first links. Words that often stand in the same links then translate each other: each link gets a
random vector, a word the sum of those of its links, and a sentence the weighted sum of those of its
words, so translations are near each other (the random indexing of Sahlgren & Karlgren 2005,
"Automatic bilingual lexicon acquisition using random indexing of parallel corpora"). The share of
the sentence's own link is left out of its words, so that no link confirms itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

import numpy as np

from bitextfilter.arrays import Floats, Indices, Integers, Scores, Vectors
from bitextfilter.mining.chunks import LinkSettings
from bitextfilter.mining.monotonic import COARSE_LARGEST, Document, LinkSize, Span, halved
from bitextfilter.mining.word_coverage import WordCoverage
from bitextfilter.similarity.vectors import cosine_pairs, unit_products
from bitextfilter.text.words import word_forms

COST_UNIT = 2**20


def link_weight(size: LinkSize) -> float:
    """Return the factor on a model scorer's penalty: the mean of n + m - 1 and n × m."""
    return (size.source * size.target + size.source + size.target - 1) / 2


def whole_costs(costs: Floats) -> Integers:
    """Return costs as whole numbers; a link of two unrelated sentences costs 2**20."""
    return np.rint(costs * COST_UNIT).astype(np.int64)


def group_lengths(ends: Indices, stops: Indices, count: int) -> Indices:
    """Return the characters of the groups of *count* sentences that end at some positions.

    ``ends`` ``(n + 1,)`` are the characters up to each position.
    """
    return np.asarray(ends[stops] - ends[np.maximum(stops - count, 0)])


_VARIANCE = 6.8
"""Variance of the length of a translation, for each character."""
_SIZES = {
    LinkSize(1, 1): 0.89,
    LinkSize(1, 2): 0.089 / 2,
    LinkSize(2, 1): 0.089 / 2,
    LinkSize(2, 2): 0.011,
    LinkSize(1, 0): 0.0099 / 2,
    LinkSize(0, 1): 0.0099 / 2,
}
"""Probabilities of links by size; the paper gives mirrored sizes as one."""
_LEAST = 1e-100

_erfc = np.frompyfunc(math.erfc, 1, 1)


class LengthLinkCosts:
    """Costs of links between two documents by the lengths of their sentences."""

    def __init__(self, source: Indices, target: Indices) -> None:
        """Take the characters up to each position, ``(n + 1,)`` and ``(m + 1,)``, from 0."""
        self._source, self._target = source, target
        self._ratio = (int(target[-1]) or 1) / (int(source[-1]) or 1)
        self.links = [size for size in _SIZES if all(size)]
        none = np.zeros(1)
        self.skip_source = self._cost(LinkSize(1, 0), np.diff(source), none)[:, 0]
        self.skip_target = self._cost(LinkSize(0, 1), none, np.diff(target))[0]

    def block(self, rows: slice, columns: slice) -> Integers:
        """Return ``(links, rows, columns)``."""
        stops = np.arange(rows.start, rows.stop), np.arange(columns.start, columns.stop)
        groups = (
            [group_lengths(self._source, stops[0], size.source) for size in self.links],
            [group_lengths(self._target, stops[1], size.target) for size in self.links],
        )
        return np.stack(list(map(self._cost, self.links, *groups)))

    def coarser(self, part: Span | None = None) -> LengthLinkCosts:
        """Return it, or a part of it, with every two sentences of either side as one."""
        a, b, c, d = part or Span(0, len(self.skip_source), 0, len(self.skip_target))
        source, target = self._source[a : b + 1], self._target[c : d + 1]
        return LengthLinkCosts(halved(source - source[0]), halved(target - target[0]))

    def scores(self, spans: Sequence[Span]) -> list[float]:
        """Return the probability that lengths of translations differ at least so much, 0 to 1."""
        return [
            float(self._tail(np.diff(self._source[[a, b]]), np.diff(self._target[[c, d]]))[0, 0])
            for a, b, c, d in spans
        ]

    def _cost(self, size: LinkSize, source: Floats | Indices, target: Floats | Indices) -> Integers:
        """Return -log of the probability of a size and of lengths, ``(rows, columns)``."""
        tail = np.maximum(self._tail(source, target), _LEAST)
        return whole_costs(-np.log(tail) - math.log(_SIZES[size]))

    def _tail(self, source: Floats | Indices, target: Floats | Indices) -> Floats:
        """Return P(|δ| or more) = 2 (1 - Φ(|δ|)) of every two lengths, ``(rows, columns)``.

        The deviation is by the mean of both lengths, as in the program of the paper's appendix.
        """
        mean = (source[:, None] + target / self._ratio) / 2
        apart = np.abs(target - source[:, None] * self._ratio)
        deviation = np.sqrt(_VARIANCE * np.maximum(mean, 1))
        return np.asarray(_erfc(apart / deviation / math.sqrt(2)), dtype=np.float64)


BackgroundVectors = tuple[Vectors, Vectors]
"""Unit vectors ``(m, dim)`` of sentences of the source language and of the target language."""

_SAMPLE = 128
"""Sentences of a side that stand for unrelated ones."""
SMOOTHING = 20
"""Characters added to the lengths of both sides: those of short texts are unreliable."""
WORDS_LEFT_OUT = 1.6
"""Cost of leaving out words, relative to that of leaving out a sentence."""
WORDLESS = 0.8
"""Weight of the words of a sentence where none are known: those of unrelated ones are uncovered."""
DIM = 512
"""Dimensions of the vectors of words."""
BEGINNING = 5
"""First letters that are alike in words that are alike."""
SEED = 20051
_BLOCK_ROWS = 1024


class KnownBefore(NamedTuple):
    """What is known of two documents beside their vectors."""

    ratio: float | None = None
    """Target characters for a source character in translations; None: lengths do not count."""
    coverage: WordCoverage | None = None
    """None: as many words are uncovered as the vectors are apart."""


class VectorLinkCosts:
    """Costs of links between two documents by their vectors and lengths."""

    def __init__(
        self,
        source: Document,
        target: Document,
        settings: LinkSettings,
        known: KnownBefore | None = None,
        background: BackgroundVectors | None = None,
    ) -> None:
        """Measure the distances of groups from unrelated sentences of the other document.

        Both have groups of up to ``settings.largest``. *known*: what an earlier alignment or the
        texts tell; None: neither lengths nor words count. *background*: further unrelated
        sentences for short documents.
        """
        self._source, self._target, self._settings = source, target, settings
        self._known, self._background = known or KnownBefore(), background
        self.links = settings.links()
        samples = [
            _sample(side, background[number] if background else None)
            for number, side in enumerate((source, target))
        ]
        self._usual = (_mean_distances(source, samples[1]), _mean_distances(target, samples[0]))
        coverage = self._known.coverage
        unknown = np.full(len(source), WORDLESS), np.full(len(target), WORDLESS)
        self.skip_source, self.skip_target = (
            whole_costs(settings.skip * (1 + WORDS_LEFT_OUT * masses))
            for masses in (coverage.masses if coverage else unknown)
        )

    def block(self, rows: slice, columns: slice) -> Integers:
        """Return the costs of links, ``(links, rows, columns)``."""
        stops = np.arange(rows.start, rows.stop), np.arange(columns.start, columns.stop)
        settings, coverage = self._settings, self._known.coverage
        uncovered = coverage.uncovered(self.links, rows, columns) if coverage else None
        costs = []
        for number, size in enumerate(self.links):
            apart = sum(size) / 2 * self._distance(size, *stops)
            lonely = 2 * WORDLESS * apart if uncovered is None else uncovered[number]
            cost = apart + settings.words * lonely + settings.length * self._lengths(size, *stops)
            cost += settings.more * (max(size) - 1) + settings.both * (min(size) - 1)
            costs.append(whole_costs(cost))
        return np.stack(costs)

    def coarser(self, part: Span | None = None) -> VectorLinkCosts:
        """Return it, or a part, with every two sentences as one, and links of up to two."""
        settings = replace(self._settings, largest=COARSE_LARGEST)
        source, target = self._source, self._target
        if part is not None:
            source, target = source.part(*part[:2]), target.part(*part[2:])
        return VectorLinkCosts(source.coarser(), target.coarser(), settings, None, self._background)

    def scores(self, spans: Sequence[Span]) -> list[float]:
        """Return the cosines of linked groups' texts, -1 to 1."""
        found = np.zeros(len(spans), np.float32)
        for places, size, sources, targets in _by_size(spans):
            found[places] = self._cosines(size, sources, targets)
        scores: list[float] = found.tolist()
        return scores

    def distance(self, spans: Sequence[Span]) -> float:
        """Return the mean distance of linked groups over all sentences, 0 to about 1.

        It is 1 for unrelated groups and for sentences left out; 0 for no sentences.
        """
        count = len(self._source) + len(self._target)
        total = float(count)
        for _, size, sources, targets in _by_size([span for span in spans if all(span.size)]):
            far = self._relative(size, self._cosines(size, sources, targets), sources, targets)
            total += sum(size) * float((far - 1).sum())
        return total / max(count, 1)

    def _cosines(self, size: LinkSize, sources: Indices, targets: Indices) -> Scores:
        """Return the cosines ``(n,)`` of n links of a size, by the positions where they end."""
        return cosine_pairs(
            self._source.groups(size.source, sources), self._target.groups(size.target, targets)
        )

    def _relative(
        self, size: LinkSize, cosines: Scores, sources: Indices, targets: Indices
    ) -> Floats:
        """Return (1 - cosine) of groups, relative to their mean distance from unrelated ones."""
        n, m = (min(count, self._settings.largest) - 1 for count in size)
        usual = self._usual[0][n, sources] + self._usual[1][m, targets]
        return np.asarray(2 * (1 - cosines.astype(np.float64)) / np.maximum(usual, 2.0**-10))

    def _distance(self, size: LinkSize, rows: Indices, columns: Indices) -> Floats:
        """Return the distance of each group of a side from each of the other."""
        source = self._source.groups(size.source, rows)
        cosines = unit_products(source, self._target.groups(size.target, columns))
        return self._relative(size, cosines, rows[:, None], columns)

    def _lengths(self, size: LinkSize, rows: Indices, columns: Indices) -> Floats:
        """Return the squared difference of lengths, relative to ten times their sum; at most 10."""
        ratio = self._known.ratio
        if ratio is None:
            return np.zeros((len(rows), len(columns)))
        source = ratio * group_lengths(self._source.ends, rows, size.source)[:, None]
        target = group_lengths(self._target.ends, columns, size.target)
        apart: Floats = (target - source) ** 2 / (target + source + SMOOTHING)
        return np.minimum(apart / 10, 10)


def _by_size(spans: Sequence[Span]) -> Iterator[tuple[Indices, LinkSize, Indices, Indices]]:
    """Yield some links of one size: their places, the size, and the positions where they end."""
    for first in range(0, len(spans), _BLOCK_ROWS):
        a, b, c, d = np.array(spans[first : first + _BLOCK_ROWS]).T
        for size in np.unique(np.stack([b - a, d - c]), axis=1).T.tolist():
            some = np.flatnonzero((b - a == size[0]) & (d - c == size[1]))
            yield first + some, LinkSize(*size), b[some], d[some]


def _sample(document: Document, background: Vectors | None) -> Vectors:
    """Return evenly spaced sentences of a document, and background sentences if it is short."""
    count = min(len(document), _SAMPLE)
    places = np.linspace(0, max(len(document) - 1, 0), count).astype(int)
    found = document.groups(1, places + 1)
    if background is not None:
        found = np.concatenate([found, background[: _SAMPLE - count]])
    return found if len(found) else np.zeros((1, found.shape[1]), np.float32)


def _mean_distances(document: Document, background: Vectors) -> Floats:
    """Return the mean of 1 - cosine of each group with unrelated ones, ``(largest, n + 1)``."""
    means = np.zeros((document.largest, len(document) + 1))
    for first in range(0, len(document) + 1, _BLOCK_ROWS):
        stops = np.arange(first, min(first + _BLOCK_ROWS, len(document) + 1))
        for count, found in enumerate(means, 1):
            cosines = unit_products(document.groups(count, stops), background)
            found[stops] = cosines.mean(axis=1, dtype=np.float64)
    return 1.0 - means


def surface_vectors(source: Sequence[str], target: Sequence[str]) -> tuple[Vectors, Vectors]:
    """Return vectors ``(n, DIM)`` and ``(m, DIM)`` of sentences by the spelling of their words.

    They are the sums of random vectors of words, and of the beginnings of longer ones, weighted by
    their rarity among the sentences of their side.
    """
    first, second = _word_tables([map(_spellings, side) for side in (source, target)])
    random = np.random.default_rng(SEED)
    vectors = random.standard_normal((first.size, DIM), dtype=np.float32)

    def weighted(table: _WordTable) -> Vectors:
        rows = vectors * table.rarity().astype(np.float32)[:, None]
        return table.sums(lambda _, words: rows[words])

    return weighted(first), weighted(second)


def learned_vectors(
    source: Sequence[str], target: Sequence[str], spans: Sequence[Span]
) -> tuple[Vectors, Vectors]:
    """Return vectors ``(n, DIM)``, ``(m, DIM)`` of aligned sentences by the links of their words.

    A sentence whose words stand in no other link has the vector 0.
    """
    signs = np.random.default_rng(SEED).integers(0, 2, (len(spans) + 1, DIM))
    vectors = (2 * signs - 1).astype(np.float32)
    vectors[-1] = 0  # of sentences without a link
    link_of = np.full(len(source), len(spans)), np.full(len(target), len(spans))
    for number, span in enumerate(spans):
        if all(span.size):
            link_of[0][slice(*span[:2])] = link_of[1][slice(*span[2:])] = number
    return _learned(source, link_of[0], vectors), _learned(target, link_of[1], vectors)


def _learned(sentences: Sequence[str], link_of: Indices, vectors: Vectors) -> Vectors:
    """Return the vectors of the sentences of one side, their words without the sentence's own link.

    Sums of 1 and -1 are exact, so that the share of a link can be taken away without a rest.
    """
    (table,) = _word_tables([map(word_forms, sentences)])
    order = np.argsort(table.words, kind="stable")
    by_word = _WordTable(table.size, table.count, table.words[order], table.rows[order])
    sums = by_word.sums(lambda _, rows: vectors[link_of[rows]])
    weights = (table.rarity() / np.sqrt(table.counts())).astype(np.float32)
    # For each occurrence, the number of sentences of its link with the word.
    of_link = link_of[table.rows] * table.size + table.words
    _, where, counts = np.unique(of_link, return_inverse=True, return_counts=True)
    own = np.asarray(counts[where], dtype=np.float32)

    def others(part: slice, words: Indices) -> Vectors:
        itself = vectors[link_of[table.rows[part]]] * own[part, None]
        return (sums[words] - itself) * weights[words, None]

    return table.sums(others)


def _spellings(sentence: str) -> set[str]:
    """Return words, and beginnings of longer words, which have a space to tell them apart."""
    words = word_forms(sentence)
    return words | {word[:BEGINNING] + " " for word in words if len(word) > BEGINNING}


@dataclass(frozen=True)
class _WordTable:
    """Words by row: the row and the word of each occurrence, ``(t,)`` each, sorted by row."""

    count: int
    """Rows."""
    size: int
    """Words of the vocabulary."""
    rows: Indices
    words: Indices

    def counts(self) -> Floats:
        """Return the number of rows with each word, ``(size,)``."""
        return np.bincount(self.words, minlength=self.size).astype(np.float64)

    def rarity(self) -> Floats:
        """Return log((1 + rows) / rows with it) of each word, ``(size,)``."""
        return np.asarray(np.log((1 + self.count) / np.maximum(self.counts(), 1)))

    def sums(self, values: Callable[[slice, Indices], Vectors]) -> Vectors:
        """Return the sum of the vectors of the words of each row, ``(count, DIM)``.

        ``values`` gives the vectors of a slice of the occurrences, and of their words.
        """
        found = np.zeros((self.count, DIM), np.float32)
        for first in range(0, self.count, _BLOCK_ROWS):
            begin, end = np.searchsorted(self.rows, [first, first + _BLOCK_ROWS])
            part = slice(int(begin), int(end))
            rows, starts = np.unique(self.rows[part], return_index=True)
            if len(rows):
                found[rows] = np.add.reduceat(values(part, self.words[part]), starts, axis=0)
        return found


def _word_tables(sides: Iterable[Iterable[set[str]]]) -> list[_WordTable]:
    """Return the words of the sentences of each side; a word has one number on all sides."""
    bags = [list(side) for side in sides]
    words = sorted(set().union(*chain.from_iterable(bags)))
    numbers = {word: number for number, word in enumerate(words)}
    tables = []
    for bag in bags:
        found = [sorted(numbers[word] for word in sentence) for sentence in bag]
        rows = np.repeat(np.arange(len(bag)), list(map(len, found)))
        flat = np.fromiter(chain.from_iterable(found), np.int64, len(rows))
        tables.append(_WordTable(len(bag), len(words), rows, flat))
    return tables
