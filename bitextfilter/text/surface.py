"""What a sentence looks like, in numbers: what sentence vectors blur.

Vectors of meaning hardly tell 5 from 6, one name from another, or a whole sentence from its first
half. A description holds just that: a *look* (length, punctuation, capitals, negations), and bags
of figures, names and words as they are spelt, which ``similarity/surface.py`` compares.
"""

from __future__ import annotations

import functools
import math
import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

__all__ = ["FIGURES", "LOOK", "MARKS", "NAMES", "NEGATIONS", "WIDTH", "WORDS", "describe"]

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
    hashes = np.array([_hash(item) for some in items for item in some], dtype=np.int64)
    counts = np.bincount(rows * buckets + hashes % buckets, minlength=len(items) * buckets)
    return np.minimum(counts.reshape(-1, buckets), most)


@functools.lru_cache(maxsize=1 << 16)
def _hash(item: str) -> int:
    return crc32(item.encode())
