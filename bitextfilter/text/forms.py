"""The words of a sentence as they are written, in any script, without a tokeniser of a language."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import regex

__all__ = ["word_forms"]

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ーｰ"
_WORD = regex.compile(
    rf"(?P<unspaced>[{_UNSPACED}\p{{M}}]+)|[^\W_{_UNSPACED}][\w\p{{M}}--[_{_UNSPACED}]]*",
    regex.VERSION1,
)


def word_forms(sentence: str) -> set[str]:
    """Return the words of a sentence, letter case folded, letters composed (NFC).

    Of scripts that put no spaces between words, all two neighbouring characters instead, and
    characters that stand alone.
    """
    forms: set[str] = set()
    for word in _WORD.finditer(unicodedata.normalize("NFC", sentence).casefold()):
        text = word.group()
        if word.group("unspaced") and len(text) > 1:
            forms.update(map("".join, pairwise(text)))
        else:
            forms.add(text)
    return forms
