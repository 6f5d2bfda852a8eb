"""Tables of the words of languages, and patterns of such words."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import regex

from bitextfilter.io.files import read_toml

_T = TypeVar("_T")

COMMON = ("cs", "de", "en", "es", "fr", "it", "nl", "pl", "pt", "ru", "sv")
"""Languages of the months, and of the words of three letters or fewer, that count where the
language is unknown: in all languages, any text would have some."""
LONGEST_STEM = 20
"""Characters of the longest beginning of a unit or a month, and some to spare."""


@functools.cache
def word_table(name: str) -> dict[str, str]:
    """Return the words of each language in a table of this folder."""
    return read_toml(Path(__file__).with_name(name))


def either(words: Iterable[str]) -> str:
    """Return the pattern of these words, the longest first."""
    return "|".join(sorted(map(regex.escape, words), key=len, reverse=True))


def first(*words: Iterable[str]) -> str:
    """Return the pattern of a place before a character that begins one of the *words*."""
    return f"(?=[{regex.escape(''.join(sorted({word[0] for some in words for word in some})))}])"


def named(word: str, table: Mapping[str, set[_T]]) -> set[_T]:
    """Return the meanings of a *word*, or of its longest beginning that may go on (``word*``)."""
    stems = (f"{word[:size]}*" for size in range(min(len(word), LONGEST_STEM), 0, -1))
    return next((table[form] for form in (word, *stems) if form in table), set())
