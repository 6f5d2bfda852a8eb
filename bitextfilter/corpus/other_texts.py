"""Texts of other files, such as test sets, that a corpus must not have.

A row is found if one of its texts is a text of the files, or nearly one, or holds one: what is
called decontamination. Short texts, which say little, are found only with their translation.

Texts are alike that share most of the n-grams of words of the shorter one: the overlap coefficient
of their sets of n-grams (size of the intersection over size of the smaller set), so that a sentence
is found within a longer text. Candidates are found by prefix filtering (Chaudhuri, Ganti and
Kaushik 2006): of two sets that share k elements, any |set| - k + 1 elements of one have one in
common with the other, so its rarest will do. None is missed.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import permutations

import numpy as np
import numpy.typing as npt

from bitextfilter.arrays import Floats, Integers, Keys, Mask, begin_runs
from bitextfilter.corpus.duplicate_keys import MATCH, as_keys, text_key
from bitextfilter.errors import SettingsError
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import SIDES, WINDOW_BYTES, strict, windows
from bitextfilter.io.spill import KeyTable
from bitextfilter.settings import Settings, setting
from bitextfilter.text.ragged import Ragged
from bitextfilter.text.units import apart, is_unspaced, word_units
from bitextfilter.text.wording import IGNORED, Wording, normaliser, untokenised
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
        new = begin_runs(rows, hashes)
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
    new = begin_runs(ordered)
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


AGAINST_BY = ("any", "either", "pair", *SIDES)

_ANY = "any"
"""The name of the texts of all columns together."""
_WINDOW = 8192
"""Rows read at a time."""
_NONE = np.iinfo(np.int64).max


@dataclass(frozen=True)
class AgainstSettings(Settings):
    """Definition of the texts that occur in other files.

    ``match``: texts are equal, or equal without the parts in ``ignore`` and the marks of a
    tokeniser, or share enough n-grams (``likeness``), too. ``by``: the text of one side is any
    text of a file (any), or one of the same side (either, source, target), or both are (pair).
    ``words``: the fewest of a text that is found alone. ``languages``: codes of source and target,
    for the case of their letters.
    """

    match: str = setting("near", choices=MATCH)
    by: str = setting("any", choices=AGAINST_BY)
    words: int = 3
    likeness: Likeness = field(default_factory=Likeness)
    ignore: tuple[str, ...] = IGNORED
    languages: tuple[str, str] | None = None


class OtherTexts:
    """Rows of other files by number, from 1 over all files.

    Memory: some 60 bytes a distinct text or pair, and that of its n-grams, if they count.
    """

    def __init__(
        self, settings: AgainstSettings | None = None, sides: Sequence[str] = SIDES
    ) -> None:
        """Find rows of which the texts of these *sides* are given.

        Raises SettingsError if the settings compare a side that is not, for an unknown part to
        ignore, or an unknown language.
        """
        self._settings = settings = settings or AgainstSettings()
        names = {_ANY: sides, "either": SIDES, "pair": SIDES}.get(settings.by, (settings.by,))
        if not set(names) <= set(sides):
            raise SettingsError(f"of rows, only the {sides[0]} can be looked up")
        self._places = {name: sides.index(name) for name in names}
        self._normalisers = _normalisers(settings)
        likeness = settings.likeness if settings.match == "near" else None
        self._texts = {name: _Texts(likeness) for name in (_ANY, *SIDES)}
        self._pairs = _Numbers()
        self._files: list[str] = []
        self._starts: list[int] = []
        self._next = 1

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a file to read, by their sides; none if all of a line are texts."""
        return () if self._settings.by == _ANY else tuple(self._places)

    def read(self, reader: RowReader, side: str | None = None) -> None:
        """Take the rows of a file: the texts of its ``columns``, or lines of one *side* alone.

        Raises InputError at a bad row.
        """
        self._files.append(reader.name)
        self._starts.append(self._next)
        for window in windows(strict(reader), lambda row: len(row.line), _WINDOW, WINDOW_BYTES):
            numbers = [row.number + self._starts[-1] - 1 for row in window]
            rows = [row.texts for row in window]
            if side is not None or self.columns:
                self._add_columns(rows, numbers, self.columns if side is None else (side,))
            else:
                self._add_lines([text.split("\t") for (text,) in rows], numbers)
            self._next = numbers[-1] + 1

    def _add_columns(
        self, rows: Sequence[Sequence[str]], numbers: Sequence[int], sides: Sequence[str]
    ) -> None:
        """Add rows that have a text of each side: those that are found alone, or the pair."""
        forms = [
            [self._normalisers[side](text) for side, text in zip(sides, row, strict=True)]
            for row in rows
        ]
        long = [[*map(self._is_long, row)] for row in forms]
        for place, side in enumerate(sides):
            alone = [
                (row[place], number)
                for row, number, flags in zip(forms, numbers, long, strict=True)
                if flags[place]
            ]
            self._texts[side].add(alone)
        if len(sides) == len(SIDES):
            every = self._settings.by == "pair"
            found = zip(forms, numbers, long, strict=True)
            self._pairs.add(
                [(text_key(row), n) for row, n, flags in found if every or not any(flags)]
            )

    def _add_lines(self, rows: Sequence[Sequence[str]], numbers: Sequence[int]) -> None:
        """Add the texts of all columns, and any two of the short ones, as both sides of a pair."""
        source, target = self._normalisers.values()
        alone, pairs = [], []
        for row, number in zip(rows, numbers, strict=True):
            sources = [*map(source, row)]
            targets = sources if source is target else [*map(target, row)]
            long = [*map(self._is_long, sources)]
            alone += [(text, number) for text, found in zip(sources, long, strict=True) if found]
            if source is not target:
                alone += [
                    (text, number) for text, found in zip(targets, long, strict=True) if found
                ]
            short = [place for place, found in enumerate(long) if not found]
            for one, other in permutations(short, 2):
                pairs.append((text_key((sources[one], targets[other])), number))
        self._texts[_ANY].add(alone)
        self._pairs.add(pairs)

    def _is_long(self, text: str) -> bool:
        return word_count(text) >= self._settings.words

    def find(self, rows: Sequence[Sequence[str]]) -> Integers:
        """Return for each row the number of a row of the files that it matches, or 0.

        Numbers above those of all rows are of texts that share n-grams.
        """
        forms = {
            side: [self._normalisers[side](row[place]) for row in rows]
            for side, place in self._places.items()
        }
        equal, near = [], []
        for side, texts in forms.items():
            found = [known.find(texts) for known in (self._texts[_ANY], self._texts[side]) if known]
            equal.append(_first([one for one, _ in found], len(rows)))
            near.append(_first([other for _, other in found], len(rows)))
        if self._settings.by == "pair":
            both = [_first(one, len(rows)) for one in zip(equal, near, strict=True)]
            equal, near = [], [np.where(np.all(both, axis=0), _first(both, len(rows)), 0)]
            near *= self._settings.match == "near"
        if len(forms) == len(SIDES):
            equal.append(self._pairs.find([*map(text_key, zip(*forms.values(), strict=True))]))
        first, shared = _first(equal, len(rows)), _first(near, len(rows))
        return np.where((first == 0) & (shared > 0), shared + self._next, first)

    def reason(self, number: int) -> str:
        """Return why a row is dropped, given the number that was found."""
        reason = "occurs in" if number < self._next else "shares n-grams with"
        number -= 0 if number < self._next else self._next
        file = bisect_right(self._starts, number) - 1
        return f"{reason} {self._files[file]}:{number - self._starts[file] + 1}"


