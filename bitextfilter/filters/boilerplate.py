"""The rule of lines that web pages repeat; the patterns are in ``boilerplate.txt`` beside it."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import regex
from numpy.typing import NDArray

from bitextfilter.errors import SettingsError
from bitextfilter.filters.pairs import Side
from bitextfilter.filters.rule import Languages, SideFault
from bitextfilter.io.files import read_lines

__all__ = ["Boilerplate"]

_BUILT_IN = Path(__file__).with_suffix(".txt")
_MACROS = {
    "{sites}": "(?:facebook|twitter|x|linkedin|pinterest|whatsapp|instagram|youtube|reddit|google)",
    "{joint}": r"(?:\s*[|·•»]\s*|\s[/>–-]\s)",
}


@dataclass(frozen=True)
class Boilerplate(SideFault):
    """Neither side is a line that web pages repeat: cookies, copyright, log in, share, cart.

    The built-in patterns are English, German, French, Czech and Spanish, and are held against
    sides of every language; they are made to pass news that tells of such things. ``file`` adds
    the user's own: regular expressions, one a line, for text in whatever case.
    """

    name = "boilerplate"
    unit = "the first match of each side"
    origin = "ours"

    file: str | None = None

    def prepare(self, languages: Languages) -> None:
        """Raise NotFoundError or InputError, or SettingsError for what is no expression."""
        super().prepare(languages)
        self._lists()

    def suspects(self, side: Side) -> NDArray[np.bool_]:
        """Look only at sentences with a word that a pattern is known by."""
        suspects = np.zeros(len(side), dtype=bool)
        for patterns in self._lists():
            suspects |= patterns.suspects(side)
        return suspects

    def fault(self, sentence: str, language: str | None) -> str | None:
        """Return the first match of a pattern."""
        words = dict.fromkeys(_WORD.findall(sentence.lower()))
        for patterns in self._lists():
            for pattern in patterns.known_by(words):
                if found := pattern.search(sentence):
                    return str(found[0])
        return None

    def _lists(self) -> list[_Patterns]:
        return [_read(path) for path in (str(_BUILT_IN), self.file) if path is not None]


_WORD = regex.compile(r"\p{Alphabetic}+|©")


class _Patterns:
    """Regular expressions, each with the words that it is known by."""

    def __init__(self) -> None:
        self._by_word: dict[str, list[regex.Pattern[str]]] = {}
        self._anywhere: list[regex.Pattern[str]] = []

    def add(self, words: str, expression: str) -> None:
        """Add an *expression* for texts with one of the *words*; for any text without words."""
        pattern = regex.compile(expression, regex.IGNORECASE)
        for word in words.split():
            self._by_word.setdefault(word, []).append(pattern)
        if not words:
            self._anywhere.append(pattern)

    def known_by(self, words: Iterable[str]) -> Iterator[regex.Pattern[str]]:
        """Yield the patterns for a text of *words*."""
        for word in words:
            yield from self._by_word.get(word, ())
        yield from self._anywhere

    def suspects(self, side: Side) -> NDArray[np.bool_]:
        """Say which sentences may match, by the looks of their words, shape ``(n,)``."""
        if self._anywhere:
            return np.ones(len(side), dtype=bool)
        first, last = side.letter_runs
        known = np.isin(side.sketches(first, last), self._sketches)
        signs = np.flatnonzero(side.codes == ord("©"))
        return side.holding(np.concatenate([first[known], signs]))

    @functools.cached_property
    def _sketches(self) -> NDArray[np.uint32]:
        words = Side(list(self._by_word))
        return words.sketches(words.starts, words.ends)


@functools.lru_cache
def _read(path: str) -> _Patterns:
    patterns = _Patterns()
    for number, line in enumerate(read_lines(path), start=1):
        words, _, expression = line.rpartition("\t")
        if not expression.strip() or line.startswith("#"):
            continue
        for name, meaning in _MACROS.items():
            expression = expression.replace(name, meaning)
        try:
            patterns.add(words, expression)
        except regex.error as error:
            raise SettingsError(f"{path}:{number}: no regular expression: {error}") from error
    return patterns
