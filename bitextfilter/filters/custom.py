"""Rules of the user's own: regular expressions, literals, word lists, and numbers in a column."""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import regex
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Mask
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.filters.pairs import BatchSide, Pairs
from bitextfilter.filters.rule import (
    PATIENCE,
    Bounded,
    Cost,
    LanguagePair,
    RowFault,
    Rule,
    RuleResult,
    SideFault,
)
from bitextfilter.io.files import read_lines, read_toml
from bitextfilter.io.rows import SIDES
from bitextfilter.languages import any_language
from bitextfilter.text.composition import normal_form
from bitextfilter.text.units import UNSPACED


@dataclass(frozen=True)
class _FirstFault(RowFault):
    """A rule that names the first side with a fault; each side has its own parameter."""

    sides_apart = True

    @abstractmethod
    def found(self, place: int, sentence: str) -> str | None:
        """Return the fault of the side at a place, or None."""

    def fault_at(self, pairs: Pairs, index: int) -> str | None:
        """Return the side and its fault; of the only side, the fault alone."""
        for place, (name, side) in enumerate(zip(pairs.side_names, pairs.sides, strict=True)):
            fault = self.found(place, side.sentences[index])
            if fault is not None:
                return f"{name}:{fault}" if name else fault
        return None


@dataclass(frozen=True)
class RegularExpression(_FirstFault):
    """No side matches a regular expression; with ``keep=yes``, each side matches.

    ``pattern`` is for both sides, ``source`` and ``target`` are for one. The syntax is that of
    Python's ``regex`` package; a match may stand anywhere in a sentence. An expression that takes
    more than 10 seconds on a sentence stops the run.
    """

    name = "regular-expression"
    unit = "side and first match"
    origin = "OpusFilter RegExpFilter (keep is its accept_match)"

    pattern: str | None = None
    source: str | None = None
    target: str | None = None
    keep: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for pattern in (self.pattern, self.source, self.target):
            try:
                regex.compile(pattern or "")
            except regex.error as error:
                raise SettingsError(f"{self.name}: {pattern!r}: {error}") from error
        if self.pattern is not None and (self.source is not None or self.target is not None):
            raise SettingsError(f"{self.name}: pattern is for both sides: give it alone")

    def prepare(self, languages: LanguagePair) -> None:
        """Raise SettingsError if there is no pattern."""
        super().prepare(languages)
        if self.pattern is self.source is self.target is None:
            raise SettingsError(f"{self.name}: give it a pattern, or one for source or target")

    def found(self, place: int, sentence: str) -> str | None:
        """Return the first match, or ``none``."""
        pattern = self.pattern if self.pattern is not None else (self.source, self.target)[place]
        if pattern is None:
            return None
        found = regex.compile(pattern).search(sentence, timeout=PATIENCE)
        if bool(found) == self.keep:
            return None
        return str(found[0]) if found else "none"


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
        super().__post_init__()
        if not self.any.split():
            raise SettingsError(f"{self.name}: any names no literal")

    def suspects(self, side: BatchSide) -> Mask:
        return side.containing_any(self.any.split())

    def fault(self, sentence: str) -> str | None:
        return next((literal for literal in self.any.split() if literal in sentence), None)


