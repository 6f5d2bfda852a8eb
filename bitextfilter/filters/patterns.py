"""Rules of the user's own patterns: regular expressions, literals, word lists."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import regex

from bitextfilter.arrays import Mask
from bitextfilter.errors import SettingsError
from bitextfilter.filters.pairs import BatchSide
from bitextfilter.filters.rule import SIDES, LanguagePair, PairFault, SideFault
from bitextfilter.io.files import read_lines


@dataclass(frozen=True)
class RegularExpression(PairFault):
    """No side matches a regular expression; with ``keep=yes``, each side matches.

    ``pattern`` is for both sides, ``source`` and ``target`` are for one. The syntax is that of
    Python's ``regex`` package; a match may stand anywhere in a sentence.
    """

    name = "regular-expression"
    unit = "side and first match"
    origin = "OpusFilter RegExpFilter (keep is its accept_match)"

    pattern: str | None = None
    source: str | None = None
    target: str | None = None
    keep: bool = False

    def __post_init__(self) -> None:
        """Raise SettingsError for an invalid regular expression."""
        for pattern in (self.pattern, self.source, self.target):
            try:
                _compiled(pattern or "")
            except regex.error as error:
                raise SettingsError(f"{self.name}: {pattern!r}: {error}") from error
        if self.pattern is not None and (self.source is not None or self.target is not None):
            raise SettingsError(f"{self.name}: pattern is for both sides: give it alone")

    def prepare(self, languages: LanguagePair) -> None:
        """Raise SettingsError if there is no pattern."""
        super().prepare(languages)
        if self.pattern is self.source is self.target is None:
            raise SettingsError(f"{self.name}: give it a pattern, or one for source or target")

    def fault(self, source: str, target: str, languages: LanguagePair) -> str | None:
        """Return the side and its first match, or ``none``."""
        for name, pattern, sentence in zip(SIDES, self._patterns, (source, target), strict=True):
            if pattern is not None:
                found = _compiled(pattern).search(sentence)
                if bool(found) != self.keep:
                    return f"{name}:{found[0]}" if found else f"{name}:none"
        return None

    @property
    def _patterns(self) -> tuple[str | None, str | None]:
        if self.pattern is not None:
            return self.pattern, self.pattern
        return self.source, self.target


@functools.lru_cache
def _compiled(pattern: str) -> regex.Pattern[str]:
    return regex.compile(pattern)


@dataclass(frozen=True)
class Literals(SideFault):
    """No side contains one of the literals in ``any``, separated there by white space.

    Case matters. A literal may stand anywhere, within a word too.
    """

    name = "literals"
    unit = "the first literal of each side"
    origin = "Bicleaner no_literals"

    any: str = 'Re: {{ %s }} +++ *** ="'

    def __post_init__(self) -> None:
        """Raise SettingsError if there is no literal."""
        if not self.any.split():
            raise SettingsError(f"{self.name}: any names no literal")

    def suspects(self, side: BatchSide) -> Mask:
        """Select sentences with a literal."""
        found = [side.containing(literal) for literal in self.any.split()]
        some: Mask = np.any(np.stack(found), axis=0)
        return some

    def fault(self, sentence: str) -> str | None:
        """Return the first literal in the sentence."""
        return next((literal for literal in self.any.split() if literal in sentence), None)


@dataclass(frozen=True)
class UnwantedWords(PairFault):
    """No side has a word or phrase of your lists, whatever its case.

    A list is a UTF-8 file with a word or phrase a line: ``words`` for both sides, ``source`` and
    ``target`` for one. Only whole words match, except in Chinese, Japanese, Thai, Lao, Khmer and
    Burmese.
    """

    name = "unwanted-words"
    unit = "side and first word"
    origin = "Bicleaner no_porn (there: a fastText model); word lists of OpusCleaner"

    words: str | None = None
    source: str | None = None
    target: str | None = None

    def prepare(self, languages: LanguagePair) -> None:
        """Read the lists: raise NotFoundError, InputError, or SettingsError if there is none."""
        super().prepare(languages)
        paths = [path for path in (self.words, self.source, self.target) if path is not None]
        if not paths:
            raise SettingsError(f"{self.name}: give it a list: words=FILE, source= or target=FILE")
        for path in paths:
            _word_list(path)

    def fault(self, source: str, target: str, languages: LanguagePair) -> str | None:
        """Return the side and the word."""
        sentences = (source, target)
        for name, own, sentence in zip(SIDES, (self.source, self.target), sentences, strict=True):
            for path in (self.words, own):
                word = _word_list(path).find(sentence) if path is not None else None
                if word is not None:
                    return f"{name}:{word}"
        return None


_WORDS = regex.compile(r"\w+")
_WITHOUT_SPACES = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
)


class _WordList:
    """Words and phrases to find, whatever their case."""

    def __init__(self, entries: Iterable[str]) -> None:
        """Take the *entries*; blank ones are ignored."""
        self._phrases: dict[str, list[list[str]]] = {}
        self._pieces: list[str] = []
        for entry in entries:
            folded = entry.strip().casefold()
            if _WITHOUT_SPACES.search(folded):
                self._pieces.append(folded)
            elif words := _WORDS.findall(folded):
                self._phrases.setdefault(words[0], []).append(words)

    def find(self, sentence: str) -> str | None:
        """Return a word or phrase of the list in *sentence*, case-folded, or None."""
        folded = sentence.casefold()
        words = _WORDS.findall(folded)
        if not self._phrases.keys().isdisjoint(words):
            for place, word in enumerate(words):
                for phrase in self._phrases.get(word, ()):
                    if words[place : place + len(phrase)] == phrase:
                        return " ".join(phrase)
        return next((piece for piece in self._pieces if piece in folded), None)


@functools.lru_cache
def _word_list(path: str) -> _WordList:
    """Read the list at *path*. Raises NotFoundError, or InputError for bytes that are not UTF-8."""
    return _WordList(read_lines(path))
