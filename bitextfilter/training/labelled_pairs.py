"""Labelled pairs for pair classifiers: sentence vectors, or sentences word by word."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import normalize

from bitextfilter.arrays import Indices, Mask, Scores, Vectors
from bitextfilter.pairs.classifier import PairClassifier, SentenceClassifier
from bitextfilter.pairs.compiled_words import WordRows
from bitextfilter.pairs.word_classifier import WordClassifier
from bitextfilter.pairs.word_network import WordSentences, padded
from bitextfilter.scoring.model import distinct
from bitextfilter.text.features import Cut, WordReader, bigrams, level_table, spellings
from bitextfilter.training.settings import ClassifierTraining


@dataclass(frozen=True)
class Noise:
    """The amount of noise that pairs get in training, and the generator that draws it."""

    training: ClassifierTraining
    generator: torch.Generator


@dataclass(frozen=True)
class Grades:
    """Sets of graded pairs."""

    sets: Indices
    """``(graded pairs,)``: the number of each pair's set, from 0 on."""
    weights: tuple[float, ...]
    """Of the loss of each set."""


class LabelledPairs(ABC):
    """``n`` pairs in the form that one kind of classifier takes, with their quality."""

    qualities: Scores
    """``(n,)``: 1 for a translation, less for one with mistakes, 0 for any other pair."""
    versions: Indices | None
    """``(n,)``: the place of the same pair without its mistake; its own, if there is none. None if
    no pair is a version of another."""
    grades: Grades | None
    """Of the last of the pairs; None if there are no graded ones."""

    @cached_property
    def better(self) -> Indices:
        """``versions``, as numbers; pairs with the same number are a group."""
        return np.arange(len(self.qualities)) if self.versions is None else self.versions

    @cached_property
    def sets(self) -> Indices:
        """``(n,)``: the number of each pair's set of grades, from 0 on; -1 for a pair in none."""
        sets = np.full(len(self.qualities), -1)
        if self.grades is not None:
            sets[-len(self.grades.sets) :] = self.grades.sets
        return sets

    @property
    def labels(self) -> Mask:
        """Whether each pair is known to be a translation without a mistake, ``(n,)``."""
        return np.asarray((self.qualities == 1) & (self.sets < 0))

    def prepare(self, classifier: PairClassifier) -> None:  # noqa: B027
        """Give a fresh classifier the statistics of all pairs that it keeps."""

    @abstractmethod
    def batches(self, rows: Indices, size: int) -> Iterator[Indices]:
        """Yield all of some rows in an order drawn by torch, about *size* at a time.

        A group stays together, and its rows side by side.
        """

    def halves(self, batch: Indices) -> list[Indices]:
        """Cut a mini-batch in two that keep groups together."""
        groups = self.better[batch]
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        middle = int(starts[np.abs(starts - len(batch) / 2).argmin()])
        return [batch[:middle], batch[middle:]]

    def comparisons(self, batch: Indices) -> tuple[Indices, Indices]:
        """Places in a mini-batch of pairs with a mistake, and of the same pairs without it."""
        place = {int(row): number for number, row in enumerate(batch)}
        better = self.better[batch]
        found = [(n, place[g]) for n, g in enumerate(better.tolist()) if place.get(g, n) != n]
        worse, good = np.array(found, dtype=np.int64).reshape(-1, 2).T
        return worse, good

    @abstractmethod
    def logits(
        self, classifier: PairClassifier, rows: Indices, noise: Noise | None = None
    ) -> Tensor:
        """Return the logits ``(rows, 1 or 2)`` of some pairs, with noise if it is given."""


@dataclass(frozen=True)
class LabelledVectors(LabelledPairs):
    """Labelled pairs for the classifier of sentences: their vectors, ``(n, dim)`` float32."""

    source: Vectors
    target: Vectors
    qualities: Scores
    versions: Indices | None = None
    grades: Grades | None = None

    def batches(self, rows: Indices, size: int) -> Iterator[Indices]:
        """See ``LabelledPairs``."""
        groups, group = np.unique(self.better[rows], return_inverse=True)
        order = rows[np.argsort(torch.randperm(len(groups)).numpy()[group], kind="stable")]
        return iter(_cut(order, self.better[order], size))

    def logits(
        self, classifier: PairClassifier, rows: Indices, noise: Noise | None = None
    ) -> Tensor:
        """See ``LabelledPairs``."""
        assert isinstance(classifier, SentenceClassifier)
        sides = [torch.from_numpy(side[rows]) for side in (self.source, self.target)]
        if noise is not None:
            dim = classifier.settings.dim
            groups = _numbered(self.better[rows])
            for number, side in enumerate(sides):
                vectors = normalize(side[:, :dim], dim=1)
                sides[number] = torch.hstack(
                    [_blurred(vectors, groups, groups, noise), side[:, dim:]]
                )
        logits: Tensor = classifier(*sides)
        return logits


