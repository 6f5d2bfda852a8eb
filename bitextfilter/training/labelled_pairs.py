"""Labelled pairs for pair classifiers: sentence vectors, or sentences word by word."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import normalize

from bitextfilter.arrays import Indices, Vectors
from bitextfilter.similarity.pair_classifier import PairClassifier
from bitextfilter.similarity.sentence_classifier import SentenceClassifier
from bitextfilter.similarity.word_classifier import WordClassifier
from bitextfilter.similarity.word_network import WordRows, WordSentences
from bitextfilter.text.features import Cut, WordReader, spellings
from bitextfilter.training.settings import ClassifierTraining


@dataclass(frozen=True)
class Noise:
    """The amount of noise that pairs get in training, and the generator that draws it."""

    training: ClassifierTraining
    generator: torch.Generator


class LabelledPairs(ABC):
    """``n`` pairs in the form that one kind of classifier takes, with their quality."""

    qualities: NDArray[np.float32]
    """``(n,)``: 1 for a translation, ``minor_error_quality`` for one with a minor error, 0 for
    any other pair."""

    @property
    def labels(self) -> NDArray[np.bool_]:
        """Whether each pair is a translation, ``(n,)``."""
        return self.qualities > 0.5

    def prepare(self, classifier: PairClassifier) -> None:  # noqa: B027
        """Give a fresh classifier the statistics of all pairs that it keeps."""

    @abstractmethod
    def batches(self, rows: Indices, size: int) -> Iterator[Indices]:
        """Yield all of some rows in an order drawn by torch, at most *size* at a time."""

    @abstractmethod
    def logits(
        self, classifier: PairClassifier, rows: Indices, noise: Noise | None = None
    ) -> Tensor:
        """Return the logits ``(rows, 1 or 2)`` of some pairs, with noise if it is given."""


@dataclass(frozen=True)
class LabelledVectors(LabelledPairs):
    """Labelled pairs for the classifier of sentences: their vectors, ``(n, dim)`` float32."""

    source: NDArray[np.float32]
    target: NDArray[np.float32]
    qualities: NDArray[np.float32]

    def batches(self, rows: Indices, size: int) -> Iterator[Indices]:
        """See ``LabelledPairs``."""
        order = rows[torch.randperm(len(rows)).numpy()]
        return (order[start : start + size] for start in range(0, len(order), size))

    def logits(
        self, classifier: PairClassifier, rows: Indices, noise: Noise | None = None
    ) -> Tensor:
        """See ``LabelledPairs``."""
        assert isinstance(classifier, SentenceClassifier)
        sides = [torch.from_numpy(side[rows]) for side in (self.source, self.target)]
        if noise is not None:
            dim = classifier.settings.dim
            most = noise.training.vector_noise / dim**0.5
            for number, side in enumerate(sides):
                vectors = normalize(side[:, :dim], dim=1)
                lengths = torch.rand(len(rows), 1, generator=noise.generator) * most
                blur = torch.randn(vectors.shape, generator=noise.generator)
                sides[number] = torch.hstack([vectors + blur * lengths, side[:, dim:]])
        logits: Tensor = classifier(*sides)
        return logits


_JITTER = 3.0
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

    @classmethod
    def of(
        cls,
        sentences: Sequence[str],
        encode: Callable[[Sequence[str]], Vectors],
        cut: Cut | None = None,
    ) -> WordSide:
        """Read the sentences of one side of pairs; *cut* divides words further."""
        places: dict[str, int] = {}
        rows = [places.setdefault(sentence, len(places)) for sentence in sentences]
        different = list(places)
        reader = WordReader(cut)
        words = reader.read(different)
        vectors = _encoded(different, encode)
        for start in range(0, len(vectors), _WINDOW):
            part = torch.from_numpy(vectors[start : start + _WINDOW].astype(np.float32))
            vectors[start : start + _WINDOW] = normalize(part, dim=1).half().numpy()
        return cls(
            np.array(rows, dtype=np.int64),
            WordRows.of(words, spellings(reader.words)),
            _encoded(reader.words, encode),
            vectors,
        )

    def sentences(self, pairs: Indices, size: int) -> WordSentences:
        """Return this side of some pairs, each filled up to *size* words."""
        rows = self.rows[pairs]
        return self.words.padded(rows, size, self.vectors[rows].astype(np.float32))

    def lengths(self) -> Indices:
        """Words of the sentence of each pair, ``(n,)``."""
        return self.words.words.lengths[self.rows]


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
    qualities: NDArray[np.float32]

    @property
    def lengths(self) -> Indices:
        """The words of the longer side of each pair, ``(n,)``."""
        return np.maximum(self.source.lengths(), self.target.lengths())

    @property
    def word_length(self) -> float:
        """The mean length of the vectors of words."""
        rows = self.source.word_vectors[1:].astype(np.float32)
        return float(np.sqrt((rows * rows).sum(axis=1)).mean())

    def prepare(self, classifier: PairClassifier) -> None:
        """Count the words of the distinct translations, less one each.

        So a word of a single translation is as rare there as a word never met.
        """
        assert isinstance(classifier, WordClassifier)
        every = []
        for side in (self.source, self.target):
            words = side.words.words.take(np.unique(side.rows[self.labels])).flat
            buckets = classifier.buckets(side.words.spelling)[words]
            every.append(np.bincount(buckets, minlength=classifier.settings.buckets))
        if classifier.settings.multilingual:
            every = [every[0] + every[1]] * 2
        for number, times in enumerate(every):
            classifier.counts[number] = torch.from_numpy((times - 1).clip(0, 255))

    def batches(self, rows: Indices, size: int) -> Iterator[Indices]:
        """Yield pairs of similar length together, the batches shuffled."""
        lengths = self.lengths[rows] + torch.rand(len(rows)).numpy() * _JITTER
        order = rows[np.argsort(lengths, kind="stable")]
        starts = torch.randperm(-(-len(order) // size)) * size
        return (order[start : start + size] for start in starts.tolist())

    def logits(
        self, classifier: PairClassifier, rows: Indices, noise: Noise | None = None
    ) -> Tensor:
        """See ``LabelledPairs``."""
        assert isinstance(classifier, WordClassifier)
        size = int(self.lengths[rows].max())
        tables, pairs = [], []
        for number, side in enumerate((self.source, self.target)):
            sentences = side.sentences(rows, size)
            places = sentences.words.flatten()
            vectors = torch.from_numpy(side.word_vectors[places.numpy()].astype(np.float32))
            spelling = side.words.spelling.take(places.numpy())
            features = torch.from_numpy(classifier.features(number, spelling))
            if noise is not None:
                vectors = _hidden(vectors, size, noise)
                blurred = _blurred(sentences.vectors, noise)
                sentences = replace(sentences, vectors=normalize(blurred, dim=1))
            tables.append(classifier.table(vectors, features) * (places > 0)[:, None])
            words = torch.arange(len(places)).view(-1, size)
            pairs.append(replace(sentences, words=words))
        logits: Tensor = classifier(tables, pairs)
        return logits


def _hidden(vectors: Tensor, size: int, noise: Noise) -> Tensor:
    """Add noise to the word vectors ``(n size, dim)`` of n sentences, and hide some words."""
    noisy = _blurred(vectors.view(-1, size, vectors.shape[1]), noise).flatten(0, 1)
    drawn = torch.rand(len(noisy), 1, generator=noise.generator)
    return noisy * (drawn >= noise.training.word_dropout)


def _blurred(vectors: Tensor, noise: Noise) -> Tensor:
    """Add Gaussian noise to vectors ``(n, ..., dim)``.

    Its expected length is a part of each vector's own, drawn for each of the n.
    """
    parts = torch.rand([len(vectors)] + [1] * (vectors.ndim - 1), generator=noise.generator)
    length = vectors.norm(dim=-1, keepdim=True) / math.sqrt(vectors.shape[-1])
    blur = torch.randn(vectors.shape, generator=noise.generator)
    noisy: Tensor = vectors + blur * length * parts * noise.training.vector_noise
    return noisy
