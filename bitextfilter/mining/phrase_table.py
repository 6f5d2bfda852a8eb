"""Phrase pairs of aligned sentences with counts and PMI: a lexicon of paraphrases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Integers
from bitextfilter.errors import SettingsError
from bitextfilter.mining.word_alignment import WordAligner, consistent_spans, symmetrised
from bitextfilter.text.ragged import Ragged

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
    new = np.ones(len(pairs), dtype=bool)
    new[1:] = (pairs[1:] != pairs[:-1]).any(axis=1)
    firsts = np.flatnonzero(new)
    sums = np.add.reduceat(counts, firsts) if len(firsts) else counts
    return pairs[firsts], sums


def extract(source: Ragged, target: Ragged, words: NDArray[np.bool_]) -> PhraseCounts:
    """Align sentence pairs, and count their phrase pairs of up to three words.

    Args:
        source, target: sentences of numbers, none of them empty.
        words: whether each number is a word, ``(size,)``; phrases with other tokens, such as
            punctuation, are left out.

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
