"""Rules of shape: lengths, headings, glued or split words, and repeated text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import regex
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Integers, Mask
from bitextfilter.filters.pairs import BatchSide, Pairs
from bitextfilter.filters.rule import (
    LONGEST,
    LanguagePair,
    PairFault,
    SideBounded,
    SideFault,
)
from bitextfilter.settings import from_0, setting
from bitextfilter.text import characters
from bitextfilter.text.units import pieces_at

_UNITS: dict[str, Callable[[BatchSide], NDArray[Any]]] = {
    "words": lambda side: side.word_counts,
    "tokens": lambda side: side.token_counts,
    "characters": lambda side: side.lengths,
    "letters": lambda side: side.letter_lengths,
    "bytes": lambda side: side.utf8.ends - side.utf8.starts,
}


@dataclass(frozen=True)
class Empty(SideFault):
    """No side is empty: each has a visible character, not just spaces and invisible ones."""

    name = "empty"
    unit = "none"
    origin = "Bicleaner no_empty (there: no character at all)"

    def suspects(self, side: BatchSide) -> Mask:
        return np.asarray(side.counted(characters.in_category("L", "M", "N", "P", "S")) == 0)

    def fault(self, sentence: str) -> str:
        return ""


@dataclass(frozen=True)
class Length(SideBounded):
    """Each side has a length within bounds, in words, tokens, characters, letters or bytes.

    Words stand between spaces. Tokens are words, but in scripts written without spaces two
    characters (Chinese, Japanese) or five (Thai, Khmer, Lao...) count as one. Letters are
    characters but white space; a Chinese character counts as three, a kana or Korean syllable as
    two. ``count`` says which.
    """

    name = "length"
    unit = "words (or tokens, characters, letters, bytes) of each side, 0 and up"
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

    ``count`` is as in ``length``. A blank side counts as half a unit, so that the ratio is finite.
    ``added`` is added to both lengths: short sides may then differ more than long ones.
    """

    name = "length-ratio"
    sides_apart = False
    unit = "longer side / shorter side, 1 and up"
    origin = "Rossenbach et al. 2018; OpusFilter LengthRatioFilter; Bicleaner length_ratio"

    minimum: float | None = None
    maximum: float | None = 3
    added: float = from_0(0)

    def values(self, pairs: Pairs) -> Floats:
        lengths = np.maximum(super().values(pairs), 0.5) + self.added
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
        return side.longest_words


@dataclass(frozen=True)
class AverageWordLength(SideBounded):
    """The average word length of each side is within bounds; a blank side has 0.

    In scripts written without spaces, two or five characters count as a word, as in ``length``.
    """

    name = "average-word-length"
    unit = "characters a word of each side, 0 and up"
    origin = "Rossenbach et al. 2018; OpusFilter AverageWordLengthFilter"

    minimum: float | None = 2
    maximum: float | None = 20

    def side_values(self, side: BatchSide) -> Floats:
        letters = side.lengths - side.counted(characters.is_space())
        return np.asarray(letters / np.maximum(side.token_counts, 0.5))


@dataclass(frozen=True)
class LetterWords(SideBounded):
    """Each side has at least ``minimum`` words with a letter in them."""

    name = "letter-words"
    unit = "words with a letter of each side, 0 and up"
    origin = "Rossenbach et al. 2018 (minimum words with letters)"

    minimum: float | None = 1

    def side_values(self, side: BatchSide) -> Integers:
        return side.words_holding(characters.in_category("L"))


@dataclass(frozen=True)
class Titles(PairFault):
    """Not both sides are headings with a capital at the start of every word.

    Only words that start with a letter count; a side with fewer than ``words`` of them passes. A
    German heading has small words, so its pair passes.
    """

    name = "titles"
    unit = "none"
    origin = "Bicleaner no_titles (on there by default)"

    words: int = 2

    def suspects(self, pairs: Pairs) -> Mask:
        """Select pairs whose words all start with a capital."""
        suspects = np.ones(len(pairs), dtype=bool)
        for side in pairs.sides:
            upper, lower = (
                np.bincount(side.word_sentence[mask[side.word_starts]], minlength=len(side))
                for mask in (side.category_in("Lu", "Lt"), side.category_in("Ll", "Lo", "Lm"))
            )
            suspects &= (upper >= self.words) & (lower == 0)
        return suspects

    def fault(self, source: str, target: str, languages: LanguagePair) -> str:
        return ""


