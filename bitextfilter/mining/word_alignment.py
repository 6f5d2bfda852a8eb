"""Word alignment of sentence pairs, learnt from them, and the phrase pairs it yields.

IBM model 1 (Brown et al. 1993) by expectation maximisation, in both directions, with the preference
for the diagonal of Dyer et al. 2013 (eq. 1 and 2, both of its constants fixed): target word j of J
comes from source word i of I with probability

    p(i | j) t(f_j | e_i),   p(i | j) = (1 - NULL) exp(-TENSION |i/I - j/J|) / Z_j

or from none, with probability NULL t(f_j | none).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Integers, begin_runs
from bitextfilter.errors import SettingsError
from bitextfilter.text.ragged import Ragged

NULL = 0.08
TENSION = 4.0
ITERATIONS = 5

UNKNOWN = np.iinfo(np.int64).max
"""Behind the keys of all word pairs."""

_BLOCK = 1 << 20
"""Possible links computed at a time."""

Places = NDArray[np.int64] | NDArray[np.int32]


class Alignments(NamedTuple):
    """Links of one sentence pair: places of the source and of the target word."""

    forward: set[tuple[int, int]]
    """At most one for each target word."""
    backward: set[tuple[int, int]]
    """At most one for each source word."""


class WordTable(NamedTuple):
    """Probabilities of words, learnt from sentence pairs.

    The last word pair stands for all that are not in the table: it has the probability 0.
    """

    keys: NDArray[np.int64]
    """The word pairs, ``source * size + target`` each, ascending, then UNKNOWN: ``(n,)``."""
    tables: tuple[Floats, Floats]
    """Of the source word given the target word, and the reverse: ``(n,)`` each."""
    nulls: tuple[Floats, Floats]
    """Of each source word given none, and of each target word: ``(size,)`` each."""


class _Block(NamedTuple):
    """All possible links of some sentence pairs, ordered by pair, target word, source word."""

    first: int
    last: int
    """Numbers of the first pair, and of the one behind the last."""
    source: Places
    target: Places
    """Source and target word of each link, as places in ``words``."""
    closeness: Floats
    """exp(-TENSION |i/I - j/J|)"""
    words: tuple[NDArray[np.int32], NDArray[np.int32]]
    """Words of the source side and of the target side of all pairs."""


class _Direction:
    """Conditional probabilities of one side's words given the other side's, for pairs seen."""

    def __init__(self, given: Places, size: int) -> None:
        """Take the given word of each word pair, and the size of the vocabulary."""
        self._given = given
        self.table = np.ones(len(given))
        self.null = np.ones(size)
        self._counts, self._nulls = np.zeros(len(given)), np.zeros(size)

    def scores(self, block: _Block, pairs: Places, side: int) -> tuple[Floats, Floats]:
        """Return the probabilities of the links of a block, and of no link for each word."""
        places, words = (block.source, block.target)[side], block.words[side]
        total = np.bincount(places, block.closeness, len(words))
        prior = (1 - NULL) * block.closeness / total[places]
        return prior * self.table[pairs], NULL * self.null[words]

    def count(self, block: _Block, pairs: Places, side: int) -> None:
        """Add the expected links of a block; the words of *side* are those generated."""
        links, nulls = self.scores(block, pairs, side)
        places, words = (block.source, block.target)[side], block.words[side]
        total = np.bincount(places, links, len(words)) + nulls
        # np.bincount would make an array of all word pairs for each block.
        np.add.at(self._counts, pairs.astype(np.intp), links / total[places])
        self._nulls += np.bincount(words, nulls / total, len(self._nulls))

    def update(self) -> None:
        """Turn the expected counts into probabilities."""
        totals = np.bincount(self._given, self._counts, len(self._nulls))
        self.table = self._counts / np.maximum(totals[self._given], np.finfo(float).tiny)
        self.null = self._nulls / self._nulls.sum()
        self._counts, self._nulls = np.zeros_like(self._counts), np.zeros_like(self._nulls)


class WordAligner:
    """Learns word probabilities from sentence pairs, and aligns the pairs.

    Memory: 4 bytes a word, 4 bytes a possible link (the product of the lengths of a pair), and some
    50 bytes a distinct word pair.
    """

    def __init__(
        self, source: Ragged, target: Ragged, size: int, known: WordTable | None = None
    ) -> None:
        """Take sentences of word numbers below *size*, none of them empty.

        With *known* probabilities, word pairs that are not among them have the probability 0.
        """
        self._sides, self._size = (source, target), size
        self._bounds = self._cut()
        self._keys = self._pairs_of_words() if known is None else known.keys
        self._pairs = [self._places(block) for block in self.blocks()]
        self.directions = tuple(
            _Direction(given, size) for given in (self._keys % size, self._keys // size)
        )
        """Source words given target words, and target words given source words."""
        if known is not None:
            for side, way in enumerate(self.directions):
                way.table, way.null = known.tables[side], known.nulls[side]

    def learnt(self, least: float) -> WordTable:
        """Return the probabilities, but for pairs with both below *least*.

        They are rounded to the precision of float32.
        """
        one, other = self.directions
        kept = np.maximum(one.table, other.table) >= least
        keys = np.append(self._keys[kept], UNKNOWN)
        tables = [np.append(_rounded(way.table[kept]), 0.0) for way in self.directions]
        return WordTable(keys, (tables[0], tables[1]), (_rounded(one.null), _rounded(other.null)))

    def learn(self, iterations: int = ITERATIONS) -> None:
        """Run some iterations of expectation maximisation over all pairs."""
        for _ in range(iterations):
            for block, pairs in zip(self.blocks(), self._pairs, strict=True):
                for side, direction in enumerate(self.directions):
                    direction.count(block, pairs, side)
            for direction in self.directions:
                direction.update()

    def align(self) -> Iterator[Alignments]:
        """Yield the likeliest links of each pair, in order; among equals, the first link."""
        for block, pairs in zip(self.blocks(), self._pairs, strict=True):
            backward, forward = (
                _best(direction.scores(block, pairs, side), (block.source, block.target)[side])
                for side, direction in enumerate(self.directions)
            )
            yield from self._by_pair(block, forward, backward)

    def _by_pair(self, block: _Block, forward: Places, backward: Places) -> Iterator[Alignments]:
        """Yield the links of each pair; both sides' places ascend by pair."""
        starts = [
            side.starts[block.first : block.last] - side.starts[block.first] for side in self._sides
        ]
        ways = []
        for links in (forward, backward):
            by_pair = np.split(links, np.searchsorted(block.target[links], starts[1][1:]))
            ways.append(
                set(
                    map(tuple, np.column_stack([block.source[k] - i, block.target[k] - j]).tolist())
                )
                for k, i, j in zip(by_pair, *starts, strict=True)
            )
        yield from map(Alignments, *ways)

    def blocks(self) -> Iterator[_Block]:
        """Yield all possible links, a block of pairs at a time."""
        for first, last in zip(self._bounds, self._bounds[1:], strict=False):
            yield self._block(first, last)

    def _block(self, first: int, last: int) -> _Block:
        lengths = [side.lengths[first:last] for side in self._sides]
        starts = [np.cumsum(each) - each for each in lengths]
        products = lengths[0] * lengths[1]
        pair = np.repeat(np.arange(last - first), products)
        within = np.arange(len(pair)) - np.repeat(np.cumsum(products) - products, products)
        i, j = within % lengths[0][pair], within // lengths[0][pair]
        away = np.abs((i + 1) / lengths[0][pair] - (j + 1) / lengths[1][pair])
        words = [
            side.flat[side.starts[first] : side.starts[last - 1] + side.lengths[last - 1]]
            for side in self._sides
        ]
        places = starts[0][pair] + i, starts[1][pair] + j
        return _Block(first, last, *places, np.exp(-TENSION * away), (words[0], words[1]))

    def _key(self, block: _Block) -> Places:
        source = block.words[0][block.source].astype(np.int64)
        return source * self._size + block.words[1][block.target]

    def _places(self, block: _Block) -> NDArray[np.int32]:
        """Return the place of each possible link's word pair among the known ones."""
        keys = self._key(block)
        order = np.argsort(keys)  # ascending keys are found ten times as fast in a large table
        keys = keys[order]
        found = np.searchsorted(self._keys, keys)
        found[self._keys[found] != keys] = len(self._keys) - 1
        places = np.empty(len(keys), np.int32)
        places[order] = found
        return places

    def _pairs_of_words(self) -> Places:
        """Return the distinct word pairs of all sentence pairs, sorted."""
        keys, waiting = np.zeros(0, np.int64), [np.zeros(0, np.int64)]
        for block in self.blocks():
            waiting.append(_distinct(self._key(block)))
            if sum(map(len, waiting)) > len(keys):
                keys, waiting = _distinct(np.concatenate([keys, *waiting])), []
        return _distinct(np.concatenate([keys, *waiting]))

    def _cut(self) -> list[int]:
        """Return the bounds of blocks of about ``_BLOCK`` links; no pair is cut."""
        products = self._sides[0].lengths * self._sides[1].lengths
        number = (np.cumsum(products) - products) // _BLOCK
        return [*np.flatnonzero(np.diff(number, prepend=-1)).tolist(), len(products)]


