"""Sentences, words and tokens of a text: cut, numbered, counted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from bitextfilter.arrays import Integers
from bitextfilter.errors import DeviceError, ModelError
from bitextfilter.languages import any_language
from bitextfilter.settings import Settings, setting
from bitextfilter.text.composition import normal_form
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.ragged import Ragged, TokenTable
from bitextfilter.text.units import UNSPACED, compiled


def numbered(sentences: Sequence[str]) -> tuple[Ragged, list[str]]:
    """Return the words of each sentence, as indices of distinct words, and the distinct words.

    The first distinct word is the empty one, which is in no sentence. Words stand between white
    space or control characters 0.
    """
    window = TokenTable().read(sentences)
    return window.rows, window.new


def split_words(normalised: Sequence[str]) -> tuple[list[str], Integers]:
    """Return the words of normalised sentences in one list, and the number in each sentence.

    A list for each would burden the garbage collector.
    """
    counts = (sentence.count(" ") + 1 if sentence else 0 for sentence in normalised)
    return " ".join(normalised).split(), np.fromiter(counts, np.int64, len(normalised))


UNITS = ("words", "tokens", "characters")

WORD_MARK = "<w>"
"""Stands at both ends of a sentence's characters and between its words."""

_RESERVED = {name: f"&lt;{name[1:-1]}&gt;" for name in ("<s>", "</s>", "<unk>", "<UNK>", WORD_MARK)}
_NOTE = re.compile(r"# bitextfilter unit=(\w+) lowercase=(yes|no)")


@dataclass(frozen=True)
class TokenUnits(Settings):
    """Normalises and tokenises sentences by *unit*; SettingsError for an unknown one.

    ``words`` are cut at white space (after :class:`Normalisation`). With ``tokens``, each
    punctuation mark and symbol is a word of its own, too. With ``characters``, each character but
    a space is a token, and ``<w>`` stands at each end and for each space, as in the character
    models of VariKN and OpusFilter. Marks of the model are escaped: ``<s>`` is ``&lt;s&gt;``.
    """

    unit: str = setting("words", choices=UNITS)
    lowercase: bool = True

    def __call__(self, sentence: str) -> list[str]:
        """Return the tokens of *sentence*; none for a blank one."""
        text = Normalisation(lowercase=self.lowercase, apart=self.unit == "tokens")(sentence, "")
        words = text.split()
        if self.unit != "characters":
            if any(map(text.__contains__, _RESERVED)):
                return [_RESERVED.get(word, word) for word in words]
            return words
        if not words:
            return []
        return [WORD_MARK, *(token for word in words for token in (*word, WORD_MARK))]

    def note(self) -> str:
        """Return the line for the head of an ARPA file."""
        return f"# bitextfilter unit={self.unit} lowercase={'yes' if self.lowercase else 'no'}"

    @classmethod
    def from_note(cls, line: str) -> TokenUnits | None:
        """Read a :meth:`note`; None for any other line, ModelError for a newer one."""
        if not line.startswith("# bitextfilter "):
            return None
        found = _NOTE.fullmatch(line)
        if found is None or found[1] not in UNITS:
            raise ModelError(f"{line!r} is not understood; a newer bitextfilter may have made it")
        return cls(found[1], found[2] == "yes")


Counter = Callable[[Sequence[str]], list[int]]
"""Returns the length of each text."""


def count_words(texts: Sequence[str]) -> list[int]:
    """Count words between white space."""
    return [len(text.split()) for text in texts]


def count_characters(texts: Sequence[str]) -> list[int]:
    """Count code points that are not white space."""
    return [sum(map(len, text.split())) for text in texts]


_WIDE_SPACE = re.compile(r"[^\S\x00-\x7f]")

_PIECE = 10_000
"""Characters of a text that are divided at once: of one, the time may grow as the square."""


def split_sentences(text: str, language: str) -> list[str]:
    """Return the sentences of *text*, without white space around them; none is empty.

    A language without rules in the library is split by the rules of a related one, or of English.
    Raises DeviceError if the optional package is not installed.
    """
    try:
        import sentencex
    except ModuleNotFoundError as error:
        remedy = "pip install 'bitextfilter[sentences]'"
        raise DeviceError(f"dividing text into sentences needs sentencex: {remedy}") from error
    code = any_language(language).code
    plain = _WIDE_SPACE.sub(" ", text)  # the library fails at some of these
    lengths = _lengths(plain, lambda piece: sentencex.segment(code, piece))
    ends = list(accumulate(lengths, initial=0))
    parts = (text[start:stop].strip() for start, stop in pairwise(ends))
    return [part for part in parts if part]


_END = re.compile(r"[.!?…][\"'”’»)\]]*\s+[\"'“‘„«(\[¿¡]*[^\W\d_]|[。！？](?=.)")
_PARAGRAPH = 3
"""Sentences from which a line counts as a paragraph."""
_PARAGRAPHS = 0.2


def holds_paragraphs(lines: Sequence[str]) -> bool:
    """Whether a fifth of the lines, and at least one, seem to hold three sentences or more."""
    found = 0
    for line in lines:
        ends = (end[0] for end in _END.finditer(line))
        found += sum(not end[-1].islower() for end in ends) >= _PARAGRAPH - 1
    return found >= max(1, _PARAGRAPHS * len(lines))


def _lengths(text: str, segment: Callable[[str], Iterable[str]]) -> Iterator[int]:
    """Yield the lengths of the sentences of *text*; the last one of a piece begins the next."""
    start, size = 0, _PIECE
    while start < len(text):
        found = [len(sentence) for sentence in segment(text[start : start + size])]
        if start + size >= len(text):
            yield from found
            return
        if len(found) == 1:  # it goes on
            size *= 2
            continue
        yield from found[:-1]
        start, size = start + sum(found[:-1]), _PIECE


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
    for kind in set(map(type, listed)):
        if not issubclass(kind, str):
            index = list(map(type, listed)).index(kind)
            raise TypeError(f"{name}[{index}] is {listed[index]!r:.40}, not a str")
    return listed


_EDGES = r"^[^\w\p{M}]++|[^\w\p{M}]++$"


def bare_word(word: str) -> str:
    """Return a word with its letter case folded, without punctuation marks at both ends.

    A word of marks alone keeps them.
    """
    folded = word.casefold()
    return folded if folded.isalnum() else compiled(_EDGES).sub("", folded) or folded


_FORMS = rf"(?P<unspaced>[{UNSPACED}\p{{M}}]+)|[^\W_{UNSPACED}][\w\p{{M}}--[_{UNSPACED}]]*"


def word_forms(sentence: str) -> set[str]:
    """Return the words of a sentence, letter case folded, letters composed (NFC).

    For scripts without spaces between words: all pairs of neighbouring characters, and single
    characters.
    """
    forms: set[str] = set()
    folded = normal_form(sentence).casefold()
    for word in compiled(_FORMS).finditer(folded):
        text = word.group()
        if word.group("unspaced") and len(text) > 1:
            forms.update(map("".join, pairwise(text)))
        else:
            forms.add(text)
    return forms
