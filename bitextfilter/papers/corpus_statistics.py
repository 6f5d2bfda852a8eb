"""Statistics of corpora and of single sentences: length, rarity, variety, repetition.

Corpora: Wieting, Mallinson & Gimpel 2017, table 9 (entropies, repetition rates), and Wieting &
Gimpel 2018, table 1 (length, mean IDF, vocabulary entropy). Sentences: Wieting, Mallinson & Gimpel
2017, table 10. All come from counts, so that sentences may stream: for a corpus, memory holds each
distinct token (some 180 bytes) and trigram (16 bytes, up to 75 while more are sorted in).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Integers, Keys, mixed
from bitextfilter.evaluation.sts import spearman

LONG = 3
"""Characters of the shortest tokens whose repetition counts (Wieting et al. 2017)."""

_PENDING = 1 << 20
"""The least number of trigrams that are counted together."""


@dataclass(frozen=True)
class CorpusStatistics:
    """Statistics of sentences of one language; None where there is nothing to count."""

    sentences: int
    tokens: int
    vocabulary: int
    """Distinct tokens."""
    length: float
    """Mean number of tokens of a sentence."""
    idf: float
    """Mean over tokens of ln(N / df), in nats: df of N sentences have the token."""
    entropy: float
    """Of the distribution of tokens, in bits."""
    trigram_entropy: float | None
    """Of the distribution of three tokens in a row in a sentence, in bits."""
    repetition: float | None
    """Per cent of the tokens of at least ``LONG`` characters that repeat one of their sentence."""
    trigram_repetition: float | None
    """Per cent of the trigrams that repeat one of their sentence."""


class _Tokens:
    """The tokens of some sentences, numbered, and their trigrams."""

    def __init__(
        self, sentences: Sequence[str], units: Callable[[str], list[str]], places: dict[str, int]
    ) -> None:
        """Number the *units* of *sentences* by *places*, to which new tokens are added."""
        tokens = [units(sentence) for sentence in sentences]
        flat = list(chain.from_iterable(tokens))
        self.ids = np.array([places.setdefault(t, len(places)) for t in flat], dtype=np.int64)
        self.lengths = np.array([len(row) for row in tokens], dtype=np.int64)
        self.rows = np.repeat(np.arange(len(tokens)), self.lengths)
        long = np.array([len(token) >= LONG for token in flat], dtype=np.bool_)
        self.long = self.rows[long], self.ids[long]
        """The rows and ids of the long tokens."""
        ids, same = self.ids, self.rows[2:] == self.rows[:-2]
        keys = token_keys(ids[:-2][same], ids[1:-1][same], ids[2:][same])
        self.trigrams = self.rows[2:][same], keys
        """The rows and keys of the trigrams."""


class CorpusTally:
    """Counts the tokens and trigrams of a stream of sentences."""

    def __init__(self, units: Callable[[str], list[str]]) -> None:
        """Start with no sentences; *units* splits one into tokens."""
        self._units = units
        self._places: dict[str, int] = {}
        self._occurrences: Integers = np.zeros(0, dtype=np.int64)
        self._holding: Integers = np.zeros(0, dtype=np.int64)
        self._trigrams = _Distinct()
        self.sentences = 0
        self._long, self._long_again, self._trigrams_again = 0, 0, 0

    def add(self, sentences: Sequence[str]) -> None:
        """Count the next sentences."""
        found = _Tokens(sentences, self._units, self._places)
        self.sentences += len(sentences)
        size = max(len(self._places), 1)
        self._occurrences = _grown(self._occurrences, found.ids, size)
        distinct = np.unique(found.rows * size + found.ids)
        self._holding = _grown(self._holding, distinct % size, size)
        self._long += len(found.long[0])
        self._long_again += int(_repeated(*found.long, len(sentences))[0].sum())
        self._trigrams_again += int(_repeated(*found.trigrams, len(sentences))[0].sum())
        self._trigrams.add(found.trigrams[1])

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
    """Counts keys; new ones are sorted in once they are as many as the old."""

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
    """Add the counts of *ids*, in an array of *size*."""
    grown = np.bincount(ids, minlength=size)
    grown[: len(counts)] += counts
    return grown


def _repeated(rows: Integers, items: Integers | Keys, n: int) -> tuple[Integers, Integers]:
    """Count the items ``(m,)`` that repeat one of their row, and all items, by row: ``(n,)``."""
    numbers = np.unique(items, return_inverse=True)[1].reshape(-1)
    width = max(len(rows), 1)
    count = np.bincount(rows, minlength=n)
    distinct = np.bincount(np.unique(rows * width + numbers) // width, minlength=n)
    return count - distinct, count


def token_keys(*ids: Integers) -> Keys:
    """Return 64 well-mixed bits for each tuple of ids ``(n,)``.

    By the finaliser of Steele, Lea & Flood 2014 (SplitMix64). Of 100 million distinct tuples, two
    have the same bits with a probability of 0.0003.
    """
    keys = np.zeros(len(ids[0]), dtype=np.uint64)
    for column in ids:
        keys = mixed(keys + column.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15))
    return keys


def _entropy(counts: Integers) -> float:
    """Return the entropy of a distribution by its counts, which are at least 1, in bits."""
    total = counts.sum()
    return float(np.log2(total) - (counts @ np.log2(counts)) / total)


def _percent(part: int, whole: int) -> float | None:
    """Return the part in per cent; None if the whole is 0."""
    return 100 * part / whole if whole else None


SENTENCE_FIGURES = ("repetition", "trigram_repetition", "idf", "length")


class SentenceTally:
    """Collects the figures of a stream of sentences.

    Memory holds 4 bytes a token, 24 a sentence, and some 150 for each distinct token.
    """

    def __init__(self, units: Callable[[str], list[str]]) -> None:
        """Start with no sentences; *units* splits one into tokens."""
        self._units = units
        self._places: dict[str, int] = {}
        self._tokens: list[NDArray[np.int32]] = []
        self._lengths: list[Integers] = []
        self._repetitions: list[tuple[Floats, ...]] = []

    def add(self, sentences: Sequence[str]) -> None:
        """Take the next sentences."""
        found, n = _Tokens(sentences, self._units, self._places), len(sentences)
        self._tokens.append(found.ids.astype(np.int32))
        self._lengths.append(found.lengths)
        parts = (_repeated(*found.long, n), _repeated(*found.trigrams, n))
        self._repetitions.append(tuple(100 * _divided(*part) for part in parts))

    def figures(self) -> dict[str, Floats]:
        """Return the ``SENTENCE_FIGURES`` of all sentences, at least one, ``(n,)`` each.

        Repetition is the per cent of the tokens of at least ``LONG`` characters, or of trigrams,
        that repeat one of the sentence; idf the mean over its tokens of ln(N / df), in nats (df of
        all N sentences have the token); length in tokens. NaN where a sentence has nothing to
        count.
        """
        tokens, lengths = np.concatenate(self._tokens), np.concatenate(self._lengths)
        rows = np.repeat(np.arange(len(lengths)), lengths)
        size = max(len(self._places), 1)
        holding = np.bincount(np.unique(rows * size + tokens) % size, minlength=size)
        rarity = np.log(len(lengths) / np.maximum(holding, 1))[tokens]
        sums = np.bincount(rows, rarity, minlength=len(lengths))
        words, trigrams = map(np.concatenate, zip(*self._repetitions, strict=True))
        idf = _divided(sums, lengths)
        return dict(
            zip(SENTENCE_FIGURES, (words, trigrams, idf, lengths.astype(np.float64)), strict=True)
        )


def _divided(parts: NDArray[np.number], wholes: Integers) -> Floats:
    """Divide, with NaN where the whole is 0."""
    out = np.full(len(wholes), np.nan)
    np.divide(parts, wholes, out=out, where=wholes > 0)
    return out


Comparison = dict[str, float | int | None]
"""The values of one figure for references and translations."""


def compare_corpora(references: CorpusTally, translations: CorpusTally) -> dict[str, Comparison]:
    """Return both values and the difference of the figures that are not mere counts."""
    one, other = vars(references.statistics()), vars(translations.statistics())
    figures: dict[str, Comparison] = {}
    for name in ("entropy", "trigram_entropy", *SENTENCE_FIGURES):
        pair = one[name], other[name]
        difference = None if None in pair else pair[0] - pair[1]
        figures[name] = {
            "references": pair[0], "translations": pair[1], "difference": difference
        }  # fmt: skip
    return figures


def add_correlations(
    figures: dict[str, Comparison],
    probabilities: Sequence[float],
    sentences: Mapping[str, Floats],
) -> None:
    """Add Spearman's correlation times 100 of probabilities with figures of sentences.

    Args:
        figures: get ``spearman``, and the number of ``sentences`` that have both numbers.
        probabilities: of the sentences, ``(n,)``; NaN for none.
        sentences: their figures by name, ``(n,)`` each.
    """
    known = np.array(probabilities)
    for name, figure in figures.items():
        figure.update(spearman=None, sentences=None)
        if name in sentences:
            both = np.isfinite(known) & np.isfinite(sentences[name])
            found = spearman(known[both], sentences[name][both]) if both.any() else None
            figure["spearman"] = None if found is None else 100 * found
            figure["sentences"] = int(both.sum())
