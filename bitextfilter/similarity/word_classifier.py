"""The word-level pair classifier and its scores, with a memory of words read.

See :mod:`bitextfilter.similarity.word_network` for what it computes. A word's vector is what the
encoder makes of the word as a sentence, so that it serves with any encoder.
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
from bitextfilter.io.batches import map_blocks
from bitextfilter.models.device import one_torch_thread
from bitextfilter.similarity.pair_classifier import (
    Encode,
    EncodedSide,
    PairScorer,
    expected_quality,
    sigmoid,
)
from bitextfilter.similarity.word_network import (
    WordClassifierSettings,
    WordNetwork,
    WordRows,
    WordSentences,
)
from bitextfilter.text.features import RARITY, Spelling, WordReader, spellings
from bitextfilter.text.ragged import Ragged

_MOST = 1 << 15
"""With more words than that, it begins anew;"""
_CHARACTERS = 32
"""and with more than so many times as many characters: a word may be as long as a line."""

_LARGEST = torch.finfo(torch.float16).max

_BLOCK = 256
"""Words computed together: always as many, so that none depends on the others."""


@dataclass(frozen=True)
class ReadWords:
    """Sentences as places in a table of words. It does not change when more words are met."""

    rows: Ragged
    """Places of the words of each sentence."""
    table: Tensor
    """``(u, columns)``, float16; the empty word, number 0, is as no word."""
    spelling: Spelling
    """Of the words of the table, without their features and hashes."""


class WordMemory:
    """A growing table of words, each computed once, always by itself. Threads may share it."""

    def __init__(
        self,
        row: Callable[[Tensor, Tensor], Tensor],
        features_of: Callable[[Spelling], NDArray[np.float32]],
        encode: Callable[[Sequence[str]], Vectors],
        most: int = _MOST,
    ) -> None:
        """Begin with no word.

        Args:
            row: vectors ``(u, dim)`` and features ``(u, WORD_FEATURES)`` → rows of the table.
            features_of: how words are spelt → their features.
            encode: words → vectors.
            most: with more words, it begins anew.
        """
        self._row, self._features_of, self._encode, self._most = row, features_of, encode, most
        self._lock = Lock()
        self._forget()

    def _forget(self) -> None:
        self._reader = WordReader()
        self._known = 0
        self._space = torch.zeros(0, dtype=torch.float16)
        """The table, and room for more words: what has been given out is never written again."""
        self._spelling = _without_looks(spellings([]))

    def read(self, sentences: Sequence[str]) -> ReadWords:
        """Read sentences as words, and compute the words that are new."""
        with self._lock:
            held = max(len(self._reader.words), self._reader.characters // _CHARACTERS)
            if held > self._most:
                self._forget()
            rows = self._reader.read(sentences)
            if new := self._reader.words[self._known :]:
                self._learn(new)
            return ReadWords(rows, self._space[: self._known], self._spelling)

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
        """Write rows behind those that are known."""
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


def _without_looks(spelling: Spelling) -> Spelling:
    """What the table has of words need not be kept."""
    return replace(spelling, features=spelling.features[:0], hashes=spelling.hashes[:0])


def _filled(rows: Tensor) -> Tensor:
    """Fill a block up with zeros."""
    return pad(rows, (0, 0, 0, _BLOCK - len(rows)))


_PAIRS = 8192
_COMMON = 64
"""A word that has been counted so often, less once, is not rare at all."""
_STEPS = (*range(4, 32, 4), *range(32, 64, 8), *range(64, 128, 16), *range(128, 1025, 64))
_LADDER = np.array(_STEPS)
"""The numbers of words that a block of pairs may have; sentences are filled up to the next."""
_LONG = 128
_BLOCK_WORDS, _BLOCK_PAIRS = 1024, 32


class WordClassifier(nn.Module):
    """The network, a temperature, and how often the words of the training text stood there."""

    kind = "words"
    temperature: Tensor
    counts: Tensor
    """``(2, buckets)``, uint8: of the words of each side, at most 255."""

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

        That of a word never met is 1, unless one of its bucket was.
        """
        features: NDArray[np.float32] = spelling.features.copy()
        times = self.counts[side].numpy()[self.buckets(spelling)].astype(np.float32)
        features[:, RARITY] = np.maximum(0, 1 - np.log1p(times) / math.log(_COMMON))
        return features

    def buckets(self, spelling: Spelling) -> Indices:
        """Where words are counted, ``(u,)``."""
        return spelling.hashes % self.settings.buckets

    def table(self, vectors: Tensor, features: Tensor) -> Tensor:
        """The encoder's word vectors ``(u, dim)``, features → table of words ``(u, columns)``."""
        rows: Tensor = self.network.table(vectors / self.settings.word_length, features)
        return rows

    def forward(self, tables: Sequence[Tensor], pairs: Sequence[WordSentences]) -> Tensor:
        """Logits ``(n, 1 or 2)``, for training: no temperature applied."""
        logits: Tensor = self.network(tables, pairs)
        return logits

    def scoring(self, encode: Encode, threads: int = 1) -> WordScoring:
        """Return what scores pairs of sentences that *encode* knows the words of."""
        return WordScoring(self, encode, threads)