def _distinct(keys: Places) -> Integers:
    """Return the distinct keys, ascending; np.unique takes some ten times as long."""
    ordered = np.sort(keys).astype(np.int64, copy=False)
    return ordered[begin_runs(ordered)]


def _rounded(numbers: Floats) -> Floats:
    return numbers.astype(np.float32).astype(np.float64)


def _best(scores: tuple[Floats, Floats], places: Places) -> Places:
    """Return the places of the likeliest link of each word, if it is likelier than no link."""
    links, nulls = scores
    most = np.zeros(len(nulls))
    np.maximum.at(most, places, links)
    best = np.flatnonzero(links == most[places])
    _, firsts = np.unique(places[best], return_index=True)
    best = best[firsts]
    kept: Places = np.sort(best[links[best] > nulls[places[best]]])
    return kept


Links = set[tuple[int, int]]

_NEIGHBOURS = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]


Spans = tuple[tuple[int, int], tuple[int, int]]
"""A phrase pair: the first word, and the one behind the last, of either side."""


def symmetrised(alignments: Alignments, final: bool = True) -> Links:
    """Unite two alignments by grow-diag-final-and (Koehn et al. 2005).

    It starts with the links of both directions. Then it adds, again and again, links of either
    direction that are neighbours of a link (diagonally, too) and join a word without one; at last,
    links of either direction that join two words without a link. Without *final*, which is
    grow-diag, it leaves out these.
    """
    links = alignments.forward & alignments.backward
    union = alignments.forward | alignments.backward
    sources, targets = {i for i, _ in links}, {j for _, j in links}
    waiting = sorted(links, reverse=True)
    while waiting:
        i, j = waiting.pop()
        for down, right in _NEIGHBOURS:
            new = i + down, j + right
            if new in union and (new[0] not in sources or new[1] not in targets):
                waiting.append(new)
                _add(new, links, sources, targets)
    for new in chain(sorted(alignments.forward), sorted(alignments.backward)) if final else ():
        if new[0] not in sources and new[1] not in targets:
            _add(new, links, sources, targets)
    return links


