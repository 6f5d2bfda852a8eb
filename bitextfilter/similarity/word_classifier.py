"""The word-level pair classifier and its scores, with a cache of words read.

:mod:`bitextfilter.similarity.word_network` computes the logits. The vector of a word is the
encoder's vector of the word as a sentence, so that any encoder will do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import normalize, pad

from bitextfilter.arrays import Indices, Scores, Vectors
from bitextfilter.io.workers import map_blocks
from bitextfilter.models.device import one_torch_thread
from bitextfilter.similarity.pair_classifier import (
    Encode,
    EncodedSide,
    PairScorer,
    quality_scores,
)
from bitextfilter.similarity.word_network import (
    WordClassifierSettings,
    WordNetwork,
    WordRows,
    WordSentences,
)
from bitextfilter.text.features import RARITY, Spelling, WordReader, spellings

_MAX_WORDS = 1 << 15
"""The cache is emptied above this many words, or 32 times as many characters."""
_CHARACTERS = 32
"""Characters that count as a word: a "word" can be a whole line."""
_LARGEST = torch.finfo(torch.float16).max
"""Numbers of the table of words are cut to this, its largest."""
_BLOCK = 256
"""Words computed together: a fixed number, so that no result depends on the others."""
_PAIRS = 8192
"""Pairs prepared at once."""
_COMMON = 64
"""From 63 occurrences on, a word's rarity is 0."""
_LADDER = np.array(
    (*range(4, 32, 4), *range(32, 64, 8), *range(64, 128, 16), *range(128, 1025, 64))
)
"""The numbers of words of a block of pairs; sentences are padded to the next."""
_LONG = 128
"""Sentences of more words come in blocks of one pair."""
_BLOCK_WORDS, _BLOCK_PAIRS = 1024, 32
"""Words of a block of pairs; its number of pairs is a multiple of 32."""


