"""Units that lengths and language models count: words, tokens, characters, subwords."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bitextfilter.errors import ModelError, SettingsError
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
    """Normalises and tokenises sentences by *unit*; SettingsError for an unknown one.

    ``words`` are cut at white space (after :class:`Normalisation`). With ``tokens``, each
    punctuation mark and symbol is a word of its own, too. With ``characters``, each character but
    a space is a token, and ``<w>`` stands at each end and for each space, as in the character
    models of VariKN and OpusFilter. Marks of the model are escaped: ``<s>`` is ``&lt;s&gt;``.
    """

    unit: str = "words"
    lowercase: bool = True

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise SettingsError(f"unit {self.unit!r} is none of {', '.join(UNITS)}")

    def __call__(self, sentence: str) -> list[str]:
        """Return the tokens of *sentence*; none for a blank one."""
        text = Normalisation(lowercase=self.lowercase, apart=self.unit == "tokens")(sentence, "")
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
        """Return the line for the head of an ARPA file."""
        return f"# bitextfilter unit={self.unit} lowercase={'yes' if self.lowercase else 'no'}"

    @classmethod
    def from_note(cls, line: str) -> TokenUnits | None:
        """Read a :meth:`note`; None for any other line, ModelError for a newer one."""
        if not line.startswith("# bitextfilter "):
            return None
        found = _NOTE.fullmatch(line)
        if found is None or found[1] not in UNITS:
            raise ModelError(f"{line!r} is not understood; a newer bitextfilter may have made it")
        return cls(found[1], found[2] == "yes")


Counter = Callable[[Sequence[str]], list[int]]
"""Returns the length of each text."""


def count_words(texts: Sequence[str]) -> list[int]:
    """Count words between white space."""
    return [len(text.split()) for text in texts]


def count_characters(texts: Sequence[str]) -> list[int]:
    """Count code points that are not white space."""
    return [sum(map(len, text.split())) for text in texts]


def count_subwords(processor: TextProcessor, language: str) -> Counter:
    """Return a counter of a model's pieces in texts of *language*, normalised."""

    def count(texts: Sequence[str]) -> list[int]:
        pieces = processor.segmenter.segment_all(processor.normalise(texts, language))
        return [len(part) for part in pieces]

    return count


def summed(counters: Sequence[Counter], texts: Sequence[Sequence[str]]) -> list[int]:
    """Return the lengths of rows: the sums over columns of *texts*, each with its counter."""
    sides = [count(side) for count, side in zip(counters, texts, strict=True)]
    return sides[0] if len(sides) == 1 else list(map(sum, zip(*sides, strict=True)))
