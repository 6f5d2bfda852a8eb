"""The words met so far, with what the classifier takes of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from bitextfilter.similarity.vectors import Vectors
from bitextfilter.text.ragged import Ragged
from bitextfilter.text.spelling import Spelling, WordReader, spellings

__all__ = ["WordMemory"]

MOST = 1 << 15
"""With more words than that, it begins anew."""

BLOCK = 256
"""Words computed together: always as many, so that none depends on the others."""


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
            vectors, looks = map(torch.from_numpy, (self._encode(words), added.looks))
            blocks = [
                self._row(*(_filled(part[first : first + BLOCK]) for part in (vectors, looks)))
                for first in range(0, len(words), BLOCK)
            ]
            self.table = torch.cat([self.table, torch.cat(blocks)[: len(words)]])
            self.table[0] = 0
        self.spelling = Spelling(
            np.concatenate([old.looks, added.looks]),
            np.concatenate([old.letters, added.letters]),
            np.concatenate([old.figures, added.figures]),
        )


def _filled(rows: Tensor) -> Tensor:
    """Fill a block up with zeros."""
    return pad(rows, (0, 0, 0, BLOCK - len(rows)))