_JITTER = 3.0
_MIXER = 0x5851F42D4C957F2D
"""A factor that makes numbers look random: of Knuth's generator MMIX."""
_WINDOW = 65536


@dataclass(frozen=True)
class WordSide:
    """One side of pairs: its distinct sentences, with the place of each pair's among them."""

    rows: Indices
    """``(n,)``."""
    words: WordRows
    word_vectors: NDArray[np.float16]
    """``(u, dim)``; 16 bits are precise enough, for noise is added."""
    vectors: NDArray[np.float16]
    """``(s, dim)``, of the distinct sentences, of length 1."""
    texts: Sequence[str]
    """The distinct sentences."""
    cut: Cut | None = None
    """Divides words further."""

    @classmethod
    def of(
        cls,
        sentences: Sequence[str],
        encode: Callable[[Sequence[str]], Vectors],
        cut: Cut | None = None,
    ) -> WordSide:
        """Read the sentences of one side of pairs; *cut* divides words further."""
        different, rows = distinct(sentences)
        reader = WordReader(cut)
        words, spaced = reader.read(different)
        vectors = _encoded(different, encode)
        for start in range(0, len(vectors), _WINDOW):
            part = torch.from_numpy(vectors[start : start + _WINDOW].astype(np.float32))
            vectors[start : start + _WINDOW] = normalize(part, dim=1).half().numpy()
        return cls(
            rows,
            WordRows(words, spaced, spellings(reader.words)),
            _encoded(reader.words, encode),
            vectors,
            different,
            cut,
        )

    def sentences(self, pairs: Indices, size: int) -> WordSentences:
        """Return this side of some pairs, each filled up to *size* words."""
        rows = self.rows[pairs]
        return padded(self.words, rows, size, self.vectors[rows].astype(np.float32))

    def lengths(self, pairs: Indices) -> Indices:
        """Words of this side of some pairs, ``(pairs,)``."""
        return self.words.words.lengths[self.rows[pairs]]


def _encoded(
    sentences: Sequence[str], encode: Callable[[Sequence[str]], Vectors]
) -> NDArray[np.float16]:
    starts = range(0, len(sentences), _WINDOW)
    parts = [encode(sentences[start : start + _WINDOW]).astype(np.float16) for start in starts]
    return np.concatenate(parts)


@dataclass(frozen=True)
class LabelledWords(LabelledPairs):
    """Labelled pairs for the classifier of words."""

    source: WordSide
    target: WordSide
    qualities: Scores
    versions: Indices | None = None
    grades: Grades | None = None
    text: tuple[Sequence[str], Sequence[str]] = ((), ())
    """More sentences of each side, whose words are counted."""

    def longest(self, rows: Indices) -> Indices:
        """The words of the longer side of some pairs, ``(rows,)``."""
        return np.maximum(self.source.lengths(rows), self.target.lengths(rows))

    @property
    def word_length(self) -> float:
        """The mean length of the vectors of words."""
        rows = self.source.word_vectors[1:].astype(np.float32)
        return float(np.sqrt((rows * rows).sum(axis=1)).mean())

    def prepare(self, classifier: PairClassifier) -> None:
        """Count the words and bigrams of the text and of the translations, less one each.

        Each sentence counts once. So a word of a single translation is as rare there as a word
        never met.
        """
        assert isinstance(classifier, WordClassifier)
        every, keys = [], []
        for side, text in zip((self.source, self.target), self.text, strict=True):
            right = (side.texts[row] for row in np.unique(side.rows[self.labels]))
            times, found = _counted([*dict.fromkeys((*right, *text))], side.cut, classifier)
            every.append(times)
            keys.append(found)
        if classifier.settings.multilingual:
            every, keys = [every[0] + every[1]] * 2, [np.concatenate(keys)]
        for number, times in enumerate(every):
            classifier.counts[number] = torch.from_numpy((times - 1).clip(0, 255))
        if classifier.bigrams is not None:
            for number, found in enumerate(keys):
                levels = level_table(found, classifier.settings.bigrams)
                classifier.bigrams[number] = torch.from_numpy(levels)

    def batches(self, rows: Indices, size: int) -> Iterator[Indices]:
        """Yield pairs of similar length together, the batches shuffled."""
        groups, group = np.unique(self.better[rows], return_inverse=True)
        jitter = torch.rand(len(groups)).numpy() * _JITTER
        lengths = _longest(self.longest(rows), group, len(groups)) + jitter
        order = rows[np.lexsort([group, lengths[group]])]
        parts = _cut(order, self.better[order], size)
        return (parts[place] for place in torch.randperm(len(parts)).tolist())

    def logits(
        self, classifier: PairClassifier, rows: Indices, noise: Noise | None = None
    ) -> Tensor:
        """See ``LabelledPairs``."""
        assert isinstance(classifier, WordClassifier)
        size = int(self.longest(rows).max())
        groups = _numbered(self.better[rows])
        tables, pairs = [], []
        for number, side in enumerate((self.source, self.target)):
            sentences = side.sentences(rows, size)
            # A word is computed once for each group, with the same noise wherever it stands there:
            # two versions of a pair differ by the mistake alone.
            group = groups if noise else torch.zeros(len(rows), dtype=torch.int64)
            count = len(side.word_vectors)
            keys, places = np.unique(
                (group[:, None] * count + sentences.words).numpy(), return_inverse=True
            )
            owners, words = np.divmod(keys, count)
            vectors = torch.from_numpy(side.word_vectors)[torch.from_numpy(words)].float()
            spelling = side.words.spelling.take(words)
            features = torch.from_numpy(classifier.features(number, spelling))
            if noise is not None:
                vectors = _hidden(vectors, torch.from_numpy(owners), noise)
                blurred = _blurred(sentences.vectors, groups, groups, noise)
                sentences = replace(
                    sentences,
                    vectors=normalize(blurred, dim=1),
                    bigrams=_forgotten(sentences.bigrams, groups, noise),
                )
            inside = torch.from_numpy(words > 0)
            tables.append(classifier.table(vectors, features) * inside[:, None])
            pairs.append(replace(sentences, words=torch.from_numpy(places.reshape(-1, size))))
        logits: Tensor = classifier(tables, pairs)
        return logits


