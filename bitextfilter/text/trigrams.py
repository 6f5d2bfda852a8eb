"""The trigrams of words, and longer character n-grams, as numbers.

Trigrams are as in Wieting & Gimpel 2018, section 5 (TRIGRAM): a word of ``m`` characters has
``m`` of them, one around each character: *cat* has ``_ca``, ``cat`` and ``at_``. Of n characters
it has ``m + 3 - n`` n-grams: *cat* has ``_cat``, ``cat_`` and ``_cat_``.
"""

from __future__ import annotations

import ctypes
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Indices, Integers, Keys, Mask, places_of
from bitextfilter.settings import Settings, setting
from bitextfilter.text.identifier import LIBRARY, SLOT, is_taken
from bitextfilter.text.ragged import Ragged
from bitextfilter.text.segment import UNKNOWN
from bitextfilter.text.vocabulary import RESERVED, Vocabulary

SHORTEST = 3
LONGEST = 6
"""Characters of the longest n-gram; Bojanowski et al. 2017, section 3.2, read 3 to 6."""
TRIGRAM_KINDS = ("counted", "hashed")
_BITS = 21
"""Bits that hold any code point."""
_SPACE = np.uint64(ord(" "))
_FILLER = np.uint64(0x3000)
"""A space, which is in no word, behind and before characters that are read alone."""
_BLOCKS = "3041-3100 31F0-3200 3400-4DC0 4E00-A000 AC00-D7B0 F900-FB00 20000-32000"
_SYLLABIC = np.array(
    [int(bound, 16) for bound in _BLOCKS.replace("-", " ").split()], dtype=np.uint64
)
"""Beginnings and ends of Unicode's blocks of kana, Chinese characters and Hangul syllables."""
_WORDS = 1 << 15
"""Words counted at once."""


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
    longest: int = setting(
        SHORTEST,
        "characters of the longest n-grams: 5 tells the stems of inflected words",
        within=f">= {SHORTEST}, <= {LONGEST}",
    )
    syllabic: bool = setting(
        False,
        "Chinese characters, kana and Hangul alone and in twos, not in threes: three of them are"
        " a rare phrase",
    )


class Trigrams(Protocol):
    """Numbers of the trigrams of words, and of longer n-grams."""

    longest: int
    syllabic: bool
    """See :class:`TrigramSettings`."""

    def __len__(self) -> int:
        """Return the number of ids, ``RESERVED`` included."""
        ...

    def __call__(self, words: Sequence[str], most: int | None = None) -> Ragged:
        """Return the ids of the n-grams of each word; one ``UNKNOWN`` if none has a number.

        Words are not empty and contain no white space. *most*: of counted n-grams, only the first
        of them are known; None: all.
        """
        ...


class HashedTrigrams:
    """Trigrams by a hash of their characters."""

    def __init__(self, size: int, syllabic: bool = False, longest: int = SHORTEST) -> None:
        """Take the number of places, and how words are read."""
        self.size, self.syllabic, self.longest = size, syllabic, longest

    def __len__(self) -> int:
        return len(RESERVED) + self.size

    def __call__(self, words: Sequence[str], most: int | None = None) -> Ragged:
        """See :class:`Trigrams`."""
        keys, lengths = _keys(words, self.syllabic, self.longest)
        # The finaliser of MurmurHash3 (Appleby 2016): every bit of the key changes every other.
        for factor in (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)):
            keys = (keys ^ (keys >> np.uint64(33))) * factor
        places = (keys ^ (keys >> np.uint64(33))) % np.uint64(self.size)
        return Ragged(places.astype(np.int32) + np.int32(len(RESERVED)), lengths)


