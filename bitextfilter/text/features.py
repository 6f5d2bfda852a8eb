"""Features that sentence vectors blur: figures, names, punctuation, and the spelling of words.

Sentence vectors hardly separate 5 from 6, one name from another, or a whole sentence from its first
half. A word here is a run of letters; a word of a ``WordReader`` is a run of letters and digits, or
a punctuation mark.

A bigram, two neighbouring words, is more or less familiar. One that no text has, of two words that
many texts have, is a sign of a mistake: *a book books*, *until two years of activity*. The counts
of a training text are kept as four levels, in 2 bits each, in a table of buckets that bigrams are
hashed to.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Integers, Vectors
from bitextfilter.text.composition import normal_form
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.ragged import Ragged, RaggedStore, TokenTable

NEGATION_WORDS = frozenset(
    """
    not never no none nobody nothing neither nor without cannot nicht nie niemals nichts niemand
    kein keine keinen keinem keiner keines weder ohne pas jamais rien aucun aucune sans non nunca
    jamás não nem niet geen nooit inte aldrig ikke ej není nikdy bez не нет ни никогда без
    """.split()  # noqa: SIM905 - a list would be a page long
)
"""Negations of all languages together, in lower case. Trained classifiers depend on this set."""

NEGATION_PARTS = NEGATION_WORDS.union(
    ["t", "n", "hardly", "kaum", "nein", "nirgends", "nirgendwo", "ni"]
)
"""The same and more, where words are cut at apostrophes (don't: don ' t; n'est: n ' est)."""

_EDGE = 1 << 33
"""In place of the hash of a word, which is below 2³²: the start or the end of a sentence."""
_LEFT, _RIGHT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
"""Odd factors that spread the bits of a product: of the golden ratio, and a prime of xxHash."""
HIGHEST = 3
"""The level of the most frequent bigrams; 0 is that of rare and of unknown ones."""
_STEP = 4
"""Each level begins at so many times the occurrences of the one below,"""
_LEAST = 2
"""and level 1 at no fewer than these: of a training text's own, one is its own."""
_FULL = 1 / 4
"""The largest part of the buckets that are taken: level 1 begins at more occurrences if need be."""
IN_A_BYTE = 4
"""Levels in a byte."""


def bigrams(rows: Ragged, hashes: Integers) -> Ragged:
    """Return the bigrams of each sentence: one more than it has words, its edges counted as words.

    Args:
        rows: the words of each sentence, as places in *hashes*.
        hashes: of each word in lower case, ``(u,)``, from 0 to 2³² - 1.

    Returns:
        Keys from 0 to 2⁶³ - 1; different for different bigrams, but for one in 2⁶³.
    """
    ends = rows.lengths + 1
    left = np.full(int(ends.sum()), _EDGE, dtype=np.uint64)
    right = left.copy()
    places = np.arange(len(rows.flat)) + np.repeat(np.arange(len(rows)), rows.lengths)
    words = hashes[rows.flat].astype(np.uint64)
    left[places + 1] = words
    right[places] = words
    mixed = (left * _LEFT) ^ (right * _RIGHT)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * _LEFT
    return Ragged((mixed >> np.uint64(1)).astype(np.int64), ends)


