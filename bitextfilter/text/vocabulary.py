"""Vocabularies: numbered pieces with counts, words of sentence pairs, trigrams of words.

Trigrams are as in Wieting & Gimpel 2018, section 5 (TRIGRAM): a word of ``m`` characters has
``m`` of them, one around each character: *cat* has ``_ca``, ``cat`` and ``at_``.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np

from bitextfilter.arrays import Integers, Keys, Mask
from bitextfilter.errors import ModelError, NotFoundError
from bitextfilter.io.array_file import load_arrays, save_arrays
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

T = TypeVar("T")

_HEADER, _PIECES = "piece\tsource\ttarget", "piece"
_COUNTS, _EXPANSION = ".npz", 1000
"""Ending of the file of counts, and how tightly zeros are packed there."""
# A piece is a line's first cell, so the few characters that end cells are written as escapes.
_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_ESCAPING = str.maketrans(_ESCAPES)
_LINE = re.compile(r"[^\t]*\t[0-9]{1,19}\t[0-9]{1,19}")
_PIECE = re.compile(r"[^\t]*")
_UNESCAPES = {escape: character for character, escape in _ESCAPES.items()}
_ESCAPED = re.compile(r"\\[\\tnr]")


class Vocabulary:
    """Distinct pieces, numbered from ``len(RESERVED)`` in the order given.

    ``counts`` is int64 ``(len(pieces), languages)``: how often each piece occurred in the training
    text of each language; for two of them, of the source and of the target.
    """

    def __init__(self, pieces: Sequence[str], counts: Integers) -> None:
        """Take distinct *pieces* and their *counts*; ModelError if the two do not agree."""
        self.pieces = tuple(pieces)
        self.counts = np.asarray(counts, dtype=np.int64)
        if not self.pieces:
            self.counts = self.counts.reshape(0, self.counts.shape[-1] or 2)
        self.index = {piece: i for i, piece in enumerate(self.pieces, start=len(RESERVED))}
        if len(self.index) != len(self.pieces) or len(self.counts) != len(self.pieces):
            raise ModelError("a vocabulary of repeated pieces, or of too many or too few counts")

    @classmethod
    def build(cls, *languages: Iterable[Iterable[str]], size: int | None = None) -> Vocabulary:
        """Count the pieces of each language's segmented sentences, and keep the most frequent.

        At most *size* ids in all (reserved ones included); ties in the order of the pieces.
        """
        counters = [Counter(piece for pieces in each for piece in pieces) for each in languages]
        total: Counter[str] = Counter()
        for counter in counters:
            total.update(counter)
        kept = sorted(total, key=lambda piece: (-total[piece], piece))
        if size is not None:
            kept = kept[: max(size - len(RESERVED), 0)]
        return cls(kept, _table(kept, counters))

    def __len__(self) -> int:
        return len(RESERVED) + len(self.pieces)

    def piece(self, number: int) -> str:
        """Return the piece of an id, or the name of a reserved one; IndexError beyond them."""
        if not 0 <= number < len(self):
            raise IndexError(f"id {number} in a vocabulary of {len(self)}")
        return RESERVED[number] if number < len(RESERVED) else self.pieces[number - len(RESERVED)]

    def of(self, columns: Sequence[int]) -> Vocabulary:
        """Return the same pieces with the counts of some languages, by number."""
        return Vocabulary(self.pieces, self.counts[:, list(columns)])

    def save(self, path: Path) -> None:
        """Write the file that :meth:`load` reads.

        For two languages ``piece⇥count⇥count`` lines. For others a piece a line, and the counts
        in a file beside it: most of them are 0, which text would spell out. Tab, line ends and
        backslash are ``\\t`` and so on.
        """
        two = self.counts.shape[1] == 2
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write((_HEADER if two else _PIECES) + "\n")
            for piece, counts in zip(self.pieces, self.counts.tolist(), strict=True):
                cells = [piece.translate(_ESCAPING), *(map(str, counts) if two else ())]
                file.write("\t".join(cells) + "\n")
        if not two:
            _save_counts(path.with_suffix(_COUNTS), self.counts)

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
        two = lines[0] == _HEADER
        if not (two or lines[0] == _PIECES) or lines.pop() != "":
            raise ModelError(f"{path}: not a vocabulary, or cut off")
        line, expected = (_LINE, "a piece and two counts") if two else (_PIECE, "a piece")
        for number, text in enumerate(lines[1:], start=2):
            if not line.fullmatch(text):
                raise ModelError(f"{path}:{number}: expected {expected}")
        cells = "\t".join(lines[1:]).split("\t") if len(lines) > 1 else []
        if not two:
            return cls(_unescaped(cells), _load_counts(path.with_suffix(_COUNTS)))
        try:
            counts = [np.array(cells[column::3], dtype=np.int64) for column in (1, 2)]
        except (ValueError, OverflowError) as error:
            raise ModelError(f"{path}: a count is too large") from error
        return cls(_unescaped(cells[::3]), np.stack(counts, axis=1))


def _table(keys: Sequence[T], counters: Sequence[Mapping[T, int]]) -> Integers:
    """Return the counts of some keys, ``(keys, counters)``; 0 for a missing one."""
    table = np.zeros((len(keys), len(counters)), dtype=np.int64)
    for column, counter in enumerate(counters):
        table[:, column] = [counter.get(key, 0) for key in keys]
    return table


def _unescaped(cells: Sequence[str]) -> list[str]:
    """Return the pieces of a saved vocabulary's cells."""
    return [
        _ESCAPED.sub(lambda found: _UNESCAPES[found[0]], cell) if "\\" in cell else cell
        for cell in cells
    ]