class KeyTable:
    """Finds the ids of keys, by ``ngrams.c`` where it was built."""

    def __init__(self, keys: Keys, ids: NDArray[np.int32]) -> None:
        """Take the keys, ascending, and the ids of each, which are not 0."""
        self._keys, self._ids = keys, ids
        self._slots: NDArray[Any] | None = None
        self._secret = int.from_bytes(os.urandom(8), "little")

    def find(self, keys: Keys) -> NDArray[np.int32]:
        """Return the id of each key, 0 for one that is unknown."""
        library = LIBRARY.open()
        if library is None or not is_taken(keys, np.uint64):
            return np.append(self._ids, np.int32(0))[places_of(keys, self._keys)]
        slots = self._slots  # held here: another thread may put its own in their place
        if slots is None:
            slots = self._slots = self._index(library)
        ids, rest = np.empty(len(keys), np.int32), (slots, len(slots) - 1)
        library.ngrams_find(keys, len(keys), self._secret, *rest, ids)
        return ids

    def _index(self, library: ctypes.CDLL) -> NDArray[Any]:
        slots = np.zeros(1 << (2 * len(self._keys)).bit_length(), dtype=SLOT)
        keys, ids = (np.ascontiguousarray(each) for each in (self._keys, self._ids))
        given = keys, ids, len(keys), self._secret
        library.ngrams_index(*given, slots, len(slots) - 1)
        return slots


class CountedTrigrams:
    """Trigrams by a vocabulary of them."""

    def __init__(self, vocabulary: Vocabulary, syllabic: bool = False) -> None:
        """Take a vocabulary whose pieces are n-grams, a space for a word's boundary."""
        self.vocabulary, self.syllabic = vocabulary, syllabic
        self.longest = max(map(len, vocabulary.pieces), default=SHORTEST)
        keys = _keys_of(vocabulary.pieces)
        order = np.argsort(keys)
        self._keys = keys[order]
        self._table = KeyTable(self._keys, (order + len(RESERVED)).astype(np.int32))

    @classmethod
    def learn(
        cls,
        *languages: Iterable[str],
        size: int,
        syllabic: bool = False,
        longest: int = SHORTEST,
    ) -> CountedTrigrams:
        """Count the n-grams of the words of normalised sentences; the most frequent stay.

        Of more than two languages, a count is divided by the root of the counts of its language,
        so that languages with little text, and those with many characters, have their share.
        """
        words = [_count_words(sentences) for sentences in languages]
        counted = [_counted(each, syllabic, longest) for each in words]
        kept = _most_frequent(counted, size)
        found: dict[int, str] = {}
        for each in words:
            if len(found) < len(kept):
                found |= _texts(list(each), np.sort(kept), syllabic, longest)
        table = np.stack([counts.of(kept) for counts in counted], axis=1)
        return cls(Vocabulary([found[key] for key in kept.tolist()], table), syllabic)

    def extended(self, *languages: Iterable[str], size: int) -> CountedTrigrams:
        """Return these with *size* more, the most frequent ones of further languages."""
        words = [_count_words(sentences) for sentences in languages]
        counted = [_counted(each, self.syllabic, self.longest) for each in words]
        own = self.vocabulary
        unknown = [counts.without(self._keys) for counts in counted]
        kept = _most_frequent(unknown, size)
        found: dict[int, str] = {}
        for each in words:
            found |= _texts(list(each), np.sort(kept), self.syllabic, self.longest)
        every = np.concatenate([_keys_of(own.pieces), kept])
        before = np.pad(own.counts, [(0, len(kept)), (0, 0)])
        table = np.column_stack([before, *(counts.of(every) for counts in counted)])
        pieces = [*own.pieces, *(found[key] for key in kept.tolist())]
        return CountedTrigrams(Vocabulary(pieces, table), self.syllabic)

    def __len__(self) -> int:
        return len(self.vocabulary)

    def __call__(self, words: Sequence[str], most: int | None = None) -> Ragged:
        """See :class:`Trigrams`."""
        keys, lengths = _keys(words, self.syllabic, self.longest)
        ids = self._table.find(keys)
        known = ids > 0
        if most is not None:
            known &= ids < len(RESERVED) + most
        ids[~known] = UNKNOWN
        # A word without a known trigram keeps its first one, as UNKNOWN.
        starts = np.cumsum(lengths) - lengths
        found = np.add.reduceat(known, starts) if len(lengths) else lengths
        known[starts[found == 0]] = True
        return Ragged(ids[known], np.maximum(found, 1).astype(np.int64))


