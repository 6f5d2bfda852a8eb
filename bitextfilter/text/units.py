"""Words between white space and, of scripts without spaces, runs of characters in their stead."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ーｰ"
"""Scripts without spaces between words, as a set of the package regex."""


@functools.cache
def _unspaced_pattern() -> Any:
    import regex

    return regex.compile(rf"[{UNSPACED}]{{2}}", regex.VERSION1)


def is_unspaced(word: str) -> bool:
    """Whether two characters of a script without spaces between words stand together in *word*."""
    return not word.isascii() and _unspaced_pattern().search(word) is not None


@functools.cache
def _character_pattern() -> Any:
    import regex

    return regex.compile(rf"[{UNSPACED}]\p{{M}}*+", regex.VERSION1)


def apart(text: str) -> str:
    """Return *text* with a space on both sides of each character of these scripts."""
    return text if text.isascii() else _character_pattern().sub(r" \g<0> ", text)


def pieces_at(places: Iterable[int], text: str) -> Iterator[str]:
    """Yield the pieces between spaces (U+0020) at ascending *places*, each once."""
    end = -1
    for place in places:
        if place > end:
            start = text.rfind(" ", 0, place) + 1
            end = text.find(" ", place) % (len(text) + 1)  # -1: the end
            yield text[start:end]


_UNIT = 2
"""Characters of a unit of a script without spaces; a Chinese word has 1.5 on average."""


@functools.cache
def _unit_pattern() -> Any:
    import regex

    unspaced = rf"(?:[{UNSPACED}]\p{{M}}*+){{1,{_UNIT}}}"
    return regex.compile(rf" ?+(?:{unspaced}|(?:(?![{UNSPACED}])\S)++)", regex.VERSION1)


@functools.cache
def _seam_pattern() -> Any:
    """Return the pattern of an end and a beginning, with a tab between, that need a space."""
    import regex

    spaced = rf"[\w--[{UNSPACED}\p{{M}}]]"
    return regex.compile(rf"{spaced}\p{{M}}*+\t{spaced}", regex.VERSION1)


def word_units(text: str) -> list[str]:
    """Return the words between white space; of scripts without spaces, two characters at a time.

    A text with such a script keeps the space before a unit with it.
    """
    words = text.split()
    if text.isascii() or not any(map(is_unspaced, words)):
        return words
    units: list[str] = _unit_pattern().findall(" ".join(words))
    return units


def joined_units(units: Sequence[str]) -> str:
    """Return a text of units of :func:`word_units`, in their or another order.

    There are spaces between words, but beside a script without spaces, and marks, only those that
    were there.
    """
    if not any(unit[:1] == " " or is_unspaced(unit) for unit in units):
        return " ".join(units)
    seam, joined = _seam_pattern(), units[0].lstrip()
    for before, unit in pairwise(units):
        joined += (" " if seam.search(f"{before[-4:]}\t{unit[:1]}") else "") + unit
    return joined


@functools.cache
def _mark_pattern() -> Any:
    import regex

    return regex.compile(r"([^\w\s\p{M}])", regex.VERSION1)


def marks_apart(text: str) -> str:
    """Return *text* with spaces around each mark of punctuation, and single spaces."""
    return " ".join(_mark_pattern().sub(r" \1 ", text).split())


Span = tuple[int, int]
"""First character of a part of a text, and the one behind it."""


@functools.cache
def _span_pattern() -> Any:
    import regex

    spaced = rf"(?:(?![{UNSPACED}])[\w\p{{M}}])+(?:['’\-](?:(?![{UNSPACED}])[\w\p{{M}}])+)*"
    return regex.compile(rf"(?:[{UNSPACED}]\p{{M}}*){{1,2}}|{spaced}", regex.VERSION1)


def word_spans(text: str) -> list[Span]:
    """Return the places of words: letters and digits, with marks within; two Chinese characters."""
    return [match.span() for match in _span_pattern().finditer(text)]