class WordCache:
    """A growing table of words, each computed once and independently. Thread-safe."""

    def __init__(
        self,
        row: Callable[[Tensor, Tensor], Tensor],
        features_of: Callable[[Spelling], NDArray[np.float32]],
        encode: Callable[[Sequence[str]], Vectors],
        most: int = _MAX_WORDS,
    ) -> None:
        """Start without words.

        Args:
            row: vectors ``(u, dim)`` and features ``(u, WORD_FEATURES)`` → rows of the table.
            features_of: spelling of words → their features.
            encode: words → vectors.
            most: with more words, the cache is emptied.
        """
        self._row, self._features_of, self._encode, self._most = row, features_of, encode, most
        self._lock = Lock()
        self._forget()

    def _forget(self) -> None:
        self._reader = WordReader()
        self._known = 0
        self._space = torch.zeros(0, dtype=torch.float16)
        """The table, with room for more words. Rows that were returned are never rewritten."""
        empty = spellings([])
        self._spelling = replace(empty, features=empty.features[:0], hashes=empty.hashes[:0])

    def read(self, sentences: Sequence[str]) -> tuple[Tensor, WordRows]:
        """Split sentences into words, and compute the new words.

        Returns:
            The table of words ``(u, columns)``, float16, which stays valid when the cache grows
            (row 0, the empty word, stands for no word); and the sentences as places in it. Their
            spelling lacks features and hashes.
        """
        with self._lock:
            held = max(len(self._reader.words), self._reader.characters // _CHARACTERS)
            if held > self._most:
                self._forget()
            rows = self._reader.read(sentences)
            if new := self._reader.words[self._known :]:
                self._learn(new)
            table, spelling = self._space[: self._known], self._spelling
        return table, WordRows.of(rows, spelling)

    def _learn(self, words: list[str]) -> None:
        added, old = spellings(words), self._spelling
        vectors, features = map(torch.from_numpy, (self._encode(words), self._features_of(added)))
        with torch.inference_mode(), one_torch_thread():
            for first in range(0, len(words), _BLOCK):
                block = [_filled(part[first : first + _BLOCK]) for part in (vectors, features)]
                self._add(self._row(*block)[: len(words) - first].clamp(-_LARGEST, _LARGEST))
        self._spelling = Spelling(
            old.features,
            np.concatenate([old.letters, added.letters]),
            np.concatenate([old.figures, added.figures]),
            old.hashes,
        )

    def _add(self, rows: Tensor) -> None:
        """Append rows to the table."""
        end = self._known + len(rows)
        if end > len(self._space):
            space = self._space.new_empty(max(self._most, end) * 5 // 4, rows.shape[1])
            if self._known:
                space[: self._known] = self._space[: self._known]
            self._space = space
        self._space[self._known : end] = rows
        if not self._known:
            self._space[0] = 0  # the empty word
        self._known = end


def _filled(rows: Tensor) -> Tensor:
    """Pad a block with rows of zeros."""
    return pad(rows, (0, 0, 0, _BLOCK - len(rows)))


class WordClassifier(nn.Module):
    """The network, a temperature, and the counts of the words in the training text."""

    kind = "words"
    temperature: Tensor
    counts: Tensor
    """``(2, buckets)``, uint8: counts of the words of each side, at most 255."""

    def __init__(self, settings: WordClassifierSettings) -> None:
        super().__init__()
        self.settings = settings
        self.network = WordNetwork(settings)
        self.register_buffer("temperature", torch.ones(()))
        self.register_buffer("counts", torch.zeros(2, settings.buckets, dtype=torch.uint8))

    @property
    def output_layer(self) -> nn.Linear:
        """The layer of the logits."""
        return self.network.out

    def features(self, side: int, spelling: Spelling) -> NDArray[np.float32]:
        """Features of words ``(u, WORD_FEATURES)`` of a side, 0 or 1, with their rarity.

        The rarity of an unknown word is 1, unless it shares its bucket with a known one.
        """
        features: NDArray[np.float32] = spelling.features.copy()
        times = self.counts[side].numpy()[self.buckets(spelling)].astype(np.float32)
        features[:, RARITY] = np.maximum(0, 1 - np.log1p(times) / math.log(_COMMON))
        return features

    def buckets(self, spelling: Spelling) -> Indices:
        """Return the buckets of words, ``(u,)``."""
        return spelling.hashes % self.settings.buckets

    def table(self, vectors: Tensor, features: Tensor) -> Tensor:
        """Word vectors of the encoder ``(u, dim)``, features → table of words ``(u, columns)``."""
        rows: Tensor = self.network.table(vectors / self.settings.word_length, features)
        return rows

    def forward(self, tables: Sequence[Tensor], pairs: Sequence[WordSentences]) -> Tensor:
        """Logits ``(n, 1 or 2)``, for training: no temperature applied."""
        logits: Tensor = self.network(tables, pairs)
        return logits

    def scoring(self, encode: Encode, threads: int = 1) -> WordScoring:
        """Return a factory of scorers of pairs; *encode* makes the vectors of words."""
        return WordScoring(self, encode, threads)


class WordScoring:
    """Makes scorers of pairs; the computed words are remembered from window to window."""

    def __init__(self, classifier: WordClassifier, encode: Encode, threads: int = 1) -> None:
        """``encode``: sentences and their side, 0 or 1 → vectors."""
        self._classifier, self._threads = classifier, threads

        def cache(side: int) -> WordCache:
            features = partial(classifier.features, side)
            return WordCache(classifier.table, features, lambda words: encode(words, side))

        self._caches = cache(0), cache(1)

    def __call__(self, source: EncodedSide, target: EncodedSide) -> PairScorer:
        """See ``ScorerFactory``."""

        def score(i: Indices, j: Indices) -> Scores:
            parts = [
                self._probabilities(
                    _Window.of(source, i[first : first + _PAIRS], self._caches[0]),
                    _Window.of(target, j[first : first + _PAIRS], self._caches[1]),
                )
                for first in range(0, len(i), _PAIRS)
            ]
            return np.concatenate([np.zeros(0, dtype=np.float32), *parts])

        return score

    def _probabilities(self, source: _Window, target: _Window) -> Scores:
        """Score row i with row i, in blocks whose shape depends on their pairs' lengths alone.

        So no result depends on the other pairs.
        """
        longest = np.maximum(source.lengths(), target.lengths())
        steps = np.searchsorted(_LADDER, longest)
        settings = self._classifier.settings
        logits = np.empty((len(longest), settings.logits), dtype=np.float32)
        tables = [side.table for side in (source, target)]

        def run(block: tuple[int, Indices]) -> None:
            words, pairs = block
            rows = np.resize(pairs, _block_pairs(words))
            with torch.inference_mode():
                sides = [side.sentences(rows, words) for side in (source, target)]
                sides = [replace(side, vectors=normalize(side.vectors, dim=1)) for side in sides]
                logits[pairs] = self._classifier(tables, sides)[: len(pairs)].numpy()

        with one_torch_thread():
            map_blocks(run, _blocks(steps), self._threads)
        temperature = float(self._classifier.temperature)
        return quality_scores(logits, settings.minor_error_quality, temperature)


def _block_pairs(words: int) -> int:
    """Return the number of pairs of a block by its number of words: 1, or a multiple of 32.

    Vector units hold powers of two, and compute a remainder in another way.
    """
    if words > _LONG:
        return 1
    return max(1, _BLOCK_WORDS // words // _BLOCK_PAIRS) * _BLOCK_PAIRS


def _blocks(steps: Indices) -> list[tuple[int, Indices]]:
    """Sort pairs into blocks by their rounded lengths: each a number of words, and places."""
    blocks = []
    for step in np.unique(steps)[::-1]:
        places, words = np.flatnonzero(steps == step), int(_LADDER[step])
        rows = _block_pairs(words)
        blocks += [(words, places[first : first + rows]) for first in range(0, len(places), rows)]
    return blocks


@dataclass(frozen=True)
class _Window:
    """The sentences of one side of some pairs."""

    places: Indices
    """The place of each pair's sentence among the distinct ones, which the rest is of."""
    table: Tensor
    words: WordRows
    vectors: Vectors

    @classmethod
    def of(cls, side: EncodedSide, rows: Indices, cache: WordCache) -> _Window:
        """Read the sentences at *rows* of a side."""
        vectors, sentences = side
        distinct, places = np.unique(rows, return_inverse=True)
        table, words = cache.read([sentences[place] for place in distinct])
        return cls(places, table, words, vectors[distinct])

    def lengths(self) -> Indices:
        """Return the number of words of the sentence of each pair."""
        return self.words.words.lengths[self.places]

    def sentences(self, pairs: Indices, size: int) -> WordSentences:
        """Return the side of some pairs, padded to *size* words."""
        places = self.places[pairs]
        return self.words.padded(places, size, self.vectors[places])