def _codes(words: Sequence[str]) -> Keys:
    """Return the code points of words, a space before, between and after them."""
    text = f" {' '.join(words)} ".encode("utf-32-le", "surrogatepass")
    return np.frombuffer(text, dtype="<u4").astype(np.uint64)


def _packed(first: Keys, second: Keys, third: Keys) -> Keys:
    """Return a key of three code points, the first highest."""
    return np.asarray((first << np.uint64(2 * _BITS)) | (second << np.uint64(_BITS)) | third)


def _longer(key: Keys, code: Keys) -> Keys:
    """Return the key of n-grams, each followed by one more character.

    It is a hash. Its highest bit, which no trigram's has, is set.
    """
    mixed = (key ^ (key >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15) + code
    return np.asarray((mixed ^ (mixed >> np.uint64(29))) | np.uint64(1 << 63))


def _keys_of(pieces: Sequence[str]) -> Keys:
    """Return the keys of n-grams, each of at least three characters."""
    keys = np.zeros(len(pieces), dtype=np.uint64)
    lengths = np.fromiter(map(len, pieces), dtype=np.int64, count=len(pieces))
    for length in sorted(set(lengths.tolist())):
        rows = np.flatnonzero(lengths == length)
        text = "".join([pieces[row] for row in rows.tolist()]).encode("utf-32-le", "surrogatepass")
        codes = np.frombuffer(text, dtype="<u4").reshape(-1, length).astype(np.uint64)
        key = _packed(*codes[:, :SHORTEST].T)
        for place in range(SHORTEST, length):
            key = _longer(key, codes[:, place])
        keys[rows] = key
    return keys


def _is_syllabic(codes: Keys) -> Mask:
    """Return whether each character is of ``_SYLLABIC``."""
    return np.asarray(np.searchsorted(_SYLLABIC, codes, side="right") % 2 == 1)


class _Window(NamedTuple):
    """The n-grams of one length in some words."""

    length: int
    keys: Keys
    starts: Indices
    """Places of their first characters in :func:`_codes`."""


def _long_ngrams(codes: Keys, syllabic: bool, longest: int) -> Iterator[_Window]:
    """Yield the n-grams of 4 characters, then those of 5, and so on.

    *syllabic*: none of those with a character of ``_SYLLABIC``.
    """
    apart = _is_syllabic(codes) if syllabic else np.zeros(len(codes), dtype=bool)
    starts = np.flatnonzero((codes[1:-1] != _SPACE) & ~(apart[:-2] | apart[1:-1] | apart[2:]))
    keys = _packed(codes[starts], codes[starts + 1], codes[starts + 2])
    for length in range(SHORTEST + 1, longest + 1):
        last = starts + length - 1
        # The boundary of a word is an n-gram's first or last character.
        inside = (codes[last - 1] != _SPACE) & ~apart[np.minimum(last, len(codes) - 1)]
        starts, keys = starts[inside], keys[inside]
        keys = _longer(keys, codes[last[inside]])
        yield _Window(length, keys, starts)


def _keys(words: Sequence[str], syllabic: bool, longest: int) -> tuple[Keys, Integers]:
    """Return the keys of the n-grams of all words, and their number in each word.

    Those of a word have its trigrams first. *syllabic*: see :func:`_trigrams`.
    """
    codes = _codes(words)
    keys, lengths = _trigrams(words, codes, syllabic)
    if longest == SHORTEST or not len(words):
        return keys, lengths
    word = np.cumsum(codes == _SPACE) - 1
    windows = list(_long_ngrams(codes, syllabic, longest))
    owners = [np.repeat(np.arange(len(words)), lengths)]
    owners += [word[window.starts + 1] for window in windows]
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    every = np.concatenate([keys, *(window.keys for window in windows)])
    return every[order], np.bincount(owner, minlength=len(words))


def _trigrams(words: Sequence[str], codes: Keys, syllabic: bool) -> tuple[Keys, Integers]:
    """Return the trigrams of all words, and their number in each word.

    *syllabic*: a character of ``_SYLLABIC`` is read alone and, unless it ends its word, with the
    next, filled up to three with ``_FILLER``.
    """
    lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
    character, following = codes[1:-1], codes[2:]
    keys, inside = _packed(codes[:-2], character, following), character != _SPACE
    if syllabic:
        alone = _is_syllabic(character)
        filler = np.full(len(character), _FILLER)
        keys[alone] = _packed(filler, character, filler)[alone]
        paired = alone & (following != _SPACE)
        last = np.cumsum(1 + paired) - 1  # the place of each character's last key
        keys, inside, word = np.repeat(keys, 1 + paired), np.repeat(inside, 1 + paired), ~inside
        keys[last[paired]] = _packed(character, following, filler)[paired]
        lengths += np.bincount(np.cumsum(word)[paired], minlength=len(words))
    return keys[inside], lengths


class _Counts(NamedTuple):
    """Distinct keys in ascending order, and how often each occurs."""

    keys: Keys
    counts: Integers

    @classmethod
    def sum(cls, keys: Keys, counts: Integers) -> _Counts:
        """Add up the counts of equal keys."""
        distinct, places = np.unique(keys, return_inverse=True)
        return cls(distinct, np.bincount(places, counts, len(distinct)).astype(np.int64))

    def without(self, keys: Keys) -> _Counts:
        """Return the counts of all other keys."""
        left = np.isin(self.keys, keys, invert=True)
        return _Counts(self.keys[left], self.counts[left])

    def of(self, keys: Keys) -> Integers:
        """Return the counts of some keys; 0 for a missing one."""
        return np.append(self.counts, 0)[places_of(keys, self.keys)]


def _count_words(sentences: Iterable[str]) -> Counter[str]:
    """Count the words of some sentences."""
    return Counter(word for sentence in sentences for word in sentence.split())


def _counted(words: Counter[str], syllabic: bool, longest: int) -> _Counts:
    """Count the n-grams of some counted words."""
    every, times = list(words), np.fromiter(words.values(), np.int64, len(words))
    parts = [_Counts(np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64))]
    for start in range(0, len(every), _WORDS):
        chosen = slice(start, start + _WORDS)
        keys, lengths = _keys(every[chosen], syllabic, longest)
        parts.append(_Counts.sum(keys, np.repeat(times[chosen], lengths)))
    return _Counts.sum(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _most_frequent(languages: Sequence[_Counts], size: int) -> Keys:
    """Return the keys of the most frequent n-grams, the first ones first."""
    shares: list[Floats] = []
    for counts in languages:
        total = max(int(counts.counts.sum()), 1)
        shares.append(counts.counts * (1.0 if len(languages) <= 2 else total**-0.5))
    every = np.concatenate([counts.keys for counts in languages])
    distinct, places = np.unique(every, return_inverse=True)
    sums = np.bincount(places, np.concatenate(shares), len(distinct))
    return distinct[np.lexsort((distinct, -sums))[:size]]


def _texts(words: Sequence[str], kept: Keys, syllabic: bool, longest: int) -> dict[int, str]:
    """Return the characters of the n-grams of some words that are *kept*, ascending, by key.

    Those of trigrams that no word has stand there, too: a key of three is its characters.
    """
    three = kept[kept < np.uint64(1 << 63)].tolist()
    shifts, mask = (2 * _BITS, _BITS, 0), (1 << _BITS) - 1
    found = {key: "".join(chr(key >> shift & mask) for shift in shifts) for key in three}
    for start in range(0, len(words) if longest > SHORTEST else 0, _WORDS):
        some = words[start : start + _WORDS]
        text = f" {' '.join(some)} "
        for length, keys, starts in _long_ngrams(_codes(some), syllabic, longest):
            distinct, first = np.unique(keys, return_index=True)
            wanted = np.isin(distinct, kept, assume_unique=True)
            places = starts[first[wanted]].tolist()
            cut = (text[place : place + length] for place in places)
            found.update(zip(distinct[wanted].tolist(), cut, strict=True))
    return found
