"""Rules of encoding: text decoded by the wrong table, invalid or escaped characters."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import regex
from numpy.typing import NDArray

from bitextfilter.arrays import Integers, Mask
from bitextfilter.filters.pairs import BatchSide
from bitextfilter.filters.rule import SideBounded, SideFault
from bitextfilter.text import characters


def _bytes(codec: str, first: int, last: int) -> str:
    """Decode the bytes *first* to *last* that the codec knows."""
    return bytes(range(first, last + 1)).decode(codec, "ignore")


def _western(first: int, last: int) -> str:
    """Decode these bytes as Windows-1252 and as Latin-1."""
    return _bytes("cp1252", first, last) + _bytes("latin-1", first, last)


def _any(signs: str) -> str:
    return f"[{regex.escape(signs)}]"


_NEXT = _western(0x80, 0xBF)
"""Continuation bytes of UTF-8, read as Windows-1252."""
_MARKS = "".join(sign for sign in _NEXT if not sign.isalpha() and sign not in "\u00a0\u00ad")
_CAPITALS = "ÂÃÄÅÈ"
"""First bytes of U+0080 to U+017F and U+0200 to U+023F, read as Windows-1252."""
_NEXT_1250 = _bytes("cp1250", 0x80, 0xBF)
_MARKS_1250 = "".join(sign for sign in _NEXT_1250 if not sign.isalpha() and sign != "\u00a0")
_NEXT_1251 = _bytes("cp1251", 0x80, 0xBF)


_MORE = _any(_NEXT)
_TWO, _THREE = _any(_western(0xC2, 0xDF)), _any(_western(0xE0, 0xEF))
_DAMAGE = regex.compile(
    "|".join(
        (
            # UTF-8 read as Windows-1252 or Latin-1
            f"(?:{_TWO}{_MORE}|{_THREE}{_MORE}{{2}}|ð{_MORE}{{3}}){{2,}}",
            rf"(?<=\p{{Ll}})[Â-ÖØ-Þ]{_any(_MARKS)}|(?<=\p{{Ll}})[{_CAPITALS}]{_MORE}",
            rf"[{_CAPITALS}]{_any(_MARKS)}(?=\p{{L}})|[ÂÃ][\u00a0\u00ad](?=\p{{L}})",
            rf"(?<!\p{{L}})[ÂÃ]{_MORE}",
            r"(?<=\p{Ll})Ã|(?<!\p{L})Ã(?=\s)|Ã[\u0080-\u009f€ƒ†‡ˆ‰•˜ŠŒŽ¡-ª¬¯-º¼-¿]|[ÃÄÅ][šœžŸ]",
            rf"â€|â{_any(_western(0x80, 0x9F))}{_MORE}",
            rf"ï»¿|ï¿½|ï[¼½]{_MORE}|ð[\u009fŸ]{_MORE}{{2}}",
            rf"(?<=\p{{L}})[á-é]{_any(_MARKS + 'ºªµ')}{{2}}(?=\p{{L}})",
            # UTF-8 read as Windows-1250, Windows-1251 or Mac Roman
            rf"(?<=\p{{Ll}})[ĂĹÄ]{_any(_NEXT_1250)}|[ĂĹÄ]{_any(_MARKS_1250)}(?=\p{{L}})",
            f"(?:[РС]{_any(_NEXT_1251)}){{3,}}|вЂ",
            r"(?<=\p{Ll})√[©º∂§ü†®ß™≠°±≥•∏¥]|‚Ä[ôòúùìî¶]",
            "\ufffd",
        )
    )
)


@functools.cache
def _roles() -> NDArray[np.uint8]:
    """Return bits for each code point: starts (1) or continues (2) damage, other tables 4 and 8."""
    table = np.zeros(0x110000, dtype=np.uint8)
    for bit, signs in (
        (1, _western(0xC2, 0xF4)),
        (2, _NEXT),
        (4, "ĂĹÄРСв√‚"),
        (8, (_NEXT_1250 + _NEXT_1251).replace("і", "") + "©º∂§ü†®ß™≠°±≥•∏¥Ä"),
    ):  # і after С is all too common in Ukrainian, and stands for г alone
        table[[ord(sign) for sign in set(signs)]] |= bit
    table[[ord("Ã"), 0xFFFD]] |= 16
    return table


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
        """Select sentences where a starting character meets a continuing one."""
        roles = _roles()[side.codes]
        hits = roles >> 4
        hits[:-1] |= roles[:-1] & (roles[1:] >> 1) & 5
        return side.holding(np.flatnonzero(hits))

    def fault(self, sentence: str) -> str | None:
        found = _DAMAGE.search(sentence)
        return found[0] if found else None


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
        return side.count(_noise()[side.codes])


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
        """Select sentences with an escape sign before a digit or another start of a number."""
        escapes = np.concatenate([np.flatnonzero(side.codes == ord(sign)) for sign in "\\&<%"])
        followers = np.isin(side.codes[escapes + 1], [ord(sign) for sign in "xXuU#cCdDeEfF"])
        return side.holding(escapes[followers])

    def fault(self, sentence: str) -> str | None:
        found = _ESCAPES.search(sentence)
        return found[0] if found else None
