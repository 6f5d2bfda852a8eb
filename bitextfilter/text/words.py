"""Words of sentences, split at white space and numbered."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bitextfilter.arrays import Integers
from bitextfilter.text.ragged import Ragged


class WordNumbers(dict[str, int]):
    """Numbers of distinct words, given in order of appearance."""

    def __init__(self, first: str | None = None) -> None:
        """Begin with the word number 0, if one is given."""
        self.words: list[str] = []
        """The words by number."""
        if first is not None:
            self[first]

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self.words)
        self.words.append(word)
        return number


_BETWEEN = "\0"
"""A word put between sentences; within one, this control character counts as white space."""


def numbered(sentences: Sequence[str]) -> tuple[Ragged, list[str]]:
    """Return the words of each sentence, as indices of distinct words, and the latter.

    The first distinct word is the empty one, which is in no sentence.
    """
    text = f" {_BETWEEN} ".join(sentences)
    if text.count(_BETWEEN) >= max(len(sentences), 1):
        text = f" {_BETWEEN} ".join(sentence.replace(_BETWEEN, " ") for sentence in sentences)
    words = text.split()
    number = WordNumbers(_BETWEEN)
    places = np.fromiter(map(number.__getitem__, words), dtype=np.int64, count=len(words))
    bounds = np.concatenate([[-1], np.flatnonzero(places == 0), [len(places)]])
    lengths = np.diff(bounds)[: len(sentences)] - 1
    return Ragged(places[places > 0], lengths), ["", *number.words[1:]]


def split_words(normalised: Sequence[str]) -> tuple[list[str], Integers]:
    """Return the words of normalised sentences in one list, and the number in each sentence.

    A list for each would burden the garbage collector.
    """
    counts = (sentence.count(" ") + 1 if sentence else 0 for sentence in normalised)
    return " ".join(normalised).split(), np.fromiter(counts, np.int64, len(normalised))
