"""Texts of other files, such as test sets, whose rows a corpus must not have.

A row is found by its key, as a duplicate is, or by the share of its n-grams of words that occur in
the files: the decontamination of Brown et al. (2020, appendix C), whose n is 13.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bitextfilter.arrays import Floats, Integers, Keys
from bitextfilter.corpus.duplicate_keys import NGRAM, DedupSettings, normaliser
from bitextfilter.corpus.row_keys import as_keys, first_known, row_keys, side_key
from bitextfilter.errors import SettingsError
from bitextfilter.io.rows import WINDOW_BYTES, RowReader, strict, windows
from bitextfilter.io.spill import KeyTable
from bitextfilter.text.ragged import Ragged
from bitextfilter.text.units import apart
from bitextfilter.text.words import numbered

_BASE = 0x9E3779B97F4A7C15
"""Odd, and 5 modulo 8, so that its powers repeat as late as possible modulo 2⁶⁴."""

_Numbers = npt.NDArray[np.uint32]
"""Numbers of rows, below 2³²."""

_MOST_WORDS = 1 << 17
"""Words whose hashes are kept: some 15 MB."""

_WINDOW = 8192
"""Rows read at a time."""

_NONE = np.iinfo(np.int64).max


class OtherTexts:
    """Rows of other files by number, from 1 over all files.

    ``match``, ``by`` and ``ignore`` of the settings say which texts are the same. Memory: some 60
    bytes a distinct key (two keys a row by either), and 12 bytes a distinct n-gram, four times that
    while they are read.
    """

    def __init__(
        self, settings: DedupSettings, overlap: float | None = None, ngram: int = NGRAM
    ) -> None:
        """Find rows of equal texts, and those that share *overlap* of their *ngram*-grams.

        Raises SettingsError for near matches, and for numbers out of range.
        """
        if settings.match == "near":
            raise SettingsError("near texts are not looked up in other files")
        if ngram < 1 or not (overlap is None or 0 < overlap <= 1):
            raise SettingsError("the share of n-grams is above 0, up to 1; n is above 0")
        self._settings, self._overlap = settings, overlap
        self._normalise = str if settings.match == "exact" else normaliser(settings.ignore)
        self._table = KeyTable(1 << 60)
        self._ngrams = [] if overlap is None else [Ngrams(ngram) for _ in range(settings.sides)]
        self._files: list[str] = []
        self._starts: list[int] = []
        self._next = 1

    def read(self, reader: RowReader, side: int | None = None) -> None:
        """Take the rows of a file, with the texts that are compared.

        With *side*, 0 or 1, its rows are texts of this side alone (by either). Raises InputError at
        a bad row.
        """
        self._files.append(reader.name)
        self._starts.append(self._next)
        for window in windows(strict(reader), lambda row: len(row.line), _WINDOW, WINDOW_BYTES):
            numbers = np.array([row.number for row in window], np.int64) + (self._starts[-1] - 1)
            texts = [[self._normalise(text) for text in row.texts] for row in window]
            self._add(numbers, texts, side)
            self._next = int(numbers[-1]) + 1

    def _add(self, numbers: Integers, rows: Sequence[Sequence[str]], side: int | None) -> None:
        """Add the keys and n-grams of normalised rows."""
        if side is None:
            self._add_keys(row_keys(rows, self._settings), np.repeat(numbers, self._settings.keys))
        else:
            self._add_keys([side_key(text, side) for (text,) in rows], numbers)
        for place, ngrams in enumerate(self._ngrams):
            if side is None:
                ngrams.add([row[place] for row in rows], numbers)
            elif side == place:
                ngrams.add([text for (text,) in rows], numbers)

    def _add_keys(self, digests: Sequence[bytes], numbers: Integers) -> None:
        """Add the keys that are new, each with the first of its rows."""
        first: dict[bytes, int] = {}
        for digest, number in zip(digests, numbers.tolist(), strict=True):
            first.setdefault(digest, number)
        keys, numbers = as_keys(list(first)), np.array(list(first.values()), np.int64)
        new = self._table.find(keys) == 0
        self._table.has_room(len(keys))
        self._table.add(keys[new], numbers[new])

    def matches(self, texts: Sequence[Sequence[str]]) -> Integers:
        """Return what ``find`` does, for texts as they were read."""
        rows = [[self._normalise(text) for text in row] for row in texts]
        return self.find(rows, as_keys(row_keys(rows, self._settings)))

    def find(self, texts: Sequence[Sequence[str]], keys: Keys) -> Integers:
        """Return for each row the number of a row of the files that it matches, or 0.

        Takes normalised *texts* and their *keys*. Numbers above those of all rows are of n-grams.
        """
        found = first_known(self._table, keys, self._settings.keys)
        if self._overlap is None or not texts:
            return found
        sides = [
            ngrams.find([row[place] for row in texts]) for place, ngrams in enumerate(self._ngrams)
        ]
        enough = np.array([shares >= self._overlap for shares, _ in sides])
        numbers = np.array([numbers for _, numbers in sides])
        shared = enough.any(axis=0) if self._settings.by == "either" else enough.all(axis=0)
        first = np.where(enough, numbers, _NONE).min(axis=0)
        return np.where((found == 0) & shared, first + self._next, found)

    def reason(self, number: int) -> str:
        """Return why a row is dropped, given the number that was found."""
        what = "occurs in" if number < self._next else "shares n-grams with"
        number -= 0 if number < self._next else self._next
        file = bisect_right(self._starts, number) - 1
        return f"{what} {self._files[file]}:{number - self._starts[file] + 1}"


class Ngrams:
    """The distinct n-grams of words of some texts, as hashes of 64 bits.

    Words stand between white space; each character of a script without spaces is a word. A text of
    fewer words is one n-gram.
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self._powers = [pow(_BASE, power, 1 << 64) for power in range(n)]
        self._hashes, self._numbers = np.zeros(0, np.uint64), np.zeros(0, np.uint32)
        self._waiting: list[tuple[Keys, _Numbers]] = []
        self._words = _WordHashes()

    def add(self, texts: Sequence[str], numbers: Integers) -> None:
        """Add the n-grams of *texts*, which have ascending *numbers*."""
        ngrams = self._of(texts)
        each = np.repeat(numbers.astype(np.uint32), ngrams.lengths)
        some = ngrams.flat != 0  # of a text with words
        self._waiting.append(_first_of_each(ngrams.flat[some], each[some]))
        if sum(len(hashes) for hashes, _ in self._waiting) > len(self._hashes):
            self._settle()

    def find(self, texts: Sequence[str]) -> tuple[Floats, Integers]:
        """Return the share of the n-grams of each text that were added, and the least number."""
        self._settle()
        ngrams = self._of(texts)
        hashes, where = np.unique(ngrams.flat, return_inverse=True)
        known, numbers = np.zeros(len(hashes), bool), np.full(len(hashes), _NONE)
        if len(self._hashes):
            places = np.searchsorted(self._hashes[:-1], hashes)
            known = self._hashes[places] == hashes
            numbers[known] = self._numbers[places[known]]
        numbers = numbers[where]
        shares = np.add.reduceat(known[where].astype(np.int64), ngrams.starts) / ngrams.lengths
        return shares, np.minimum.reduceat(numbers, ngrams.starts)

    def _settle(self) -> None:
        """Merge what waits; of the parts, no copies are kept meanwhile."""
        if self._waiting:
            hashes, numbers = zip((self._hashes, self._numbers), *self._waiting, strict=True)
            self._waiting = []
            self._hashes, self._numbers = np.concatenate(hashes), np.concatenate(numbers)
            del hashes, numbers
            self._hashes, self._numbers = _first_of_each(self._hashes, self._numbers)

    def _of(self, texts: Sequence[str]) -> Ragged:
        """Return the hashes of the n-grams of each text; a single 0 for one without words."""
        if len(self._words) > _MOST_WORDS:
            self._words.clear()
        words, distinct = numbered([*map(apart, texts)])
        known = np.fromiter(map(self._words.__getitem__, distinct), np.uint64, len(distinct))
        lengths = np.maximum(words.lengths, self._n)
        within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        filled = np.zeros(len(within), np.uint64)
        filled[within < np.repeat(words.lengths, lengths)] = known[words.flat]
        hashes = np.zeros_like(filled)
        for ahead, power in enumerate(self._powers):
            hashes[: len(hashes) - ahead] += filled[ahead:] * np.uint64(power)
        ngrams = lengths - (self._n - 1)
        return Ragged(hashes[within < np.repeat(ngrams, lengths)], ngrams)


def _first_of_each(hashes: Keys, numbers: _Numbers) -> tuple[Keys, _Numbers]:
    """Return the distinct hashes, sorted, each with its first number."""
    found, first = np.unique(hashes, return_index=True)
    return found, numbers[first]


class _WordHashes(dict[str, int]):
    """64 bits of BLAKE2b of each word."""

    def __missing__(self, word: str) -> int:
        data = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        self[word] = int.from_bytes(data, "little")
        return self[word]
