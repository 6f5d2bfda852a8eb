"""Sentences as rows of words: what the word-level pair network scores.

Letters: n pairs, u words of a table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Indices, Vectors
from bitextfilter.text.bigrams import bigrams
from bitextfilter.text.features import Spelling, repeats
from bitextfilter.text.ragged import Ragged


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


@dataclass(frozen=True)
class SideRows:
    """One side of pairs, some of whose sentences are scored."""

    rows: Indices
    """The place of each pair's sentence among the distinct ones, ``(n,)``."""
    table: NDArray[np.float16]
    """``(u, columns)``: see ``WordNetwork.table``."""
    words: WordRows
    """Of the distinct sentences."""
    vectors: Vectors
    """Of the distinct sentences, ``(m, dim)``, of any length."""