def _save_counts(path: Path, counts: Integers) -> None:
    """Write counts ``(pieces, languages)``, packed; one of 2³² or more as the highest below."""
    highest = np.iinfo(np.uint32).max
    save_arrays(path, {"counts": np.minimum(counts, highest).astype(np.uint32)})


def _load_counts(path: Path) -> Integers:
    """Read what :func:`_save_counts` wrote; NotFoundError if missing, ModelError if damaged."""
    counts = load_arrays(path, "counts", _EXPANSION).get("counts")
    if counts is None or counts.dtype != np.uint32 or counts.ndim != 2:
        raise ModelError(f"{path}: not the counts of a vocabulary")
    return counts.astype(np.int64)


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
_FILLER = np.uint64(0x3000)
"""A space, which is in no word, behind and before characters that are read alone."""
_BLOCKS = "3041-3100 31F0-3200 3400-4DC0 4E00-A000 AC00-D7B0 F900-FB00 20000-32000"
_SYLLABIC = np.array(
    [int(bound, 16) for bound in _BLOCKS.replace("-", " ").split()], dtype=np.uint64
)
"""Beginnings and ends of Unicode's blocks of kana, Chinese characters and Hangul syllables."""
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
    syllabic: bool = setting(
        False,
        "Chinese characters, kana and Hangul alone and in twos, not in threes: three of them are"
        " a rare phrase",
    )


class Trigrams(Protocol):
    """Numbers of the trigrams of words."""

    syllabic: bool
    """See :class:`TrigramSettings`."""

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

    def __init__(self, size: int, syllabic: bool = False) -> None:
        """Take the number of places, and how words are read."""
        self.size, self.syllabic = size, syllabic

    def __len__(self) -> int:
        return len(RESERVED) + self.size

    def __call__(self, words: Sequence[str]) -> Ragged:
        """See :class:`Trigrams`."""
        keys, lengths = _keys(words, self.syllabic)
        # The finaliser of MurmurHash3 (Appleby 2016): every bit of the key changes every other.
        for factor in (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)):
            keys = (keys ^ (keys >> np.uint64(33))) * factor
        places = (keys ^ (keys >> np.uint64(33))) % np.uint64(self.size)
        return Ragged(places.astype(np.int32) + np.int32(len(RESERVED)), lengths)


