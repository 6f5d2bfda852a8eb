"""Vocabularies: numbered pieces with their counts, and the words of sentence pairs."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from bitextfilter.arrays import Integers, Mask
from bitextfilter.errors import ModelError, NotFoundError
from bitextfilter.io.vectors import load_arrays, save_arrays
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.ragged import Ragged, WordNumbers

PAD = 0
BEGIN = 2
END = 3
RESERVED = ("<pad>", "<unknown>", "<begin>", "<end>")
"""The first ids; a piece of text with the same characters has an id of its own."""

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
        columns = [np.array([counter[piece] for piece in kept], np.int64) for counter in counters]
        return cls(kept, np.stack(columns, axis=1))

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
        return list(self._numbers)

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
