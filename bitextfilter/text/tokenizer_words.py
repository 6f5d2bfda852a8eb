"""Where a tokeniser of another library gives a sentence the ids of its words, read alone.

That holds for tokenisers that cut at white space first, as BERT's, and for those that put a mark
before each word, as SentencePiece's (``Metaspace``). Words and sentences for which it may not hold
are told apart here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import regex

from bitextfilter.io.json_text import parse_json

_SPLITTING = ("BertPreTokenizer", "Whitespace", "WhitespaceSplit")
"""Pre-tokenisers that cut at white space first."""
_CHARACTERWISE = (
    "BertNormalizer",
    "Lowercase",
    "NFC",
    "NFD",
    "NFKC",
    "NFKD",
    "Precompiled",
    "Strip",
    "StripAccents",
)
"""Normalisers that treat words alike in a sentence and alone."""
_SPACES = {"Regex": " {2,}"}
"""The pattern of a normaliser that joins spaces."""
_MARK = "\u2581"
_CONTROLS = re.compile("[\0\x0b\x0c\x1c-\x1f\x85]")
"""White space to us, but not to all tokenisers."""
_UNUSUAL_SPACES = re.compile(f"{_CONTROLS.pattern}|[^\\S ]|  |^ | $")
_CHARACTER = regex.compile(r"\X")


class WordCut:
    """How a tokeniser cuts sentences into words."""

    def __init__(self, tokenizer: Any, marked: bool) -> None:
        """Take a tokeniser (of the package ``tokenizers``).

        Args:
            tokenizer: the tokeniser; it has a cut, see :func:`word_cut`.
            marked: it puts a mark before each word, and cuts there.
        """
        self._marked, self._normaliser = marked, tokenizer.normalizer
        self._added = [each.content for each in tokenizer.get_added_tokens_decoder().values()]
        self._spaces = _UNUSUAL_SPACES if marked else _CONTROLS

    def unusual_sentence(self, sentence: str) -> bool:
        """Whether the white space of a sentence is other than we and the tokeniser agree on."""
        return self._spaces.search(sentence) is not None

    def unusual_word(self, word: str) -> bool:
        """Whether a word may be read otherwise in a sentence than alone."""
        if not word.isascii():
            characters = _CHARACTER.findall(f" {word} ")
            if characters[0] != " " or characters[-1] != " ":
                return True  # a character of the word and the space before or after it are one
        return self._marked and self._spaced(word)

    def _spaced(self, word: str) -> bool:
        """Whether the tokeniser cuts or drops a word, or finds one of its own tokens there."""
        normal = f"x{word}x"
        if self._normaliser is not None:
            normal = self._normaliser.normalize_str(normal)
        return (
            _MARK in normal
            or len(normal.split()) != 1
            or normal == "xx"
            or any(token in word or token in normal for token in self._added)
        )


def word_cut(tokenizer: Any) -> WordCut | None:
    """Return how a tokeniser (of ``tokenizers``) cuts words; None: not that we can tell."""
    parts = [*_parts(tokenizer.pre_tokenizer), {}]
    first = parts[0]
    added = (each.content for each in tokenizer.get_added_tokens_decoder().values())
    marked = _marks(first, ("always", "first"))
    cuts = marked or first.get("type") in _SPLITTING
    # Behind a cut, a mark before the first word alone would be one before each word alone.
    alike = all(each.get("type") != "Metaspace" or _marks(each, ("always",)) for each in parts[1:])
    if not cuts or not alike or any(token.split() != [token] for token in added):
        return None
    return WordCut(tokenizer, marked) if all(map(_wordwise, _parts(tokenizer.normalizer))) else None


def _marks(part: Mapping[str, Any], schemes: tuple[str, ...]) -> bool:
    """Whether a pre-tokeniser puts the usual mark before words, by one of *schemes*."""
    return (
        part.get("type") == "Metaspace"
        and part.get("replacement") == _MARK
        and part.get("prepend_scheme") in schemes
        and part.get("split", True) is True
    )


def _wordwise(part: Mapping[str, Any]) -> bool:
    """Whether a normaliser treats words alike in a sentence and alone."""
    if part.get("type") == "Replace":
        return part.get("pattern") == _SPACES and part.get("content") in (" ", _MARK)
    return part.get("type") in _CHARACTERWISE


def _parts(step: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the parts of a normaliser or pre-tokeniser; none for None."""
    if step is not None:
        yield from _flat(parse_json(step.__getstate__()))


def _flat(part: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if part.get("type") != "Sequence":
        yield part
    for inner in part.get("normalizers") or part.get("pretokenizers") or ():
        yield from _flat(inner)
