"""Rules of shape: lengths, headings, glued or split words, and repeated text."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import regex
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Integers, Mask
from bitextfilter.errors import SettingsError
from bitextfilter.filters.pairs import SPREAD, BatchSide, Pairs
from bitextfilter.filters.rule import Cost, LanguagePair, PairFault, SideBounded, SideFault
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
    that both sides have, as McDonald and YouTube, do not count.
    """

    name = "glued-words"
    unit = "words, 0 and up, of the worse side"
    origin = "Bicleaner no_glued_words (there: McDonald and YouTube count)"

    maximum: int = 1

    def suspects(self, pairs: Pairs) -> Mask:
        """Select pairs where a capital follows a small letter more than ``maximum`` times."""
        source, target = (self._joints(side) > self.maximum for side in pairs.sides)
        return source | target

    @staticmethod
    def _joints(side: BatchSide) -> Integers:
        capitals = np.flatnonzero(side.category_in("Lu"))
        small = side.category_in("Ll")
        stop = np.isin(side.codes[capitals - 1], [ord(sign) for sign in ".!?"])
        joints = capitals[small[capitals - 1] | (stop & small[capitals - 2])]
        return np.bincount(np.searchsorted(side.ends, joints), minlength=len(side))

    def fault(self, source: str, target: str, languages: LanguagePair) -> str | None:
        for text, other in ((source, target), (target, source)):
            glued = [word for word in _GLUED.findall(text) if word not in other]
            if len(glued) > self.maximum:
                return f"{len(glued)}>{self.maximum}:{glued[0]}"
        return None


_GLUED = regex.compile(r"[\p{L}\p{N}]*(?:\p{Ll}|\p{Ll}{2}[.!?](?=\p{Lu}\p{Ll}))\p{Lu}[\p{L}\p{N}]*")


@dataclass(frozen=True)
class SpaceNoise(SideBounded):
    """No word is written with a space after each letter, as ``w o r d``.

    The value is the most words in a row that are single letters of an alphabet with capitals.
    """

    name = "space-noise"
    unit = "words in a row of each side, 0 and up"
    origin = "Bicleaner no_space_noise (there: any four signs but digits)"

    maximum: float | None = 3

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


_SPACE = 0x20


class _Runs:
    """Finds runs of places where an array equals itself moved by a lag.

    It compares hashes of one, two, four or eight neighbours, only at the places that every run
    must touch: a run of 16 holds the 8 neighbours from each ninth place.
    """

    def __init__(self, values: NDArray[np.uint32]) -> None:
        self._grams = {1: values}
        for size in (1, 2, 4):
            gram = self._grams[size]
            self._grams[2 * size] = gram[:-size] * SPREAD + gram[size:]

    def at(self, lag: int, run: int) -> Integers:
        """Return a place in each run of *run* places or more, and false hits (see `confirms`)."""
        size = max(size for size in self._grams if size <= run)
        step, gram = run - size + 1, self._grams[size]
        return np.flatnonzero(gram[:-lag:step] == gram[lag::step]) * step

    def confirms(self, place: int, lag: int, run: int) -> bool:
        """Return True if *place* is in a run of *run* places or more."""
        values, first = self._grams[1], max(place - run, 0)
        here = values[first : place + run]
        there = values[first + lag : place + run + lag]
        breaks = np.flatnonzero(here[: len(there)] != there)
        ends = np.concatenate(([-1], breaks, [len(there)]))
        return bool(np.diff(ends).max() > run)


@dataclass(frozen=True)
class Repetition(SideFault):
    """No piece of text is repeated ``repeats`` times or more, with or without spaces between.

    The first time does not count: with ``repeats=2`` nothing stands three times in a row. Pieces
    have ``shortest`` to ``longest`` characters, the first no white space.
    """

    name = "repetition"
    unit = "the repeated piece"
    origin = "OpusFilter RepetitionFilter (its max_length is longest less one)"
    cost = Cost.ARRAYS

    repeats: int = setting(2, within=">= 1")
    shortest: int = setting(3, within=">= 1")
    longest: int = 101

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.longest < self.shortest:
            raise SettingsError(f"{self.name}: longest must be at least shortest")

    def fault(self, sentence: str) -> str | None:
        match = self._repeated.search(sentence)
        return match[1] if match else None

    @functools.cached_property
    def _repeated(self) -> regex.Pattern[str]:
        piece = rf"\S.{{{self.shortest - 1},{self.longest - 1}}}?"
        return regex.compile(rf"({piece})(?: *\1){{{self.repeats},}}")

    def faulty(self, side: BatchSide) -> Mask:
        """Return the sentences that repeat a piece, shape ``(n,)``.

        In the text without spaces, a repeated piece of p characters makes *repeats* × p of them
        equal to those p places further on. The regular expression is run only around such runs.
        A piece of one character needs spaces after it.
        """
        places = np.flatnonzero(side.codes != _SPACE)
        runs = _Runs(side.codes[places])
        found = np.zeros(len(side), dtype=bool)
        least = 1 if " " * (self.shortest - 1) in side.text else 2
        for lag in range(least, min(self.longest, len(places) // 2) + 1):
            reach = (self.repeats + 1) * lag
            for place in runs.at(lag, self.repeats * lag).tolist():
                sentence = np.searchsorted(side.ends, places[place])
                if not found[sentence] and runs.confirms(place, lag, self.repeats * lag):
                    first = max(places[max(place - reach, 0)], side.starts[sentence])
                    last = min(places[min(place + reach + 1, len(places) - 1)], side.ends[sentence])
                    found[sentence] = self.fault(side.text[first:last]) is not None
        return found


_LONGEST_PHRASE = 30
"""Words of the longest phrase that ``repeated-words`` finds."""


@dataclass(frozen=True)
class RepeatedWords(SideFault):
    """No phrase of ``shortest`` words or more stands twice in a row; case is ignored.

    Punctuation belongs to its word: "no, no, no, no" is a repetition, "I do, I do" is not.
    Phrases have at most 30 words. Languages without spaces need the rule ``repetition``.
    """

    name = "repeated-words"
    unit = "the repeated phrase"
    origin = "Bicleaner no_repeated_words (there: any seven characters, spaces and all)"

    shortest: int = setting(2, within=f">= 1, <= {_LONGEST_PHRASE}")

    def suspects(self, side: BatchSide) -> Mask:
        """Select sentences with a repeated run of word sketches (see ``BatchSide.sketches``)."""
        runs = _Runs(side.sketches(side.word_starts, side.word_ends))
        found = [runs.at(lag, lag) for lag in self._lags(len(side.word_lengths))]
        words = np.concatenate([np.zeros(0, dtype=np.int64), *found])
        return side.holding(side.word_starts[words])

    def fault(self, sentence: str) -> str | None:
        words = sentence.split()
        lower = [word.lower() for word in words]
        for lag in self._lags(len(words)):
            run = 0
            for end, (here, there) in enumerate(zip(lower, lower[lag:], strict=False), 1):
                run = run + 1 if here == there else 0
                if run == lag:
                    return " ".join(words[end - lag : end])
        return None

    def _lags(self, words: int) -> range:
        return range(self.shortest, min(_LONGEST_PHRASE, words // 2) + 1)
