"""Surface features of sentences and words that sentence vectors do not capture.

Vectors of meaning hardly tell 5 from 6, one name from another, or a whole sentence from its first
half. A description holds just that: a *look* (length, punctuation, capitals, negations), and bags
of figures, names and words as they are spelt, which ``similarity/surface.py`` compares.

Words are runs of letters and digits, in their own case; each punctuation mark is a word of its own.
"""

from __future__ import annotations

import functools
import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.ragged import Ragged, View, numbered

MARKS = [",", ".", ";", ":", "?", "!", "([{", ")]}", "<", ">", "/\\", "|", "%", "&", "$€£", "@"]
MARKS += ["#*=_~^", "-–—", '"„“”«»', "'‘’", "…", "•·", "©®™", "ÃÂâ"]
"""Punctuation marks and symbols by kind; the last are letters that mojibake is full of."""
_ENDS = [".", "?", "!", ":", ",;", ")]}>", "\"“”«»'’", "…"]
NEGATIONS = frozenset(
    """
    not never no none nobody nothing neither nor without cannot nicht nie niemals nichts niemand
    kein keine keinen keinem keiner keines weder ohne pas jamais rien aucun aucune sans non nunca
    jamás não nem niet geen nooit inte aldrig ikke ej není nikdy bez не нет ни никогда без
    """.split()  # noqa: SIM905 - a list would be a page long
)
_FIGURE = re.compile(r"\d+(?:[.,\u00a0\u202f' ]\d{3}(?!\d))*(?:[.,:]\d+)?")
_WORD = re.compile(r"[^\W\d_]+")

_COUNTS = 8 + len(MARKS)
_EDGES = len(_ENDS) + 4

LOOK = slice(0, _COUNTS + _EDGES)
"""Where a description has its look."""
FIGURES = slice(LOOK.stop, LOOK.stop + 64)
"""Where it has the bag of figures: how many fall into each bucket, at most 3."""
NAMES = slice(FIGURES.stop, FIGURES.stop + 256)
"""Where it has the bag of words with a capital, the first word aside: 1 for each bucket hit."""
WORDS = slice(NAMES.stop, NAMES.stop + 256)
"""Where it has the bag of all words in lower case; a word has one bucket here and in NAMES."""
WIDTH = WORDS.stop
"""Numbers in a description."""

_MOST = 3


def describe(sentences: Sequence[str]) -> NDArray[np.float32]:
    """Describe ``n`` sentences → float32 ``(n, WIDTH)``, each by itself.

    Logarithms of counts (characters, words, figures, capitals, negations, repeated word pairs,
    kinds of punctuation), what the sentence starts and ends with, and bags of its figures (without
    separators, so that 1,500 and 1.500 are the same), of its words with capitals and of all its
    words, each hashed into buckets. All are multiples of 2**-12, from 0 to about 8.
    """
    found = [_Found(unicodedata.normalize("NFC", sentence)) for sentence in sentences]
    rows = np.zeros((len(found), WIDTH), dtype=np.float32)
    for row, one in zip(rows, found, strict=True):
        row[LOOK] = (*_counts(one), *_edges(one.text))
    rows[:, LOOK] = np.round(rows[:, LOOK] * 4096) / 4096
    rows[:, FIGURES] = _bags([one.figures for one in found], FIGURES, _MOST)
    rows[:, NAMES] = _bags([one.names for one in found], NAMES, 1)
    rows[:, WORDS] = _bags([one.words for one in found], WORDS, 1)
    return rows


class _Found:
    """The words, names and figures of a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        words = _WORD.findall(text)
        self.words = [word.lower() for word in words]
        pairs = zip(words[1:], self.words[1:], strict=True)
        self.names = [lower for word, lower in pairs if word[0] != lower[0]]
        self.figures = [re.sub(r"\D", "", figure) for figure in _FIGURE.findall(text)]


def _counts(found: _Found) -> list[float]:
    """Return log(1 + count) of characters, words, figures, names, negations, repeats, marks."""
    text, words = found.text, found.words
    counts = [
        len(text) / 4,
        len(words),
        len(found.figures),
        len(found.names),
        sum(word in NEGATIONS for word in words) + text.count("n't") + text.count("n’t"),
        max(0, len(words) - 1) - len(set(pairwise(words))),
        len(words) - len(set(words)),
        sum(map(len, words)) / max(1, len(words)),
        *[sum(map(text.count, marks)) for marks in MARKS],
    ]
    return [math.log1p(count) for count in counts]


def _edges(text: str) -> list[float]:
    """Say how a text ends and starts: 2 for what is so."""
    start, end = text[:1], text[-1:]
    ends = [bool(end) and end in marks for marks in _ENDS]
    true = [*ends, start.isupper(), start.islower(), start.isdigit(), end.isalnum()]
    return [2.0 * value for value in true]


def _bags(items: Sequence[Sequence[str]], where: slice, most: int) -> NDArray[np.int64]:
    """Count the items of each text by hash, up to *most* → ``(n, buckets)``."""
    buckets = where.stop - where.start
    rows = np.repeat(np.arange(len(items)), [len(some) for some in items])
    hashes = np.array([_hash_item(item) for some in items for item in some], dtype=np.int64)
    counts = np.bincount(rows * buckets + hashes % buckets, minlength=len(items) * buckets)
    return np.minimum(counts.reshape(-1, buckets), most)


@functools.lru_cache(maxsize=1 << 16)
def _hash_item(item: str) -> int:
    return crc32(item.encode())


_NORMALISATION = Normalisation(lowercase=False, apart=True)
_TRAITS = 8
LOOKS = _TRAITS + len(MARKS)
"""Numbers that the look of a word has: traits, then what marks are in it."""
TRAITS = slice(1, _TRAITS)
"""Of these, those that are so, 1, or not, 0: it has figures, begins with a capital, is all
capitals, is a mark, has other letters than ASCII's, is a negation; and the rarity."""
RARITY = 7
"""The place of a word's rarity, from 0 to 1. Here it is 0: it is not the spelling that tells."""

