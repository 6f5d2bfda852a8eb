"""What the formats of corpora have in common: a pair of texts with what else is known of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

from bitextfilter.io.parser import REMEDY, BadRow

__all__ = ["NOTHING", "Pair", "PairReader", "PairWriter", "UnfitError", "in_one_line"]

NOTHING: Mapping[str, str] = MappingProxyType({})

_BREAKS = re.compile(r"\s*[\t\n\r]\s*")
_CALLED = {"\t": "a tab", "\n": "a line break", "\0": "a NUL", "\r": "a carriage return at the end"}


class Pair(NamedTuple):
    """Two texts, and other texts about them by name, in order."""

    number: int
    """The 1-based line of the file where it starts."""
    source: str
    target: str
    others: Mapping[str, str] = NOTHING
    line: bytes = b""
    """The row as it was, without tabs or line breaks that a row of a TSV could not hold."""

    def bad(self, file: str, reason: str, remedy: str = "") -> BadRow:
        """Return the pair as one that cannot be used, for *reason*."""
        remedy = f"{remedy}; or {REMEDY}" if remedy else REMEDY
        return BadRow(self.number, self.line, b"\n", reason, remedy, file)


class UnfitError(Exception):
    """A pair that a format cannot hold: why, and what to do about it."""

    def __init__(self, reason: str, remedy: str) -> None:
        """Keep the *reason* and the *remedy*."""
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


class PairReader(Protocol):
    """Reads pairs from one format."""

    name: str
    """The file, for messages."""
    dropped: set[str]
    """Names of what the file has besides, and is not read."""

    def __iter__(self) -> Iterator[Pair | BadRow]:
        """Yield the pairs in order."""


class PairWriter(Protocol):
    """Turns pairs into the bytes of one format: of one file, or of several side by side."""

    def first(self) -> tuple[bytes, ...]:
        """Return what stands before the pairs, for each file."""

    def lines(self, pair: Pair) -> tuple[bytes, ...]:
        """Return what a pair adds to each file. Raises UnfitError."""

    def last(self) -> tuple[bytes, ...]:
        """Return what stands after the pairs, for each file."""


def in_one_line(text: str, name: str, unfit: str, whitespace: bool) -> str:
    """Return *text*, called *name*, if it can stand in a line.

    Args:
        text: any.
        name: for the message.
        unfit: the characters that it must not have; ``\\r`` stands for one at its end.
        whitespace: first make each run of white space with a tab or line break in it one space,
            and none at the ends.

    Raises:
        UnfitError: it has such a character.
    """
    if whitespace and _BREAKS.search(text):
        text = _BREAKS.sub(" ", text).strip()
    for character in unfit:
        if character in text and (character != "\r" or text.endswith("\r")):
            remedy = "--whitespace makes it a space" if character != "\0" else "remove it"
            raise UnfitError(f"{_CALLED[character]} in the {name}", remedy)
    return text
