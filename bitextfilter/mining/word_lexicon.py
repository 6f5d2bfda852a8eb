"""Lexicon of word probabilities: learnt from sentence pairs, kept in a file, used to align words.

A line of the file has a source word, a target word, p(target|source) and p(source|target). An
empty word is none: beside it is the probability of the other word without a link.
"""

from __future__ import annotations

import functools
from array import array
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from bitextfilter.errors import InputError
from bitextfilter.io.files import open_input, without_ending
from bitextfilter.io.lines import lines_of
from bitextfilter.mining.word_alignment import (
    ITERATIONS,
    UNKNOWN,
    Alignments,
    Links,
    WordAligner,
    WordTable,
    symmetrised,
)
from bitextfilter.text.ragged import Ragged, WordNumbers
from bitextfilter.text.words import bare_word

LEAST = 1e-5
"""Word pairs less probable than this, in both directions, are left out of a lexicon."""

SYMMETRISATIONS: dict[str, Callable[[Alignments], Links]] = {
    "grow-diag-final-and": symmetrised,
    "grow-diag": functools.partial(symmetrised, final=False),
    "intersection": lambda found: found.forward & found.backward,
    "union": lambda found: found.forward | found.backward,
    "forward": lambda found: found.forward,
    "backward": lambda found: found.backward,
}
"""Ways to make one alignment of those of both directions."""


def pharaoh(links: Links) -> str:
    """Return links as ``0-0 1-2``: places of the source and the target word, from 0, ascending."""
    return " ".join(f"{i}-{j}" for i, j in sorted(links))


def unaligned_share(links: Links, lengths: tuple[int, int]) -> float:
    """Return the share of the words of both sides, *lengths* of each, that have no link."""
    linked = len({i for i, _ in links}) + len({j for _, j in links})
    return 1 - linked / sum(lengths)


class Lexicon:
    """Words by number, and the probabilities of word pairs.

    Words stand between white space; they are compared in lower case, without punctuation marks at
    their ends. Memory: some 24 bytes a word pair.
    """

    def __init__(self, words: dict[str, int], table: WordTable) -> None:
        """Take words and a table of one word more: the last number is that of unknown words."""
        self._words, self._table = words, table

    def __len__(self) -> int:
        """Return the number of word pairs."""
        return len(self._table.keys) - 1

    def align(self, pairs: Sequence[tuple[Sequence[str], Sequence[str]]]) -> Iterator[Alignments]:
        """Yield the likeliest links of sentence pairs, given the words of each, at least one.

        A word that is not in the lexicon has no link.
        """
        get, unknown = self._words.get, len(self._words)
        source, target = (
            Ragged.of_lists(
                [[get(bare_word(word), unknown) for word in pair[side]] for pair in pairs]
            )
            for side in (0, 1)
        )
        return WordAligner(source, target, unknown + 1, self._table).align()

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of the file."""
        words, size = list(self._words), len(self._words) + 1
        keys, (backward, forward), (source, target) = self._table
        numbers = zip(keys[:-1].tolist(), forward.tolist(), backward.tolist(), strict=False)
        for key, there, back in numbers:
            one, other = divmod(key, size)
            yield f"{words[one]}\t{words[other]}\t{there:.9g}\t{back:.9g}\n".encode()
        for word, one_null, other_null in zip(words, source, target, strict=False):
            if other_null:
                yield f"\t{word}\t{other_null:.9g}\t\n".encode()
            if one_null:
                yield f"{word}\t\t\t{one_null:.9g}\n".encode()


class LexiconLearner:
    """Collects sentence pairs, 4 bytes a word, and learns a lexicon from them.

    Beside these it takes the memory of a ``WordAligner``.
    """

    def __init__(self) -> None:
        self._words = WordNumbers()
        self._flat = array("i"), array("i")
        self._lengths = array("i"), array("i")

    def __len__(self) -> int:
        """Return the number of sentence pairs."""
        return len(self._lengths[0])

    def add(self, words: tuple[Sequence[str], Sequence[str]]) -> None:
        """Take the words of a sentence pair, at least one of each side."""
        for text, flat, lengths in zip(words, self._flat, self._lengths, strict=True):
            flat.extend(self._words[bare_word(word)] for word in text)
            lengths.append(len(text))

    def learn(self, iterations: int = ITERATIONS) -> Lexicon:
        """Return the lexicon after some iterations, at least one, of expectation maximisation."""
        if not len(self):
            none = np.zeros(1)
            return Lexicon({}, WordTable(np.array([UNKNOWN]), (none, none), (none, none)))
        source, target = (
            Ragged(np.array(flat, np.int32), np.array(lengths, np.int64))
            for flat, lengths in zip(self._flat, self._lengths, strict=True)
        )
        aligner = WordAligner(source, target, len(self._words) + 1)
        aligner.learn(iterations)
        return Lexicon(dict(self._words), aligner.learnt(LEAST))


def read_lexicon(path: str) -> Lexicon:
    """Read the file of a lexicon. Raises NotFoundError, and InputError for a line that is none."""
    reader = _Reader()
    with open_input(path) as stream:
        for number, line in enumerate(lines_of(stream, path), 1):
            try:
                reader.add(without_ending(line).decode())
            except ValueError:
                message = "not a line of a lexicon: two words, two probabilities"
                remedy = "bitext-align-words --save FILE writes one"
                raise InputError(message, file=path, line=number, remedy=remedy) from None
    words, table = reader.words, reader.table()
    if double := np.flatnonzero(table.keys[1:] == table.keys[:-1]).tolist():
        one, other = divmod(int(table.keys[double[0]]), len(words) + 1)
        texts = list(words)
        raise InputError(f"{texts[one]}, {texts[other]} stand twice", file=path)
    return Lexicon(dict(words), table)


class _Reader:
    """Collects the lines of a lexicon."""

    def __init__(self) -> None:
        self.words = WordNumbers()
        self._pairs = array("i"), array("i")
        self._numbers = array("f"), array("f")
        self._nulls: tuple[dict[int, float], dict[int, float]] = {}, {}

    def add(self, line: str) -> None:
        """Take a line without its ending. Raises ValueError if it is none."""
        source, target, there, back = line.split("\t")
        if source and target:
            for column, word in zip(self._pairs, (source, target), strict=True):
                column.append(self.words[word])
            for numbers, text in zip(self._numbers, (back, there), strict=True):
                numbers.append(_probability(text))
        elif source:
            self._nulls[0][self.words[source]] = _probability(back)
        elif target:
            self._nulls[1][self.words[target]] = _probability(there)
        else:
            raise ValueError("no words")

    def table(self) -> WordTable:
        """Return the probabilities."""
        size = len(self.words) + 1
        one, other = (np.array(column, np.int64) for column in self._pairs)
        keys = np.append(one * size + other, UNKNOWN)
        order = np.argsort(keys, kind="stable")
        tables = [
            np.append(np.array(column, np.float32), 0).astype(np.float64)[order]
            for column in self._numbers
        ]
        nulls = [np.zeros(size) for _ in self._nulls]
        for column, known in zip(nulls, self._nulls, strict=True):
            column[list(known)] = np.array(list(known.values()), np.float32)
        return WordTable(keys[order], (tables[0], tables[1]), (nulls[0], nulls[1]))


def _probability(text: str) -> float:
    """Read a number from 0 to 1. Raises ValueError for another text."""
    if not 0 <= (number := float(text)) <= 1:
        raise ValueError(text)
    return number
