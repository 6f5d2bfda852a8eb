"""The words met so far, with what the classifier takes of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from bitextfilter.models.device import one_torch_thread
from bitextfilter.similarity.vectors import Vectors
from bitextfilter.text.ragged import Ragged
from bitextfilter.text.spelling import Spelling, WordReader, spellings

__all__ = ["ReadWords", "WordMemory"]

MOST = 1 << 15
"""With more words than that, it begins anew."""

BLOCK = 256
"""Words computed together: always as many, so that none depends on the others."""


@dataclass(frozen=True)
class ReadWords:
    """Sentences as places in a table of words. It does not change when more words are met."""

    rows: Ragged
    """Places of the words of each sentence."""
    table: Tensor
    """``(u, columns)``; the empty word, number 0, is as no word."""
    spelling: Spelling
    """Of the words of the table."""


class WordMemory:
    """A growing table of words, each computed once, always by itself. Threads may share it."""

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
        self._lock = Lock()
        self._forget()

    def _forget(self) -> None:
        self._reader = WordReader()
        self._table = torch.zeros(0)
        self._spelling = spellings([])

    def read(self, sentences: Sequence[str]) -> ReadWords:
        """Read sentences as words, and compute the words that are new."""
        with self._lock:
            if len(self._reader.words) > self._most:
                self._forget()
            rows = self._reader.read(sentences)
            if new := self._reader.words[len(self._table) :]:
                self._learn(new)
            return ReadWords(rows, self._table, self._spelling)

    def _learn(self, words: list[str]) -> None:
        added, old = spellings(words), self._spelling
        vectors, looks = map(torch.from_numpy, (self._encode(words), added.looks))
        with torch.inference_mode(), one_torch_thread():
            blocks = [
                self._row(*(_filled(part[first : first + BLOCK]) for part in (vectors, looks)))
                for first in range(0, len(words), BLOCK)
            ]
            table = torch.cat([self._table, torch.cat(blocks)[: len(words)]])
            table[0] = 0
        self._table = table
        self._spelling = Spelling(
            np.concatenate([old.looks, added.looks]),
            np.concatenate([old.letters, added.letters]),
            np.concatenate([old.figures, added.figures]),
        )


def _filled(rows: Tensor) -> Tensor:
    """Fill a block up with zeros."""
    return pad(rows, (0, 0, 0, BLOCK - len(rows)))
