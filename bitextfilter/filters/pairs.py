"""A batch of pairs as arrays, made when a rule first asks for them."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Integers, Mask
from bitextfilter.text import characters

_SPREAD = np.uint32(0x9E3779B1)
"""An odd number with its bits well spread (2**32 over the golden ratio)."""
_UTF32 = f"utf-32-{sys.byteorder[0]}e"


class Side:
    """The sentences of one side of a batch; n sentences of ``total`` characters in all.

    In the arrays over characters, one ``\\n`` follows each sentence.
    """

    def __init__(self, sentences: Sequence[str], language: str | None = None) -> None:
        """Hold *sentences*, without line ends in them, of *language* if it is known."""
        self.sentences = sentences
        self.language = language
        self._masks: dict[tuple[str, ...], Mask] = {}

    def __len__(self) -> int:
        """Return n."""
        return len(self.sentences)

    @functools.cached_property
    def text(self) -> str:
        """All sentences, ``total`` characters."""
        return "".join([sentence + "\n" for sentence in self.sentences])

    @functools.cached_property
    def codes(self) -> NDArray[np.uint32]:
        """The code points, shape ``(total,)``."""
        return np.frombuffer(self.text.encode(_UTF32, "surrogatepass"), dtype=np.uint32)

    @functools.cached_property
    def lengths(self) -> Integers:
        """Characters of each sentence, shape ``(n,)``."""
        return np.fromiter(map(len, self.sentences), dtype=np.int64, count=len(self))

    @functools.cached_property
    def byte_lengths(self) -> Integers:
        """UTF-8 bytes of each sentence, shape ``(n,)``."""
        sizes = (len(sentence.encode("utf-8", "surrogatepass")) for sentence in self.sentences)
        return np.fromiter(sizes, dtype=np.int64, count=len(self))

    @functools.cached_property
    def ends(self) -> Integers:
        """Where in ``codes`` each sentence ends (at its ``\\n``), shape ``(n,)``."""
        return np.cumsum(self.lengths + 1) - 1

    @functools.cached_property
    def starts(self) -> Integers:
        """Where in ``codes`` each sentence starts, shape ``(n,)``."""
        return self.ends - self.lengths

    def count(self, mask: Mask) -> Integers:
        """Count the true characters of each sentence: ``(total,)`` to ``(n,)``."""
        places = np.flatnonzero(mask)
        return np.searchsorted(places, self.ends) - np.searchsorted(places, self.starts)

    def holding(self, places: Integers) -> Mask:
        """Say which sentences hold one of these *places* in ``codes``, shape ``(n,)``."""
        found = np.zeros(len(self), dtype=bool)
        found[np.searchsorted(self.ends, places)] = True
        return found

    def containing(self, literal: str) -> Mask:
        """Say which sentences contain *literal*, some text without a line end, ``(n,)``."""
        places, place = [], self.text.find(literal)
        while place >= 0:
            places.append(place)
            place = self.text.find(literal, place + 1)
        return self.holding(np.array(places, dtype=np.int64))

    def category_in(self, *categories: str) -> Mask:
        """Say which characters are of these general categories (or start so), ``(total,)``."""
        return self._looked_up(categories, lambda: characters.in_category(*categories))

    def script_in(self, *scripts: str) -> Mask:
        """Say which characters are of these Unicode scripts, ``(total,)``."""
        return self._looked_up(("script", *scripts), lambda: characters.in_script(*scripts))

    @functools.cached_property
    def letter_runs(self) -> tuple[Integers, Integers]:
        """Where in ``codes`` runs of alphabetic characters start and end, ``(runs,)`` each."""
        return _runs(self.alphabetic)

    @functools.cached_property
    def spaces(self) -> Mask:
        """Which characters are white space (the ``\\n`` after each sentence too), ``(total,)``."""
        return characters.is_space()[self.codes]

    @functools.cached_property
    def alphabetic(self) -> Mask:
        """Which characters are alphabetic, ``(total,)``."""
        return characters.is_alphabetic()[self.codes]

    @functools.cached_property
    def _bounds(self) -> tuple[Integers, Integers]:
        """Where white-space separated words start and end."""
        return _runs(np.logical_not(self.spaces))

    @property
    def word_starts(self) -> Integers:
        """Where in ``codes`` each word starts, shape ``(words,)``; a word has no white space."""
        return self._bounds[0]

    @property
    def word_ends(self) -> Integers:
        """Where in ``codes`` each word ends, shape ``(words,)``."""
        return self._bounds[1]

    @functools.cached_property
    def word_lengths(self) -> Integers:
        """Characters of each word, shape ``(words,)``."""
        return self.word_ends - self.word_starts

    @functools.cached_property
    def _first_words(self) -> Integers:
        """The index of each sentence's first word, and the number of words: ``(n + 1,)``."""
        return np.append(np.searchsorted(self.word_starts, self.starts), len(self.word_starts))

    @functools.cached_property
    def word_counts(self) -> Integers:
        """Words of each sentence, shape ``(n,)``."""
        return np.diff(self._first_words)

    @functools.cached_property
    def word_sentence(self) -> Integers:
        """The index of the sentence that each word stands in, shape ``(words,)``."""
        return np.repeat(np.arange(len(self)), self.word_counts)

    @functools.cached_property
    def spaced(self) -> Side:
        """The same text with spaces for the characters of scripts that are written without them."""
        unspaced = self.script_in(*characters.UNSPACED)
        if not unspaced.any():
            return self
        side = Side(self.sentences, self.language)
        side.codes = np.where(unspaced, np.uint32(0x20), self.codes)
        return side

    @functools.cached_property
    def token_counts(self) -> NDArray[np.float64]:
        """Words of each sentence, ``(n,)``; two characters without spaces count as a word."""
        if self.spaced is self:
            return self.word_counts.astype(np.float64)
        unspaced = self.count(self.script_in(*characters.UNSPACED))
        return self.spaced.word_counts + unspaced / 2

    def longest_words(self) -> Integers:
        """Return the characters of the longest word of each sentence, ``(n,)``; 0 for none."""
        longest = np.zeros(len(self), dtype=np.int64)
        full = self.word_counts > 0
        if full.any():
            firsts = self._first_words[:-1][full]
            longest[full] = np.maximum.reduceat(self.word_lengths, firsts)
        return longest

    def sketches(self, first: Integers, last: Integers) -> NDArray[np.uint32]:
        """Return a number for each piece of ``codes`` that is the same whatever its case.

        Pieces get the same number if they have the same length, and the same letters in the first
        two places, the middle and the last; hardly others do. Shape ``(pieces,)``.
        """
        lower = characters.lower_case()
        sketches = (last - first).astype(np.uint32)
        for place in (first, np.minimum(first + 1, last - 1), (first + last) // 2, last - 1):
            sketches = sketches * _SPREAD + lower[self.codes[place]]
        return sketches

    @functools.cached_property
    def tokens(self) -> list[list[str]]:
        """The words of each sentence."""
        return [sentence.split() for sentence in self.sentences]

    def _looked_up(self, key: tuple[str, ...], table: Callable[[], Mask]) -> Mask:
        if key not in self._masks:
            self._masks[key] = table()[self.codes]
        return self._masks[key]


def _runs(mask: Mask) -> tuple[Integers, Integers]:
    """Return where runs of true places start and end; the last place is false."""
    inside = np.empty(len(mask) + 1, dtype=bool)
    inside[0] = False
    inside[1:] = mask
    changes = np.flatnonzero(inside[1:] != inside[:-1])
    return changes[::2], changes[1::2]


class Pairs:
    """A batch of n sentence pairs, and the numbers in their other columns."""

    def __init__(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        languages: tuple[str, str] | None = None,
        column: Callable[[str], NDArray[np.float64]] | None = None,
    ) -> None:
        """Hold the two sides.

        Args:
            sources: n sentences.
            targets: their n partners.
            languages: of the two sides (ISO 639-1), if they are known.
            column: gives the numbers of a column by its name, shape ``(n,)``; NaN for no number.
        """
        one, other = languages or (None, None)
        self.source, self.target = Side(sources, one), Side(targets, other)
        self.languages = languages
        self._column = column

    def __len__(self) -> int:
        """Return n."""
        return len(self.source)

    @property
    def sides(self) -> tuple[Side, Side]:
        """Source and target."""
        return self.source, self.target

    def at(self, places: Integers) -> Pairs:
        """Return the pairs at these places, shape ``(m,)``."""
        chosen = places.tolist()
        sources, targets = ([side.sentences[i] for i in chosen] for side in self.sides)
        column = self._column and (lambda name: self.column(name)[places])
        return Pairs(sources, targets, self.languages, column)

    def column(self, name: str) -> NDArray[np.float64]:
        """Return the numbers of the column called *name*, shape ``(n,)``; NaN for no number."""
        if self._column is None:
            return np.full(len(self), np.nan)
        return self._column(name)
