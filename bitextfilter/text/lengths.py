"""How long texts are, in words, characters or subwords."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bitextfilter.text.processor import TextProcessor

__all__ = ["Counter", "characters", "subwords", "summed", "words"]

Counter = Callable[[Sequence[str]], list[int]]
"""Returns the length of each text; 0 for one without any."""


def words(texts: Sequence[str]) -> list[int]:
    """Count what stands between white space."""
    return [len(text.split()) for text in texts]


def characters(texts: Sequence[str]) -> list[int]:
    """Count code points that are not white space."""
    return [sum(map(len, text.split())) for text in texts]


def subwords(processor: TextProcessor, language: str) -> Counter:
    """Return what counts the pieces into which a model cuts normalised texts of *language*."""

    def count(texts: Sequence[str]) -> list[int]:
        pieces = processor.segmenter.segment_all(processor.normalise(texts, language))
        return [len(part) for part in pieces]

    return count


def summed(counters: Sequence[Counter], texts: Sequence[Sequence[str]]) -> list[int]:
    """Return the lengths of rows: of each column of *texts* by its counter, added up."""
    sides = [count(side) for count, side in zip(counters, texts, strict=True)]
    return sides[0] if len(sides) == 1 else list(map(sum, zip(*sides, strict=True)))
