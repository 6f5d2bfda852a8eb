"""Statistics of corpora and of their sentences: lengths, rarity, variety, repetition.

The statistics by which Wieting, Mallinson & Gimpel 2017 (table 9: entropies, repetition rates)
and Wieting & Gimpel 2018 (table 1: length, mean IDF, vocabulary entropy) describe corpora. All
come from counts, so that sentences may come some at a time: memory holds each distinct token
(some 180 bytes) and each distinct trigram (16 bytes, and up to 75 while more are sorted in).

The figures that Wieting, Mallinson & Gimpel 2017 (table 10) correlate with how probably a sentence
is a reference. :mod:`corpus_statistics` has the same of whole corpora.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Integers, Keys

LONG = 3
"""Characters of the shortest tokens whose repetition counts (Wieting et al. 2017)."""

_PENDING = 1 << 20
"""So many trigrams at least wait to be counted together."""


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
        self._occurrences: Integers = np.zeros(0, dtype=np.int64)
        self._holding: Integers = np.zeros(0, dtype=np.int64)
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
        self._counts: Integers = np.zeros(0, dtype=np.int64)
        self._pending: list[Keys] = []
        self._waiting = 0

    def add(self, keys: Keys) -> None:
        self._pending.append(keys)
        self._waiting += len(keys)
        if self._waiting >= max(_PENDING, len(self._keys)):
            self._merge()

    def counts(self) -> Integers:
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


def _grown(counts: Integers, ids: Integers, size: int) -> Integers:
    """Count *ids* beside what was counted, in an array of *size*."""
    grown = np.bincount(ids, minlength=size)
    grown[: len(counts)] += counts
    return grown


def _again(rows: Integers, items: Integers | Keys) -> int:
    """Return how many *items* ``(n,)`` their row has had before."""
    numbers = np.unique(items, return_inverse=True)[1].reshape(-1)
    return len(rows) - len(np.unique(rows * max(len(rows), 1) + numbers))


def token_keys(*ids: Integers) -> Keys:
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


def _entropy(counts: Integers) -> float:
    """Return the entropy of a distribution by its counts, which are at least 1, in bits."""
    total = counts.sum()
    return float(np.log2(total) - (counts @ np.log2(counts)) / total)


def _percent(part: int, whole: int) -> float | None:
    """Return the part in per cent; None of nothing."""
    return 100 * part / whole if whole else None


FIGURES = ("repetition", "trigram_repetition", "idf", "length")


class SentenceTally:
    """Gathers sentences that come some at a time; memory holds 4 bytes a token and 24 a sentence.

    That is beside some 150 bytes for each distinct token.
    """

    def __init__(self, units: Callable[[str], list[str]]) -> None:
        """Take what makes tokens of a sentence."""
        self._units = units
        self._places: dict[str, int] = {}
        self._tokens: list[NDArray[np.int32]] = []
        self._lengths: list[Integers] = []
        self._repetitions: list[tuple[Floats, Floats]] = []

    def add(self, sentences: Sequence[str]) -> None:
        """Take the next sentences."""
        tokens = [self._units(sentence) for sentence in sentences]
        flat = list(chain.from_iterable(tokens))
        places = self._places
        ids = np.array([places.setdefault(t, len(places)) for t in flat], dtype=np.int64)
        lengths = np.array([len(row) for row in tokens], dtype=np.int64)
        rows = np.repeat(np.arange(len(tokens)), lengths)
        long = np.array([len(token) >= LONG for token in flat], dtype=np.bool_)
        same = rows[2:] == rows[:-2]
        trigrams = token_keys(ids[:-2][same], ids[1:-1][same], ids[2:][same])
        self._tokens.append(ids.astype(np.int32))
        self._lengths.append(lengths)
        self._repetitions.append(
            (
                _repetition(rows[long], ids[long], len(tokens)),
                _repetition(rows[2:][same], trigrams, len(tokens)),
            )
        )

    def figures(self) -> dict[str, Floats]:
        """Return the ``FIGURES`` of all sentences, at least one, ``(n,)`` each.

        Repetition is in per cent of the tokens of ``LONG`` characters and more, or of the
        trigrams, that the sentence has had before; idf the mean over its tokens of ln(N / df), in
        nats, of df of all N sentences that have the token; length in tokens. NaN where a sentence
        has nothing to count.
        """
        tokens, lengths = np.concatenate(self._tokens), np.concatenate(self._lengths)
        rows = np.repeat(np.arange(len(lengths)), lengths)
        size = max(len(self._places), 1)
        holding = np.bincount(np.unique(rows * size + tokens) % size, minlength=size)
        rarity = np.log(len(lengths) / np.maximum(holding, 1))[tokens]
        sums = np.bincount(rows, rarity, minlength=len(lengths))
        words, trigrams = map(np.concatenate, zip(*self._repetitions, strict=True))
        idf = _divided(sums, lengths)
        return dict(zip(FIGURES, (words, trigrams, idf, lengths.astype(np.float64)), strict=True))


def _repetition(rows: Integers, items: NDArray[np.int64] | NDArray[np.uint64], n: int) -> Floats:
    """Return the per cent of each row's items ``(m,)`` that it has had before, ``(n,)``."""
    numbers = np.unique(items, return_inverse=True)[1].reshape(-1)
    width = max(len(rows), 1)
    distinct = np.bincount(np.unique(rows * width + numbers) // width, minlength=n)
    count = np.bincount(rows, minlength=n)
    return 100 * _divided(count - distinct, count)


def _divided(parts: NDArray[np.number], wholes: Integers) -> Floats:
    """Divide, with NaN for parts of nothing."""
    out = np.full(len(wholes), np.nan)
    np.divide(parts, wholes, out=out, where=wholes > 0)
    return out
