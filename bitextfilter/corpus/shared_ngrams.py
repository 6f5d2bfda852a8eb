"""Texts that share most of the n-grams of words of the shorter one: copies with changes, or within.

The share is the overlap coefficient of their sets of n-grams (size of the intersection over size of
the smaller set), so that a sentence is found within a longer text. Candidates are found by prefix
filtering (Chaudhuri, Ganti and Kaushik 2006): of two sets that share k elements, any |set| - k + 1
elements of one have one in common with the other, so its rarest will do. None is missed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bitextfilter.arrays import Floats, Integers, Keys, Mask
from bitextfilter.errors import SettingsError
from bitextfilter.text.ragged import Ragged
from bitextfilter.text.units import apart, is_unspaced, word_units
from bitextfilter.text.words import numbered

_BASE = 0x9E3779B97F4A7C15
"""Odd, and 5 modulo 8, so that its powers repeat as late as possible modulo 2⁶⁴."""
_MOST_WORDS = 1 << 17
"""Words whose hashes are kept: some 15 MB."""
_WORD = re.compile(r"[^\W_]\S*")
_BLOCK = 1024
"""Texts that are looked up at a time."""


_TEXTS = 1 << 14
"""Texts whose rarest n-grams are found at a time."""

_Part = tuple[Ragged, Integers, Floats]
"""Sets of n-grams, the numbers of their texts, and the words of n-grams that make a word."""


def word_count(text: str) -> int:
    """Return the number of words with letters or digits; of scripts without spaces, half the signs.

    Counts as ``word_units`` does.
    """
    if is_unspaced(text):
        return sum(any(map(str.isalnum, unit)) for unit in word_units(text))
    return len(_WORD.findall(text))


@dataclass(frozen=True)
class Likeness:
    """The least that two texts share: of their n-grams of ``ngram`` words, and in words.

    They share ``overlap`` of the n-grams of the shorter one, and as many as ``within`` words in a
    row have; ``alike`` words are enough if they share more n-grams than they do not. Raises
    SettingsError for numbers out of range.
    """

    ngram: int = 2
    overlap: float = 0.7
    alike: int = 6
    within: int = 8

    def __post_init__(self) -> None:
        if self.ngram < 1 or not 0 < self.overlap <= 1 or min(self.alike, self.within) < 1:
            raise SettingsError("the share of n-grams is above 0, up to 1; n is above 0")

    def needed(self, sizes: Integers) -> Integers:
        """Return the number of n-grams that a smaller set of each size must share."""
        needed: Integers = np.ceil(self.overlap * sizes - 1e-9).astype(np.int64)
        return np.maximum(1, needed)

    def enough(self, shared: Integers, sizes: tuple[Integers, Integers], signs: Floats) -> Mask:
        """Return whether pairs of texts share enough, given their *sizes*.

        *signs* is the number of words of the n-grams, such as characters, that make a word.
        """
        long = [
            shared >= np.maximum(1, np.ceil(signs * words) - (self.ngram - 1))
            for words in (self.within, self.alike)
        ]
        similar = 2 * shared > sizes[0] + sizes[1] - shared
        enough: Mask = long[0] | (similar & long[1])
        return enough & (shared >= self.needed(np.minimum(*sizes)))


class SharedNgrams:
    """Distinct texts by number, each as its set of n-grams of words: hashes of 64 bits.

    Words stand between white space; each character of a script without spaces is a word. A text of
    fewer words than n is one n-gram. Memory: some 30 bytes an n-gram, 40 until the first
    text is found.
    """

    def __init__(self, likeness: Likeness) -> None:
        self._likeness = likeness
        self._powers = [pow(_BASE, power, 1 << 64) for power in range(likeness.ngram)]
        self._hashes = _WordHashes()
        self._waiting: list[_Part] = []
        self._index = _Index(likeness, [])

    def add(self, texts: Sequence[str], numbers: Integers) -> None:
        """Add *texts*, those of enough words, before any are found."""
        counts = np.array([word_count(text) for text in texts], np.int64)
        long = np.flatnonzero(counts >= min(self._likeness.alike, self._likeness.within))
        if len(long):
            sets, words = self._of([texts[place] for place in long.tolist()])
            self._waiting.append((sets, numbers[long], np.maximum(1, words / counts[long])))

    def find(self, texts: Sequence[str]) -> Integers:
        """Return the least number of the added texts that each shares enough with, or 0."""
        if self._waiting:
            self._index = _Index(self._likeness, self._waiting)
        found = np.zeros(len(texts), np.int64)
        for start in range(0, len(texts), _BLOCK):
            rows, numbers = self._index.find(self._of(texts[start : start + _BLOCK])[0])
            rows, first = np.unique(rows, return_index=True)
            found[start + rows] = numbers[first]
        return found

    def _of(self, texts: Sequence[str]) -> tuple[Ragged, Integers]:
        """Return the set of n-grams of each text, ascending, and its number of words."""
        if len(self._hashes) > _MOST_WORDS:
            self._hashes.clear()
        words, distinct = numbered([*map(apart, texts)])
        known = np.fromiter(map(self._hashes.__getitem__, distinct), np.uint64, len(distinct))
        n = len(self._powers)
        lengths = np.where(words.lengths > 0, np.maximum(words.lengths, n), 0)
        within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        filled = np.zeros(len(within), np.uint64)
        filled[within < np.repeat(words.lengths, lengths)] = known[words.flat]
        hashes = np.zeros_like(filled)
        for ahead, power in enumerate(self._powers):
            hashes[: len(hashes) - ahead] += filled[ahead:] * np.uint64(power)
        starts = within < np.repeat(lengths - (n - 1), lengths)
        rows, hashes = np.repeat(np.arange(len(texts)), lengths)[starts], hashes[starts]
        order = np.lexsort((hashes, rows))
        rows, hashes = rows[order], hashes[order]
        new = np.ones(len(rows), bool)
        new[1:] = (rows[1:] != rows[:-1]) | (hashes[1:] != hashes[:-1])
        sets = Ragged(hashes[new], np.bincount(rows[new], minlength=len(texts)))
        return sets, words.lengths


class _Index:
    """The sets of n-grams of some texts, and where each n-gram is."""

    def __init__(self, likeness: Likeness, parts: list[_Part]) -> None:
        """Take the *parts* of the sets, and clear them: no copies are kept meanwhile."""
        none = np.zeros(0, np.int64)
        flat, lengths = [none.astype(np.uint64)], [none]
        for part, _, _ in parts:
            flat.append(part.flat)
            lengths.append(part.lengths)
        self._numbers = np.concatenate([none, *(numbers for _, numbers, _ in parts)])
        self._signs = np.concatenate([none.astype(float), *(signs for _, _, signs in parts)])
        parts.clear()
        self._sets, self._likeness = Ragged(np.concatenate(flat), np.concatenate(lengths)), likeness
        del flat, lengths
        self._hashes, self._ends, where = _numbered(self._sets.flat)
        rare = self._rare_here(where)
        order = np.lexsort((~rare, where))
        del where
        self._rare = np.append(np.uint32(0), np.cumsum(rare[order], dtype=np.uint32))
        texts = np.repeat(np.arange(len(self._sets), dtype=np.uint32), self._sets.lengths)
        self._holders = texts[order]

    def _rare_here(self, where: npt.NDArray[np.uint32]) -> Mask:
        """Return whether each n-gram, by its place in ``_hashes``, is among a text's rarest."""
        counts = (self._ends[1:] - self._ends[:-1]).astype(np.int64)
        rare = np.zeros(len(where), bool)
        for start in range(0, len(self._sets), _TEXTS):
            sizes = self._sets.lengths[start : start + _TEXTS]
            first = int(self._sets.starts[start])
            part = slice(first, first + int(sizes.sum()))
            rows = np.repeat(np.arange(len(sizes)), sizes)
            rare[part] = self._rarest(rows, counts[where[part]], sizes)
        return rare

    def _places(self, hashes: Keys) -> tuple[Integers, Integers]:
        """Return the first place of each hash in ``_holders``, and the one behind its last."""
        if not len(self._hashes):
            return np.zeros(len(hashes), np.int64), np.zeros(len(hashes), np.int64)
        distinct, where = np.unique(hashes, return_inverse=True)
        places = np.searchsorted(self._hashes[:-1], distinct)
        known = self._hashes[places] == distinct
        bounds = (np.where(known, self._ends[places + end], 0) for end in range(2))
        first, last = (bound.astype(np.int64)[where] for bound in bounds)
        return first, last

    def _rarest(self, rows: Integers, counts: Integers, sizes: Integers) -> Mask:
        """Return whether each n-gram of some sets is among the rarest, as many as suffice."""
        order = np.lexsort((counts, rows))
        starts = np.cumsum(sizes) - sizes
        rank = np.empty(len(rows), np.int64)
        rank[order] = np.arange(len(rows)) - starts[rows[order]]
        return rank <= (sizes - self._likeness.needed(sizes))[rows]

    def find(self, sets: Ragged) -> tuple[Integers, Integers]:
        """Return rows and the numbers of texts that share enough, both ascending."""
        sizes = sets.lengths
        rows = np.repeat(np.arange(len(sizes)), sizes)
        first, last = self._places(sets.flat)
        known = np.bincount(rows[last > first], minlength=len(sizes))
        rare = self._rarest(rows, last - first, sizes)
        rare &= (known >= self._likeness.needed(sizes))[rows]
        fewer = self._rare[last].astype(np.int64) - self._rare[first]
        counts = np.where(rare, last - first, fewer)
        holders = self._holders[_ranges(first, counts)]
        pairs = np.unique(np.repeat(rows, counts) << 32 | holders)
        found, texts = pairs >> 32, pairs & 0xFFFFFFFF
        shared = self._shared(sets, rows, found, texts)
        both = sizes[found], self._sets.lengths[texts]
        enough = self._likeness.enough(shared, both, self._signs[texts])
        return found[enough], self._numbers[texts[enough]]

    def _shared(self, sets: Ragged, rows: Integers, found: Integers, texts: Integers) -> Integers:
        """Return the number of n-grams that rows and texts share, pair by pair."""
        candidates = np.isin(rows, found)
        mine = np.sort(_paired(sets.flat[candidates], rows[candidates]))
        taken = self._sets.take(texts)
        theirs = _paired(taken.flat, np.repeat(found, taken.lengths))
        places = np.minimum(np.searchsorted(mine, theirs), len(mine) - 1)
        each = np.repeat(np.arange(len(texts)), taken.lengths)
        shared: Integers = np.bincount(each[mine[places] == theirs], minlength=len(texts))
        return shared


def _numbered(hashes: Keys) -> tuple[Keys, npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Return the distinct hashes, sorted, the ends of their runs from 0, and the place of each."""
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    new = np.ones(len(ordered), bool)
    new[1:] = ordered[1:] != ordered[:-1]
    distinct = ordered[new]
    del ordered
    where = np.empty(len(order), np.uint32)
    where[order] = np.cumsum(new, dtype=np.uint32) - np.uint32(1)
    return distinct, np.append(np.flatnonzero(new), len(new)).astype(np.uint32), where


def _ranges(starts: Integers, lengths: Integers) -> Integers:
    """Return the places of ranges, one after the other."""
    ends = np.cumsum(lengths)
    places: Integers = np.arange(int(lengths.sum())) + np.repeat(starts - ends + lengths, lengths)
    return places


def _paired(hashes: Keys, rows: Integers) -> Keys:
    """Return hashes of n-grams and their rows together."""
    mixed: Keys = hashes ^ (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(_BASE)
    return mixed


class _WordHashes(dict[str, int]):
    """64 bits of BLAKE2b of each word."""

    def __missing__(self, word: str) -> int:
        data = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        self[word] = int.from_bytes(data, "little")
        return self[word]
