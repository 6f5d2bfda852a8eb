"""Rules of damaged characters: text that was decoded wrongly, and what no text holds."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import regex
from numpy.typing import NDArray

from bitextfilter.filters.pairs import Pairs, Side
from bitextfilter.filters.rule import Bounded, SideFault
from bitextfilter.text import characters


def _bytes(codec: str, first: int, last: int) -> str:
    """Return what the bytes from *first* to *last* are taken for, where a codec has them."""
    return bytes(range(first, last + 1)).decode(codec, "ignore")


def _western(first: int, last: int) -> str:
    """Return what these bytes are taken for in Windows-1252 or Latin-1."""
    return _bytes("cp1252", first, last) + _bytes("latin-1", first, last)


def _any(signs: str) -> str:
    return f"[{regex.escape(signs)}]"


_NEXT = _western(0x80, 0xBF)
"""What stands for the second and later bytes of a character in UTF-8 read as Windows-1252."""
_MARKS = "".join(sign for sign in _NEXT if not sign.isalpha() and sign not in "\u00a0\u00ad")
_CAPITALS = "ÂÃÄÅÈ"
"""What stands for the first byte of U+0080 to U+017F and U+0200 to U+023F, in Windows-1252."""
_NEXT_1250 = _bytes("cp1250", 0x80, 0xBF)
_MARKS_1250 = "".join(sign for sign in _NEXT_1250 if not sign.isalpha() and sign != "\u00a0")
_NEXT_1251 = _bytes("cp1251", 0x80, 0xBF)


def _as_western() -> Iterable[str]:
    """Patterns of UTF-8 read as Windows-1252 or Latin-1, one after another or in its place."""
    more = _any(_NEXT)
    two, three = _any(_western(0xC2, 0xDF)), _any(_western(0xE0, 0xEF))
    yield f"(?:{two}{more}|{three}{more}{{2}}|ð{more}{{3}}){{2,}}"
    yield rf"(?<=\p{{Ll}})[Â-ÖØ-Þ]{_any(_MARKS)}|(?<=\p{{Ll}})[{_CAPITALS}]{more}"
    yield rf"[{_CAPITALS}]{_any(_MARKS)}(?=\p{{L}})|[ÂÃ][\u00a0\u00ad](?=\p{{L}})"
    yield rf"(?<!\p{{L}})[ÂÃ]{more}"
    yield r"(?<=\p{Ll})Ã|(?<!\p{L})Ã(?=\s)|Ã[\u0080-\u009f€ƒ†‡ˆ‰•˜ŠŒŽ¡-ª¬¯-º¼-¿]|[ÃÄÅ][šœžŸ]"
    yield rf"â€|â{_any(_western(0x80, 0x9F))}{more}"
    yield rf"ï»¿|ï¿½|ï[¼½]{more}|ð[\u009fŸ]{more}{{2}}"
    yield rf"(?<=\p{{L}})[á-é]{_any(_MARKS + 'ºªµ')}{{2}}(?=\p{{L}})"


def _as_others() -> Iterable[str]:
    """Patterns of UTF-8 read as Windows-1250, Windows-1251 or Mac Roman."""
    yield rf"(?<=\p{{Ll}})[ĂĹÄ]{_any(_NEXT_1250)}|[ĂĹÄ]{_any(_MARKS_1250)}(?=\p{{L}})"
    yield f"(?:[РС]{_any(_NEXT_1251)}){{3,}}|вЂ"
    yield r"(?<=\p{Ll})√[©º∂§ü†®ß™≠°±≥•∏¥]|‚Ä[ôòúùìî¶]"


_DAMAGE = regex.compile("|".join([*_as_western(), *_as_others(), "\ufffd"]))


@functools.cache
def _roles() -> NDArray[np.uint8]:
    """Return bits for each code point: may start (1) or go on (2) in damage, (4, 8) of others."""
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
    """Neither side was decoded wrongly: UTF-8 read as Windows-1252, 1250, 1251, Latin-1, Mac.

    ``cafÃ©``, ``itâ€™s``, ``РїСЂРё``, twice over (``cafÃƒÂ©``), or with the sign for what could not
    be decoded (U+FFFD). The same signs pass where they make sense: ``CAFÉ“``, ``« café »``.
    """

    name = "bad-encoding"
    unit = "the first damaged characters of each side"
    origin = "Bicleaner no_bad_encoding (there: any capital A with tilde or circumflex)"

    def suspects(self, side: Side) -> NDArray[np.bool_]:
        """Look only where a sign that may start such damage meets one that may go on with it."""
        roles = _roles()[side.codes]
        hits = roles >> 4
        hits[:-1] |= roles[:-1] & (roles[1:] >> 1) & 5
        return side.holding(np.flatnonzero(hits))

    def fault(self, sentence: str, language: str | None) -> str | None:
        """Return the first damaged characters."""
        found = _DAMAGE.search(sentence)
        return found[0] if found else None


@dataclass(frozen=True)
class UnicodeNoise(Bounded):
    """No side holds characters that no text should hold.

    Control characters, code points that are private, not assigned or half of a pair, and the
    sign for an embedded object (U+FFFC).
    """

    name = "unicode-noise"
    unit = "such characters of each side, 0 and up"
    origin = "Bicleaner no_unicode_noise (there: three in a row of U+0080 to U+00FF)"

    maximum: float | None = 0

    def values(self, pairs: Pairs) -> NDArray[np.int64]:
        """Return the numbers of such characters."""
        return np.stack([side.count(_noise()[side.codes]) for side in pairs.sides], axis=1)


@functools.cache
def _noise() -> NDArray[np.bool_]:
    table: NDArray[np.bool_] = characters.in_category("Cc", "Co", "Cn").copy()
    table[[0x09, 0x0A, 0x0D]] = False
    table[0xFFFC] = True
    table[0xD800:0xE000] = True
    return table