@dataclass(frozen=True)
class GluedWords(PairFault):
    """At most ``maximum`` words of a side run into the next one (``wordsRun``).

    Such a word has a capital after a small letter, or after a full stop without a space. Words
    that both sides have, as McDonald and YouTube, do not count, also with other endings (iPhonu) or
    a prefix (eBoston). Of longer sides the first 10,000 characters are read.
    """

    name = "glued-words"
    unit = "words, 0 and up, of the worse side"
    origin = "Bicleaner no_glued_words (there: McDonald and YouTube count)"

    maximum: int = 1

    def suspects(self, pairs: Pairs) -> Mask:
        """Select pairs where a capital follows a small letter more than ``maximum`` times."""
        source, target = map(self._suspected, pairs.sides)
        return source | target

    def _suspected(self, side: BatchSide) -> Mask:
        capitals, small = characters.in_category("Lu"), characters.in_category("Ll")
        some = side.meeting(small, capitals) | side.meeting(".!?", capitals)
        places = np.flatnonzero(some)
        some[places] = self._joints(side.at(places)) > self.maximum
        return some

    @staticmethod
    def _joints(side: BatchSide) -> Integers:
        capitals = np.flatnonzero(side.category_in("Lu"))
        small = side.category_in("Ll")
        stop = np.isin(side.codes[capitals - 1], [ord(sign) for sign in ".!?"])
        joints = capitals[small[capitals - 1] | (stop & small[capitals - 2])]
        return np.bincount(np.searchsorted(side.ends, joints), minlength=len(side))

    def fault(self, source: str, target: str, languages: LanguagePair) -> str | None:
        source, target = source[:LONGEST], target[:LONGEST]
        for text, other in ((source, target), (target, source)):
            joints = [joint.start() for joint in _JOINT.finditer(text)]
            if len(joints) <= self.maximum:
                continue
            found = chain.from_iterable(map(_GLUED.findall, pieces_at(joints, text)))
            glued = [word for word in found if not _has_stem(other, word)]
            if len(glued) > self.maximum:
                return f"{len(glued)}>{self.maximum}:{glued[0]}"
        return None


_JOINT = regex.compile(r"\p{Ll}[.!?]?\p{Lu}")
"""Each glued word has one of its own."""


_ENDING, _PREFIX, _NAME = 3, 2, 3
"""Most letters of an ending, and of a prefix before a name, and fewest of a name."""


def _has_stem(text: str, word: str) -> bool:
    """Return whether a glued *word* stands in a *text*, but for an ending or a prefix."""
    joint = next(_JOINT.finditer(word))
    capital = joint.end() - 1
    stem = word[: max(capital + _NAME, len(word) - _ENDING)]
    name = word[capital:]
    return stem in text or (joint.start() < _PREFIX and len(name) >= _NAME and name in text)


_GLUED = regex.compile(
    r"(?<![\p{L}\p{N}])[\p{L}\p{N}]*(?:\p{Ll}|\p{Ll}{2}[.!?](?=\p{Lu}\p{Ll}))\p{Lu}[\p{L}\p{N}]*"
)


@dataclass(frozen=True)
class SpaceNoise(SideBounded):
    """No word is written with a space after each letter, as ``w o r d``.

    The value is the most words in a row that are single letters of an alphabet with capitals.
    """

    name = "space-noise"
    unit = "words in a row of each side, 0 and up"
    origin = "Bicleaner no_space_noise (there: any four signs but digits)"

    maximum: float | None = 3

    def sure(self, pairs: Pairs) -> Mask | None:
        """Select pairs with too few words of a single letter."""
        if self.minimum is not None:
            return None
        _, most = self.bounds
        cased = characters.in_category("Lu", "Ll")
        counts = [side.lone_words(cased) <= most for side in pairs.sides]
        return np.asarray(np.all(counts, axis=0))

    def side_values(self, side: BatchSide) -> Integers:
        cased = side.category_in("Lu", "Ll")
        single = np.flatnonzero((side.word_lengths == 1) & cased[side.word_starts])
        sentence = side.word_sentence[single]
        new = np.ones(len(single), dtype=bool)
        new[1:] = (np.diff(single) > 1) | (np.diff(sentence) > 0)
        first = np.flatnonzero(new)
        longest = np.zeros(len(side), dtype=np.int64)
        np.maximum.at(longest, sentence[first], np.diff(np.append(first, len(single))))
        return longest
