"""What every segmenter is and shares: the protocol, the word mark, and sampling to learn from."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from bitextfilter.text.ragged import Ragged

__all__ = ["UNKNOWN", "WORD_START", "Segmenter", "WordwiseSegmenter", "sample"]

WORD_START = "\u2581"
"""U+2581 begins each piece that begins a word, in every segmentation but ``none``."""

UNKNOWN = 1
"""The id of a piece that a vocabulary does not hold."""

_REMEMBERED = 1 << 17

T = TypeVar("T")


class Segmenter(Protocol):
    """Cuts normalised sentences into pieces, and puts them together again.

    On text that has been through ``Normalisation``, ``join(segment(text)) == text``.
    """

    kind: str

    def segment_all(self, sentences: Sequence[str]) -> list[list[str]]:
        """Return the pieces of each of the normalised *sentences*; none for an empty one."""
        ...

    def segment(self, sentence: str) -> list[str]:
        """Return the pieces of one normalised *sentence*."""
        return self.segment_all([sentence])[0]

    def join(self, pieces: Sequence[str]) -> str:
        """Return the sentence that was cut into *pieces*."""
        return "".join(pieces).replace(WORD_START, " ").strip(" ")

    def inventory(self) -> frozenset[str] | None:
        """Return all pieces it has learnt, or None if it can make any number of them.

        Text with characters that it never saw gives other pieces too, which are no use to know.
        """
        return None

    def numbering(self, index: Mapping[str, int]) -> Callable[[Sequence[str]], Ragged]:
        """Return the function from normalised sentences to the ids that *index* gives pieces.

        Pieces that *index* does not hold become ``UNKNOWN``.
        """

        def number(sentences: Sequence[str]) -> Ragged:
            return Ragged.of_lists(
                [
                    [index.get(piece, UNKNOWN) for piece in pieces]
                    for pieces in self.segment_all(sentences)
                ]
            )

        return number

    def to_bytes(self) -> bytes:
        """Return all that was learnt, in a form that is data and never code."""
        ...

    @classmethod
    def from_bytes(cls, kind: str, content: bytes) -> Segmenter:
        """Return the segmenter of *kind* that :meth:`to_bytes` gave; ModelError if damaged."""
        ...


class WordwiseSegmenter(Segmenter):
    """A segmenter that looks at one word at a time, and remembers the latest words."""

    def __init__(self) -> None:
        """Start with nothing remembered."""
        self._remembered = functools.lru_cache(_REMEMBERED)(self.cut)

    def cut(self, word: str) -> Sequence[str]:
        """Return the parts of one word, which together are the word."""
        raise NotImplementedError

    def segment_all(self, sentences: Sequence[str]) -> list[list[str]]:
        """Return the pieces of each of the normalised *sentences*, word starts marked."""
        return [self._mark(sentence.split()) for sentence in sentences]

    def _mark(self, words: Iterable[str]) -> list[str]:
        """Return the parts of *words* in one list, the first of each word marked."""
        return [
            part if i else WORD_START + part
            for word in words
            for i, part in enumerate(self._remembered(word))
        ]


def sample(sentences: Iterable[T], size: int, seed: int) -> list[T]:
    """Return at most *size* of *sentences*, each as likely as any other, chosen by *seed*.

    Reservoir sampling (algorithm R, Vitter 1985), so that memory holds *size* sentences. Empty
    sentences are passed over.
    """
    chooser = random.Random(seed)
    kept: list[T] = []
    for number, sentence in enumerate(filter(None, sentences)):
        if number < size:
            kept.append(sentence)
        elif (place := chooser.randrange(number + 1)) < size:
            kept[place] = sentence
    return kept