@dataclass(frozen=True)
class UnwantedWords(_FirstFault):
    """No side has a word or phrase of your lists; case is ignored.

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

    def found(self, place: int, sentence: str) -> str | None:
        """Return the first word of a list."""
        paths = self.words, (self.source, self.target)[place]
        words = (_word_list(path).found(sentence) for path in paths if path is not None)
        return next(chain.from_iterable(words), None)


_PIECE = regex.compile(rf"[{UNSPACED}]")
_WORDS = regex.compile(r"\w+")
_PARTS = regex.compile(rf"[\w--[{UNSPACED}]]+|[{UNSPACED}]+", regex.VERSION1)


def _folded(text: str) -> str:
    """Return *text* without differences of case, and the dot of a Turkish İ, and composed."""
    return normal_form(text).casefold().replace("i\u0307", "i")


def _words_of(text: str) -> list[str]:
    """Return the words; a script without spaces ends a word of another one."""
    apart = not text.isascii() and _PIECE.search(text)
    return list((_PARTS if apart else _WORDS).findall(text))


class _WordList:
    """Words and phrases to find, upper or lower case."""

    def __init__(self, entries: Iterable[str]) -> None:
        """Take words and phrases, which have a letter or digit."""
        self._phrases: dict[str, list[list[str]]] = {}
        pieces = set()
        for entry in entries:
            folded = _folded(entry.strip())
            if _PIECE.search(folded):
                pieces.add(folded)
            else:
                words = _words_of(folded)
                self._phrases.setdefault(words[0], []).append(words)
        for phrases in self._phrases.values():
            phrases.sort(key=len, reverse=True)
        longest_first = sorted(pieces, key=lambda piece: (-len(piece), piece))
        self._pieces = regex.compile("|".join(map(regex.escape, longest_first)))

    def found(self, sentence: str) -> Iterator[str]:
        """Yield the words and phrases in *sentence*, case-folded: the longest at each place."""
        folded = _folded(sentence)
        words = _words_of(folded)
        end = 0
        for place, word in enumerate(words) if not self._phrases.keys().isdisjoint(words) else ():
            for phrase in self._phrases.get(word, ()) if place >= end else ():
                if words[place : place + len(phrase)] == phrase:
                    end = place + len(phrase)
                    yield " ".join(phrase)
                    break
        if self._pieces.pattern:
            yield from self._pieces.findall(folded)


@functools.lru_cache
def _word_list(path: str) -> _WordList:
    """Read the list of a file, but blank lines. Raises NotFoundError, or InputError."""
    entries = {at: line for at, line in enumerate(read_lines(path), 1) if line.strip()}
    wordless = [at for at, entry in entries.items() if not _WORDS.search(entry)]
    if wordless or not entries:
        remedy = "write a word or phrase a line; the rule literals finds other signs"
        raise InputError("no word", file=path, line=min(wordless, default=None), remedy=remedy)
    return _WordList(entries.values())


def _not_in(words: Iterable[str], text: str) -> list[str]:
    """Return the *words* of a list that do not stand in *text*, too."""
    folded = _folded(text)
    others = {*_words_of(folded)}
    return [
        word
        for word in words
        if not (word in folded if _PIECE.search(word) else others.issuperset(word.split()))
    ]


@functools.cache
def _toxic_lists() -> dict[str, _WordList]:
    """Return the code of each language with a list → the list."""
    words = read_toml(Path(__file__).with_name("toxic_words.toml"))["words"]
    return {code: _WordList(" ".join(text.split()).split("; ")) for code, text in words.items()}


@dataclass(frozen=True)
class OneSidedWords(Bounded):
    """Both sides have toxic words, or neither has; case is ignored.

    Lists of 24 languages come with the package; ``source=FILE`` and ``target=FILE`` are your own,
    as for ``unwanted-words``. A word that stands on both sides does not count; inflected forms
    count only if they are in the list. With ``alone=no``, the sides may differ by ``maximum``
    words, whether or not both have some.
    """

    name = "one-sided-words"
    unit = "words, 0 and up, on the side that has some where the other has none"
    origin = "NLLB Team 2022, toxicity (there: both sides may have some, and differ by two)"
    cost = Cost.PAIRS

    maximum: float | None = 0
    source: str | None = None
    target: str | None = None
    alone: bool = True

    def prepare(self, languages: LanguagePair) -> None:
        """Read the lists: raise NotFoundError, InputError, or SettingsError if a side has none."""
        super().prepare(languages)
        self._lists(languages)

    def values(self, pairs: Pairs) -> Floats:
        values = np.zeros(len(pairs))
        for index in range(len(pairs)):
            source, target = map(len, self._found(pairs, index))
            if not (self.alone and source and target):
                values[index] = abs(source - target)
        return values

    def check(self, pairs: Pairs) -> RuleResult:
        """Compare the numbers; a reason has the words of each side, with their numbers."""
        result = super().check(pairs)

        def reason(index: int) -> str:
            found = zip(pairs.side_names, map(Counter, self._found(pairs, index)), strict=True)
            said = (
                f"{name}=" + ", ".join(f"{word} {count}" for word, count in words.most_common())
                for name, words in found
                if words
            )
            return f"{result.reason(index)}:{' '.join(said)}"

        return result._replace(reason=reason)

    def _found(self, pairs: Pairs, index: int) -> list[list[str]]:
        """Return the listed words of each side that the other side does not have."""
        texts = [side.sentences[index] for side in pairs.sides]
        lists = self._lists(pairs.languages)
        return [
            _not_in(found, other) if (found := [*words.found(text)]) else []
            for words, text, other in zip(lists, texts, texts[::-1], strict=True)
        ]

    def _lists(self, languages: LanguagePair) -> list[_WordList]:
        """Return the list of each side. Raises SettingsError for a side without one."""
        found = []
        for place, path in enumerate((self.source, self.target)):
            language = languages[place] if languages else "an unknown language"
            if path is not None:
                found.append(_word_list(path))
            elif (code := any_language(language).code) in _toxic_lists():
                found.append(_toxic_lists()[code])
            else:
                raise SettingsError(
                    f"{self.name}: no list of {language}: give {SIDES[place]}=FILE, a word or "
                    f"phrase a line, or --languages of {', '.join(_toxic_lists())}"
                )
        return found


@dataclass(frozen=True)
class InColumn(Bounded):
    """A rule whose value is the number in a column."""

    sides_apart = True
    in_row = True

    column: str = "-1"

    def values(self, pairs: Pairs) -> Floats:
        return pairs.column(self.column)

    def against(self, value: float) -> str:
        """Write a number and the bound; NaN is missing."""
        return "missing" if math.isnan(value) else super().against(value)


@dataclass(frozen=True)
class ColumnRule(InColumn):
    """The number in a column is within bounds: also written ``score>=0.5``, ``-1>=0.5``, ``3<2``.

    A column is a number, negative from the end, or a name of the header; ``score`` without a
    header is the last one. ``>`` and ``<`` exclude the bound itself. A row without a number there
    fails. ``bitext-models show`` gives the cuts of a model's scores.
    """

    name = "column"
    unit = "the number in the column"
    origin = "scores of any kind, by this or another program"

    exclusive: bool = False

    @property
    def label(self) -> str:
        """Name of the column."""
        return f"column {self.column}" if self.column.lstrip("-").isdigit() else self.column

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds; excluded ones are moved inwards by the least step."""
        low, high = super().bounds
        if not self.exclusive:
            return low, high
        return float(np.nextafter(low, np.inf)), float(np.nextafter(high, -np.inf))

    def fitted(self, values: NDArray[Any], loss: int) -> Rule:
        """Return this rule with other bounds, both included."""
        return Bounded.fitted(replace(self, exclusive=False), values, loss)

    def against(self, value: float) -> str:
        """Write a number, and the bound as given."""
        if math.isnan(value):
            return super().against(value)
        sign, bound = ("<", self.minimum) if value < self.bounds[0] else (">", self.maximum)
        return f"{value:.10g}{sign}{'=' * self.exclusive}{bound:g}"


@dataclass(frozen=True)
class TranslationCost(InColumn):
    """The translator's cost of the target, in a column, is low enough."""

    name = "translation-cost"
    unit = "-log probability a token, natural logarithm, 0 and up: lower is better"
    origin = "Wieting et al. 2017, sections 5.5–5.7 (upper bounds .2 to 1)"

    maximum: float | None = 1


@dataclass(frozen=True)
class ReferenceProbability(InColumn):
    """The probability that a person wrote the sentence, in a column, is high enough."""

    name = "reference-probability"
    unit = "0 to 1, probability"
    origin = "Wieting et al. 2017, sections 5.5–5.7 (lower bounds 0 to .9)"

    minimum: float | None = 0.5
