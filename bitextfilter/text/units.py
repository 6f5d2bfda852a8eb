"""Words between white space and, of scripts without spaces, runs of characters in their stead."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ーｰ"
"""Scripts without spaces between words, as a set of the package regex."""


_TWO_TOGETHER = rf"[{UNSPACED}]{{2}}"
_CHARACTER = rf"[{UNSPACED}]\p{{M}}*+"
_MARK = r"([^\w\s\p{M}])"
_UNIT = rf" ?+(?:(?:{_CHARACTER}){{1,2}}|(?:(?![{UNSPACED}])\S)++)"
"""Of scripts without spaces, two characters; a Chinese word has 1.5 on average."""
_SEAM = r"[\w--[X\p{M}]]\p{M}*+\t[\w--[X\p{M}]]".replace("X", UNSPACED)
"""An end and a beginning, with a tab between, that need a space."""
_LETTERS = rf"(?:(?![{UNSPACED}])[\w\p{{M}}])+"
_WORD = rf"(?:[{UNSPACED}]\p{{M}}*){{1,2}}|{_LETTERS}(?:['’\-]{_LETTERS})*"


@functools.cache
def compiled(expression: str) -> Any:
    """Return an expression of the package regex; a command that needs none starts without it."""
    import regex

    return regex.compile(expression, regex.VERSION1)


def is_unspaced(word: str) -> bool:
    """Whether two characters of a script without spaces between words stand together in *word*."""
    return not word.isascii() and compiled(_TWO_TOGETHER).search(word) is not None


def apart(text: str) -> str:
    """Return *text* with a space on both sides of each character of these scripts."""
    return text if text.isascii() else compiled(_CHARACTER).sub(r" \g<0> ", text)


def pieces_at(places: Iterable[int], text: str) -> Iterator[str]:
    """Yield the pieces between spaces (U+0020) at ascending *places*, each once."""
    end = -1
    for place in places:
        if place > end:
            start = text.rfind(" ", 0, place) + 1
            end = text.find(" ", place) % (len(text) + 1)  # -1: the end
            yield text[start:end]


def word_units(text: str) -> list[str]:
    """Return the words between white space; of scripts without spaces, two characters at a time.

    A text with such a script keeps the space before a unit with it.
    """
    words = text.split()
    if text.isascii() or not any(map(is_unspaced, words)):
        return words
    units: list[str] = compiled(_UNIT).findall(" ".join(words))
    return units


def joined_units(units: Sequence[str]) -> str:
    """Return a text of units of :func:`word_units`, in their or another order.

    There are spaces between words, but beside a script without spaces, and marks, only those that
    were there.
    """
    if not any(unit[:1] == " " or is_unspaced(unit) for unit in units):
        return " ".join(units)
    seam, joined = compiled(_SEAM), units[0].lstrip()
    for before, unit in pairwise(units):
        joined += (" " if seam.search(f"{before[-4:]}\t{unit[:1]}") else "") + unit
    return joined


def marks_apart(text: str) -> str:
    """Return *text* with spaces around each mark of punctuation, and single spaces."""
    return " ".join(compiled(_MARK).sub(r" \1 ", text).split())


Span = tuple[int, int]
"""First character of a part of a text, and the one behind it."""


def word_spans(text: str) -> list[Span]:
    """Return the places of words: letters and digits, with marks within; two Chinese characters."""
    return [match.span() for match in compiled(_WORD).finditer(text)]
