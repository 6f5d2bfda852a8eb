"""Rules of length: of sentences, of words, and of one side against the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bitextfilter.errors import SettingsError
from bitextfilter.filters.pairs import Pairs, Side
from bitextfilter.filters.rule import Bounded

_UNITS = {
    "words": lambda side: side.word_counts,
    "tokens": lambda side: side.token_counts,
    "characters": lambda side: side.lengths,
    "bytes": lambda side: side.byte_lengths,
}


def _lengths(pairs: Pairs, unit: str) -> NDArray[np.number]:
    """Return the lengths of both sides, shape ``(n, 2)``."""
    return np.stack([_UNITS[unit](side) for side in pairs.sides], axis=1)


def _check_unit(rule: str, unit: str) -> None:
    if unit not in _UNITS:
        raise SettingsError(f"{rule}: count={unit} is none of {', '.join(_UNITS)}")


@dataclass(frozen=True)
class Length(Bounded):
    """Each side has a length within bounds, in words, tokens, characters or bytes (``count``).

    Words stand between spaces; tokens are the same, but of scripts that are written without spaces
    (Chinese, Japanese, Thai, Khmer...) two characters count as one.
    """

    name = "length"
    unit = "words (or tokens, characters, bytes) of each side, 0 and up"
    origin = (
        "Wieting et al. 2017, sections 5.5–5.7; OpusFilter LengthFilter; Bicleaner not_too_short"
    )

    minimum: float | None = 1
    maximum: float | None = 100
    count: str = "words"

    def __post_init__(self) -> None:
        """Raise SettingsError for an unknown unit."""
        super().__post_init__()
        _check_unit(self.name, self.count)

    def values(self, pairs: Pairs) -> NDArray[np.number]:
        """Return the lengths."""
        return _lengths(pairs, self.count)


@dataclass(frozen=True)
class LengthRatio(Bounded):
    """The longer side is at most so many times as long as the shorter one, in ``count``.

    That is words, tokens, characters or bytes, as of ``length``. A blank side counts as one half
    of a unit, so that the ratio is finite.
    """

    name = "length-ratio"
    unit = "longer side / shorter side, 1 and up"
    origin = "Rossenbach et al. 2018; OpusFilter LengthRatioFilter; Bicleaner length_ratio"

    maximum: float | None = 3
    count: str = "words"

    def __post_init__(self) -> None:
        """Raise SettingsError for an unknown unit."""
        super().__post_init__()
        _check_unit(self.name, self.count)

    def values(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return the ratios."""
        lengths = np.maximum(_lengths(pairs, self.count), 0.5)
        ratios: NDArray[np.float64] = lengths.max(axis=1) / lengths.min(axis=1)
        return ratios


@dataclass(frozen=True)
class LongWord(Bounded):
    """No word of either side is longer than the bound.

    Characters of scripts that are written without spaces belong to no word.
    """

    name = "long-word"
    unit = "characters of the longest word of each side, 0 and up"
    origin = "Rossenbach et al. 2018 (maximum word length); OpusFilter LongWordFilter"

    maximum: float | None = 40

    def values(self, pairs: Pairs) -> NDArray[np.int64]:
        """Return the lengths of the longest words."""
        return np.stack([side.spaced.longest_words() for side in pairs.sides], axis=1)


@dataclass(frozen=True)
class AverageWordLength(Bounded):
    """The words of each side have a plausible length on average; a blank side has 0.

    In scripts that are written without spaces, two characters count as a word.
    """

    name = "average-word-length"
    unit = "characters a word of each side, 0 and up"
    origin = "Rossenbach et al. 2018; OpusFilter AverageWordLengthFilter"

    minimum: float | None = 2
    maximum: float | None = 20

    def values(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return the averages."""
        return np.stack([_average(side) for side in pairs.sides], axis=1)


def _average(side: Side) -> NDArray[np.float64]:
    letters = side.lengths - side.count(side.spaces)
    average: NDArray[np.float64] = letters / np.maximum(side.token_counts, 0.5)
    return average


@dataclass(frozen=True)
class LetterWords(Bounded):
    """Each side has so many words with a letter in them."""

    name = "letter-words"
    unit = "words with a letter of each side, 0 and up"
    origin = "Rossenbach et al. 2018 (minimum words with letters)"

    minimum: float | None = 1

    def values(self, pairs: Pairs) -> NDArray[np.int64]:
        """Return the numbers of such words."""
        return np.stack([_letter_words(side) for side in pairs.sides], axis=1)


def _letter_words(side: Side) -> NDArray[np.int64]:
    letters = np.flatnonzero(side.category_in("L"))
    first, last = (
        np.searchsorted(letters, places) for places in (side.word_starts, side.word_ends)
    )
    return np.bincount(side.word_sentence[last > first], minlength=len(side))
