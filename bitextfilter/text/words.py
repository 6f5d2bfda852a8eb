"""No segmentation: the words between white space."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bitextfilter.text.pieces import UNKNOWN, Segmenter
from bitextfilter.text.ragged import Ragged
from bitextfilter.text.view import split

__all__ = ["WordSegmenter"]


class WordSegmenter(Segmenter):
    """Each word is one piece, as it stands."""

    kind = "none"

    def segment_all(self, sentences: Sequence[str]) -> list[list[str]]:
        """Return the words of each of the normalised *sentences*."""
        return [sentence.split() for sentence in sentences]

    def join(self, pieces: Sequence[str]) -> str:
        """Return the words with single spaces between them."""
        return " ".join(pieces)

    def numbering(self, index: Mapping[str, int]) -> Callable[[Sequence[str]], Ragged]:
        """Return the function from normalised sentences to the ids of their words."""

        def number(sentences: Sequence[str]) -> Ragged:
            words, counts = split(sentences)
            ids = (index.get(word, UNKNOWN) for word in words)
            return Ragged(np.fromiter(ids, dtype=np.int32, count=len(words)), counts)

        return number

    def to_bytes(self) -> bytes:
        """Return nothing: there is nothing to keep."""
        return b""

    @classmethod
    def from_bytes(cls, kind: str, content: bytes) -> WordSegmenter:
        """Return a word segmenter."""
        return cls()
