"""Sentences: text divided into them, and lists of them checked."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import accumulate, pairwise

from bitextfilter.errors import DeviceError

__all__ = ["sentence_list", "split_sentences"]

_WIDE_SPACE = re.compile(r"[^\S\x00-\x7f]")


def split_sentences(text: str, language: str) -> list[str]:
    """Return the sentences of *text*, without white space around them; none is empty.

    A language that the library has no rules for is divided by those of a related one, or of
    English. Raises DeviceError if the optional package is not installed.
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
