"""Names of columns and sentences told apart, for lines that may be headers."""

from __future__ import annotations

import re

_ENDS = (".", "!", "?", "…", "。", "！", "？")
_FEWEST_WORDS, _MANY_WORDS = 4, 8
"""A sentence has the first number of words and an end mark, or the second number of words."""
_NAME = re.compile(
    "source|src|target|tgt|trg|side|texts?|sentences?|segments?|lines?|words?|phrases?|original|"
    "ref|references?|translations?|hyp|hypothes[ei]s|paraphrases?|parse|template|lang|language"
)
"""A word of the names of text columns, beside x and y, and codes of languages of two letters."""


def name_words(text: str) -> list[str]:
    """Return the words of a name, ``en`` and ``text`` of ``en_text1``, in lower case."""
    return [word for word in re.split(r"[\W\d_]+", text.casefold()) if word]


def is_name_word(word: str) -> bool:
    """Whether a word is one of the usual names of columns of text."""
    return _NAME.fullmatch(word) is not None


def is_name(text: str) -> bool:
    """Whether a text may be the name of a column of text: usual words, or two letters."""
    words, code = name_words(text), 0 if " " in text else 2
    return bool(words) and all(is_name_word(word) or len(word) <= code for word in words)


def is_sentence(text: str) -> bool:
    """Whether a text is clearly a sentence, by its words and its end."""
    words = len(text.split())
    return words >= _MANY_WORDS or (words >= _FEWEST_WORDS and text.rstrip().endswith(_ENDS))
