"""Sentences as padded tensors of words: the input of the word-level pair network in torch.

Letters: n pairs, t words a sentence, e the encoder's width.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bitextfilter.arrays import Indices, Vectors
from bitextfilter.similarity.word_rows import WordRows


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


def padded(some: WordRows, rows: Indices, size: int, vectors: Vectors) -> WordSentences:
    """Return the sentences of these *rows* of some, each filled up to *size* words.

    ``vectors (n, dim)``: of the sentences.
    """
    lengths = some.words.lengths[rows]
    inside = np.arange(size) < lengths[:, None]
    taken = some.words.places(rows)
    words = np.zeros(inside.shape, dtype=np.int64)
    words[inside] = some.words.flat[taken]
    repeated = np.zeros((*inside.shape, 2), dtype=np.float32)
    repeated[inside] = some.repeats[taken]
    spaced = np.zeros(inside.shape, dtype=np.float32)
    spaced[inside] = some.spaced[taken]
    ends = np.arange(size + 1) <= lengths[:, None]
    keys = np.full(ends.shape, -1, dtype=np.int64)
    keys[ends] = some.bigrams.take(rows).flat
    return WordSentences(
        words=torch.from_numpy(words),
        lengths=torch.from_numpy(lengths.astype(np.float32)),
        letters=torch.from_numpy(some.spelling.letters[words]),
        figures=torch.from_numpy(some.spelling.figures[words] * inside),
        repeats=torch.from_numpy(repeated),
        spaced=torch.from_numpy(spaced),
        bigrams=torch.from_numpy(keys),
        vectors=torch.from_numpy(vectors),
    )
