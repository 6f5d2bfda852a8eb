"""n-gram language models with back-off, and their ARPA files.

A line that starts with ``#`` before ``\\data\\`` holds the token units (``TokenUnits.note``);
KenLM and most other readers skip it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice, repeat
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Integers, places_of
from bitextfilter.errors import InputError, ModelError
from bitextfilter.io.files import open_input
from bitextfilter.io.lines import lines_of
from bitextfilter.text.words import TokenUnits

MARKS = ("<unk>", "<s>", "</s>")
"""The first tokens of every model."""

UNKNOWN, BEGIN, END = range(3)

_BATCH = 1 << 20
"""Tokens scored at once, which bounds the memory."""


class Level(NamedTuple):
    """The n-grams of one length, in ascending order of their keys.

    An n-gram's index is its number. Its key is the number of its context (its first n-1 tokens, on
    the level before) times the size of the vocabulary, plus the number of its last word; the key
    of a unigram is the number of its word.
    """

    keys: Integers
    """Shape ``(grams,)``, ascending."""
    logprobs: NDArray[np.float32]
    """log10 probability of the last word after the others, shape ``(grams,)``."""
    backoffs: NDArray[np.float32]
    """log10 of the back-off weight of the n-gram as a context, shape ``(grams,)``."""


class NgramModel:
    """A language model of n-grams: log10 probabilities and back-off weights, as in an ARPA file.

    The probability of a word after a context is the n-gram's if it is listed, else the back-off
    weight of the context (1 if unlisted) times the probability after the context without its first
    word (Katz 1987).
    """

    def __init__(
        self, words: Sequence[str], levels: Sequence[Level], units: TokenUnits | None = None
    ) -> None:
        """Take the *words* (first ``MARKS``), a level for each length, and the token units."""
        self.words = words
        self.levels = levels
        self.units = units
        self._numbers = {word: number for number, word in enumerate(words)}

    @property
    def order(self) -> int:
        """The length of the longest n-grams."""
        return len(self.levels)

    def scores(self, sentences: Sequence[Sequence[str]]) -> Floats:
        """Return the log10 probability of each sentence of tokens with ``</s>``, shape ``(n,)``.

        Unknown tokens count as ``<unk>``.
        """
        lengths = np.fromiter(map(len, sentences), dtype=np.int64, count=len(sentences)) + 1
        sums = np.empty(len(sentences))
        first = 0
        while first < len(sentences):
            batch = int(np.searchsorted(np.cumsum(lengths[first:]), _BATCH, side="right"))
            last = first + max(batch, 1)
            logprobs = self.logprobs(sentences[first:last])
            starts = np.cumsum(lengths[first:last]) - lengths[first:last]
            sums[first:last] = np.add.reduceat(logprobs, starts)
            first = last
        return sums

    def logprobs(self, sentences: Sequence[Sequence[str]]) -> Floats:
        """Return the log10 probability of the tokens and the end of each sentence, in one array."""
        parts = (chain(MARKS[BEGIN : BEGIN + 1], tokens, MARKS[END:]) for tokens in sentences)
        number = self._numbers.get
        ids = np.array(
            [number(token, UNKNOWN) for token in chain.from_iterable(parts)], dtype=np.int64
        )
        ends = np.cumsum([len(tokens) + 2 for tokens in sentences])
        inside = np.ones(len(ids), dtype=bool)
        inside[np.append(0, ends[:-1])] = False
        grams, logprobs = ids, self.levels[0].logprobs[ids].astype(np.float64)
        for level, lower in zip(self.levels[1:], self.levels, strict=False):
            contexts = np.append(-1, grams[:-1])
            known = inside & (contexts >= 0)
            keys = np.where(known, contexts * len(self.words) + ids, -1)
            logprobs[known] += lower.backoffs[contexts[known]]
            grams = places_of(keys, level.keys)
            found = grams >= 0
            logprobs[found] = level.logprobs[grams[found]]
        return logprobs[inside]


_LINES = 1 << 17
"""Lines parsed or written at once."""

_LEAST = -100.0
"""log10 probability of ``<unk>`` if a file has none, as in KenLM."""

_ALIASES = {b"<UNK>": b"<unk>"}


def write_arpa(model: NgramModel, stream: BinaryIO) -> None:
    """Write *model* to a binary stream, without rounding."""
    note = [model.units.note()] if model.units else []
    counts = [f"ngram {n}={len(level.keys)}" for n, level in enumerate(model.levels, 1)]
    stream.write("\n".join([*note, "\\data\\", *counts, "", ""]).encode())
    vocabulary = np.array([word.encode() for word in model.words], dtype=object)
    for n, level in enumerate(model.levels, 1):
        stream.write(b"\\%d-grams:\n" % n)
        for first in range(0, len(level.keys), _LINES):
            part = slice(first, first + _LINES)
            columns = [vocabulary[ids].tolist() for ids in _columns(model, n, level.keys[part])]
            texts = map(b" ".join, zip(*columns, strict=True))
            logprobs = level.logprobs[part].tolist()
            if n < model.order:
                rows = zip(logprobs, texts, level.backoffs[part].tolist(), strict=True)
                lines = [b"%.9g\t%b\t%.9g\n" % row for row in rows]
            else:
                lines = [b"%.9g\t%b\n" % row for row in zip(logprobs, texts, strict=True)]
            stream.write(b"".join(lines))
        stream.write(b"\n")
    stream.write(b"\\end\\\n")


def _columns(model: NgramModel, n: int, keys: Integers) -> list[Integers]:
    """Return the numbers of the n words of each key, one array a position."""
    columns = []
    for level in reversed(model.levels[: n - 1]):
        contexts, last = np.divmod(keys, len(model.words))
        columns.append(last)
        keys = level.keys[contexts]
    return [keys, *reversed(columns)]


def arpa_units(path: str | Path) -> TokenUnits | None:
    """Return the token units in the head of an ARPA file, None if it has none.

    Raises ModelError if the file is no ARPA file, NotFoundError if it cannot be opened.
    """
    with open_input(path) as stream:
        return _read_head(_Lines(stream, str(path)))


def read_arpa(path: str | Path) -> NgramModel:
    """Read a model from an ARPA file, unpacked by its name.

    Raises NotFoundError if it cannot be opened, and ModelError, naming the line, if it breaks the
    format: wrong counts or numbers, an n-gram of unknown words, without its context or given
    twice, a missing ``\\end\\``, ``<s>`` or ``</s>``.
    """
    with open_input(path) as stream:
        lines = _Lines(stream, str(path))
        units = _read_head(lines)
        counts = _read_counts(lines)
        words, levels = _read_unigrams(lines, counts[0], len(counts) == 1)
        numbers = {word: number for number, word in enumerate(words)}
        numbers.update({alias: numbers[name] for alias, name in _ALIASES.items()})
        for n, count in enumerate(counts[1:], 2):
            levels.append(_read_level(lines, numbers, levels, count, n == len(counts)))
        if lines.next_filled() != b"\\end\\":
            raise lines.fault("expected \\end\\")
    return NgramModel([word.decode() for word in words], levels, units)


class _Lines:
    """The lines of an ARPA file, counted."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._lines = lines_of(stream, name)
        self._name = name
        self.number = 0

    def fault(self, message: str, number: int | None = None) -> ModelError:
        """Return the error of a line, the last one read if no *number* is given."""
        return ModelError(f"{self._name}:{number or self.number}: {message}")

    def take(self, count: int) -> list[bytes]:
        """Return the next *count* lines, or fewer at the end."""
        try:
            found = list(islice(self._lines, count))
        except InputError as error:
            raise ModelError(str(error)) from error
        self.number += len(found)
        return found

    def next(self) -> bytes:
        """Return the next line, stripped; raises ModelError at the end."""
        found = self.take(1)
        if not found:
            raise self.fault("the file ends too early", self.number + 1)
        return found[0].strip()

    def next_filled(self) -> bytes:
        """Return the next line that is not blank, stripped."""
        while not (line := self.next()):
            pass
        return line


