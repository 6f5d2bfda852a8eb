"""Rules of length: of sentences, of words, and of one side against the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Integers, Mask
from bitextfilter.filters.pairs import BatchSide, Pairs
from bitextfilter.filters.rule import SideBounded, SideFault
from bitextfilter.settings import setting

_UNITS: dict[str, Callable[[BatchSide], NDArray[Any]]] = {
    "words": lambda side: side.word_counts,
    "tokens": lambda side: side.token_counts,
    "characters": lambda side: side.lengths,
    "bytes": lambda side: np.array(
        [len(text.encode(errors="surrogatepass")) for text in side.sentences], dtype=np.int64
    ),
}


@dataclass(frozen=True)
class Empty(SideFault):
    """No side is empty: each has a visible character, not just spaces and invisible ones."""

    name = "empty"
    unit = "none"
    origin = "Bicleaner no_empty (there: no character at all)"

    def suspects(self, side: BatchSide) -> Mask:
        return np.asarray(side.count(side.category_in("L", "M", "N", "P", "S")) == 0)

    def fault(self, sentence: str) -> str:
        return ""


@dataclass(frozen=True)
class Length(SideBounded):
    """Each side has a length within bounds, in words, tokens, characters or bytes (``count``).

    Words stand between spaces. Tokens are words, but in scripts written without spaces (Chinese,
    Japanese, Thai, Khmer...) two characters count as one.
    """

    name = "length"
    unit = "words (or tokens, characters, bytes) of each side, 0 and up"
    origin = (
        "Wieting et al. 2017, sections 5.5–5.7; OpusFilter LengthFilter; Bicleaner not_too_short"
    )

    minimum: float | None = 1
    maximum: float | None = 100
    count: str = setting("words", choices=_UNITS)

    def side_values(self, side: BatchSide) -> NDArray[Any]:
        return _UNITS[self.count](side)


@dataclass(frozen=True)
class LengthRatio(Length):
    """The longer side is at most ``maximum`` times as long as the shorter one.

    ``count`` is words, tokens, characters or bytes, as in ``length``. A blank side counts as half
    a unit, so that the ratio is finite.
    """

    name = "length-ratio"
    unit = "longer side / shorter side, 1 and up"
    origin = "Rossenbach et al. 2018; OpusFilter LengthRatioFilter; Bicleaner length_ratio"

    minimum: float | None = None
    maximum: float | None = 3

    def values(self, pairs: Pairs) -> Floats:
        lengths = np.maximum(super().values(pairs), 0.5)
        return np.asarray(lengths.max(axis=1) / lengths.min(axis=1))


@dataclass(frozen=True)
class LongWord(SideBounded):
    """No word of either side is longer than ``maximum``.

    Characters of scripts written without spaces belong to no word.
    """

    name = "long-word"
    unit = "characters of the longest word of each side, 0 and up"
    origin = "Rossenbach et al. 2018 (maximum word length); OpusFilter LongWordFilter"

    maximum: float | None = 40

    def side_values(self, side: BatchSide) -> Integers:
        words, longest = side.spaced, np.zeros(len(side), dtype=np.int64)
        np.maximum.at(longest, words.word_sentence, words.word_lengths)
        return longest


@dataclass(frozen=True)
class AverageWordLength(SideBounded):
    """The average word length of each side is within bounds; a blank side has 0.

    In scripts written without spaces, two characters count as a word.
    """

    name = "average-word-length"
    unit = "characters a word of each side, 0 and up"
    origin = "Rossenbach et al. 2018; OpusFilter AverageWordLengthFilter"

    minimum: float | None = 2
    maximum: float | None = 20

    def side_values(self, side: BatchSide) -> Floats:
        letters = side.lengths - side.count(side.spaces)
        return np.asarray(letters / np.maximum(side.token_counts, 0.5))


@dataclass(frozen=True)
class LetterWords(SideBounded):
    """Each side has at least ``minimum`` words with a letter in them."""

    name = "letter-words"
    unit = "words with a letter of each side, 0 and up"
    origin = "Rossenbach et al. 2018 (minimum words with letters)"

    minimum: float | None = 1

    def side_values(self, side: BatchSide) -> Integers:
        letters = np.flatnonzero(side.category_in("L"))
        first, last = (
            np.searchsorted(letters, places) for places in (side.word_starts, side.word_ends)
        )
        return np.bincount(side.word_sentence[last > first], minlength=len(side))
