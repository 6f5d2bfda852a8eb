"""Moses' punctuation normaliser and tokeniser, through sacremoses."""

from __future__ import annotations

import functools

from sacremoses import MosesPunctNormalizer, MosesTokenizer

__all__ = ["normalise_punctuation", "tokenise"]


def normalise_punctuation(text: str, language: str) -> str:
    """Return *text* with quotation marks, dashes and spacing as Moses' script leaves them."""
    result: str = _punctuation(language).normalize(text)
    return result


def tokenise(text: str, language: str) -> str:
    """Return *text* with a space between tokens; nothing is escaped as an entity."""
    result: str = _tokeniser(language).tokenize(text, return_str=True, escape=False)
    return result


@functools.cache
def _punctuation(language: str) -> MosesPunctNormalizer:
    return MosesPunctNormalizer(lang=language)


@functools.cache
def _tokeniser(language: str) -> MosesTokenizer:
    return MosesTokenizer(lang=language)
