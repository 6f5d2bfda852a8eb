"""Subwords by byte-pair merges learnt over both languages at once (Sennrich et al. 2016)."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping, Sequence

from subword_nmt import apply_bpe, learn_bpe

from bitextfilter.errors import ModelError
from bitextfilter.text.pieces import WordwiseSegmenter

__all__ = ["MergeSegmenter", "learn_merges"]

_HEADER = "#version: 0.2"
_VERSION = (0, 2)


class MergeSegmenter(WordwiseSegmenter):
    """subword-nmt's byte-pair encoding; ``segmenter.model`` is its file of codes."""

    kind = "bpe"

    def __init__(self, merges: Sequence[tuple[str, str]]) -> None:
        """Take the pairs to merge, the first learnt first."""
        super().__init__()
        self._merges = tuple(merges)
        self._ranks: Mapping[tuple[str, str], int] = {
            pair: -rank for rank, pair in enumerate(reversed(self._merges))
        }

    def cut(self, word: str) -> Sequence[str]:
        """Return the subwords of one word."""
        parts: Sequence[str] = apply_bpe.encode(word, self._ranks, {}, None, "", _VERSION, {})
        return parts

    def to_bytes(self) -> bytes:
        """Return the codes as subword-nmt writes them: a header, then one pair a line."""
        lines = [_HEADER, *(f"{left} {right}" for left, right in self._merges)]
        return ("\n".join(lines) + "\n").encode()

    @classmethod
    def from_bytes(cls, kind: str, content: bytes) -> MergeSegmenter:
        """Read codes of subword-nmt, version 0.2; ModelError if they are damaged."""
        try:
            header, *lines = content.decode("utf-8").removesuffix("\n").split("\n")
            pairs = [(left, right) for left, right in (line.split(" ") for line in lines)]
        except ValueError as error:
            raise ModelError("segmenter.model: a line is not a pair of subwords") from error
        if header != _HEADER:
            raise ModelError(f"segmenter.model: does not begin with {_HEADER!r}")
        return cls(pairs)


def learn_merges(sentences: Sequence[str], merges: int) -> MergeSegmenter:
    """Learn at most *merges* merges of pairs that occur twice or more in *sentences*."""
    codes = io.StringIO()
    if any(len(word) > 1 for sentence in sentences for word in sentence.split()):
        with contextlib.redirect_stderr(io.StringIO()):  # its progress bar cannot be turned off
            learn_bpe.learn_bpe(sentences, codes, merges)
    return MergeSegmenter.from_bytes("bpe", (codes.getvalue() or _HEADER).encode())
