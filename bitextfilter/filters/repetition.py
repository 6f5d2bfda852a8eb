"""Rules of repeated text: pieces of characters, and phrases."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import regex
from numpy.typing import NDArray

from bitextfilter.arrays import Integers, Mask
from bitextfilter.errors import SettingsError
from bitextfilter.filters.facts import SPREAD, repeats
from bitextfilter.filters.pairs import BatchSide, Pairs
from bitextfilter.filters.rule import Cost, SideFault
from bitextfilter.settings import from_0, from_1, setting
from bitextfilter.text.units import UNSPACED


@functools.cache
def _said_again(times: int) -> regex.Pattern[str]:
    """Return the expression for a word and as many repetitions, with a mark between or not."""
    again = rf"(?:[^\w\s]*+\s*+\1){{{times}}}(?!\w)"
    unspaced = rf"([{UNSPACED}]{{1,8}})(?:[，、]?\2){{{times}}}"
    return regex.compile(rf"(?<!\w)([\p{{L}}\p{{M}}]++){again}|{unspaced}", regex.IGNORECASE)


@functools.cache
def _repeated_words(repeats: int) -> regex.Pattern[str]:
    """Return the expression for one to four words, or letters written unspaced, and repetitions."""
    return regex.compile(
        rf"(?<!\S)[^\w\s]*+(\w\S*+(?: \S++){{0,3}}?)(?: *\1){{{repeats},}}(?!\w)"
        rf"|(?P<unspaced>[{UNSPACED}]{{1,8}}?)(?P=unspaced){{{repeats},}}"
    )


_SPACE, _LINE_END = 0x20, 0x0A
_NEARBY = 4096
"""Places between two parts of an array that are quicker looked at together."""


class _Runs:
    """Finds runs of places where an array equals itself moved by a lag.

    It compares hashes of one, two, four or eight neighbours, only at the places that every run
    must touch: a run of 16 holds the 8 neighbours from each ninth place.
    """

    def __init__(self, values: NDArray[np.uint32]) -> None:
        self._grams = {1: values}
        for size in (1, 2, 4):
            gram = self._grams[size]
            self._grams[2 * size] = gram[:-size] * SPREAD + gram[size:]

    def at(self, lag: int, run: int) -> Integers:
        """Return a place in each run of *run* places or more, and false hits."""
        size = max(size for size in self._grams if size <= run)
        step, gram = run - size + 1, self._grams[size]
        return np.flatnonzero(gram[:-lag:step] == gram[lag::step]) * step

    def around(self, hits: Integers, lag: int, run: int) -> Iterator[slice]:
        """Yield slices that hold all runs near *hits*, and a lag and a place after each."""
        if len(hits):
            first, last = np.maximum(hits - run, 0), hits + run + lag + 1
            new = np.flatnonzero(first[1:] > last[:-1] + _NEARBY)
            bounds = first[np.append(0, new + 1)], last[np.append(new, len(hits) - 1)]
            yield from map(slice, *map(np.ndarray.tolist, bounds))


@dataclass(frozen=True)
class Repetition(SideFault):
    """No piece of text is repeated ``repeats`` times or more, with or without spaces between.

    The first time does not count: with ``repeats=2`` nothing stands three times in a row. Pieces
    have ``shortest`` to ``longest`` characters, the first no white space. Where the repeated text
    has fewer than ``least`` characters but spaces, it must be whole words, and the other side must
    not repeat a word, too: ``no, no, no`` beside ``nein, nein`` and ``tuntuntuni`` pass.
    """

    name = "repetition"
    unit = "the repeated piece"
    origin = "OpusFilter RepetitionFilter (its max_length is longest less one)"
    cost = Cost.ARRAYS

    repeats: int = from_1(2)
    shortest: int = from_1(3)
    longest: int = 101
    least: int = from_0(0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.longest < self.shortest:
            raise SettingsError(f"{self.name}: longest must be at least shortest")

    def fault(self, sentence: str) -> str | None:
        """Return the first repeated piece, the shortest of several."""
        written = _Written(BatchSide([sentence]))
        found, piece = len(written.places), None
        for lag in self._lags(written):
            run = self.repeats * lag
            hits = written.runs.at(lag, run)
            hits = hits[hits < found + run]
            for start in self._starts(written, hits, lag, self.repeats)[:1].tolist():
                if start < found:
                    first, last = written.places[[start, start + lag - 1]].tolist()
                    found, piece = start, sentence[first : max(last + 1, first + self.shortest)]
        return piece

    def faulty(self, side: BatchSide) -> Mask:
        """Return the sentences that repeat a piece, shape ``(n,)``."""
        suspects = repeats(side.utf8, self.repeats, self.shortest - 1, self.longest)
        if suspects is None:
            written = _Written(side)
            return self._repeating(side, written, self._lags(written))
        found, lags = suspects
        places = np.flatnonzero(found)
        some = side.at(places)
        found[places] = self._repeating(some, _Written(some), lags.tolist())
        return found

    def faulty_sides(self, pairs: Pairs) -> Mask:
        """Return the sides that repeat a piece that counts, shape ``(n, sides)``."""
        found = super().faulty_sides(pairs)
        for place, side in enumerate(pairs.sides if self.least else ()):
            places = np.flatnonzero(found[:, place])
            if not len(places):
                continue
            some = side.at(places)
            written = _Written(some)
            known = repeats(some.utf8, self.repeats, self.shortest - 1, self.longest)
            lags = self._lags(written) if known is None else known[1].tolist()
            counts = self._repeating(some, written, lags, self.least)
            for at in np.flatnonzero(~counts).tolist():
                others = [other.sentences[places[at]] for other in pairs.sides if other is not side]
                counts[at] = self._counts(some.sentences[at], "".join(others))
            found[places, place] = counts
        return found

    def _counts(self, sentence: str, other: str) -> bool:
        """Return whether whole words of a sentence are repeated, and none of the *other* side.

        Words with a mark between them may stand there twice alone.
        """
        for found in _repeated_words(self.repeats).finditer(sentence):
            piece = found["unspaced"] or found[1]
            times = self.repeats if piece[-1].isalnum() and not found["unspaced"] else 1
            if len(piece) >= self.shortest - 1 and not _said_again(times).search(other):
                return True
        return False

    def _repeating(
        self, side: BatchSide, written: _Written, lags: Iterable[int], least: int = 0
    ) -> Mask:
        """Return the sentences that repeat a piece: *least* characters but spaces in all."""
        found = np.zeros(len(side), dtype=bool)
        for lag in lags:
            times = max(self.repeats, -(-least // lag) - 1)
            hits = written.runs.at(lag, times * lag)
            if found.any():
                hits = hits[~found[written.sentences(hits)]]
            found[written.sentences(self._starts(written, hits, lag, times))] = True
        return found

    def _lags(self, written: _Written) -> range:
        """Return the numbers of characters but spaces that pieces have."""
        least = 1 if " " * (self.shortest - 1) in written.text else 2  # one needs spaces after it
        return range(least, min(self.longest, len(written.places) // 2) + 1)

    def _starts(self, written: _Written, hits: Integers, lag: int, times: int) -> Integers:
        """Return where the pieces of *lag* characters but spaces start that are repeated.

        Without spaces, *times* × lag characters equal those a lag further on. So do the spaces
        between them, but for those after each piece: they are enough to make it long enough.
        """
        found = [np.zeros(0, dtype=np.int64)]
        run = times * lag
        for part in written.runs.around(hits, lag, run):
            codes = written.codes[part]
            here, visible = codes[:-lag], np.logical_not(_spaces()[codes])
            if len(here) < run or not visible.any():
                continue
            same = (here == codes[lag:]) & (here != _LINE_END)
            starts = np.flatnonzero((_sums(same, run) == run) & visible[: len(here) - run + 1])
            if not len(starts):
                continue
            places = written.places[part.start : part.stop + 1]
            spaces = np.diff(places) - 1
            moved = np.concatenate([spaces[lag:] != spaces[:-lag], [False] * lag])
            ends = [starts + (copy * lag - 1) for copy in range(1, times + 2)]
            allowed = sum(moved[end].astype(np.int64) for end in ends[:times])
            size = places[ends[0]] + 1 - places[starts]
            good = (_sums(moved, run)[starts] == allowed) & (size <= self.longest)
            for end in ends:
                good &= size + spaces[end] >= self.shortest
            found.append(starts[good] + part.start)
        return np.concatenate(found)


class _Written:
    """The characters of a batch but spaces, and the line ends."""

    def __init__(self, side: BatchSide) -> None:
        self.text = side.text
        self.places = np.flatnonzero(side.codes != _SPACE)
        """Index of each in ``codes`` of the batch, ascending."""
        self.codes = side.codes[self.places]
        self.runs = _Runs(self.codes)
        self._ends = side.ends

    def sentences(self, indices: Integers) -> Integers:
        """Return the sentence of each character."""
        found: Integers = np.searchsorted(self._ends, self.places[indices])
        return found


def _sums(mask: Mask, size: int) -> Integers:
    """Return the number of true items in each window of *size*."""
    sums = np.concatenate([[0], np.cumsum(mask, dtype=np.int32)])
    found: Integers = sums[size:] - sums[:-size]
    return found


@functools.cache
def _spaces() -> Mask:
    """Return the table of white space in regular expressions."""
    table = np.zeros(sys.maxunicode + 1, dtype=bool)
    table[[space.start() for space in regex.finditer(r"\s", "".join(map(chr, range(0x3001))))]] = (
        True
    )
    return table


_LONGEST_PHRASE = 30
"""Words of the longest phrase that ``repeated-words`` finds."""


@dataclass(frozen=True)
class RepeatedWords(SideFault):
    """No phrase of ``shortest`` words or more stands twice in a row; case is ignored.

    Punctuation belongs to its word: "no, no, no, no" is a repetition, "I do, I do" is not.
    Phrases have at most 30 words. Languages without spaces need the rule ``repetition``.
    """

    name = "repeated-words"
    unit = "the repeated phrase"
    origin = "Bicleaner no_repeated_words (there: any seven characters, spaces and all)"

    shortest: int = setting(2, within=f">= 1, <= {_LONGEST_PHRASE}")

    def suspects(self, side: BatchSide) -> Mask:
        """Select sentences with a repeated run of word sketches (see ``BatchSide.sketches``)."""
        runs = _Runs(side.sketches(side.word_starts, side.word_ends))
        found = [runs.at(lag, lag) for lag in self._lags(len(side.word_lengths))]
        words = np.concatenate([np.zeros(0, dtype=np.int64), *found])
        return side.holding(side.word_starts[words])

    def fault(self, sentence: str) -> str | None:
        words = sentence.split()
        lower = [word.lower() for word in words]
        for lag in self._lags(len(words)):
            run = 0
            for end, (here, there) in enumerate(zip(lower, lower[lag:], strict=False), 1):
                run = run + 1 if here == there else 0
                if run == lag:
                    return " ".join(words[end - lag : end])
        return None

    def _lags(self, words: int) -> range:
        return range(self.shortest, min(_LONGEST_PHRASE, words // 2) + 1)
