"""Rules of text that says the same thing several times in a row."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import regex
from numpy.typing import NDArray

from bitextfilter.errors import SettingsError
from bitextfilter.filters.pairs import Pairs, Side
from bitextfilter.filters.rule import SIDES, Rule, SideFault, Verdict

_SPACE = 0x20
_MIX = np.uint32(0x9E3779B1)
"""An odd number with its bits well spread (2**32 over the golden ratio)."""


class _Runs:
    """Finds where an array may equal itself, moved by a lag, over a run of places.

    It first compares hashes of one, two, four or eight neighbours, at as few places as every run
    is sure to touch: a run of 16 holds the 8 neighbours from each ninth place.
    """

    def __init__(self, values: NDArray[np.uint32]) -> None:
        self._grams = {1: values}
        for size in (1, 2, 4):
            gram = self._grams[size]
            self._grams[2 * size] = gram[:-size] * _MIX + gram[size:]

    def at(self, lag: int, run: int) -> NDArray[np.int64]:
        """Return a place inside each run of so many places, and some that are in no run."""
        size = max(size for size in self._grams if size <= run)
        step, gram = run - size + 1, self._grams[size]
        places: NDArray[np.int64] = np.flatnonzero(gram[:-lag:step] == gram[lag::step]) * step
        return places

    def surely(self, place: int, lag: int, run: int) -> bool:
        """Say whether *place* is inside a run of so many places."""
        values, first = self._grams[1], max(place - run, 0)
        here = values[first : place + run]
        there = values[first + lag : place + run + lag]
        breaks = np.flatnonzero(here[: len(there)] != there)
        ends = np.concatenate(([-1], breaks, [len(there)]))
        return bool(np.diff(ends).max() > run)


@dataclass(frozen=True)
class Repetition(Rule):
    """No piece of text is repeated so many times in a row, with or without spaces between.

    The first time does not count: with ``repeats=2`` nothing is said three times. Pieces are
    ``shortest`` to ``longest`` characters long and start with no white space.
    """

    name = "repetition"
    unit = "the repeated piece"
    origin = "OpusFilter RepetitionFilter (its max_length is longest less one)"

    repeats: int = 2
    shortest: int = 3
    longest: int = 101

    def __post_init__(self) -> None:
        """Raise SettingsError for lengths or repeats that nothing can have."""
        if self.repeats < 1 or not 1 <= self.shortest <= self.longest:
            raise SettingsError(f"{self.name}: 1 <= repeats and 1 <= shortest <= longest, please")

    def judge(self, pairs: Pairs) -> Verdict:
        """Look at every side."""
        found = np.stack([self._repeats(side) for side in pairs.sides], axis=1)

        def reason(index: int) -> str:
            texts = (side.sentences[index] for side in pairs.sides)
            return " ".join(
                f"{self.name}({name})={self.piece(text)}"
                for name, text, repeats in zip(SIDES, texts, found[index], strict=True)
                if repeats
            )

        keep: NDArray[np.bool_] = np.logical_not(found.any(axis=1))
        return Verdict(keep, reason)

    def piece(self, sentence: str) -> str | None:
        """Return the first piece that is repeated, if there is one."""
        match = _repeated(self.repeats, self.shortest, self.longest).search(sentence)
        return match[1] if match else None

    def _repeats(self, side: Side) -> NDArray[np.bool_]:
        """Say which sentences repeat a piece, shape ``(n,)``.

        Without spaces, a piece of p characters makes *repeats* times p characters equal to those
        p places further on. Only around such a place is the piece looked for. A piece of one
        character is followed by spaces.
        """
        places = np.flatnonzero(side.codes != _SPACE)
        runs = _Runs(side.codes[places])
        found = np.zeros(len(side), dtype=bool)
        least = 1 if " " * (self.shortest - 1) in side.text else 2
        for lag in range(least, min(self.longest, len(places) // 2) + 1):
            reach = (self.repeats + 1) * lag
            for place in runs.at(lag, self.repeats * lag).tolist():
                sentence = np.searchsorted(side.ends, places[place])
                if not found[sentence] and runs.surely(place, lag, self.repeats * lag):
                    first = max(places[max(place - reach, 0)], side.starts[sentence])
                    last = min(places[min(place + reach + 1, len(places) - 1)], side.ends[sentence])
                    found[sentence] = self.piece(side.text[first:last]) is not None
        return found


@functools.lru_cache
def _repeated(repeats: int, shortest: int, longest: int) -> regex.Pattern[str]:
    return regex.compile(rf"(\S.{{{shortest - 1},{longest - 1}}}?)(?: *\1){{{repeats},}}")


LONGEST_PHRASE = 30
"""Words of the longest phrase that RepeatedWords looks for."""


@dataclass(frozen=True)
class RepeatedWords(SideFault):
    """No phrase of so many words (``shortest``) is said twice in a row, in whatever case.

    Marks at the end of a word are part of it, so that "no, no, no, no" is a repetition and "I do,
    I do" none. Phrases of up to 30 words are found; languages written without spaces need the
    rule ``repetition``.
    """

    name = "repeated-words"
    unit = "the repeated phrase"
    origin = "Bicleaner no_repeated_words (there: any seven characters, spaces and all)"

    shortest: int = 2

    def __post_init__(self) -> None:
        """Raise SettingsError for a length that no phrase can have."""
        if not 1 <= self.shortest <= LONGEST_PHRASE:
            raise SettingsError(f"{self.name}: shortest is 1 to {LONGEST_PHRASE} words")

    def suspects(self, side: Side) -> NDArray[np.bool_]:
        """Words are taken for the same if their length, first and last letter are."""
        runs = _Runs(side.sketches(side.word_starts, side.word_ends))
        found = [runs.at(lag, lag) for lag in self._lags(len(side.word_lengths))]
        words = np.concatenate([np.zeros(0, dtype=np.int64), *found])
        return side.holding(side.word_starts[words])

    def fault(self, sentence: str, language: str | None) -> str | None:
        """Return the first of the shortest phrases that are repeated."""
        words = sentence.split()
        lower = [word.lower() for word in words]
        for lag in self._lags(len(words)):
            for place in _doubled(lower, lag):
                return " ".join(words[place : place + lag])
        return None

    def _lags(self, words: int) -> range:
        return range(self.shortest, min(LONGEST_PHRASE, words // 2) + 1)


def _doubled(words: Sequence[str], lag: int) -> Iterator[int]:
    """Yield where *lag* words are followed by the same words."""
    run = 0
    for place, (here, there) in enumerate(zip(words, words[lag:], strict=False)):
        run = run + 1 if here == there else 0
        if run == lag:
            yield place - lag + 1
            run = 0
