"""Rules of text from the web: damaged encoding, addresses, menus, HTML tags and boilerplate."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import chain
from pathlib import Path
from string import ascii_letters

import numpy as np
import regex
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Integers, Mask
from bitextfilter.errors import SettingsError
from bitextfilter.filters.pairs import BatchSide
from bitextfilter.filters.rule import PATIENCE, LanguagePair, SideBounded, SideFault
from bitextfilter.io.files import read_lines
from bitextfilter.settings import from_1, setting
from bitextfilter.text import characters, misreading
from bitextfilter.text.units import pieces_at


@dataclass(frozen=True)
class BadEncoding(SideFault):
    """No side is UTF-8 read as Windows-1252, 1250, 1251, Latin-1 or Mac Roman.

    ``cafÃ©``, ``itâ€™s``, ``РїСЂРё``, ``cafÃƒÂ©`` (damaged twice) and the replacement character
    U+FFFD fail. The same characters pass where they make sense: ``CAFÉ“``, ``« café »``.
    """

    name = "bad-encoding"
    unit = "the first damaged characters of each side"
    origin = "Bicleaner no_bad_encoding (there: any capital A with tilde or circumflex)"

    def suspects(self, side: BatchSide) -> Mask:
        """Select sentences where characters meet that may be damage, or one is alone."""
        within = characters.in_category("Ll", "M"), misreading.WITHIN
        met = (misreading.STARTS, within, *misreading.REMAINING)
        found = np.any([side.meeting(*both) for both in met], axis=0)
        return np.asarray(found | (side.counted(misreading.ALONE) > 0))

    def fault(self, sentence: str) -> str | None:
        return misreading.damage(sentence)


@dataclass(frozen=True)
class UnicodeNoise(SideBounded):
    """No side holds control characters or invalid code points.

    Invalid are private and unassigned code points, surrogates, and the object replacement
    character U+FFFC.
    """

    name = "unicode-noise"
    unit = "control and invalid characters of each side, 0 and up"
    origin = "Bicleaner no_unicode_noise (there: three in a row of U+0080 to U+00FF)"

    maximum: float | None = 0

    def side_values(self, side: BatchSide) -> Integers:
        return side.counted(_noise())


@functools.cache
def _noise() -> Mask:
    table: Mask = characters.in_category("Cc", "Co", "Cn").copy()
    table[[0x09, 0x0A, 0x0D]] = False
    table[0xFFFC] = True
    table[0xD800:0xE000] = True
    return table


_ESCAPES = regex.compile(
    r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|u\{[0-9a-f]{2,6}\})"
    r"|&\#(?:[0-9]{2,7}|x[0-9a-f]{2,6});"
    r"|<u\+[0-9a-f]{4,6}>"
    r"|%u[0-9a-f]{4}"
    r"|(?:%[c-f][0-9a-f]%[89ab][0-9a-f]){2}",
    regex.IGNORECASE,
)


@dataclass(frozen=True)
class EscapedUnicode(SideFault):
    r"""No side escapes a character by its number: ``\u00e9``, ``\xe9``, ``&#233;``.

    ``<U+00E9>``, ``%u00e9`` and two or more characters of percent-encoded UTF-8 fail too.
    """

    name = "escaped-unicode"
    unit = "the first escape of each side"
    origin = "Bicleaner no_escaped_unicode (there: a backslash, x or u, and two digits)"

    def suspects(self, side: BatchSide) -> Mask:
        """Select sentences with an escape sign before one that may follow it."""
        escapes = (("\\", "xXuU"), ("&", "#"), ("<", "uU"), ("%", "uUcCdDeEfF"))
        return np.asarray(np.any([side.meeting(*both) for both in escapes], axis=0))

    def fault(self, sentence: str) -> str | None:
        found = _ESCAPES.search(sentence)
        return found[0] if found else None


_DOMAINS = "com|org|net|info|edu|gov|eu|at|be|br|ca|ch|cn|cz|de|es|fr|in|it|jp|nl|pl|ru|uk"
_URL = regex.compile(
    r"(?:https?|ftps?)://[!-~]+|www\.[\w-]++\.[!-~]+"
    r"|(?:\G|(?<![\w.+-]))[\w.+-]{1,255}+@[\w-]++(?:\.[\w-]++)+"  # not from each character
    r"|(?<![\w@.-])(?:[a-z0-9-]++\.){1,127}"  # as many as the name of a host may have
    rf"(?:{_DOMAINS})(?:/[!-~]*|(?![\w.]))",
    regex.IGNORECASE,
)
_URL_SIGN = re.compile(  # a set of first characters is quickly looked for
    r"[:@wW.](?:(?<=:)//|(?<=@)|(?<=[wW])[wW]{2}\."
    rf"|(?<=\.)(?i:{_DOMAINS})(?![A-Za-z0-9_.]))"
)
"""Each match of ``_URL`` has one of these."""


def without_addresses(text: str) -> str:
    """Return *text* without its web and e-mail addresses."""
    return str(_URL.sub(" ", text)) if _URL_SIGN.search(text) else text


@dataclass(frozen=True)
class Urls(SideBounded):
    """Web and e-mail addresses are a small enough share of each side; ``maximum=0`` allows none.

    The share is of the characters, or of the words with a letter (``count``): then a few words
    around a long address are enough. In scripts written without spaces, two or five characters
    count as a word, as in ``length``. An e-mail address has at most 255 characters before the @,
    and the name of a host 127 parts.
    """

    name = "urls"
    unit = "0 to 1: share of the characters of each side, white space aside, or of its words"
    origin = "Bicleaner no_urls (there: none at all; off by default)"

    maximum: float | None = 0.5
    count: str = setting("characters", choices=("characters", "words"))

    def suspects(self, side: BatchSide) -> Mask:
        """Select sentences with a letter after a full stop, ``@`` or ``:/``."""
        letters = characters.in_category("L")
        return side.meeting(".", letters) | side.meeting(":", "/") | (side.counted("@") > 0)

    def side_values(self, side: BatchSide) -> Floats:
        shares = np.zeros(len(side))
        places = np.flatnonzero(self.suspects(side))
        tokens = side.letter_tokens if self.count == "words" and len(places) else shares
        for index in places.tolist():
            sentence = side.sentences[index]
            signs = [sign.start() for sign in _URL_SIGN.finditer(sentence)]
            if not signs:
                continue
            words = sentence.split()
            marked = " ".join(pieces_at(signs, sentence)).split()
            found = [*chain.from_iterable(map(_URL.findall, marked))]
            if self.count == "words":
                shares[index] = len(found) / max(1, len(found), tokens[index])
            else:
                shares[index] = sum(map(len, found)) / sum(map(len, words))
        return shares


_SEPARATORS = "|>»›→·•*/\\-–—:"
_LAST = regex.compile(r"[.?!…,;]$")
_FULL_STOP = regex.compile(r"[\p{L}\p{N})][.。।۔]\s*$")


@dataclass(frozen=True)
class Breadcrumbs(SideFault):
    """No side is a breadcrumb trail or menu of more than ``maximum`` pieces.

    ``Home » News | Sport · Contact`` has four pieces, separated by signs between spaces. A piece
    of more than ``words`` words, or with a full stop, comma or the like at its end, ends the row.
    A side that ends with a full stop is a sentence, as "Go to File > New > Other > Row."
    """

    name = "breadcrumbs"
    unit = "pieces in a row"
    origin = "Bicleaner no_breadcrumbs (there: three or more such signs, with others)"

    maximum: int = from_1(3)
    words: int = from_1(3)

    def suspects(self, side: BatchSide) -> Mask:
        """Select sentences with enough separators that stand alone."""
        return np.asarray(side.lone_words(_SEPARATORS) >= self.maximum)

    def fault(self, sentence: str) -> str | None:
        if _FULL_STOP.search(sentence):
            return None
        longest = row = size = 0
        for word in [*sentence.split(), "|"]:
            if len(word) == 1 and word in _SEPARATORS:
                row = row + 1 if 1 <= size <= self.words else 0
                longest, size = max(longest, row), 0
            else:
                size = size + 1 if not _LAST.search(word) else self.words + 1
        return f"{longest}>{self.maximum}" if longest > self.maximum else None


class _FoundError(Exception):
    """The first tag, by its name."""


class _FirstTag(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        raise _FoundError(tag)


_OPENING = regex.compile("<[a-zA-Z]")


@dataclass(frozen=True)
class HtmlTags(SideFault):
    """No side holds an opening HTML tag.

    Python's HTML parser decides: comments, lone closing tags and ``<`` before a number or a space
    pass.
    """

    name = "html-tags"
    unit = "the first tag of each side"
    origin = "OpusFilter HtmlTagFilter"

    def suspects(self, side: BatchSide) -> Mask:
        """Select sentences where an ASCII letter follows ``<``."""
        return side.meeting("<", ascii_letters)

    def fault(self, sentence: str) -> str | None:
        opening = _OPENING.search(sentence)
        if opening is None or sentence.rfind(">") < opening.start():
            return None
        parser = _FirstTag()
        try:
            parser.feed(sentence)
            parser.close()
        except _FoundError as found:
            return str(found)
        except AssertionError:
            return None
        return None


_BUILT_IN = str(Path(__file__).with_name("boilerplate.txt"))
_BESIDE = r"(?:(?<!\s)\s*+[|·•»]\s*+|\s[/–-]\s)"
"""Signs between the items of a menu; Settings > Privacy is a path in a program."""
_MACROS = {
    # Its first part only saves time: no sign between items is without one of its signs.
    "{menu}": (
        r"(?-i:^(?=[^|·•»/–-]*+(?:[/–-](?=\S)[^|·•»/–-]*+)*+[|·•»/–-]))"
        rf"(?:(?=.*{_BESIDE})|(?s:.*?)\K{_BESIDE})"
    ),
    "{sites}": "(?:facebook|twitter|x|linkedin|pinterest|whatsapp|instagram|youtube|reddit|google)",
    "{joint}": r"(?:(?<!\s)\s*+[|·•»]\s*+|\s[/>–-]\s)",
}


@dataclass(frozen=True)
class Boilerplate(SideFault):
    """No side holds boilerplate of web pages: cookies, copyright, log in, share, cart.

    The built-in patterns are English, German, French, Czech and Spanish, apply to sides of every
    language, and pass news on these subjects. ``file`` adds regular expressions of your own, one
    a line, that ignore case.
    """

    name = "boilerplate"
    unit = "the first match of each side"
    origin = "ours"

    file: str | None = None

    def prepare(self, languages: LanguagePair) -> None:
        """Read the patterns: raise NotFoundError, InputError, or SettingsError for a bad one."""
        super().prepare(languages)
        self._lists()

    def suspects(self, side: BatchSide) -> Mask:
        """Select sentences with a key word of a pattern, and a match of it if that is quick."""
        return np.asarray(np.any([some.suspects(side) for some in self._lists()], axis=0))

    def fault(self, sentence: str) -> str | None:
        words = dict.fromkeys(_WORD.findall(sentence.lower()))
        for patterns in self._lists():
            for pattern in patterns.of(words):
                if found := pattern.search(sentence, timeout=PATIENCE):
                    return str(found[0])
        return None

    def _lists(self) -> list[_Patterns]:
        return [_read(path) for path in (_BUILT_IN, self.file) if path is not None]


_WORD = regex.compile(r"\p{Alphabetic}+|©")


_SHORT = 1000
"""Characters of a sentence in which the built-in expressions need no limit of time."""


class _Expression:
    """A regular expression that ignores case; to compile all takes longer than to read a row."""

    def __init__(self, written: str) -> None:
        self.written = written

    @functools.cached_property
    def compiled(self) -> regex.Pattern[str]:
        """The expression, compiled when it is first asked. Raises regex.error."""
        return regex.compile(self.written, regex.IGNORECASE)


class _Patterns:
    """Regular expressions of a file, each with the key words of texts that it may match."""

    def __init__(self, path: str) -> None:
        """Read the file; an expression without words may match any text."""
        self._by_word: dict[str, list[tuple[_Expression, float]]] = {}
        """The expressions, and among how many first words of a text each word must be."""
        self._anywhere: list[_Expression] = []
        self._quick = path == _BUILT_IN
        for number, line in enumerate(read_lines(path), start=1):
            words, _, expression = line.rpartition("\t")
            if not expression.strip() or line.startswith("#"):
                continue
            for name, meaning in _MACROS.items():
                expression = expression.replace(name, meaning)
            pattern = _Expression(expression)
            if not self._quick:
                self._check(pattern, f"{path}:{number}")
            for written in words.split():
                word, _, first = written.partition("/") if self._quick else (written, "", "")
                self._by_word.setdefault(word, []).append((pattern, float(first or "inf")))
            if not words:
                self._anywhere.append(pattern)

    @staticmethod
    def _check(pattern: _Expression, place: str) -> None:
        try:
            _ = pattern.compiled
        except regex.error as error:
            raise SettingsError(f"{place}: not a regular expression: {error}") from error

    def of(self, words: Iterable[str]) -> Iterator[regex.Pattern[str]]:
        """Yield the patterns that may match a text of *words*."""
        for word in words:
            yield from (pattern.compiled for pattern, _ in self._by_word.get(word, ()))
        yield from (pattern.compiled for pattern in self._anywhere)

    def suspects(self, side: BatchSide) -> Mask:
        """Return the sentences that may match, by sketches of their words, shape ``(n,)``."""
        if self._anywhere:
            return np.ones(len(side), dtype=bool)
        sketches, patterns, first = self._known
        words = side.words_like(sketches)
        found = np.asarray(side.counted("©") > 0)
        if not self._quick:
            found[words.sentences] = True
            return found
        near = np.flatnonzero(words.places < first[words.known])
        hits = words.sentences[near].tolist(), words.known[near].tolist()
        for place, known in zip(*hits, strict=True):
            if not found[place]:
                sentence = side.sentences[place]
                quick = len(sentence) <= _SHORT and "İ" not in sentence  # it makes two of a word
                found[place] = not quick or any(
                    one.compiled.search(sentence) for one in patterns[known]
                )
        return found

    @functools.cached_property
    def _known(self) -> tuple[NDArray[np.uint32], list[list[_Expression]], Floats]:
        """The sketches of the words, ascending, and for each:

        the expressions, and among how many first words of a text it must be.
        """
        words = BatchSide(list(self._by_word))
        found: dict[int, list[tuple[_Expression, float]]] = {}
        sketches = words.sketches(words.starts, words.ends).tolist()
        for sketch, patterns in zip(sketches, self._by_word.values(), strict=True):
            found.setdefault(sketch, []).extend(patterns)
        order = sorted(found)
        first = [max(most for _, most in found[sketch]) for sketch in order]
        every = [[pattern for pattern, _ in found[sketch]] for sketch in order]
        return np.array(order, dtype=np.uint32), every, np.array(first, dtype=np.float64)


_read = functools.lru_cache(_Patterns)