class WordScoring:
    """Scores pairs of sentences; a word's row of the table is kept for the next window."""

    def __init__(self, classifier: WordClassifier, encode: Encode, threads: int = 1) -> None:
        """``encode``: sentences and their side, 0 or 1 → vectors."""
        self._classifier, self._threads = classifier, threads
        self._memories = [
            WordMemory(
                classifier.table,
                partial(classifier.features, side),
                partial(_encode_side, encode, side),
            )
            for side in (0, 1)
        ]

    def __call__(self, source: EncodedSide, target: EncodedSide) -> PairScorer:
        """Return the function from places among both sides' sentences to their probabilities."""

        def score(i: Indices, j: Indices) -> Scores:
            parts = [
                self._probabilities(
                    _Window.of(source, i[first : first + _PAIRS], self._memories[0]),
                    _Window.of(target, j[first : first + _PAIRS], self._memories[1]),
                )
                for first in range(0, len(i), _PAIRS)
            ]
            return np.concatenate([np.zeros(0, dtype=np.float32), *parts])

        return score

    def _probabilities(self, source: _Window, target: _Window) -> Scores:
        """Probabilities of row i with row i: in blocks of shapes that their lengths alone give.

        So what is computed for a pair does not depend on the pairs beside it.
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
                sides = [replace(some, vectors=normalize(some.vectors, dim=1)) for some in sides]
                logits[pairs] = self._classifier(tables, sides)[: len(pairs)].numpy()

        with one_torch_thread():
            map_blocks(run, _blocks(steps), self._threads)
        return sigmoid(
            expected_quality(logits, settings.minor_error_quality)
            / float(self._classifier.temperature)
        )


def _block_pairs(words: int) -> int:
    """How many pairs of so many words are computed together: one, or a multiple of 32.

    Vectors of processors hold powers of two; what would be left over is computed otherwise.
    """
    if words > _LONG:
        return 1
    return max(1, _BLOCK_WORDS // words // _BLOCK_PAIRS) * _BLOCK_PAIRS


def _blocks(steps: Indices) -> list[tuple[int, Indices]]:
    """Pairs by their step of the ladder, in blocks: the numbers of words, and their places."""
    blocks = []
    for step in np.unique(steps)[::-1]:
        places, words = np.flatnonzero(steps == step), int(_LADDER[step])
        rows = _block_pairs(words)
        blocks += [(words, places[first : first + rows]) for first in range(0, len(places), rows)]
    return blocks


def _encode_side(encode: Encode, side: int, sentences: Sequence[str]) -> Vectors:
    return encode(sentences, side)


@dataclass(frozen=True)
class _Window:
    """Some sentences of one side, and which of them stand in the pairs."""

    rows: Indices
    table: Tensor
    words: WordRows
    vectors: Vectors

    @classmethod
    def of(cls, side: EncodedSide, rows: Indices, memory: WordMemory) -> _Window:
        """Read the sentences at *rows* of a side."""
        vectors, sentences = side
        places, rows = np.unique(rows, return_inverse=True)
        read = memory.read([sentences[place] for place in places])
        words = WordRows.of(read.rows, read.spelling)
        return cls(rows, read.table, words, vectors[places])

    def lengths(self) -> Indices:
        """Words of the sentence of each pair."""
        return self.words.words.lengths[self.rows]

    def sentences(self, pairs: Indices, size: int) -> WordSentences:
        """Return the side of some pairs, filled up to *size* words."""
        rows = self.rows[pairs]
        return self.words.padded(rows, size, self.vectors[rows])