def _normalisers(settings: AgainstSettings) -> dict[str, Wording]:
    """Return the functions for the texts of both sides: the same one, unless languages matter."""

    def of(code: str) -> Wording:
        if settings.match == "exact":
            return str
        normalise = normaliser(settings.ignore, code)
        return lambda text: normalise(untokenised(text))

    each = {code: of(code) for code in settings.languages or ("",)}
    codes = settings.languages or ("", "")
    return {side: each[code] for side, code in zip(SIDES, codes, strict=True)}


class _Numbers:
    """The first numbers of keys."""

    def __init__(self) -> None:
        self._table = KeyTable(1 << 60)

    def add(self, numbered: Sequence[tuple[bytes, int]]) -> None:
        """Add the keys that are new, each with the first of its numbers, which ascend."""
        first: dict[bytes, int] = {}
        for digest, number in numbered:
            first.setdefault(digest, number)
        keys, values = as_keys(list(first)), np.array(list(first.values()), np.int64)
        new = self._table.find(keys) == 0
        self._table.has_room(len(keys))
        self._table.add(keys[new], values[new])

    def find(self, digests: Sequence[bytes]) -> Integers:
        """Return the number of each key, or 0."""
        return self._table.find(as_keys(digests))


class _Texts:
    """Texts by number: equal ones, and those that share n-grams, if these count."""

    def __init__(self, likeness: Likeness | None) -> None:
        self._equal = _Numbers()
        self._near = None if likeness is None else SharedNgrams(likeness)
        self._any = False

    def __bool__(self) -> bool:
        return self._any

    def add(self, numbered: Sequence[tuple[str, int]]) -> None:
        """Add texts with their numbers, which ascend; of equal ones, the first counts."""
        self._any = self._any or bool(numbered)
        first: dict[str, int] = {}
        for text, number in numbered:
            first.setdefault(text, number)
        keys = [text_key((text,)) for text in first]
        if self._near is not None:
            known = (self._equal.find(keys) > 0).tolist()
            new = [one for one, old in zip(first.items(), known, strict=True) if not old]
            self._near.add([text for text, _ in new], np.array([n for _, n in new], np.int64))
        self._equal.add([*zip(keys, first.values(), strict=True)])

    def find(self, texts: Sequence[str]) -> tuple[Integers, Integers]:
        """Return the number of an equal text, or 0, and of one that shares n-grams, or 0."""
        equal = self._equal.find([text_key((text,)) for text in texts])
        return equal, np.zeros_like(equal) if self._near is None else self._near.find(texts)


def _first(numbers: Sequence[Integers], count: int) -> Integers:
    """Return the least number of each of *count* rows that is not 0; else 0."""
    first = np.full(count, _NONE)
    for some in numbers:
        first = np.where(some > 0, np.minimum(first, some), first)
    return np.where(first < _NONE, first, 0)
