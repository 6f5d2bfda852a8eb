"""Evidence of pairs beside the classifier's: foreign words, marks, lengths, copied words, figures.

A classifier weighs a sentence as a whole: a row with some words left in another language, with
other figures, or half as long as it should be, may still score well. A calibration reads these
numbers beside the score: see ``scoring/calibration.py``.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple

import numpy as np

from bitextfilter.arrays import Floats, Indices, Integers
from bitextfilter.text.features import Cut, WordReader
from bitextfilter.text.identifier import WordEvidence, load_ngram_identifier, longest_runs
from bitextfilter.text.ragged import Ragged

EVIDENCE = (
    *("foreign-source", "foreign-target", "other-source", "other-target"),
    *("marks-source", "marks-target", "length-ratio", "copied", "figures"),
)
"""The numbers of a pair, all at least 0.

``foreign``: how much better another language explains a run of words of a side than its own does,
in nats, divided by the root of the n-grams of the side; 0 for a language that the identifier does
not know. ``other``: the same for the language of the other side alone. ``marks``: punctuation
marks and symbols, by the letters and marks of the side. ``length-ratio``: the absolute logarithm
of the ratio of both lengths, after 5 were added to each. ``copied``: distinct words that are on
both sides, by those of the side with fewer. ``figures``: distinct numbers that are on one side
alone, by all. A Han character counts as 3 letters, a Japanese syllable or a Hangul block as 2.
"""

_MOST_WORDS = 1 << 16
"""What is known of words is forgotten above this many, or 32 times as many characters."""
_CHARACTERS = 32
_BITS = 50
"""Of the hash of a word; the place of a pair stands above them."""
_PAIRS = 8192
"""Pairs that are compared at once; fewer than 2 ** (63 - _BITS)."""
_ADDED = 5

_WORD, _FIGURES, _LETTERS, _MARKS = range(4)
"""Columns of what is known of a word: see :func:`_facts`."""


def _hash(word: str) -> int:
    digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> (64 - _BITS)) | 1


def _letters(word: str) -> int:
    """Return how many letters a word counts as."""
    if word.isascii():
        return len(word)
    han = sum("\u3400" <= letter <= "\u9fff" for letter in word)
    wide = sum("\u3040" <= each <= "\u30ff" or "\uac00" <= each <= "\ud7a3" for each in word)
    return len(word) + 2 * han + wide


def _facts(word: str) -> tuple[int, int, int, int]:
    """Return hashes of a word with letters and of its figures (or 0), its letters, its marks."""
    if word.isalpha():
        return _hash(word.lower()), 0, _letters(word), 0
    if not any(map(str.isalnum, word)):
        return 0, 0, len(word), len(word)
    figures = "".join(filter(str.isdigit, word))
    whole = _hash(word.lower()) if any(map(str.isalpha, word)) else 0
    return whole, _hash(figures) if figures else 0, _letters(word), 0


class _Read(NamedTuple):
    """What was read of the texts of a side."""

    rows: Ragged
    """The words of each."""
    facts: Integers
    """``(u, 4)``, of each word."""
    runs: Floats
    """``(n, 2)``: ``foreign`` and ``other``."""

    def sizes(self) -> Integers:
        """Return the letters and the marks of each text, ``(n, 2)``."""
        of_words = self.facts[self.rows.flat, _LETTERS:]
        sums = np.vstack([np.zeros((1, 2), np.int64), np.cumsum(of_words, axis=0)])
        ends = np.cumsum(self.rows.lengths)
        return np.asarray(sums[ends] - sums[ends - self.rows.lengths])

    def keys(self, at: Indices, column: int) -> Integers:
        """Return the distinct hashes of each pair, its place above their bits; ascending."""
        taken = self.rows.take(at)
        hashes = self.facts[taken.flat, column]
        pairs = np.repeat(np.arange(len(at)) << _BITS, taken.lengths)
        keys = np.sort((pairs | hashes)[hashes != 0])
        return np.asarray(keys[np.diff(keys, prepend=-1) != 0])  # np.unique takes twice as long


class _Side:
    """Reads texts of one side, and each word once. Thread-safe."""

    def __init__(self, language: str, other: str, cut: Cut | None) -> None:
        self._identifier, self._cut, self._lock = load_ngram_identifier(), cut, Lock()
        own, another = map(self._identifier.place, (language, other))
        self._places = None if own is None else (own, -1 if another is None else another)
        self._forget()

    def _forget(self) -> None:
        self._reader, self._evidence = WordReader(self._cut), WordEvidence(self._identifier)
        self._facts: Integers = np.zeros((0, 4), dtype=np.int64)

    def read(self, texts: Sequence[str]) -> _Read:
        """Read ``n`` texts."""
        with self._lock:
            held = max(len(self._facts), self._reader.characters // _CHARACTERS)
            if held > _MOST_WORDS:
                self._forget()
            try:
                rows, _ = self._reader.read(texts)
                if new := self._reader.words[len(self._facts) :]:
                    self._evidence.learn(new)
                    added = np.array([_facts(word) for word in new], dtype=np.int64)
                    self._facts = np.concatenate([self._facts, added])
            except BaseException:  # the reader may know words that others lack
                self._forget()
                raise
            facts, evidence = self._facts, self._evidence.words
        if self._places is None:
            return _Read(rows, facts, np.zeros((len(texts), 2)))
        found = longest_runs(evidence, rows, self._places)
        nats = found[:, :2] * self._identifier.scale / np.sqrt(np.maximum(found[:, 2:], 1))
        return _Read(rows, facts, nats)


class PairEvidence:
    """Reads the evidence of pairs, and keeps what it knows of words from call to call."""

    def __init__(self, languages: tuple[str, str], cut: Cut | None = None) -> None:
        """*languages*: of the sides. *cut*: divides words of scripts without spaces."""
        source, target = languages
        self._sides = _Side(source, target, cut), _Side(target, source, cut)

    def __call__(
        self, sources: Sequence[str], targets: Sequence[str], i: Indices, j: Indices
    ) -> Floats:
        """Return the evidence of ``m`` pairs, given by the places of their texts.

        The result is float64 ``(m, len(EVIDENCE))``. That of a pair depends on its texts alone.
        """
        texts = zip(self._sides, (sources, targets), strict=True)
        both = [(side.read(each), at) for (side, each), at in zip(texts, (i, j), strict=True)]
        runs = [read.runs[at] for read, at in both]
        sizes = [read.sizes()[at] for read, at in both]
        columns = [run[:, kind] for kind in (0, 1) for run in runs]
        columns += [size[:, 1] / np.maximum(size[:, 0], 1) for size in sizes]
        lengths = [size[:, 0] for size in sizes]
        columns += [np.abs(np.subtract(*(_logarithms(length + _ADDED) for length in lengths)))]
        return np.column_stack([*columns, _overlaps(both)])


def _logarithms(numbers: Integers) -> Floats:
    """Return the logarithms: numpy's may depend on the place in the array."""
    return np.array(list(map(math.log, numbers.tolist())), dtype=np.float64)


def _overlaps(both: Sequence[tuple[_Read, Indices]]) -> Floats:
    """Return ``copied`` and ``figures`` of the pairs of two sides, ``(m, 2)``."""
    count = len(both[0][1])
    out = np.empty((count, 2))
    for first in range(0, count, _PAIRS):
        some = slice(first, first + _PAIRS)
        size = len(both[0][1][some])
        numbers = []
        for column in (_WORD, _FIGURES):
            keys = [read.keys(at[some], column) for read, at in both]
            keys.append(np.intersect1d(keys[0], keys[1], assume_unique=True))
            numbers.append([np.bincount(each >> _BITS, minlength=size) for each in keys])
        (source, target, shared), (left, right, equal) = numbers
        out[some, 0] = shared / np.maximum(np.minimum(source, target), 1)
        every = left + right - equal
        out[some, 1] = (every - equal) / np.maximum(every, 1)
    return out