class CountedTrigrams:
    """Trigrams by a vocabulary of them."""

    def __init__(self, vocabulary: Vocabulary, syllabic: bool = False) -> None:
        """Take a vocabulary whose pieces are trigrams, a space for a word's boundary."""
        self.vocabulary, self.syllabic = vocabulary, syllabic
        codes = np.array([[ord(mark) for mark in piece] for piece in vocabulary.pieces], np.uint64)
        keys = _packed(*codes.reshape(-1, 3).T)
        order = np.argsort(keys)
        self._keys = keys[order]
        self._ids = (order + len(RESERVED)).astype(np.int32)

    @classmethod
    def learn(cls, *languages: Iterable[str], size: int, syllabic: bool = False) -> CountedTrigrams:
        """Count the trigrams of the words of normalised sentences; the most frequent stay.

        Of more than two languages, a count is divided by the root of the counts of its language,
        so that languages with little text, and those with many characters, have their share.
        """
        counts = [_counted(each, syllabic) for each in languages]
        total: dict[int, float] = {}
        for counter in counts:
            share = 1.0 if len(counts) <= 2 else max(counter.total(), 1) ** -0.5
            for key, count in counter.items():
                total[key] = total.get(key, 0.0) + count * share
        kept = sorted(total, key=lambda key: (-total[key], key))[:size]
        shifts, mask = (2 * _BITS, _BITS, 0), (1 << _BITS) - 1
        texts = ["".join(chr(key >> shift & mask) for shift in shifts) for key in kept]
        return cls(Vocabulary(texts, _table(kept, counts)), syllabic)

    def __len__(self) -> int:
        return len(self.vocabulary)

    def __call__(self, words: Sequence[str]) -> Ragged:
        """See :class:`Trigrams`."""
        keys, lengths = _keys(words, self.syllabic)
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


def _keys(words: Sequence[str], syllabic: bool) -> tuple[Keys, Integers]:
    """Return the trigrams of all words, and their number in each word.

    *syllabic*: a character of ``_SYLLABIC`` is read alone and, unless it ends its word, with the
    next, filled up to three with ``_FILLER``.
    """
    lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
    text = f" {' '.join(words)} ".encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(text, dtype="<u4").astype(np.uint64)
    character, following = codes[1:-1], codes[2:]
    keys, inside = _packed(codes[:-2], character, following), character != ord(" ")
    if syllabic:
        alone = np.searchsorted(_SYLLABIC, character, side="right") % 2 == 1
        filler = np.full(len(character), _FILLER)
        keys[alone] = _packed(filler, character, filler)[alone]
        paired = alone & (following != ord(" "))
        last = np.cumsum(1 + paired) - 1  # the place of each character's last key
        keys, inside, word = np.repeat(keys, 1 + paired), np.repeat(inside, 1 + paired), ~inside
        keys[last[paired]] = _packed(character, following, filler)[paired]
        lengths += np.bincount(np.cumsum(word)[paired], minlength=len(words))
    return keys[inside], lengths


def _packed(first: Keys, second: Keys, third: Keys) -> Keys:
    """Return a key of three code points, the first highest."""
    return np.asarray((first << np.uint64(2 * _BITS)) | (second << np.uint64(_BITS)) | third)


def _counted(sentences: Iterable[str], syllabic: bool) -> Counter[int]:
    """Count the trigrams of the words of some sentences."""
    words = Counter(word for sentence in sentences for word in sentence.split())
    total: Counter[int] = Counter()
    stream = iter(words.items())
    while some := dict(islice(stream, _WORDS)):
        keys, lengths = _keys(list(some), syllabic)
        times = np.repeat(np.fromiter(some.values(), np.int64, len(some)), lengths)
        distinct, places = np.unique(keys, return_inverse=True)
        sums = np.bincount(places, times, len(distinct)).astype(np.int64)
        total.update(dict(zip(distinct.tolist(), sums.tolist(), strict=True)))
    return total
