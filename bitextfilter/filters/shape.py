"""Rules of what a line looks like: nothing in it, the same twice, a title, letters set apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import regex
from numpy.typing import NDArray

from bitextfilter.arrays import Mask
from bitextfilter.filters.pairs import Pairs, Side
from bitextfilter.filters.rule import Bounded, Languages, PairFault, SideFault


@dataclass(frozen=True)
class Empty(SideFault):
    """Each side holds something to see: no side is all spaces and invisible characters."""

    name = "empty"
    unit = "none"
    origin = "Bicleaner no_empty (there: no character at all)"

    def suspects(self, side: Side) -> Mask:
        """Look for any letter, mark, number, punctuation or symbol."""
        empty: Mask = side.count(side.category_in("L", "M", "N", "P", "S")) == 0
        return empty

    def fault(self, sentence: str, language: str | None) -> str | None:
        """A suspect has the fault."""
        return ""


@dataclass(frozen=True)
class Identical(PairFault):
    """The sides have not the same letters and digits, whatever their case and all else.

    Pairs with a side of fewer than ``words`` words pass. Sides with neither letters nor digits are
    held against each other as they are.
    """

    name = "identical"
    unit = "none"
    origin = "Bicleaner no_identical (there: letters alone)"

    words: int = 1

    def suspects(self, pairs: Pairs) -> Mask:
        """Sides of the same letters have as many of them."""
        counts = [side.count(side.category_in("L", "N")) for side in pairs.sides]
        suspects: Mask = counts[0] == counts[1]
        for side in pairs.sides:
            suspects &= side.word_counts >= self.words
        return suspects

    def fault(self, source: str, target: str, languages: Languages) -> str | None:
        """Compare the letters and digits."""
        one, other = (_APART.sub("", text).lower() for text in (source, target))
        same = one == other if one or other else source == target
        return "" if same else None


_APART = regex.compile(r"[^\p{L}\p{N}]+")


@dataclass(frozen=True)
class Titles(PairFault):
    """The sides are not both headings with a capital at the start of every word.

    Sides with fewer than ``words`` words that start with a letter pass, and so do words without a
    letter. German headings have small words: such pairs are dropped only where both sides agree.
    """

    name = "titles"
    unit = "none"
    origin = "Bicleaner no_titles (on there by default)"

    words: int = 2

    def suspects(self, pairs: Pairs) -> Mask:
        """Count words by their first letter."""
        suspects = np.ones(len(pairs), dtype=bool)
        for side in pairs.sides:
            upper, lower = (
                np.bincount(side.word_sentence[mask[side.word_starts]], minlength=len(side))
                for mask in (side.category_in("Lu", "Lt"), side.category_in("Ll", "Lo", "Lm"))
            )
            suspects &= (upper >= self.words) & (lower == 0)
        return suspects

    def fault(self, source: str, target: str, languages: Languages) -> str | None:
        """A suspect has the fault."""
        return ""


@dataclass(frozen=True)
class GluedWords(PairFault):
    """Few words of a side are run together with the next (``wordsRun``), and not on the other.

    The value is the number of words with a capital after a small letter, or after a full stop and
    no space, that the other side has not: McDonald and YouTube, which it has, do not count.
    """

    name = "glued-words"
    unit = "words, 0 and up, of the worse side"
    origin = "Bicleaner no_glued_words (there: McDonald and YouTube count)"

    maximum: int = 1

    def suspects(self, pairs: Pairs) -> Mask:
        """Look only where small letters and capitals meet more often than is allowed."""
        source, target = (self._joints(side) > self.maximum for side in pairs.sides)
        return source | target

    @staticmethod
    def _joints(side: Side) -> NDArray[np.int64]:
        capitals = np.flatnonzero(side.category_in("Lu"))
        small = side.category_in("Ll")
        stop = np.isin(side.codes[capitals - 1], [ord(sign) for sign in ".!?"])
        joints = capitals[small[capitals - 1] | (stop & small[capitals - 2])]
        return np.bincount(np.searchsorted(side.ends, joints), minlength=len(side))

    def fault(self, source: str, target: str, languages: Languages) -> str | None:
        """Return the first of the words that are run together on one side alone."""
        for text, other in ((source, target), (target, source)):
            glued = [word for word in _GLUED.findall(text) if word not in other]
            if len(glued) > self.maximum:
                return f"{len(glued)}>{self.maximum}:{glued[0]}"
        return None


_GLUED = regex.compile(r"[\p{L}\p{N}]*(?:\p{Ll}|\p{Ll}{2}[.!?](?=\p{Lu}\p{Ll}))\p{Lu}[\p{L}\p{N}]*")


@dataclass(frozen=True)
class SpaceNoise(Bounded):
    """Words are not written with a space after each letter, as in ``w o r d``.

    The value is the greatest number of words in a row that are one letter of an alphabet with
    capitals.
    """

    name = "space-noise"
    unit = "words in a row of each side, 0 and up"
    origin = "Bicleaner no_space_noise (there: any four signs but digits)"

    maximum: float | None = 3

    def values(self, pairs: Pairs) -> NDArray[np.int64]:
        """Return the lengths of the longest rows."""
        return np.stack([_longest_row(side) for side in pairs.sides], axis=1)


def _longest_row(side: Side) -> NDArray[np.int64]:
    """Return the number of words in each sentence's longest row of single letters."""
    cased = side.category_in("Lu", "Ll")
    single = np.flatnonzero((side.word_lengths == 1) & cased[side.word_starts])
    sentence = side.word_sentence[single]
    new = np.ones(len(single), dtype=bool)
    new[1:] = (np.diff(single) > 1) | (np.diff(sentence) > 0)
    first = np.flatnonzero(new)
    longest = np.zeros(len(side), dtype=np.int64)
    np.maximum.at(longest, sentence[first], np.diff(np.append(first, len(single))))
    return longest


@dataclass(frozen=True)
class ScriptInconsistencies(Bounded):
    """No word mixes letters that look alike: Latin, Cyrillic and Greek ones.

    A word is a run of letters here, and one Greek letter goes with Latin ones (μm, ΔE). Whole
    words of another script are for the rule ``script``.
    """

    name = "script-inconsistencies"
    unit = "words of mixed scripts of each side, 0 and up"
    origin = "Bicleaner no_script_inconsistencies (there: letters of two scripts in a sentence)"

    maximum: float | None = 0

    def values(self, pairs: Pairs) -> NDArray[np.int64]:
        """Return the numbers of such words."""
        return np.stack([_mixed(side) for side in pairs.sides], axis=1)


def _mixed(side: Side) -> NDArray[np.int64]:
    """Return how many runs of letters in each sentence are of several scripts."""
    first, last = side.letter_runs
    strange = np.flatnonzero(side.script_in("Cyrillic", "Greek"))
    some = np.unique(np.searchsorted(last, strange, side="right"))
    first, last = first[some], last[some]
    scripts = np.zeros(len(some), dtype=np.int64)
    for script, least in (("Latin", 1), ("Cyrillic", 1), ("Greek", 2)):
        places = np.flatnonzero(side.script_in(script))
        scripts += np.searchsorted(places, last) - np.searchsorted(places, first) >= least
    return np.bincount(np.searchsorted(side.ends, first[scripts > 1]), minlength=len(side))
