"""Batches of pairs as arrays, computed when a rule first needs them."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Integers, Mask
from bitextfilter.filters import facts
from bitextfilter.filters.facts import SPREAD, FactReader, Facts, LikeWords, Sort, holds
from bitextfilter.io.columns import Utf8, Utf8Texts, utf8_of
from bitextfilter.io.rows import SIDES
from bitextfilter.languages import any_language
from bitextfilter.text import characters

_SYLLABLES = ("Han", "Hiragana", "Katakana", "Bopomofo", "Yi")
"""Scripts, written without spaces, of which a character is worth two letters or more."""

_UTF32 = f"utf-32-{sys.byteorder[0]}e"


class BatchSide:
    """One side of a batch: n sentences.

    Arrays over characters have ``total`` items: a ``\\n`` follows each sentence. Facts of a sort
    of characters, of shape ``(n,)``, come from *reader*, if there is one and it knows the sort.
    """

    reader: FactReader | None = None

    def __init__(self, sentences: Sequence[str], language: str | None = None) -> None:
        """Take *sentences* without line ends, and their *language*, as ``en``, if it is known."""
        self.sentences = sentences
        self.language = None if language is None else any_language(language)
        self._masks: dict[str | int, tuple[Sort, Mask]] = {}

    def __len__(self) -> int:
        """Return n."""
        return len(self.sentences)

    @property
    def _tag(self) -> str | None:
        return self.language and self.language.tag

    def at(self, places: Integers) -> BatchSide:
        """Return the sentences at these places, ascending, shape ``(m,)``."""
        side = BatchSide(_chosen(self.sentences, places), self._tag)
        side.reader = self.reader
        if "_facts" in vars(self) and self._facts is not None:
            side._facts = self._facts.at(places)
        return side

    @functools.cached_property
    def text(self) -> str:
        """All sentences, ``total`` characters."""
        return "".join([sentence + "\n" for sentence in self.sentences])

    @functools.cached_property
    def codes(self) -> NDArray[np.uint32]:
        """The code points, shape ``(total,)``."""
        return np.frombuffer(self.text.encode(_UTF32, "surrogatepass"), dtype=np.uint32)

    @functools.cached_property
    def utf8(self) -> Utf8:
        """The sentences as bytes."""
        return utf8_of(self.sentences)

    @functools.cached_property
    def _facts(self) -> Facts | None:
        return self.reader.read(self.utf8) if self.reader else None

    @functools.cached_property
    def lengths(self) -> Integers:
        """Characters of each sentence, shape ``(n,)``."""
        if self._facts is not None:
            return self._facts.lengths
        return np.fromiter(map(len, self.sentences), dtype=np.int64, count=len(self))

    @functools.cached_property
    def ends(self) -> Integers:
        """Index in ``codes`` of the ``\\n`` after each sentence, shape ``(n,)``."""
        return np.cumsum(self.lengths + 1) - 1

    @functools.cached_property
    def starts(self) -> Integers:
        """Index in ``codes`` of the start of each sentence, shape ``(n,)``."""
        return self.ends - self.lengths

    def count(self, mask: Mask) -> Integers:
        """Count the true characters of each sentence: ``(total,)`` to ``(n,)``."""
        places = np.flatnonzero(mask)
        return np.searchsorted(places, self.ends) - np.searchsorted(places, self.starts)

    def counted(self, sort: Sort) -> Integers:
        """Count the characters of a sort in each sentence, shape ``(n,)``."""
        found = self._facts.count("characters", sort) if self._facts else None
        return self.count(self.mask_of(sort)) if found is None else found

    def words_holding(self, sort: Sort) -> Integers:
        """Count the words that have a character of a sort, shape ``(n,)``."""
        found = self._facts.count("words", sort) if self._facts else None
        if found is not None:
            return found
        places = np.flatnonzero(self.mask_of(sort))
        first, last = (np.searchsorted(places, ends) for ends in self._bounds)
        return np.bincount(self.word_sentence[last > first], minlength=len(self))

    def lone_words(self, sort: Sort) -> Integers:
        """Count the words that are a single character, of a sort, shape ``(n,)``."""
        found = self._facts.count("lone", sort) if self._facts else None
        if found is not None:
            return found
        single = self.word_lengths == 1
        sentences = self.word_sentence[single][self.mask_of(sort)[self.word_starts[single]]]
        return np.bincount(sentences, minlength=len(self))

    def meeting(self, first: Sort, second: Sort) -> Mask:
        """Return the sentences where a character of the one sort is just before one of the other.

        A ``\\n`` follows the last character of a sentence.
        """
        found = self._facts.meetings(first, second) if self._facts else None
        if found is not None:
            return found
        places = np.flatnonzero(self.mask_of(first)[: len(self.codes) - 1])
        met = places[holds(second, self.codes[places + 1])]
        ends = np.searchsorted(self.ends, met)
        found = np.zeros(len(self), dtype=bool)
        found[ends[self.ends[ends] > met]] = True
        return found

    def words_like(self, known: NDArray[np.uint32]) -> LikeWords:
        """Return the runs of letters with one of some *known* sketches, which ascend."""
        found = facts.sketched(self.utf8, known) if self.reader else None
        if found is not None:
            return found
        first, last = self.letter_runs
        sentences = np.searchsorted(self.ends, first)
        places = np.arange(len(first)) - np.searchsorted(first, self.starts)[sentences]
        return LikeWords.among(known, sentences, places, self.sketches(first, last))

    @property
    def longest_words(self) -> Integers:
        """Characters of the longest word, shape ``(n,)``, but those of scripts without spaces."""
        if self._facts is not None:
            return self._facts.longest
        words, longest = self.spaced, np.zeros(len(self), dtype=np.int64)
        np.maximum.at(longest, words.word_sentence, words.word_lengths)
        return longest

    def histogram(self, kinds: NDArray[np.int8], count: int) -> Integers:
        """Count the characters of each kind: ``(n, count)``.

        Args:
            kinds: a table that gives code points a kind, 0 to *count* - 1, or -1.
            count: number of kinds.
        """
        found = kinds[self.codes]
        places = np.flatnonzero(found >= 0)
        cells = np.searchsorted(self.ends, places) * count + found[places]
        return np.bincount(cells, minlength=len(self) * count).reshape(len(self), count)

    def holding(self, places: Integers) -> Mask:
        """Return the sentences that hold one of these *places* in ``codes``, shape ``(n,)``."""
        found = np.zeros(len(self), dtype=bool)
        found[np.searchsorted(self.ends, places)] = True
        return found

    def containing_any(self, literals: Iterable[str]) -> Mask:
        """Return the sentences that contain one of the *literals* (no white space), ``(n,)``."""
        data, starts, ends = self.utf8
        found = np.zeros(len(self), dtype=bool)
        if not len(self):
            return found
        after = [*starts[1:].tolist(), len(data), *starts[:1].tolist()]
        for literal in literals:
            sought = literal.encode("utf-8", "surrogatepass")
            place = data.find(sought)
            while place >= 0:
                index = int(np.searchsorted(starts, place, side="right")) - 1
                found[index] |= index >= 0 and place + len(sought) <= ends[index]
                place = data.find(sought, after[index])
        return found

    def category_in(self, *categories: str) -> Mask:
        """Return the characters of these general categories or their prefixes, ``(total,)``."""
        return self.mask_of(characters.in_category(*categories))

    def script_in(self, *scripts: str) -> Mask:
        """Return the characters of these Unicode scripts, ``(total,)``."""
        return self.mask_of(characters.in_script(*scripts))

    def mask_of(self, sort: Sort) -> Mask:
        """Return the characters of a sort, ``(total,)``."""
        key = sort if isinstance(sort, str) else id(sort)
        if key not in self._masks:
            self._masks[key] = sort, holds(sort, self.codes)
        return self._masks[key][1]

    @functools.cached_property
    def letter_runs(self) -> tuple[Integers, Integers]:
        """Starts and ends in ``codes`` of runs of alphabetic characters, ``(runs,)`` each."""
        return _runs(self.alphabetic)

    @functools.cached_property
    def alphabetic(self) -> Mask:
        """Alphabetic characters, ``(total,)``."""
        return self.mask_of(characters.is_alphabetic())

    @functools.cached_property
    def _bounds(self) -> tuple[Integers, Integers]:
        """Starts and ends of words between white space, as the ``\\n`` after each sentence."""
        return _runs(np.logical_not(self.mask_of(characters.is_space())))

    @property
    def word_starts(self) -> Integers:
        """Start in ``codes`` of each word, shape ``(words,)``; a word has no white space."""
        return self._bounds[0]

    @property
    def word_ends(self) -> Integers:
        """End in ``codes`` of each word, shape ``(words,)``."""
        return self._bounds[1]

    @functools.cached_property
    def word_lengths(self) -> Integers:
        """Characters of each word, shape ``(words,)``."""
        return self.word_ends - self.word_starts

    @functools.cached_property
    def word_counts(self) -> Integers:
        """Words of each sentence, shape ``(n,)``."""
        if self._facts is not None:
            return self._facts.word_counts
        firsts = np.searchsorted(self.word_starts, self.starts)
        return np.diff(firsts, append=len(self.word_starts))

    @functools.cached_property
    def word_sentence(self) -> Integers:
        """Index of the sentence of each word, shape ``(words,)``."""
        return np.repeat(np.arange(len(self)), self.word_counts)

    @property
    def spaced(self) -> BatchSide:
        """The text with spaces for characters of scripts written without spaces."""
        return self if self._apart is None else self._apart

    @functools.cached_property
    def _apart(self) -> BatchSide | None:
        """``spaced``, if it is another text; a side that holds itself would live on."""
        unspaced = self.script_in(*characters.UNSPACED)
        if not unspaced.any():
            return None
        side = BatchSide(self.sentences, self._tag)
        side.codes = np.where(unspaced, np.uint32(0x20), self.codes)
        return side

    @functools.cached_property
    def token_counts(self) -> Floats:
        """Words of each sentence, ``(n,)``; of unspaced scripts, some characters count as one.

        A sentence with such characters has one at least, and words without a letter or digit are
        not counted there: they are the punctuation between them.
        """
        words = self.word_counts.astype(np.float64)
        if not self._unspaced.any():
            return words
        unspaced = np.zeros(len(self))
        for size in sorted({*characters.UNSPACED.values()}):
            scripts = (name for name, own in characters.UNSPACED.items() if own == size)
            unspaced += self.counted(characters.in_script(*scripts)) / size
        letters = characters.in_category("L", "N")
        others = self._facts.count("spaced words", letters) if self._facts else None
        if others is None:
            others = self.spaced.words_holding(letters)
        return np.where(unspaced > 0, np.maximum(1, others + unspaced), words)

    @property
    def letter_tokens(self) -> Floats:
        """Tokens of each sentence, as in ``token_counts``, that hold a letter, ``(n,)``."""
        words = self.words_holding(characters.in_category("L"))
        return np.where(self._unspaced > 0, self.token_counts, words)

    @property
    def letter_lengths(self) -> Integers:
        """Characters but white space, each as the letters of an alphabet it is worth, ``(n,)``.

        In translations, an English letter has .3 Chinese characters, and .5 kana, Korean and Yi
        syllables; of other scripts .6 to 1.4 (the Declaration of Human Rights, newstest2021).
        """
        found = self.lengths - self.counted(characters.is_space())
        found = found + self.counted(characters.in_script("Hangul"))
        if self._unspaced.any():
            found = found + self.counted(characters.in_script(*_SYLLABLES))
            found = found + self.counted(characters.in_script("Han"))
        return found

    @property
    def _unspaced(self) -> Integers:
        """Characters of scripts written without spaces, shape ``(n,)``."""
        if self._facts is not None:
            return self._facts.unspaced
        return self.count(self.script_in(*characters.UNSPACED))

    def sketches(self, first: Integers, last: Integers) -> NDArray[np.uint32]:
        """Return a hash of each piece of ``codes``, the same in any case, shape ``(pieces,)``.

        It covers the length, the first two characters, the middle and the last one.
        """
        lower = characters.lower_case()
        sketches = (last - first).astype(np.uint32)
        for place in (first, np.minimum(first + 1, last - 1), (first + last) // 2, last - 1):
            sketches = sketches * SPREAD + lower[self.codes[place]]
        return sketches


def _runs(mask: Mask) -> tuple[Integers, Integers]:
    """Return the starts and ends of runs of True; the last item is False."""
    inside = np.empty(len(mask) + 1, dtype=bool)
    inside[0] = False
    inside[1:] = mask
    changes = np.flatnonzero(inside[1:] != inside[:-1])
    return changes[::2], changes[1::2]


def _chosen(sentences: Sequence[str], places: Integers) -> Sequence[str]:
    if isinstance(sentences, Utf8Texts):
        return sentences.at(places)
    return [sentences[place] for place in places.tolist()]


class Pairs:
    """A batch of n sentence pairs, or of n texts of one side, with the numbers of other columns."""

    def __init__(
        self,
        sources: Sequence[str],
        targets: Sequence[str] | None,
        languages: tuple[str, ...] | None = None,
        column: Callable[[str], Floats] | None = None,
    ) -> None:
        """Take the sides.

        Args:
            sources: n sentences.
            targets: their n partners; None: there is one side.
            languages: of each side, in any spelling, if they are known.
            column: returns the numbers of a column by its name, ``(n,)``; NaN: no number.
        """
        texts = (sources,) if targets is None else (sources, targets)
        self.sides = tuple(map(BatchSide, texts, languages or (None,) * len(texts)))
        """Source and target, or the only side."""
        self.languages = languages and tuple(any_language(each).code for each in languages)
        """The codes of the sides, as ``zh`` of ``zh-Hans``."""
        self._tags, self._column = languages, column

    def __len__(self) -> int:
        """Return n."""
        return len(self.source)

    @property
    def source(self) -> BatchSide:
        """The first side."""
        return self.sides[0]

    @property
    def target(self) -> BatchSide:
        """The second side; texts of one side have none."""
        return self.sides[1]

    @property
    def side_names(self) -> tuple[str, ...]:
        """Names of the sides; the only side has an empty one."""
        return SIDES if len(self.sides) == len(SIDES) else ("",)

    def at(self, places: Integers) -> Pairs:
        """Return the pairs at these places, shape ``(m,)``."""
        column = self._column and (lambda name: self.column(name)[places])
        pairs = Pairs([], None if len(self.sides) == 1 else [], self._tags, column)
        pairs.sides = tuple(side.at(places) for side in self.sides)
        return pairs

    def column(self, name: str) -> Floats:
        """Return the numbers of the column *name*, shape ``(n,)``; NaN: no number."""
        if self._column is None:
            return np.full(len(self), np.nan)
        return self._column(name)
