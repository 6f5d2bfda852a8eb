"""Sentences as rows of words: the input of the word-level pair network.

Letters: n pairs, t words a sentence, e the encoder's width.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bitextfilter.arrays import Indices, Vectors
from bitextfilter.text.bigrams import bigrams
from bitextfilter.text.features import Spelling, repeats
from bitextfilter.text.ragged import Ragged


@dataclass(frozen=True)
class WordSentences:
    """One side of ``n`` pairs."""

    words: Tensor
    """``(n, t)``: places in the table of words."""
    lengths: Tensor
    """``(n,)``, float32, at least 1: numbers of words."""
    letters: Tensor
    """``(n, t)``: equal for words of the same letters, on either side."""
    figures: Tensor
    """``(n, t)``: equal for words of the same digits; 0 for none."""
    repeats: Tensor
    """``(n, t, 2)``: 1 for words, and for pairs with the word before, that are repeated."""
    spaced: Tensor
    """``(n, t)``: 1 for words at the beginning or after a space."""
    bigrams: Tensor
    """``(n, t + 1)``: keys of each word and the one before it, and of the end; -1 for unknown."""
    vectors: Tensor
    """``(n, e)``: the sentences' vectors, of length 1."""


@dataclass(frozen=True)
class WordRows:
    """Some sentences as words, in the order of the text."""

    words: Ragged
    """Places of each sentence's words in a table; at least one."""
    spaced: NDArray[np.float32]
    """``(sum of lengths,)``: 1 for words at the beginning or after a space."""
    spelling: Spelling
    """Of all words of the table."""

    @cached_property
    def repeats(self) -> NDArray[np.float32]:
        """``(sum of lengths, 2)``: see ``text.features.repeats``."""
        distinct, places = np.unique(self.words.flat, return_inverse=True)
        return repeats(Ragged(places, self.words.lengths), self.spelling.letters[distinct])

    @cached_property
    def bigrams(self) -> Ragged:
        """Keys of each sentence's bigrams: see ``text.bigrams.bigrams``."""
        return bigrams(self.words, self.spelling.hashes)

    def padded(self, rows: Indices, size: int, vectors: Vectors) -> WordSentences:
        """Return the sentences of these *rows*, each filled up to *size* words.

        ``vectors (n, dim)``: of the sentences.
        """
        lengths = self.words.lengths[rows]
        inside = np.arange(size) < lengths[:, None]
        taken = self.words.places(rows)
        words = np.zeros(inside.shape, dtype=np.int64)
        words[inside] = self.words.flat[taken]
        repeated = np.zeros((*inside.shape, 2), dtype=np.float32)
        repeated[inside] = self.repeats[taken]
        spaced = np.zeros(inside.shape, dtype=np.float32)
        spaced[inside] = self.spaced[taken]
        ends = np.arange(size + 1) <= lengths[:, None]
        keys = np.full(ends.shape, -1, dtype=np.int64)
        keys[ends] = self.bigrams.take(rows).flat
        return WordSentences(
            words=torch.from_numpy(words),
            lengths=torch.from_numpy(lengths.astype(np.float32)),
            letters=torch.from_numpy(self.spelling.letters[words]),
            figures=torch.from_numpy(self.spelling.figures[words] * inside),
            repeats=torch.from_numpy(repeated),
            spaced=torch.from_numpy(spaced),
            bigrams=torch.from_numpy(keys),
            vectors=torch.from_numpy(vectors),
        )
