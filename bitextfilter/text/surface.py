"""What a sentence looks like, in numbers: what sentence vectors blur.

Vectors of meaning hardly tell 5 from 6, one name from another, or a whole sentence from its first
half. A description holds just that: length, figures, names, words as they are spelt, punctuation.
Two descriptions are compared like two vectors: their difference and their product show what
only one side has, and what both have.
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

__all__ = ["WIDTH", "describe"]

_MARKS = [",", ".", ";", ":", "?", "!", "([{", ")]}", "<", ">", "/\\", "|", "%", "&", "$€£", "@"]
_MARKS += ["#*=_~^", "-–—", '"„“”«»', "'‘’", "…", "•·", "©®™", "ÃÂâ"]
_ENDS = [".", "?", "!", ":", ",;", ")]}>", "\"“”«»'’", "…"]
_NEGATIONS = frozenset(
    """
    not never no none nobody nothing neither nor without cannot nicht nie niemals nichts niemand
    kein keine keinen keinem keiner keines weder ohne pas jamais rien aucun aucune sans non nunca
    jamás não nem niet geen nooit inte aldrig ikke ej není nikdy bez не нет ни никогда без
    """.split()  # noqa: SIM905 - a list would be a page long
)
_FIGURE = re.compile(r"\d+(?:[.,\u00a0\u202f' ]\d{3}(?!\d))*(?:[.,:]\d+)?")
_WORD = re.compile(r"[^\W\d_]+")

_TOTALS = 8
_BUCKETS = (48, 64, 96)
"""Of the bags of figures, of words with capitals, and of all words."""
_BAG = 4.0
"""The length of each bag as a vector."""

_COUNTS = _TOTALS + len(_MARKS)
_EDGES = len(_ENDS) + 4
WIDTH = _COUNTS + _EDGES + sum(_BUCKETS)
"""Numbers in a description."""


def describe(sentences: Sequence[str]) -> NDArray[np.float32]:
    """Describe ``n`` sentences → float32 ``(n, WIDTH)``, each by itself.

    Logarithms of counts (characters, words, figures, capitals, negations, repeated word pairs,
    kinds of punctuation), what the sentence starts and ends with, and bags of its figures (without
    separators, so that 1,500 and 1.500 are the same), of its words with capitals and of all its
    words, each hashed into buckets. All are multiples of 2**-12, from 0 to about 8.
    """
    texts = [unicodedata.normalize("NFC", sentence) for sentence in sentences]
    found = [_Found(text) for text in texts]
    counts = np.array([_counts(one) for one in found], dtype=np.float64).reshape(-1, _COUNTS)
    edges = np.array([_edges(text) for text in texts], dtype=np.float64).reshape(-1, _EDGES)
    bags = [
        _bags([one.figures for one in found], _BUCKETS[0]),
        _bags([one.names for one in found], _BUCKETS[1]),
        _bags([one.long_words for one in found], _BUCKETS[2]),
    ]
    numbers = np.hstack([counts, 2 * edges, *bags])
    return (np.round(numbers * 4096) / 4096).astype(np.float32)


class _Found:
    """The words, names and figures of a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        words = _WORD.findall(text)
        self.words = [word.lower() for word in words]
        pairs = zip(words[1:], self.words[1:], strict=True)
        self.names = [lower for word, lower in pairs if word[0] != lower[0]]
        self.long_words = [word for word in self.words if len(word) > 2]
        self.figures = [re.sub(r"\D", "", figure) for figure in _FIGURE.findall(text)]


def _counts(found: _Found) -> list[float]:
    """Return log(1 + count) of characters, words, figures, names, negations, repeats, marks."""
    text, words = found.text, found.words
    counts = [
        len(text) / 4,
        len(words),
        len(found.figures),
        len(found.names),
        sum(word in _NEGATIONS for word in words) + text.count("n't") + text.count("n’t"),
        max(0, len(words) - 1) - len(set(pairwise(words))),
        len(words) - len(set(words)),
        sum(map(len, words)) / max(1, len(words)),
        *[sum(map(text.count, marks)) for marks in _MARKS],
    ]
    return [math.log1p(count) for count in counts]


def _edges(text: str) -> list[bool]:
    """Say how a text ends and starts."""
    start, end = text[:1], text[-1:]
    ends = [bool(end) and end in marks for marks in _ENDS]
    return [*ends, start.isupper(), start.islower(), start.isdigit(), end.isalnum()]


def _bags(items: Sequence[Sequence[str]], buckets: int) -> NDArray[np.float64]:
    """Count the items of each text by hash, and scale to one length; all 0 where there are none."""
    rows = np.repeat(np.arange(len(items)), [len(some) for some in items])
    hashes = np.array([_hash(item) for some in items for item in some], dtype=np.int64)
    places = rows * buckets + hashes % buckets
    counts = np.bincount(places, minlength=len(items) * buckets).reshape(-1, buckets)
    norms = np.sqrt((counts * counts).sum(axis=1, keepdims=True))
    scaled: NDArray[np.float64] = counts * (_BAG / np.maximum(norms, 1))
    return scaled


@functools.lru_cache(maxsize=1 << 16)
def _hash(item: str) -> int:
    return crc32(item.encode())
