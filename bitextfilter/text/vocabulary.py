"""Vocabularies: numbered pieces with counts, words of sentence pairs, trigrams of words.

Trigrams are as in Wieting & Gimpel 2018, section 5 (TRIGRAM): a word of ``m`` characters has
``m`` of them, one around each character: *cat* has ``_ca``, ``cat`` and ``at_``.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Protocol

import numpy as np

from bitextfilter.arrays import Integers, Keys, Mask
from bitextfilter.errors import ModelError, NotFoundError
from bitextfilter.settings import Settings, setting
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.ragged import Ragged
from bitextfilter.text.segment import UNKNOWN
from bitextfilter.text.words import WordNumbers

PAD = 0
BEGIN = 2
END = 3
RESERVED = ("<pad>", "<unknown>", "<begin>", "<end>")
"""The first ids; a piece of text with the same characters has an id of its own."""

_HEADER = "piece\tsource\ttarget"
# A piece is a line's first cell, so the few characters that end cells are written as escapes.
_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_ESCAPING = str.maketrans(_ESCAPES)
_LINE = re.compile(r"[^\t]*\t[0-9]{1,19}\t[0-9]{1,19}")
_UNESCAPES = {escape: character for character, escape in _ESCAPES.items()}
_ESCAPED = re.compile(r"\\[\\tnr]")


class Vocabulary:
    """Distinct pieces, numbered from ``len(RESERVED)`` in the order given.

    ``counts`` is int64 ``(len(pieces), 2)``: how often each piece occurred in the training text
    of the source and of the target language.
    """

    def __init__(self, pieces: Sequence[str], counts: Integers) -> None:
        """Take distinct *pieces* and their *counts*; ModelError if the two do not agree."""
        self.pieces = tuple(pieces)
        self.counts = np.asarray(counts, dtype=np.int64).reshape(-1, 2)
        self.index = {piece: i for i, piece in enumerate(self.pieces, start=len(RESERVED))}
        if len(self.index) != len(self.pieces) or len(self.counts) != len(self.pieces):
            raise ModelError("a vocabulary of repeated pieces, or of too many or too few counts")

    @classmethod
    def build(
        cls,
        source_pieces: Iterable[Iterable[str]],
        target_pieces: Iterable[Iterable[str]],
        size: int | None = None,
    ) -> Vocabulary:
        """Count the pieces of segmented sentences and keep the most frequent.

        At most *size* ids in all (reserved ones included); ties in the order of the pieces.
        """
        source, target = (
            Counter(piece for pieces in side for piece in pieces)
            for side in (source_pieces, target_pieces)
        )
        total = source + target
        kept = sorted(total, key=lambda piece: (-total[piece], piece))
        if size is not None:
            kept = kept[: max(size - len(RESERVED), 0)]
        return cls(kept, np.array([(source[p], target[p]) for p in kept], dtype=np.int64))

    def __len__(self) -> int:
        return len(RESERVED) + len(self.pieces)

    def piece(self, number: int) -> str:
        """Return the piece of an id, or the name of a reserved one; IndexError beyond them."""
        if not 0 <= number < len(self):
            raise IndexError(f"id {number} in a vocabulary of {len(self)}")
        return RESERVED[number] if number < len(RESERVED) else self.pieces[number - len(RESERVED)]

    def save(self, path: Path) -> None:
        """Write ``piece⇥count⇥count`` lines; tab, line ends and backslash as ``\\t`` and so on."""
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(_HEADER + "\n")
            for piece, (source, target) in zip(self.pieces, self.counts.tolist(), strict=True):
                file.write(f"{piece.translate(_ESCAPING)}\t{source}\t{target}\n")

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        """Read a saved vocabulary.

        NotFoundError if the file is missing, ModelError, naming the line, if it is damaged.
        """
        try:
            lines = path.read_bytes().decode("utf-8").split("\n")
        except FileNotFoundError as error:
            raise NotFoundError(f"{path}: missing") from error
        except UnicodeDecodeError as error:
            raise ModelError(f"{path}: not UTF-8") from error
        except OSError as error:
            raise ModelError(f"{path}: cannot be read: {error.strerror}") from error
        if lines[0] != _HEADER or lines.pop() != "":
            raise ModelError(f"{path}: not a vocabulary, or cut off")
        for number, line in enumerate(lines[1:], start=2):
            if not _LINE.fullmatch(line):
                raise ModelError(f"{path}:{number}: expected a piece and two counts")
        cells = "\t".join(lines[1:]).split("\t") if len(lines) > 1 else []
        try:
            counts = [np.array(cells[column::3], dtype=np.int64) for column in (1, 2)]
        except (ValueError, OverflowError) as error:
            raise ModelError(f"{path}: a count is too large") from error
        pieces = [
            _ESCAPED.sub(lambda found: _UNESCAPES[found[0]], piece) if "\\" in piece else piece
            for piece in cells[::3]
        ]
        return cls(pieces, np.stack(counts, axis=1))


_NORMALISE = Normalisation(lowercase=True, apart=True)


def plain_words(sentence: str) -> list[str]:
    """Return the words in lower case; punctuation marks and symbols are words."""
    return _NORMALISE(sentence, "").split()


class NumberedWords:
    """Collects sentence pairs: 4 bytes a word, and each distinct word once."""

    def __init__(self) -> None:
        self.left = 0
        """Pairs that were too long, or had an empty side."""
        self._numbers = WordNumbers()
        self._flat = array("i"), array("i")
        self._lengths = array("i"), array("i")

    @property
    def words(self) -> list[str]:
        """The distinct words by number."""
        return self._numbers.words

    @property
    def pairs(self) -> int:
        """The number of pairs kept."""
        return len(self._lengths[0])

    def add(self, source: str, target: str, most: int) -> None:
        """Keep a pair, unless a side has more than *most* words, or none."""
        texts = plain_words(source), plain_words(target)
        if not all(0 < len(text) <= most for text in texts):
            self.left += 1
            return
        for text, flat, lengths in zip(texts, self._flat, self._lengths, strict=True):
            flat.extend(map(self._numbers.__getitem__, text))
            lengths.append(len(text))

    def sides(self) -> tuple[Ragged, Ragged]:
        """Return the sentences of both sides as numbers."""
        source, target = (
            Ragged(np.array(flat, np.int32), np.array(lengths, np.int64))
            for flat, lengths in zip(self._flat, self._lengths, strict=True)
        )
        return source, target

    def readable(self) -> Mask:
        """Return for each number whether its word has a letter or a digit."""
        return np.array([any(map(str.isalnum, word)) for word in self.words], dtype=bool)


TRIGRAM_KINDS = ("counted", "hashed")
_BITS = 21
"""Bits that hold any code point."""
_WORDS = 1 << 16
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


class Trigrams(Protocol):
    """Numbers of the trigrams of words."""

    def __len__(self) -> int:
        """Return the number of ids, ``RESERVED`` included."""
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
        shifts, mask = (2 * _BITS, _BITS, 0), (1 << _BITS) - 1
        texts = ["".join(chr(key >> shift & mask) for shift in shifts) for key in kept]
        return cls(Vocabulary(texts, np.array(pairs, dtype=np.int64)))

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


def _keys(words: Sequence[str]) -> tuple[Keys, Integers]:
    """Return the trigrams of all words, and their number in each word."""
    lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
    text = f" {' '.join(words)} ".encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(text, dtype="<u4").astype(np.uint64)
    keys = _packed(codes[:-2], codes[1:-1], codes[2:])
    return keys[codes[1:-1] != ord(" ")], lengths


def _packed(first: Keys, second: Keys, third: Keys) -> Keys:
    """Return a key of three code points, the first highest."""
    return np.asarray((first << np.uint64(2 * _BITS)) | (second << np.uint64(_BITS)) | third)


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