def _add(new: tuple[int, int], links: Links, sources: set[int], targets: set[int]) -> None:
    links.add(new)
    sources.add(new[0])
    targets.add(new[1])


def consistent_spans(links: Links, lengths: tuple[int, int], most: int) -> Iterator[Spans]:
    """Yield the phrase pairs of up to *most* words a side that are consistent with an alignment.

    At least one link lies within, and none leads out. Words without a link may stand at either end.
    *lengths* are the words of the source and of the target.
    """
    of_source: list[list[int]] = [[] for _ in range(lengths[0])]
    of_target: list[list[int]] = [[] for _ in range(lengths[1])]
    for i, j in links:
        of_source[i].append(j)
        of_target[j].append(i)
    for i in range(lengths[0]):
        found: list[int] = []
        for end in range(i + 1, min(i + most, lengths[0]) + 1):
            found += of_source[end - 1]
            if not found:
                continue
            j, stop = min(found), max(found) + 1
            back = [k for each in of_target[j : min(stop, j + most)] for k in each]
            if stop - j <= most and min(back) >= i and max(back) < end:
                for wide in _widened((j, stop), of_target, most):
                    yield (i, end), wide


def _widened(
    span: tuple[int, int], linked: list[list[int]], most: int
) -> Iterator[tuple[int, int]]:
    """Yield the span, and spans widened by words without a link, up to *most* words."""
    first = span[0]
    while True:
        stop = span[1]
        while stop - first <= most:
            yield first, stop
            if stop == len(linked) or linked[stop]:
                break
            stop += 1
        first -= 1
        if first < 0 or linked[first] or span[1] - first > most:
            return


_MOST_WORDS = 3
"""Most words of a phrase."""
_BITS = 21
"""Bits of a word's number: three numbers fit 63 bits."""
_BUFFER = 1 << 17
"""Phrase pairs counted at a time: some 20 MB."""


class Entries(NamedTuple):
    """Phrase pairs by number, the highest PMI first: ``(n,)`` each."""

    phrases: Integers
    paraphrases: Integers
    counts: NDArray[np.int64]
    pmi: NDArray[np.float64]
    """log (c(a, b) N / (c(a) c(b))) in nats."""
    forward: NDArray[np.float64]
    """p(b | a) = c(a, b) / c(a)"""
    backward: NDArray[np.float64]
    """p(a | b)"""