_MARKS = [frozenset(marks) for marks in MARKS]
_NEGATIONS = NEGATIONS | {"t", "n", "hardly", "kaum", "nein", "nirgends", "nirgendwo", "ni"}
"""Some are parts of words here: don't is three words, and n'est, too."""


@dataclass(frozen=True)
class Spelling:
    """How ``u`` words are spelt."""

    looks: NDArray[np.float32]
    """``(u, LOOKS)``, from 0 to about 3: its length, figures, capitals, what marks are in it."""
    letters: NDArray[np.int64]
    """``(u,)``: equal for words that are equal in lower case, and else different."""
    figures: NDArray[np.int64]
    """``(u,)``: equal for words of the same digits, 0 for those without any."""
    hashes: NDArray[np.int64]
    """``(u,)``: below 2³², of the word in lower case; always the same, which letters are not."""

    def take(self, places: NDArray[np.int64]) -> Spelling:
        """Return how the words at some places are spelt."""
        figures, hashes = self.figures[places], self.hashes[places]
        return Spelling(self.looks[places], self.letters[places], figures, hashes)


class WordReader:
    """Reads sentences as words, and numbers the words in the order they come.

    What stands between white space is looked at once.
    """

    def __init__(self) -> None:
        """Begin with the empty word, number 0: it is the only word of a blank sentence."""
        self.words = [""]
        """The distinct words so far."""
        self.characters = 0
        """How many there are in what it remembers."""
        self._numbers = {"": 0}
        self._read: dict[str, list[int]] = {}

    def read(self, sentences: Sequence[str]) -> Ragged:
        """Return the numbers of the words of each sentence."""
        rows, between = numbered(sentences)
        read = self._read
        for text in between:
            if text not in read:
                read[text] = [self._number(word) for word in _NORMALISATION(text, "").split()]
                self.characters += len(text)
        parts = Ragged.of_lists([read[text] for text in between])
        return View(rows, parts).ids().filled(0)

    def _number(self, word: str) -> int:
        number = self._numbers.setdefault(word, len(self.words))
        if number == len(self.words):
            self.words.append(word)
        return number


def spellings(words: Sequence[str]) -> Spelling:
    """Return how each of the words is spelt."""
    lower = [word.lower() for word in words]
    looks = np.zeros((len(words), LOOKS), dtype=np.float32)
    looks[:, 0] = np.log1p(np.fromiter(map(len, words), np.float64, len(words)))
    traits = [_traits(*both) for both in zip(words, lower, strict=True)]
    rows = np.repeat(np.arange(len(words)), [len(some) for some in traits])
    looks[rows, [trait for some in traits for trait in some]] = 1
    figures = ("" if word.isalpha() else "".join(filter(str.isdigit, word)) for word in words)
    return Spelling(
        looks,
        np.fromiter(map(hash, lower), np.int64, len(words)),
        np.fromiter((hash(some) if some else 0 for some in figures), np.int64, len(words)),
        np.fromiter(map(_hash_word, lower), np.int64, len(words)),
    )


def _hash_word(word: str) -> int:
    return crc32(word.encode("utf-8", "surrogatepass"))


def _traits(word: str, lower: str) -> list[int]:
    """Return the places in a look of what is so of a word."""
    found = [6] if lower in _NEGATIONS else []
    if word != lower and word[0].isupper():
        found.append(2)
        if len(word) > 1 and word.isupper():
            found.append(3)
    if not word.isascii():
        found.append(5)
    elif word.isalpha():
        return found
    if any(map(str.isdigit, word)):
        found.append(1)
    if not any(map(str.isalnum, word)):
        found.append(4)
    marks = (_TRAITS + kind for kind, some in enumerate(_MARKS) if not some.isdisjoint(word))
    return [*found, *marks]


def repeats(rows: Ragged, letters: NDArray[np.int64]) -> NDArray[np.float32]:
    """Say of every word of every sentence whether it stood there before, in lower case.

    Args:
        rows: the words of each sentence, as places in *letters*.
        letters: as in :class:`Spelling`.

    Returns:
        float32 ``(sum of lengths, 2)``: 1 where the word, and where it with the word before it,
        stood in the sentence before.
    """
    sentences = np.repeat(np.arange(len(rows)), rows.lengths)
    word = np.unique(letters, return_inverse=True)[1][rows.flat]
    before = np.concatenate([[-1], word[:-1]])
    before[rows.starts[rows.lengths > 0]] = -1
    pair = np.unique(before * (len(letters) + 1) + word, return_inverse=True)[1]
    again = [_again(sentences * (len(word) + 1) + numbers) for numbers in (word, pair)]
    return np.stack(again, axis=1).astype(np.float32)


def _again(keys: NDArray[Any]) -> NDArray[np.bool_]:
    """Say of each key whether it stood before."""
    first = np.unique(keys, return_index=True)[1]
    again = np.ones(len(keys), dtype=bool)
    again[first] = False
    return again