def _read_head(lines: _Lines) -> TokenUnits | None:
    """Read up to ``\\data\\``, and return the token units."""
    units = None
    while (line := lines.next()) != b"\\data\\":
        if line.startswith((b"mmap lm", b"\\1-grams:")) or lines.number > 1000:
            raise lines.fault("no \\data\\ before this: not an ARPA file")
        try:
            units = TokenUnits.from_note(line.decode("utf-8", "replace")) or units
        except ModelError as error:
            raise lines.fault(str(error)) from error
    return units


def _read_counts(lines: _Lines) -> list[int]:
    counts: list[int] = []
    while line := lines.next():
        found = re.fullmatch(rb"ngram +(\d{1,18}) *= *(\d{1,18})", line)
        if found is None or int(found[1]) != len(counts) + 1:
            raise lines.fault(f"expected ngram {len(counts) + 1}=COUNT")
        counts.append(int(found[2]))
    if not counts:
        raise lines.fault("no n-grams are counted")
    return counts


class _Part(NamedTuple):
    """Some n-grams of a section."""

    columns: list[tuple[bytes, ...]]
    """Their words, one tuple a position."""
    numbers: Floats
    """log10 probabilities and back-off weights, shape ``(2, grams)``."""


def _read_section(lines: _Lines, n: int, count: int, last: bool) -> Iterator[_Part]:
    """Yield the *count* n-grams of the next section, and read past them."""
    if lines.next_filled() != b"\\%d-grams:" % n:
        raise lines.fault(f"expected \\{n}-grams:")
    for left in range(count, 0, -_LINES):
        rows = [line.split() for line in lines.take(min(left, _LINES))]
        start = lines.number - len(rows) + 1
        if len(rows) < min(left, _LINES):
            raise lines.fault("the file ends too early", lines.number + 1)
        for place, row in enumerate(rows):
            if len(row) != n + 2 - last:
                if last or len(row) != n + 1:
                    raise lines.fault(f"not one of the {count} {n}-grams", start + place)
                row.append(b"0")
        yield _parsed(lines, rows, n, start)


