"""The words of sentence pairs as numbers, for what counts words rather than reads them."""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.ragged import Ragged

__all__ = ["NumberedWords", "plain_words"]

_NORMALISE = Normalisation(lowercase=True, apart=True)


def plain_words(sentence: str) -> list[str]:
    """The words between spaces, in lower case; punctuation marks and symbols are words."""
    return _NORMALISE(sentence, "").split()


class NumberedWords:
    """Collects sentence pairs: 4 bytes a word, and each distinct word once."""

    def __init__(self) -> None:
        self.words: list[str] = []
        """By number, in the order in which they were first seen."""
        self.left = 0
        """Pairs that were too long."""
        self._numbers: dict[str, int] = {}
        self._flat = array("i"), array("i")
        self._lengths = array("i"), array("i")

    @property
    def pairs(self) -> int:
        """How many were kept."""
        return len(self._lengths[0])

    def add(self, source: str, target: str, most: int) -> None:
        """Keep a pair, unless a side has more than *most* words, or none."""
        texts = plain_words(source), plain_words(target)
        if not all(0 < len(text) <= most for text in texts):
            self.left += 1
            return
        for text, flat, lengths in zip(texts, self._flat, self._lengths, strict=True):
            flat.extend(self._number(word) for word in text)
            lengths.append(len(text))

    def sides(self) -> tuple[Ragged, Ragged]:
        """The sentences of both sides as numbers."""
        source, target = (
            Ragged(np.array(flat, np.int32), np.array(lengths, np.int64))
            for flat, lengths in zip(self._flat, self._lengths, strict=True)
        )
        return source, target

    def readable(self) -> NDArray[np.bool_]:
        """Of each number whether its word has a letter or a digit."""
        return np.array([any(map(str.isalnum, word)) for word in self.words], dtype=bool)

    def _number(self, word: str) -> int:
        number = self._numbers.setdefault(word, len(self.words))
        if number == len(self.words):
            self.words.append(word)
        return number
