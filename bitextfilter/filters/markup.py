"""Rules of text that was written for programs: HTML tags and escaped characters."""

from __future__ import annotations

from dataclasses import dataclass
from html.parser import HTMLParser

import numpy as np
import regex
from numpy.typing import NDArray

from bitextfilter.filters.pairs import Side
from bitextfilter.filters.rule import SideFault

__all__ = ["EscapedUnicode", "HtmlTags"]


class _FoundError(Exception):
    """Tells the name of the first tag."""


class _FirstTag(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        raise _FoundError(tag)


_OPENING = regex.compile("<[a-zA-Z]")


@dataclass(frozen=True)
class HtmlTags(SideFault):
    """Neither side holds an opening HTML tag, as Python's own parser of HTML sees it.

    A comment, a lone closing tag or a ``<`` before a number or a space is none.
    """

    name = "html-tags"
    unit = "the first tag of each side"
    origin = "OpusFilter HtmlTagFilter"

    def suspects(self, side: Side) -> NDArray[np.bool_]:
        """Look only where a letter of English follows ``<``."""
        opening = np.flatnonzero(side.codes == ord("<"))
        follower = side.codes[opening + 1] | 0x20
        return side.holding(opening[(follower >= ord("a")) & (follower <= ord("z"))])

    def fault(self, sentence: str, language: str | None) -> str | None:
        """Return the first tag."""
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
    r"""Neither side spells a character by its number: ``\u00e9``, ``\xe9``, ``&#233;``.

    Nor as ``<U+00E9>``, ``%u00e9`` or two and more characters of percent-encoded UTF-8.
    """

    name = "escaped-unicode"
    unit = "the first such character of each side"
    origin = "Bicleaner no_escaped_unicode (there: a backslash, x or u, and two digits)"

    def suspects(self, side: Side) -> NDArray[np.bool_]:
        """Look only where a digit, a letter or a sign that starts a number follows an escape."""
        escapes = np.concatenate([np.flatnonzero(side.codes == ord(sign)) for sign in "\\&<%"])
        followers = np.isin(side.codes[escapes + 1], [ord(sign) for sign in "xXuU#cCdDeEfF"])
        return side.holding(escapes[followers])

    def fault(self, sentence: str, language: str | None) -> str | None:
        """Return the first of them."""
        found = _ESCAPES.search(sentence)
        return found[0] if found else None
