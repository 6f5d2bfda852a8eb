"""The words met so far, with what the classifier takes of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from bitextfilter.models.folded import in_blocks
from bitextfilter.similarity.vectors import Vectors
from bitextfilter.text.ragged import Ragged
from bitextfilter.text.spelling import LOOKS, Spelling, WordReader, spellings

__all__ = ["WordMemory"]

MOST = 1 << 15
"""With more words than that, it begins anew."""


class WordMemory:
    """A growing table of words, each computed once, always by itself."""

    def __init__(
        self,
        row: Callable[[Tensor, Tensor], Tensor],
        encode: Callable[[Sequence[str]], Vectors],
        most: int = MOST,
    ) -> None:
        """Begin with no word.

        Args:
            row: vectors ``(u, dim)`` and looks ``(u, LOOKS)`` → rows of the table.
            encode: words → vectors.
            most: with more words, it begins anew.
        """
        self._row, self._encode, self._most = row, encode, most
        self._forget()

    def _forget(self) -> None:
        self._reader = WordReader()
        self.table = torch.zeros(0)
        """``(u, columns)``; the empty word, number 0, is as no word."""
        self.spelling = spellings([])

    def read(self, sentences: Sequence[str]) -> Ragged:
        """Return the places of the words of each sentence in the table, which may grow.

        It may also begin anew: places given before are of no use then.
        """
        if len(self._reader.words) > self._most:
            self._forget()
        words = self._reader.read(sentences)
        if new := self._reader.words[len(self.table) :]:
            self._learn(new)
        return words

    def _learn(self, words: list[str]) -> None:
        added, old = spellings(words), self.spelling
        with torch.inference_mode():
            inputs = torch.from_numpy(np.hstack([self._encode(words), added.looks]))
            rows = in_blocks(lambda some: self._row(some[:, :-LOOKS], some[:, -LOOKS:]), inputs)
            self.table = torch.cat([self.table, rows])
            self.table[0] = 0
        self.spelling = Spelling(
            np.concatenate([old.looks, added.looks]),
            np.concatenate([old.letters, added.letters]),
            np.concatenate([old.figures, added.figures]),
        )
