"""Character trigrams of words, after Wieting & Gimpel 2018, section 5 (TRIGRAM).

A word of ``m`` characters has ``m`` trigrams, one around each character: *cat* has ``_ca``,
``cat`` and ``at_``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

import numpy as np
import numpy.typing as npt

from bitextfilter.settings import Settings, setting
from bitextfilter.text.ragged import Ragged
from bitextfilter.text.segment import UNKNOWN
from bitextfilter.text.vocabulary import RESERVED, Vocabulary

TRIGRAM_KINDS = ("counted", "hashed")
_BITS = 21
"""Bits that hold any code point."""
_WORDS = 1 << 16
"""Words counted at once."""

_Keys = npt.NDArray[np.uint64]
"""Trigrams: three code points each, the first highest."""


@dataclass(frozen=True)
class TrigramSettings(Settings):
    """The numbering of trigrams.

    ``counted``: the ``size`` most frequent ones of the training text, without the others;
    ``hashed``: each has one of ``size`` numbers, perhaps shared with others.
    """

    kind: str = setting(
        "counted",
        "the most frequent trigrams, others passed over; or each has one of `size` places, which"
        " others may share",
        choices=TRIGRAM_KINDS,
    )
    size: int = setting(100_000, "trigrams, or places", within=">= 1")


class Trigrams(Protocol):
    """Numbers of the trigrams of words."""

    def __len__(self) -> int:
        """Return the number of ids, with those of ``RESERVED``."""
        ...

    def __call__(self, words: Sequence[str]) -> Ragged:
        """Return the ids of the trigrams of each word; one ``UNKNOWN`` if none has a number.

        Words are not empty and contain no white space.
        """
        ...


class HashedTrigrams:
    """Trigrams by a hash of their characters."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return len(RESERVED) + self.size

    def __call__(self, words: Sequence[str]) -> Ragged:
        """See :class:`Trigrams`."""
        keys, lengths = _keys(words)
        # The finaliser of MurmurHash3 (Appleby 2016): every bit of the key changes every other.
        for factor in (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)):
            keys = (keys ^ (keys >> np.uint64(33))) * factor
        places = (keys ^ (keys >> np.uint64(33))) % np.uint64(self.size)
        return Ragged(places.astype(np.int32) + np.int32(len(RESERVED)), lengths)


class CountedTrigrams:
    """Trigrams by a vocabulary of them."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Take a vocabulary whose pieces are trigrams, a space for a word's boundary."""
        self.vocabulary = vocabulary
        codes = np.array([[ord(mark) for mark in piece] for piece in vocabulary.pieces], np.uint64)
        keys = _packed(*codes.reshape(-1, 3).T)
        order = np.argsort(keys)
        self._keys = keys[order]
        self._ids = (order + len(RESERVED)).astype(np.int32)

    @classmethod
    def learn(cls, sources: Iterable[str], targets: Iterable[str], size: int) -> CountedTrigrams:
        """Count the trigrams of the words of normalised sentences; the most frequent stay."""
        counts = [_counted(side) for side in (sources, targets)]
        total = Counter(counts[0]) + Counter(counts[1])
        kept = sorted(total, key=lambda key: (-total[key], key))[:size]
        pairs = [[side[key] for side in counts] for key in kept]
        return cls(Vocabulary([_text(key) for key in kept], np.array(pairs, dtype=np.int64)))

    def __len__(self) -> int:
        return len(self.vocabulary)

    def __call__(self, words: Sequence[str]) -> Ragged:
        """See :class:`Trigrams`."""
        keys, lengths = _keys(words)
        known = np.zeros(len(keys), dtype=bool)
        ids = np.full(len(keys), UNKNOWN, dtype=np.int32)
        if len(self._keys):
            places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
            known = self._keys[places] == keys
            ids[known] = self._ids[places[known]]
        # A word without a known trigram keeps its first one, as UNKNOWN.
        starts = np.cumsum(lengths) - lengths
        found = np.add.reduceat(known, starts) if len(lengths) else lengths
        known[starts[found == 0]] = True
        return Ragged(ids[known], np.maximum(found, 1).astype(np.int64))


def _keys(words: Sequence[str]) -> tuple[_Keys, npt.NDArray[np.int64]]:
    """Return the trigrams of all words, and their number in each word."""
    lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
    text = f" {' '.join(words)} ".encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(text, dtype="<u4").astype(np.uint64)
    keys = _packed(codes[:-2], codes[1:-1], codes[2:])
    return keys[codes[1:-1] != ord(" ")], lengths


def _packed(first: _Keys, second: _Keys, third: _Keys) -> _Keys:
    packed: _Keys = (first << np.uint64(2 * _BITS)) | (second << np.uint64(_BITS)) | third
    return packed


def _text(key: int) -> str:
    """Return the characters of a key."""
    return "".join(chr(key >> shift & (1 << _BITS) - 1) for shift in (2 * _BITS, _BITS, 0))


def _counted(sentences: Iterable[str]) -> Counter[int]:
    """Count the trigrams of the words of some sentences."""
    words = Counter(word for sentence in sentences for word in sentence.split())
    total: Counter[int] = Counter()
    stream = iter(words.items())
    while some := dict(islice(stream, _WORDS)):
        keys, lengths = _keys(list(some))
        times = np.repeat(np.fromiter(some.values(), np.int64, len(some)), lengths)
        distinct, places = np.unique(keys, return_inverse=True)
        sums = np.bincount(places, times, len(distinct)).astype(np.int64)
        total.update(dict(zip(distinct.tolist(), sums.tolist(), strict=True)))
    return total
