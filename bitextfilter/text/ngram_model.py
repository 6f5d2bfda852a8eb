"""n-gram language models with back-off, as sorted arrays that score many sentences at a time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.text.units import Units

__all__ = ["BEGIN", "END", "MARKS", "UNKNOWN", "Level", "NgramModel", "find"]

MARKS = ("<unk>", "<s>", "</s>")
"""The tokens that every model has, in the order of their numbers."""

UNKNOWN, BEGIN, END = range(3)

_BATCH = 1 << 20
"""Tokens that are scored at a time: what bounds the memory, and nothing else."""


class Level(NamedTuple):
    """The n-grams of one length, in the ascending order of their keys.

    The number of an n-gram is its place in here. Its key is the number of its context (its first
    n-1 tokens, on the level before) times the number of words, plus the number of its last word;
    that of a unigram is the number of its word.
    """

    keys: NDArray[np.int64]
    """Shape ``(grams,)``, ascending."""
    logprobs: NDArray[np.float32]
    """log10 probability of the last word after the others, shape ``(grams,)``."""
    backoffs: NDArray[np.float32]
    """log10 of the back-off weight of the n-gram as a context, shape ``(grams,)``."""


def find(keys: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each wanted key stands in ascending *keys*, or -1, in the shape of *wanted*."""
    if not len(keys):
        return np.full(wanted.shape, -1, dtype=np.int64)
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[places] == wanted, places, -1)


class NgramModel:
    """A language model of n-grams: log10 probabilities and back-off weights, as in an ARPA file.

    The probability of a word after a context is that of the whole n-gram where there is one,
    else the back-off weight of the context (1 where it is none of the n-grams) times the
    probability after the context without its first word (Katz 1987).
    """

    def __init__(
        self, words: Sequence[str], levels: Sequence[Level], units: Units | None = None
    ) -> None:
        """Take the *words* (first ``MARKS``), a level for each length, and what tokens are."""
        self.words = words
        self.levels = levels
        self.units = units
        self._numbers = {word: number for number, word in enumerate(words)}

    @property
    def order(self) -> int:
        """The length of the longest n-grams."""
        return len(self.levels)

    def scores(self, sentences: Sequence[Sequence[str]]) -> NDArray[np.float64]:
        """Return the log10 probability of each sentence of tokens, shape ``(n,)``.

        That of all its tokens after ``<s>`` and one another, and of ``</s>`` after them; a token
        that the model does not know counts as ``<unk>``.
        """
        lengths = np.fromiter(map(len, sentences), dtype=np.int64, count=len(sentences)) + 1
        sums = np.empty(len(sentences))
        first = 0
        while first < len(sentences):
            batch = int(np.searchsorted(np.cumsum(lengths[first:]), _BATCH, side="right"))
            last = first + max(batch, 1)
            logprobs = self._logprobs(sentences[first:last])
            starts = np.cumsum(lengths[first:last]) - lengths[first:last]
            sums[first:last] = np.add.reduceat(logprobs, starts)
            first = last
        return sums

    def token_logprobs(self, sentence: Sequence[str]) -> NDArray[np.float64]:
        """Return the log10 probability of each token and of ``</s>``, shape ``(tokens + 1,)``."""
        return self._logprobs([sentence])

    def _logprobs(self, sentences: Sequence[Sequence[str]]) -> NDArray[np.float64]:
        """Score the tokens of all sentences, and the end of each, in a row."""
        parts = (chain(MARKS[BEGIN : BEGIN + 1], tokens, MARKS[END:]) for tokens in sentences)
        number = self._numbers.get
        ids = np.array(
            [number(token, UNKNOWN) for token in chain.from_iterable(parts)], dtype=np.int64
        )
        ends = np.cumsum([len(tokens) + 2 for tokens in sentences])
        inside = np.ones(len(ids), dtype=bool)
        inside[np.append(0, ends[:-1])] = False
        grams, logprobs = ids, self.levels[0].logprobs[ids].astype(np.float64)
        for level, lower in zip(self.levels[1:], self.levels, strict=False):
            contexts = np.append(-1, grams[:-1])
            known = inside & (contexts >= 0)
            keys = np.where(known, contexts * len(self.words) + ids, -1)
            logprobs[known] += lower.backoffs[contexts[known]]
            grams = find(level.keys, keys)
            found = grams >= 0
            logprobs[found] = level.logprobs[grams[found]]
        return logprobs[inside]
