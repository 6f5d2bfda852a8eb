"""Rules of web text: addresses, menus, HTML tags and boilerplate lines."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import chain
from pathlib import Path

import numpy as np
import regex
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Mask
from bitextfilter.errors import SettingsError
from bitextfilter.filters.pairs import BatchSide
from bitextfilter.filters.rule import LanguagePair, SideBounded, SideFault
from bitextfilter.io.files import read_lines
from bitextfilter.settings import setting

_URL = regex.compile(
    r"(?:https?|ftps?)://[!-~]+|www\.[\w-]+\.[!-~]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?<![\w@.-])(?:[a-z0-9-]+\.)+"
    r"(?:com|org|net|info|edu|gov|eu|at|be|br|ca|ch|cn|cz|de|es|fr|in|it|jp|nl|pl|ru|uk)"
    r"(?:/[!-~]*|(?![\w.]))",
    regex.IGNORECASE,
)


@dataclass(frozen=True)
class Urls(SideBounded):
    """Web and e-mail addresses are a small enough share of each side; ``maximum=0`` allows none."""

    name = "urls"
    unit = "0 to 1: share of the characters of each side, white space aside"
    origin = "Bicleaner no_urls (there: none at all; off by default)"

    maximum: float | None = 0.5

    def side_values(self, side: BatchSide) -> Floats:
        """Return the shares, from sentences with a letter after a full stop, ``@`` or ``:/``."""
        codes = side.codes
        stops, colons = (np.flatnonzero(codes == ord(sign)) for sign in ".:")
        letters = side.category_in("L")
        joined = stops[letters[stops + 1]], colons[codes[colons + 1] == ord("/")]
        hints = side.holding(np.concatenate([*joined, np.flatnonzero(codes == ord("@"))]))
        shares = np.zeros(len(side))
        for index in np.flatnonzero(hints).tolist():
            words = side.sentences[index].split()
            found = (_URL.findall(word) for word in words if not word.isalnum())
            shares[index] = sum(map(len, chain.from_iterable(found))) / sum(map(len, words))
        return shares


_SEPARATORS = "|>»›→·•*/\\-–—:"
_LAST = regex.compile(r"[.?!…,;]$")


@dataclass(frozen=True)
class Breadcrumbs(SideFault):
    """No side is a breadcrumb trail or menu of more than ``maximum`` pieces.

    ``Home » News | Sport · Contact`` has four pieces, separated by signs between spaces. A piece
    of more than ``words`` words, or with a full stop, comma or the like at its end, ends the row.
    """

    name = "breadcrumbs"
    unit = "pieces in a row"
    origin = "Bicleaner no_breadcrumbs (there: three or more such signs, with others)"

    maximum: int = setting(3, within=">= 1")
    words: int = setting(3, within=">= 1")

    def suspects(self, side: BatchSide) -> Mask:
        """Select sentences with enough separators that stand alone."""
        single = side.word_lengths == 1
        signs = np.isin(side.codes[side.word_starts[single]], [ord(sign) for sign in _SEPARATORS])
        counts = np.bincount(side.word_sentence[single][signs], minlength=len(side))
        return np.asarray(counts >= self.maximum)

    def fault(self, sentence: str) -> str | None:
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
        opening = np.flatnonzero(side.codes == ord("<"))
        follower = side.codes[opening + 1] | 0x20
        return side.holding(opening[(follower >= ord("a")) & (follower <= ord("z"))])

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
_MACROS = {
    "{sites}": "(?:facebook|twitter|x|linkedin|pinterest|whatsapp|instagram|youtube|reddit|google)",
    "{joint}": r"(?:\s*[|·•»]\s*|\s[/>–-]\s)",
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
        """Select sentences with a key word of a pattern."""
        return np.asarray(np.any([some.suspects(side) for some in self._lists()], axis=0))

    def fault(self, sentence: str) -> str | None:
        words = dict.fromkeys(_WORD.findall(sentence.lower()))
        for patterns in self._lists():
            for pattern in patterns.of(words):
                if found := pattern.search(sentence):
                    return str(found[0])
        return None

    def _lists(self) -> list[_Patterns]:
        return [_read(path) for path in (_BUILT_IN, self.file) if path is not None]


_WORD = regex.compile(r"\p{Alphabetic}+|©")


class _Patterns:
    """Regular expressions of a file, each with the key words of texts that it may match."""

    def __init__(self, path: str) -> None:
        """Read the file; an expression without words may match any text."""
        self._by_word: dict[str, list[regex.Pattern[str]]] = {}
        self._anywhere: list[regex.Pattern[str]] = []
        for number, line in enumerate(read_lines(path), start=1):
            words, _, expression = line.rpartition("\t")
            if not expression.strip() or line.startswith("#"):
                continue
            for name, meaning in _MACROS.items():
                expression = expression.replace(name, meaning)
            try:
                pattern = regex.compile(expression, regex.IGNORECASE)
            except regex.error as error:
                reason = f"{path}:{number}: not a regular expression: {error}"
                raise SettingsError(reason) from error
            for word in words.split():
                self._by_word.setdefault(word, []).append(pattern)
            if not words:
                self._anywhere.append(pattern)

    def of(self, words: Iterable[str]) -> Iterator[regex.Pattern[str]]:
        """Yield the patterns that may match a text of *words*."""
        for word in words:
            yield from self._by_word.get(word, ())
        yield from self._anywhere

    def suspects(self, side: BatchSide) -> Mask:
        """Return the sentences that may match, by sketches of their words, shape ``(n,)``."""
        if self._anywhere:
            return np.ones(len(side), dtype=bool)
        first, last = side.letter_runs
        known = np.isin(side.sketches(first, last), self._sketches)
        signs = np.flatnonzero(side.codes == ord("©"))
        return side.holding(np.concatenate([first[known], signs]))

    @functools.cached_property
    def _sketches(self) -> NDArray[np.uint32]:
        words = BatchSide(list(self._by_word))
        return words.sketches(words.starts, words.ends)


_read = functools.lru_cache(_Patterns)