def phrase_key(words: Sequence[int]) -> int:
    """Return the number of a phrase of up to three words, their numbers below 2²¹ - 1."""
    key = 0
    for word in words:
        key = (key << _BITS) + int(word) + 1
    return key


def phrase_words(key: int) -> list[int]:
    """Return the words of a phrase by its number."""
    words = []
    while key:
        words.append((key & ((1 << _BITS) - 1)) - 1)
        key >>= _BITS
    return words[::-1]


class PhraseCounts:
    """Counts of phrase pairs; memory: 24 bytes a distinct pair, twice that while they grow."""

    def __init__(self) -> None:
        self._new: list[tuple[int, int]] = []
        self._parts: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []

    def add(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Count pairs of phrase numbers."""
        self._new += pairs
        if len(self._new) >= _BUFFER:
            self._settle()

    def counted(self) -> tuple[Integers, Integers, NDArray[np.int64]]:
        """Return both sides of each distinct pair and its count, sorted by pair."""
        self._settle()
        while len(self._parts) > 1:
            self._merge()
        pairs, counts = self._parts[0]
        return pairs[:, 0], pairs[:, 1], counts

    def _settle(self) -> None:
        """Merge the new pairs into parts, each at least twice as large as the next."""
        pairs = np.array(self._new, dtype=np.int64).reshape(-1, 2)
        self._new = []
        self._parts.append(_summed(pairs, np.ones(len(pairs), np.int64)))
        while len(self._parts) > 1 and len(self._parts[-2][0]) < 2 * len(self._parts[-1][0]):
            self._merge()

    def _merge(self) -> None:
        (some, counts), (others, more) = self._parts.pop(), self._parts.pop()
        self._parts.append(_summed(np.concatenate([some, others]), np.concatenate([counts, more])))


def _summed(
    pairs: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct rows of ``(n, 2)``, sorted, with the sums of their counts."""
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    pairs, counts = pairs[order], counts[order]
    firsts = np.flatnonzero(begin_runs(*pairs.T))
    sums = np.add.reduceat(counts, firsts) if len(firsts) else counts
    return pairs[firsts], sums


def extract(source: Ragged, target: Ragged, words: NDArray[np.bool_]) -> PhraseCounts:
    """Align sentence pairs, and count their phrase pairs of up to three words.

    No sentence may be empty. *words* says of each number whether it is a word, ``(size,)``;
    phrases with other tokens, such as punctuation, are left out.

    Raises SettingsError for more than 2²¹ - 2 different words.
    """
    if len(words) >= (1 << _BITS) - 1:
        raise SettingsError(f"{len(words)} different words; a lexicon can hold 2 million")
    aligner, counts = WordAligner(source, target, len(words)), PhraseCounts()
    aligner.learn()
    for left, right, found in zip(source, target, aligner.align(), strict=True):
        counts.add(_pairs((left, right), symmetrised(found), words))
    return counts


def _pairs(
    sides: tuple[NDArray[np.int32], NDArray[np.int32]],
    links: set[tuple[int, int]],
    words: NDArray[np.bool_],
) -> Iterator[tuple[int, int]]:
    """Yield the phrase pairs of a sentence pair."""
    texts = [side.tolist() for side in sides]
    marks = [(~words[side]).tolist() for side in sides]
    for spans in consistent_spans(links, (len(texts[0]), len(texts[1])), _MOST_WORDS):
        parts = [slice(*span) for span in spans]
        if not any(any(mark[part]) for mark, part in zip(marks, parts, strict=True)):
            left, right = (phrase_key(text[part]) for text, part in zip(texts, parts, strict=True))
            yield left, right


def entries_of(counts: PhraseCounts, least: int) -> Entries:
    """Return the phrase pairs counted at least *least* times, identical phrases left out.

    Totals are over all pairs counted. Among equal PMI the more frequent pair comes first.
    """
    phrases, paraphrases, number = counts.counted()
    totals = []
    for side in (phrases, paraphrases):
        _, where = np.unique(side, return_inverse=True)
        totals.append(np.bincount(where, number, len(where))[where])
    kept = (phrases != paraphrases) & (number >= least)
    pmi = np.log(number[kept]) + np.log(max(1, number.sum()))
    pmi -= np.log(totals[0][kept]) + np.log(totals[1][kept])
    forward, backward = (number[kept] / total[kept] for total in totals)
    order = np.lexsort((paraphrases[kept], phrases[kept], -number[kept], -pmi))
    columns = (phrases[kept], paraphrases[kept], number[kept], pmi, forward, backward)
    return Entries(*(column[order] for column in columns))
