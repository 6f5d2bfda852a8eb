"""What a corpus is like: lengths, rarity, variety and repetition of its tokens.

The statistics by which Wieting, Mallinson & Gimpel 2017 (table 9: entropies, repetition rates)
and Wieting & Gimpel 2018 (table 1: length, mean IDF, vocabulary entropy) describe corpora. All
come from counts, so that sentences may come some at a time: memory holds each distinct token
(some 180 bytes) and each distinct trigram (16 bytes, and up to 75 while more are sorted in).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

__all__ = ["LONG", "CorpusStatistics", "CorpusTally", "Counts", "token_keys"]

LONG = 3
"""Characters of the shortest tokens whose repetition counts (Wieting et al. 2017)."""

_PENDING = 1 << 20
"""So many trigrams at least wait to be counted together."""

Counts = NDArray[np.int64]
Keys = NDArray[np.uint64]


@dataclass(frozen=True)
class CorpusStatistics:
    """Of sentences of one language. None stands where nothing is there to be counted."""

    sentences: int
    tokens: int
    vocabulary: int
    """Distinct tokens."""
    length: float
    """Mean number of tokens of a sentence."""
    idf: float
    """Mean over tokens of ln(N / df), in nats: N sentences, df of which have the token."""
    entropy: float
    """Of the distribution of tokens, in bits."""
    trigram_entropy: float | None
    """Of the distribution of three tokens in a row in a sentence, in bits."""
    repetition: float | None
    """Per cent of the tokens of ``LONG`` characters and more that their sentence has had before."""
    trigram_repetition: float | None
    """Per cent of the trigrams that their sentence has had before."""


class CorpusTally:
    """Counts the tokens and trigrams of sentences that come some at a time."""

    def __init__(self, units: Callable[[str], list[str]]) -> None:
        """Take what makes tokens of a sentence."""
        self._units = units
        self._places: dict[str, int] = {}
        self._occurrences: Counts = np.zeros(0, dtype=np.int64)
        self._holding: Counts = np.zeros(0, dtype=np.int64)
        self._trigrams = _Distinct()
        self.sentences = 0
        self._long, self._long_again, self._trigrams_again = 0, 0, 0

    def add(self, sentences: Sequence[str]) -> None:
        """Count the next sentences."""
        tokens = [self._units(sentence) for sentence in sentences]
        flat = list(chain.from_iterable(tokens))
        places = self._places
        ids = np.array([places.setdefault(t, len(places)) for t in flat], dtype=np.int64)
        rows = np.repeat(np.arange(len(tokens)), [len(row) for row in tokens])
        self.sentences += len(tokens)
        size = max(len(places), 1)
        self._occurrences = _grown(self._occurrences, ids, size)
        distinct = np.unique(rows * size + ids)
        self._holding = _grown(self._holding, distinct % size, size)
        long = np.array([len(token) >= LONG for token in flat], dtype=np.bool_)
        self._long += int(long.sum())
        self._long_again += _again(rows[long], ids[long])
        same = rows[2:] == rows[:-2]
        trigrams = token_keys(ids[:-2][same], ids[1:-1][same], ids[2:][same])
        self._trigrams_again += _again(rows[2:][same], trigrams)
        self._trigrams.add(trigrams)

    def idf(self, other: CorpusTally | None = None) -> float:
        """Return the mean IDF by the frequencies of *other* sentences, or of these.

        A token that the others lack counts as if one of them had it. Both need a sentence.
        """
        reference = other or self
        lacking = len(reference._holding)
        places = [reference._places.get(token, lacking) for token in self._places]
        holding = np.append(reference._holding, 1)[places]
        logarithms = np.log(reference.sentences / holding)
        return float(self._occurrences @ logarithms / self._occurrences.sum())

    def statistics(self, other: CorpusTally | None = None) -> CorpusStatistics:
        """Return the statistics, the IDF by *other* sentences if given; ValueError if no token."""
        tokens = int(self._occurrences.sum())
        if not tokens:
            raise ValueError("no tokens")
        trigrams = self._trigrams.counts()
        return CorpusStatistics(
            sentences=self.sentences,
            tokens=tokens,
            vocabulary=len(self._places),
            length=tokens / self.sentences,
            idf=self.idf(other),
            entropy=_entropy(self._occurrences),
            trigram_entropy=_entropy(trigrams) if len(trigrams) else None,
            repetition=_percent(self._long_again, self._long),
            trigram_repetition=_percent(self._trigrams_again, int(trigrams.sum())),
        )


class _Distinct:
    """Counts keys; what comes is sorted in once it is as much as what is there."""

    def __init__(self) -> None:
        self._keys: Keys = np.zeros(0, dtype=np.uint64)
        self._counts: Counts = np.zeros(0, dtype=np.int64)
        self._pending: list[Keys] = []
        self._waiting = 0

    def add(self, keys: Keys) -> None:
        self._pending.append(keys)
        self._waiting += len(keys)
        if self._waiting >= max(_PENDING, len(self._keys)):
            self._merge()

    def counts(self) -> Counts:
        """Return how often each key came, by ascending key."""
        self._merge()
        return self._counts

    def _merge(self) -> None:
        new, counts = np.unique(
            np.concatenate([self._keys[:0], *self._pending]), return_counts=True
        )
        self._pending, self._waiting = [], 0
        keys, places = np.unique(np.concatenate([self._keys, new]), return_inverse=True)
        total = np.zeros(len(keys), dtype=np.int64)
        np.add.at(total, places, np.concatenate([self._counts, counts]))
        self._keys, self._counts = keys, total


def _grown(counts: Counts, ids: Counts, size: int) -> Counts:
    """Count *ids* beside what was counted, in an array of *size*."""
    grown = np.bincount(ids, minlength=size)
    grown[: len(counts)] += counts
    return grown


def _again(rows: Counts, items: Counts | Keys) -> int:
    """Return how many *items* ``(n,)`` their row has had before."""
    numbers = np.unique(items, return_inverse=True)[1].reshape(-1)
    return len(rows) - len(np.unique(rows * max(len(rows), 1) + numbers))


def token_keys(*ids: Counts) -> Keys:
    """Return 64 well-mixed bits for each tuple of ids ``(n,)``.

    By the finaliser of Steele, Lea & Flood 2014 (SplitMix64). Of 100 million distinct tuples, two
    have the same bits with a probability of 0.0003.
    """
    keys = np.zeros(len(ids[0]), dtype=np.uint64)
    for column in ids:
        keys += column.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        keys ^= keys >> np.uint64(31)
    return keys


def _entropy(counts: Counts) -> float:
    """Return the entropy of a distribution by its counts, which are at least 1, in bits."""
    total = counts.sum()
    return float(np.log2(total) - (counts @ np.log2(counts)) / total)


def _percent(part: int, whole: int) -> float | None:
    """Return the part in per cent; None of nothing."""
    return 100 * part / whole if whole else None
