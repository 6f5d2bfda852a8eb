"""No segmentation: the words between white space."""

from __future__ import annotations

from collections.abc import Sequence

from bitextfilter.text.pieces import Segmenter

__all__ = ["WordSegmenter"]


class WordSegmenter(Segmenter):
    """Each word is one piece, as it stands."""

    kind = "none"
    whole_words = True

    def segment_all(self, sentences: Sequence[str]) -> list[list[str]]:
        """Return the words of each of the normalised *sentences*."""
        return [sentence.split() for sentence in sentences]

    def join(self, pieces: Sequence[str]) -> str:
        """Return the words with single spaces between them."""
        return " ".join(pieces)

    def to_bytes(self) -> bytes:
        """Return nothing: there is nothing to keep."""
        return b""

    @classmethod
    def from_bytes(cls, kind: str, content: bytes) -> WordSegmenter:
        """Return a word segmenter."""
        return cls()