def _parsed(lines: _Lines, rows: list[list[bytes]], n: int, start: int) -> _Part:
    columns = list(zip(*rows, strict=True))
    backoffs = columns[n + 1] if len(columns) > n + 1 else (b"0",) * len(rows)
    numbers = np.array([list(map(_number, column)) for column in (columns[0], backoffs)])
    wrong = np.flatnonzero(~(np.isfinite(numbers).all(axis=0) & (numbers[0] <= 0)))
    if len(wrong):
        raise lines.fault("a log10 probability is a number up to 0", start + int(wrong[0]))
    return _Part(columns[1 : n + 1], numbers)


def _number(text: bytes) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _read_unigrams(lines: _Lines, count: int, last: bool) -> tuple[list[bytes], list[Level]]:
    """Return the words, ``MARKS`` first, and the level of the unigrams."""
    parts = list(_read_section(lines, 1, count, last))
    read = [_ALIASES.get(word, word) for part in parts for word in part.columns[0]]
    marks = [mark.encode() for mark in MARKS]
    found = dict.fromkeys([*marks, *read])
    if len(set(read)) < count or not set(marks[1:]) <= set(read):
        raise lines.fault("a word is given twice, or <s> or </s> is missing, in the unigrams")
    try:
        b"\n".join(found).decode()
    except UnicodeDecodeError as error:
        raise lines.fault("a word of the unigrams is not UTF-8") from error
    numbers = np.array([[_LEAST] * len(found), [0.0] * len(found)])
    places = {word: place for place, word in enumerate(found)}
    order = [places[word] for word in read]
    numbers[:, order] = np.concatenate([part.numbers for part in parts], axis=1)
    logprobs, backoffs = numbers.astype(np.float32)
    return list(found), [Level(np.arange(len(found)), logprobs, backoffs)]


def _read_level(
    lines: _Lines, words: dict[bytes, int], levels: list[Level], count: int, last: bool
) -> Level:
    """Read the n-grams of the next section, whose contexts are on the *levels* before."""
    n, size = len(levels) + 1, len(levels[0].keys)
    keys = np.empty(count, dtype=np.int64)
    numbers = np.empty((2, count), dtype=np.float32)
    done = 0
    for part in _read_section(lines, n, count, last):
        ids = [list(map(words.get, column, repeat(-1))) for column in part.columns]
        found = np.array(ids, dtype=np.int64)
        grams = found[0]
        for level, column in zip(levels[1:], found[1:], strict=False):
            grams = places_of(np.where(grams < 0, -1, grams * size + column), level.keys)
        wrong = np.flatnonzero((grams < 0) | (found < 0).any(axis=0))
        if len(wrong):
            message = f"a {n}-gram of unknown words or without its context"
            raise lines.fault(message, lines.number - len(grams) + 1 + int(wrong[0]))
        read = slice(done, done + len(grams))
        keys[read], numbers[:, read] = grams * size + found[-1], part.numbers
        done += len(grams)
    order = np.argsort(keys, kind="stable")
    if (np.diff(keys[order]) == 0).any():
        raise lines.fault(f"a {n}-gram is given twice, above this line")
    return Level(keys[order], *numbers[:, order])