def bytes_of(buckets: int) -> int:
    """Return the length of a table of so many buckets."""
    return -(-buckets // IN_A_BYTE)


def level_table(keys: Integers, buckets: int) -> NDArray[np.uint8]:
    """Count bigrams, and return the levels of *buckets*, packed: ``(bytes_of(buckets),)``.

    Bigrams that share a bucket have the highest level of them all; those of level 0 take no bucket.

    Args:
        keys: of all bigrams of a text, each as often as it occurs.
        buckets: at least 1.
    """
    distinct, counts = np.unique(keys, return_counts=True)
    ranked = -np.sort(-counts)[int(buckets * _FULL) :]
    least = max(_LEAST, int(ranked[:1].sum()) + 1)
    bounds = [least * _STEP**level for level in range(HIGHEST)]
    levels = np.searchsorted(bounds, counts, side="right").astype(np.uint8)
    table = np.zeros(bytes_of(buckets) * IN_A_BYTE, dtype=np.uint8)
    np.maximum.at(table, distinct % buckets, levels)
    parts = (table[place::IN_A_BYTE] << (2 * place) for place in range(IN_A_BYTE))
    packed: NDArray[np.uint8] = np.bitwise_or.reduce(np.stack(list(parts)), axis=0)
    return packed


_MARKS = [",", ".", ";", ":", "?", "!", "([{", ")]}", "<", ">", "/\\", "|", "%", "&", "$€£", "@"]
_MARKS += ["#*=_~^", "-–—", '"„“”«»', "'‘’", "…", "•·", "©®™", "ÃÂâ"]
"""Punctuation marks and symbols by kind; the last are frequent letters of mojibake."""
_ENDS = [".", "?", "!", ":", ",;", ")]}>", "\"“”«»'’", "…"]
_FIGURE = re.compile(r"\d+(?:[.,\u00a0\u202f' ]\d{3}(?!\d))*(?:[.,:]\d+)?")
_WORD = re.compile(r"[^\W\d_]+")

SURFACE = slice(0, 8 + len(_MARKS) + len(_ENDS) + 4)
"""Columns of counts, and of how the sentence starts and ends."""
FIGURE_BAG = slice(SURFACE.stop, SURFACE.stop + 64)
"""Columns of the hashed figures: the count of each bucket, at most 3."""
NAME_BAG = slice(FIGURE_BAG.stop, FIGURE_BAG.stop + 256)
"""Columns of the hashed words with a capital, but for the first word: 1 for each bucket hit."""
WORD_BAG = slice(NAME_BAG.stop, NAME_BAG.stop + 256)
"""Columns of all hashed words in lower case; a word has the same bucket here and in NAME_BAG."""
SURFACE_WIDTH = WORD_BAG.stop
"""Features of a sentence."""

_MOST_FIGURES = 3


def surface_features(sentences: Sequence[str]) -> Vectors:
    """Return features of ``n`` sentences, float32 ``(n, SURFACE_WIDTH)``, each by itself.

    Logarithms of counts (characters, words, figures, capitals, negations, repeated word pairs,
    kinds of punctuation), the sentence's start and end, and hashed bags of its figures (without
    separators: 1,500 and 1.500 are the same), its words with capitals and all its words. All are
    multiples of 2**-12, from 0 to about 8.
    """
    texts = [_Text(normal_form(sentence)) for sentence in sentences]
    rows = np.zeros((len(texts), SURFACE_WIDTH), dtype=np.float32)
    for row, text in zip(rows, texts, strict=True):
        row[SURFACE] = (*text.counts(), *text.edges())
    rows[:, SURFACE] = np.round(rows[:, SURFACE] * 4096) / 4096
    rows[:, FIGURE_BAG] = _bags([text.figures for text in texts], FIGURE_BAG, _MOST_FIGURES)
    rows[:, NAME_BAG] = _bags([text.names for text in texts], NAME_BAG, 1)
    rows[:, WORD_BAG] = _bags([text.words for text in texts], WORD_BAG, 1)
    return rows


class _Text:
    """The words, names and figures of a sentence."""

    def __init__(self, text: str) -> None:
        self.text = text
        words = _WORD.findall(text)
        self.words = [word.lower() for word in words]
        pairs = zip(words[1:], self.words[1:], strict=True)
        self.names = [lower for word, lower in pairs if word[0] != lower[0]]
        self.figures = [re.sub(r"\D", "", figure) for figure in _FIGURE.findall(text)]

    def counts(self) -> list[float]:
        """Return log(1 + count) of characters, words, figures, names, negations, repeats, marks."""
        text, words = self.text, self.words
        counts = [
            len(text) / 4,
            len(words),
            len(self.figures),
            len(self.names),
            sum(word in NEGATION_WORDS for word in words) + text.count("n't") + text.count("n’t"),
            max(0, len(words) - 1) - len(set(pairwise(words))),
            len(words) - len(set(words)),
            sum(map(len, words)) / max(1, len(words)),
            *[sum(map(text.count, marks)) for marks in _MARKS],
        ]
        return [math.log1p(count) for count in counts]

    def edges(self) -> list[float]:
        """Return flags of the end and the start, each 0 or 2."""
        start, end = self.text[:1], self.text[-1:]
        ends = [bool(end) and end in marks for marks in _ENDS]
        flags = [*ends, start.isupper(), start.islower(), start.isdigit(), end.isalnum()]
        return [2.0 * flag for flag in flags]


def _bags(items: Sequence[Sequence[str]], columns: slice, most: int) -> Integers:
    """Count the items of each text by hash, up to *most* → ``(n, buckets)``."""
    buckets = columns.stop - columns.start
    rows = np.repeat(np.arange(len(items)), [len(some) for some in items])
    hashes = np.array([_hash(item) for some in items for item in some], dtype=np.int64)
    counts = np.bincount(rows * buckets + hashes % buckets, minlength=len(items) * buckets)
    return np.minimum(counts.reshape(-1, buckets), most)


@functools.lru_cache(maxsize=1 << 16)
def _hash(item: str) -> int:
    return crc32(item.encode("utf-8", "surrogatepass"))


_NORMALISATION = Normalisation(lowercase=False, apart=True)
_FIGURES, _CAPITAL, _ALL_CAPITALS, _MARK, _NOT_ASCII, _NEGATION, RARITY = range(1, 8)
"""Columns of a word's features. The first, 0, is its length; the rarity, 0 to 1, is left to those
who know frequencies: it is 0 here."""
WORD_FLAGS = slice(_FIGURES, RARITY + 1)
"""The columns of flags, 0 or 1, and of the rarity."""
_FIRST_MARK = RARITY + 1
WORD_FEATURES = _FIRST_MARK + len(_MARKS)
"""Features of a word: length, flags, rarity, and the kinds of marks in it."""

_MARK_SETS = [frozenset(marks) for marks in _MARKS]


@dataclass(frozen=True)
class Spelling:
    """The spelling of ``u`` words."""

    features: Vectors
    """``(u, WORD_FEATURES)``, from 0 to about 3."""
    letters: Integers
    """``(u,)``: equal for words that are equal in lower case, and else different."""
    figures: Integers
    """``(u,)``: equal for words of the same digits, 0 for those without any."""
    hashes: Integers
    """``(u,)``: of the word in lower case, below 2³²; the same in every run, unlike ``letters``."""

    def take(self, places: Integers) -> Spelling:
        """Return the spelling of the words at some places."""
        figures, hashes = self.figures[places], self.hashes[places]
        return Spelling(self.features[places], self.letters[places], figures, hashes)


MOST_WORDS = 1024
"""Words of a sentence that are read."""
_MOST_CHARACTERS = 32 * MOST_WORDS
"""Characters of a sentence that are read."""


def _beginning(sentence: str) -> str:
    """Return the part of a sentence that is read, so that a long one costs no more."""
    if len(sentence) <= MOST_WORDS:
        return sentence
    left, kept = MOST_WORDS, []
    for token in sentence[:_MOST_CHARACTERS].split():
        words = _NORMALISATION(token, "").split()
        if len(words) >= left:
            kept.append(token if len(words) == left else " ".join(words[:left]))
            break
        kept.append(token)
        left -= len(words)
    return " ".join(kept)


Flags = NDArray[np.float32]
"""Numbers that are 0 or 1."""

Cut = Callable[[str], Sequence[str]]
"""Returns the parts of a word, at least one; none with white space."""


class WordReader:
    """Reads the first words of sentences, numbered in order of appearance; each token once."""

    def __init__(self, cut: Cut | None = None) -> None:
        """Begin with the empty word, number 0: it is the only word of a blank sentence.

        *cut* divides words further.
        """
        self._cut = cut
        self.characters = 0
        """Characters of the tokens kept in memory."""
        self._table = TokenTable()
        self.words = self._table.read([]).new
        """The distinct words so far."""
        self._forget_tokens()

    def _forget_tokens(self) -> None:
        self._tokens = TokenTable()
        self._parts = RaggedStore(Ragged.of_lists([]))
        """Of each token, twice the numbers of its words, and 1 more for the first of them."""

    def read(self, sentences: Sequence[str]) -> tuple[Ragged, Flags]:
        """Return the numbers of the words of each sentence; no more than ``MOST_WORDS``.

        And for each of them, 1 if it stands at the beginning of the sentence or after a space:
        ``(sum of lengths,)``.
        """
        if max(map(len, sentences), default=0) > MOST_WORDS:
            sentences = list(map(_beginning, sentences))
        try:
            window = self._tokens.read(sentences)
            if window.new:
                self._parts.append(self._read(window.new))
        except BaseException:  # the tables have tokens without words
            self._forget_tokens()
            self._table = TokenTable()
            self._table.read(self.words)
            raise
        self.characters += sum(map(len, window.new))
        read = self._parts.take(window.numbers[window.rows.flat])
        both = read.merged(window.rows.lengths).filled(0).first(MOST_WORDS)
        return Ragged(both.flat >> 1, both.lengths), (both.flat & 1).astype(np.float32)

    def _read(self, tokens: list[str]) -> Ragged:
        """Return the parts of tokens, and add their words to those known."""
        texts = _NORMALISATION.each(tokens, "")
        if cut := self._cut:
            texts = [
                " ".join(part for word in text.split() for part in cut(word)) for text in texts
            ]
        words = self._table.read(texts)
        self.words += words.new
        parts = Ragged(2 * words.numbers[words.rows.flat].astype(np.int32), words.rows.lengths)
        parts.flat[parts.starts[parts.lengths > 0]] += 1
        return parts


def spellings(words: Sequence[str]) -> Spelling:
    """Return the spelling of each of the words."""
    lower = [word.lower() for word in words]
    features = np.zeros((len(words), WORD_FEATURES), dtype=np.float32)
    features[:, 0] = np.log1p(np.fromiter(map(len, words), np.float64, len(words)))
    flags = [_flags(*both) for both in zip(words, lower, strict=True)]
    rows = np.repeat(np.arange(len(words)), [len(some) for some in flags])
    features[rows, [flag for some in flags for flag in some]] = 1
    figures = ("" if word.isalpha() else "".join(filter(str.isdigit, word)) for word in words)
    return Spelling(
        features,
        np.fromiter(map(hash, lower), np.int64, len(words)),
        np.fromiter((hash(some) if some else 0 for some in figures), np.int64, len(words)),
        np.fromiter(map(_hash, lower), np.int64, len(words)),
    )


_NEGATED = (_NEGATION,)


def _flags(word: str, lower: str) -> Sequence[int]:
    """Return the columns of a word's features that are 1."""
    if word == lower and word.isascii() and word.isalpha():  # as most words are
        return _NEGATED if lower in NEGATION_PARTS else ()
    found = [_NEGATION] if lower in NEGATION_PARTS else []
    if word != lower and word[0].isupper():
        found.append(_CAPITAL)
        if len(word) > 1 and word.isupper():
            found.append(_ALL_CAPITALS)
    if not word.isascii():
        found.append(_NOT_ASCII)
    elif word.isalpha():
        return found
    if any(map(str.isdigit, word)):
        found.append(_FIGURES)
    if not any(map(str.isalnum, word)):
        found.append(_MARK)
    kinds = enumerate(_MARK_SETS, _FIRST_MARK)
    return [*found, *(column for column, marks in kinds if not marks.isdisjoint(word))]


def repeats(rows: Ragged, letters: Integers) -> Vectors:
    """Mark every word that occurred before in its sentence, in lower case.

    Args:
        rows: the words of each sentence, as places in *letters*.
        letters: as in :class:`Spelling`.

    Returns:
        float32 ``(sum of lengths, 2)``: 1 where the word, and where it with the word before it,
        occurred before.
    """
    sentences = np.repeat(np.arange(len(rows)), rows.lengths)
    word = np.unique(letters, return_inverse=True)[1][rows.flat]
    before = np.concatenate([[-1], word[:-1]])
    before[rows.starts[rows.lengths > 0]] = -1
    pair = np.unique(before * (len(letters) + 1) + word, return_inverse=True)[1]
    again = np.ones((len(word), 2), dtype=np.float32)
    for column, numbers in enumerate((word, pair)):
        keys = sentences * (len(word) + 1) + numbers
        again[np.unique(keys, return_index=True)[1], column] = 0
    return again