def _numbered(values: NDArray[np.integer]) -> Tensor:
    """Number the distinct values from 0 on, and return the number of each."""
    return torch.from_numpy(np.unique(values, return_inverse=True)[1])


def _longest(lengths: Indices, groups: Indices, count: int) -> Indices:
    """Return the largest of the lengths of each group."""
    longest = np.zeros(count, dtype=lengths.dtype)
    np.maximum.at(longest, groups, lengths)
    return longest


def _cut(order: Indices, groups: Indices, size: int) -> list[Indices]:
    """Cut rows into mini-batches of about *size*, between groups."""
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    wanted = np.arange(size, len(order), size)
    places = starts[np.searchsorted(starts, wanted, side="right") - 1]
    return [part for part in np.split(order, np.unique(places)) if len(part)]


def _hidden(vectors: Tensor, groups: Tensor, noise: Noise) -> Tensor:
    """Add noise to word vectors ``(u, dim)`` of some *groups* ``(u,)``, and hide some words."""
    noisy = _blurred(vectors, groups, None, noise)
    drawn = torch.rand(len(noisy), 1, generator=noise.generator)
    return noisy.mul_(drawn >= noise.training.word_dropout)


def _forgotten(bigrams: Tensor, groups: Tensor, noise: Noise) -> Tensor:
    """Hide some bigrams ``(n, t)``: the same ones in all pairs of one of the *groups* ``(n,)``."""
    count = int(groups.max()) + 1
    parts = torch.rand(count, 1, generator=noise.generator)[groups]
    salts = torch.randint(1 << 62, (count, 1), generator=noise.generator)[groups]
    drawn = (((bigrams ^ salts) * _MIXER >> 32) & 0xFFFF) / 0x10000
    return bigrams.masked_fill(drawn < parts * noise.training.bigram_dropout, -1)


def _counted(
    texts: Sequence[str], cut: Cut | None, classifier: WordClassifier
) -> tuple[Indices, Indices]:
    """Count the words of sentences by bucket, ``(buckets,)``; and the keys of all bigrams."""
    reader, keys = WordReader(cut), [np.zeros(0, dtype=np.int64)]
    times = np.zeros(classifier.settings.buckets, dtype=np.int64)
    hashes = np.zeros(0, dtype=np.int64)
    for start in range(0, len(texts), _WINDOW):
        words, _ = reader.read(texts[start : start + _WINDOW])
        new = spellings(reader.words[len(hashes) :]).hashes
        hashes = np.concatenate([hashes, new])
        np.add.at(times, hashes[words.flat] % len(times), 1)
        keys.append(bigrams(words, hashes).flat)
    return times, np.concatenate(keys)


def _blurred(vectors: Tensor, groups: Tensor, same: Tensor | None, noise: Noise) -> Tensor:
    """Add Gaussian noise to vectors ``(n, dim)``.

    Its expected length is a part of each vector's own, drawn for each of the *groups* ``(n,)``;
    vectors with the same number in *same* ``(n,)`` get the same noise; None: each has its own.
    """
    parts = torch.rand(int(groups.max()) + 1, 1, generator=noise.generator)[groups]
    length = vectors.norm(dim=-1, keepdim=True) / math.sqrt(vectors.shape[-1])
    count = len(vectors) if same is None else int(same.max()) + 1
    blur = torch.randn(count, vectors.shape[1], generator=noise.generator)
    blur = blur if same is None else blur[same]
    return blur.mul_(length).mul_(parts).mul_(noise.training.vector_noise).add_(vectors)
