"""What each sentence of a corpus is like: its length, the rarity of its tokens, its repetition.

The figures that Wieting, Mallinson & Gimpel 2017 (table 10) correlate with how probably a sentence
is a reference. :mod:`corpus_statistics` has the same of whole corpora.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from bitextfilter.evaluation.bootstrap import Floats
from bitextfilter.evaluation.corpus_statistics import LONG, Counts, token_keys

__all__ = ["FIGURES", "SentenceTally"]

FIGURES = ("repetition", "trigram_repetition", "idf", "length")


class SentenceTally:
    """Gathers sentences that come some at a time; memory holds 4 bytes a token and 24 a sentence.

    That is beside some 150 bytes for each distinct token.
    """

    def __init__(self, units: Callable[[str], list[str]]) -> None:
        """Take what makes tokens of a sentence."""
        self._units = units
        self._places: dict[str, int] = {}
        self._tokens: list[NDArray[np.int32]] = []
        self._lengths: list[Counts] = []
        self._repetitions: list[tuple[Floats, Floats]] = []

    def add(self, sentences: Sequence[str]) -> None:
        """Take the next sentences."""
        tokens = [self._units(sentence) for sentence in sentences]
        flat = list(chain.from_iterable(tokens))
        places = self._places
        ids = np.array([places.setdefault(t, len(places)) for t in flat], dtype=np.int64)
        lengths = np.array([len(row) for row in tokens], dtype=np.int64)
        rows = np.repeat(np.arange(len(tokens)), lengths)
        long = np.array([len(token) >= LONG for token in flat], dtype=np.bool_)
        same = rows[2:] == rows[:-2]
        trigrams = token_keys(ids[:-2][same], ids[1:-1][same], ids[2:][same])
        self._tokens.append(ids.astype(np.int32))
        self._lengths.append(lengths)
        self._repetitions.append(
            (
                _repetition(rows[long], ids[long], len(tokens)),
                _repetition(rows[2:][same], trigrams, len(tokens)),
            )
        )

    def figures(self) -> dict[str, Floats]:
        """Return the ``FIGURES`` of all sentences, at least one, ``(n,)`` each.

        Repetition is in per cent of the tokens of ``LONG`` characters and more, or of the
        trigrams, that the sentence has had before; idf the mean over its tokens of ln(N / df), in
        nats, of df of all N sentences that have the token; length in tokens. NaN where a sentence
        has nothing to count.
        """
        tokens, lengths = np.concatenate(self._tokens), np.concatenate(self._lengths)
        rows = np.repeat(np.arange(len(lengths)), lengths)
        size = max(len(self._places), 1)
        holding = np.bincount(np.unique(rows * size + tokens) % size, minlength=size)
        rarity = np.log(len(lengths) / np.maximum(holding, 1))[tokens]
        sums = np.bincount(rows, rarity, minlength=len(lengths))
        words, trigrams = map(np.concatenate, zip(*self._repetitions, strict=True))
        idf = _divided(sums, lengths)
        return dict(zip(FIGURES, (words, trigrams, idf, lengths.astype(np.float64)), strict=True))


def _repetition(rows: Counts, items: NDArray[np.int64] | NDArray[np.uint64], n: int) -> Floats:
    """Return the per cent of each row's items ``(m,)`` that it has had before, ``(n,)``."""
    numbers = np.unique(items, return_inverse=True)[1].reshape(-1)
    width = max(len(rows), 1)
    distinct = np.bincount(np.unique(rows * width + numbers) // width, minlength=n)
    count = np.bincount(rows, minlength=n)
    return 100 * _divided(count - distinct, count)


def _divided(parts: NDArray[np.number], wholes: Counts) -> Floats:
    """Divide, with NaN for parts of nothing."""
    out = np.full(len(wholes), np.nan)
    np.divide(parts, wholes, out=out, where=wholes > 0)
    return out
