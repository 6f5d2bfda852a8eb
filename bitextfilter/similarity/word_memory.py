"""The words met so far, with what the classifier takes of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Lock

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from bitextfilter.models.device import one_torch_thread
from bitextfilter.similarity.vectors import Vectors
from bitextfilter.text.ragged import Ragged
from bitextfilter.text.spelling import Spelling, WordReader, spellings

__all__ = ["ReadWords", "WordMemory"]

MOST = 1 << 15
"""With more words than that, it begins anew;"""
_CHARACTERS = 32
"""and with more than so many times as many characters: a word may be as long as a line."""

_LARGEST = torch.finfo(torch.float16).max

BLOCK = 256
"""Words computed together: always as many, so that none depends on the others."""


@dataclass(frozen=True)
class ReadWords:
    """Sentences as places in a table of words. It does not change when more words are met."""

    rows: Ragged
    """Places of the words of each sentence."""
    table: Tensor
    """``(u, columns)``, float16; the empty word, number 0, is as no word."""
    spelling: Spelling
    """Of the words of the table, without their looks and hashes."""


class WordMemory:
    """A growing table of words, each computed once, always by itself. Threads may share it."""

    def __init__(
        self,
        row: Callable[[Tensor, Tensor], Tensor],
        look: Callable[[Spelling], NDArray[np.float32]],
        encode: Callable[[Sequence[str]], Vectors],
        most: int = MOST,
    ) -> None:
        """Begin with no word.

        Args:
            row: vectors ``(u, dim)`` and looks ``(u, LOOKS)`` → rows of the table.
            look: how words are spelt → their looks.
            encode: words → vectors.
            most: with more words, it begins anew.
        """
        self._row, self._look, self._encode, self._most = row, look, encode, most
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
        vectors, looks = map(torch.from_numpy, (self._encode(words), self._look(added)))
        with torch.inference_mode(), one_torch_thread():
            for first in range(0, len(words), BLOCK):
                block = [_filled(part[first : first + BLOCK]) for part in (vectors, looks)]
                self._add(self._row(*block)[: len(words) - first].clamp(-_LARGEST, _LARGEST))
        self._spelling = Spelling(
            old.looks,
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
    return replace(spelling, looks=spelling.looks[:0], hashes=spelling.hashes[:0])


def _filled(rows: Tensor) -> Tensor:
    """Fill a block up with zeros."""
    return pad(rows, (0, 0, 0, BLOCK - len(rows)))
