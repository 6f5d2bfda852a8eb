"""Rules of the user's own: regular expressions, literals, word lists, and numbers in a column."""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import regex
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Mask
from bitextfilter.errors import SettingsError
from bitextfilter.filters.pairs import BatchSide, Pairs
from bitextfilter.filters.rule import (
    PATIENCE,
    Bounded,
    LanguagePair,
    RowFault,
    Rule,
    SideFault,
)
from bitextfilter.io.files import read_lines


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
        words = (_word_list(path).find(sentence) for path in paths if path is not None)
        return next((word for word in words if word is not None), None)


_WORDS = regex.compile(r"\w+")
_WITHOUT_SPACES = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
)


class _WordList:
    """Words and phrases to find, upper or lower case."""

    def __init__(self, path: str) -> None:
        """Read the list; blank lines are ignored. Raises NotFoundError, or InputError."""
        self._phrases: dict[str, list[list[str]]] = {}
        self._pieces: list[str] = []
        for entry in read_lines(path):
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


_word_list = functools.lru_cache(_WordList)


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
