"""Tokens (Moses, by sacremoses), sentences and word forms of a text."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import regex

from bitextfilter.errors import DeviceError

if TYPE_CHECKING:
    from sacremoses import MosesPunctNormalizer, MosesTokenizer


def normalise_punctuation(text: str, language: str) -> str:
    """Return *text* with quotation marks, dashes and spacing normalised as by Moses' script."""
    result: str = _punctuation(language).normalize(text)
    return result


def tokenise(text: str, language: str) -> str:
    """Return *text* with a space between tokens; nothing is escaped as an entity."""
    result: str = _tokeniser(language).tokenize(text, return_str=True, escape=False)
    return result


@functools.cache
def _punctuation(language: str) -> MosesPunctNormalizer:
    from sacremoses import MosesPunctNormalizer

    return MosesPunctNormalizer(lang=language)


@functools.cache
def _tokeniser(language: str) -> MosesTokenizer:
    from sacremoses import MosesTokenizer

    return MosesTokenizer(lang=language)


_WIDE_SPACE = re.compile(r"[^\S\x00-\x7f]")


def split_sentences(text: str, language: str) -> list[str]:
    """Return the sentences of *text*, without white space around them; none is empty.

    A language without rules in the library is split by those of a related one, or of English.
    Raises DeviceError if the optional package is not installed.
    """
    try:
        import sentencex
    except ModuleNotFoundError as error:
        remedy = "pip install 'bitextfilter[sentences]'"
        raise DeviceError(f"dividing text into sentences needs sentencex: {remedy}") from error
    plain = _WIDE_SPACE.sub(" ", text)  # the library fails at some of these
    ends = list(accumulate(map(len, sentencex.segment(language, plain)), initial=0))
    parts = (text[start:stop].strip() for start, stop in pairwise(ends))
    return [part for part in parts if part]


def sentence_list(sentences: Iterable[str], name: str) -> list[str]:
    """Return sentences as a list.

    Raises TypeError, with the argument's *name*, for one str in place of several, and for a member
    that is no str.
    """
    if isinstance(sentences, str):
        raise TypeError(f"{name} is one str, not a list of them; put it into a list: [{name}]")
    if not isinstance(sentences, Iterable):
        raise TypeError(f"{name} is {sentences!r:.40}, not a list of str")
    listed = list(sentences)
    for index, sentence in enumerate(listed):
        if not isinstance(sentence, str):
            raise TypeError(f"{name}[{index}] is {sentence!r:.40}, not a str")
    return listed


_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ーｰ"
_WORD = regex.compile(
    rf"(?P<unspaced>[{_UNSPACED}\p{{M}}]+)|[^\W_{_UNSPACED}][\w\p{{M}}--[_{_UNSPACED}]]*",
    regex.VERSION1,
)


def word_forms(sentence: str) -> set[str]:
    """Return the words of a sentence, letter case folded, letters composed (NFC).

    For scripts without spaces between words: all pairs of neighbouring characters, and single
    characters.
    """
    forms: set[str] = set()
    for word in _WORD.finditer(unicodedata.normalize("NFC", sentence).casefold()):
        text = word.group()
        if word.group("unspaced") and len(text) > 1:
            forms.update(map("".join, pairwise(text)))
        else:
            forms.add(text)
    return forms
