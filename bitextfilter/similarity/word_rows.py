"""Sentences as rows of words, laid out for the network that reads them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from bitextfilter.similarity.pair_classifier import Indices
from bitextfilter.similarity.vectors import Vectors
from bitextfilter.similarity.word_network import Sentences
from bitextfilter.text.ragged import Ragged
from bitextfilter.text.spelling import Spelling, repeats

__all__ = ["MOST_WORDS", "WordRows"]

MOST_WORDS = 1024
"""Of a longer sentence, so many words are read. (Its vector is still of the whole.)"""


@dataclass(frozen=True)
class WordRows:
    """Some sentences as words, in the order of the text."""

    words: Ragged
    """Places of each sentence's words in a table; at least one, at most ``MOST_WORDS``."""
    repeats: NDArray[np.float32]
    """``(sum of lengths, 2)``: see ``text.spelling.repeats``."""
    spelling: Spelling
    """Of all words of the table."""

    @classmethod
    def of(cls, words: Ragged, spelling: Spelling) -> WordRows:
        """Cut sentences that are too long, and look for repeated words."""
        words = words.first(MOST_WORDS)
        distinct, places = np.unique(words.flat, return_inverse=True)
        again = repeats(Ragged(places, words.lengths), spelling.letters[distinct])
        return cls(words, again, spelling)

    def padded(self, rows: Indices, size: int, vectors: Vectors) -> Sentences:
        """Return the sentences of these *rows*, each filled up to *size* words.

        ``vectors (n, dim)`` are those of the sentences.
        """
        lengths = self.words.lengths[rows]
        inside = np.arange(size) < lengths[:, None]
        taken = self.words.places(rows)
        words = np.zeros(inside.shape, dtype=np.int64)
        words[inside] = self.words.flat[taken]
        repeated = np.zeros((*inside.shape, 2), dtype=np.float32)
        repeated[inside] = self.repeats[taken]
        return Sentences(
            words=torch.from_numpy(words),
            lengths=torch.from_numpy(lengths.astype(np.float32)),
            letters=torch.from_numpy(self.spelling.letters[words]),
            figures=torch.from_numpy(self.spelling.figures[words] * inside),
            repeats=torch.from_numpy(repeated),
            vectors=torch.from_numpy(vectors),
        )
