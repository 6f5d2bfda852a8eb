"""Units that lengths and language models count: words, tokens, characters, subwords."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from bitextfilter.errors import ModelError, SettingsError
from bitextfilter.text import characters
from bitextfilter.text.normalise import Normalisation

if TYPE_CHECKING:
    from bitextfilter.text.processor import TextProcessor


UNITS = ("words", "tokens", "characters")

WORD_MARK = "<w>"
"""Stands at both ends of a sentence's characters and between its words."""

_RESERVED = {name: f"&lt;{name[1:-1]}&gt;" for name in ("<s>", "</s>", "<unk>", "<UNK>", WORD_MARK)}
_NOTE = re.compile(r"# bitextfilter unit=(\w+) lowercase=(yes|no)")


@dataclass(frozen=True)
class TokenUnits:
    """How a sentence becomes tokens.

    It is normalised (:class:`Normalisation`: NFC, single spaces, nothing invisible; lower-cased
    by choice) and cut at white space, with *unit* ``words``. With ``tokens``, each punctuation
    mark and symbol is a word of its own, too. With ``characters``, each character that is no
    space is a token, and ``<w>`` stands at each end and for each space, as in the
    character models of VariKN and OpusFilter. A word that looks like a mark of the model is
    escaped: ``<s>`` is ``&lt;s&gt;``. SettingsError for an unknown unit.
    """

    unit: str = "words"
    lowercase: bool = True

    def __post_init__(self) -> None:
        """Refuse a unit that there is not."""
        if self.unit not in UNITS:
            raise SettingsError(f"unit {self.unit!r} is none of {', '.join(UNITS)}")

    def __call__(self, sentence: str) -> list[str]:
        """Return the tokens of *sentence*; none for a blank one."""
        text = Normalisation(lowercase=self.lowercase)(sentence, "")
        if self.unit == "tokens":
            text = text.translate(_apart())
        words = text.split()
        if self.unit != "characters":
            return [_RESERVED.get(word, word) for word in words]
        if not words:
            return []
        tokens = [WORD_MARK]
        for word in words:
            tokens += word
            tokens.append(WORD_MARK)
        return tokens

    def note(self) -> str:
        """Return the line that says this at the head of an ARPA file."""
        return f"# bitextfilter unit={self.unit} lowercase={'yes' if self.lowercase else 'no'}"

    @classmethod
    def from_note(cls, line: str) -> TokenUnits | None:
        """Read what :meth:`note` gave; None for any other line, ModelError for a newer one."""
        if not line.startswith("# bitextfilter "):
            return None
        found = _NOTE.fullmatch(line)
        if found is None or found[1] not in UNITS:
            raise ModelError(f"{line!r} is not understood; a newer bitextfilter may have made it")
        return cls(found[1], found[2] == "yes")


@lru_cache(maxsize=1)
def _apart() -> dict[int, str]:
    """Return what sets each punctuation mark and symbol apart."""
    marks = np.flatnonzero(characters.in_category("P", "S")).tolist()
    return {code: f" {chr(code)} " for code in marks}


Counter = Callable[[Sequence[str]], list[int]]
"""Returns the length of each text; 0 for one without any."""


def count_words(texts: Sequence[str]) -> list[int]:
    """Count what stands between white space."""
    return [len(text.split()) for text in texts]


def count_characters(texts: Sequence[str]) -> list[int]:
    """Count code points that are not white space."""
    return [sum(map(len, text.split())) for text in texts]


def count_subwords(processor: TextProcessor, language: str) -> Counter:
    """Return what counts the pieces into which a model cuts normalised texts of *language*."""

    def count(texts: Sequence[str]) -> list[int]:
        pieces = processor.segmenter.segment_all(processor.normalise(texts, language))
        return [len(part) for part in pieces]

    return count


def summed(counters: Sequence[Counter], texts: Sequence[Sequence[str]]) -> list[int]:
    """Return the lengths of rows: of each column of *texts* by its counter, added up."""
    sides = [count(side) for count, side in zip(counters, texts, strict=True)]
    return sides[0] if len(sides) == 1 else list(map(sum, zip(*sides, strict=True)))
