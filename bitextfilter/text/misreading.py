"""UTF-8 that was read in another encoding: found, and undone where the right text is certain.

A misreading is undone a layer at a time. A layer is certain if

- the characters above ASCII, put back into the bytes of one encoding, are UTF-8: all of them, or
  all that damage could have made,
- some of them could not stand so in right text: ``Ã¤`` in a word could not, but in MAÇÃ» the last
  two may be a letter and a quotation mark,

and the text below the last layer has neither damage nor invalid characters, and no new word in two
scripts. All else is left.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

import regex

from bitextfilter.languages import Language
from bitextfilter.text import characters

_LAYERS = 8
"""Most misreadings of misread text that are undone."""


def table(encoding: str) -> str:
    """Return the characters of the bytes 0x80 to 0xFF; C1 controls where there are none."""
    single = (bytes([value]) for value in range(0x80, 0x100))
    return "".join(byte.decode(encoding, "ignore") or byte.decode("latin-1") for byte in single)


def _any(signs: str) -> str:
    return f"[{re.escape(signs)}]"


_LATIN_1, _WESTERN, _CENTRAL, _CYRILLIC = map(table, ("latin-1", "cp1252", "cp1250", "cp1251"))
_NEXT = _WESTERN[:0x40] + _LATIN_1[:0x40]
"""Continuation bytes of UTF-8, read as Windows-1252 or Latin-1."""
_MARKS = "".join(sign for sign in _NEXT if not sign.isalpha() and sign not in "\u00a0\u00ad")
_CAPITALS = "ÂÃÄÅÈ"
"""First bytes of U+0080 to U+017F and U+0200 to U+023F, read as Windows-1252."""
_NEXT_1250, _NEXT_1251 = _CENTRAL[:0x40], _CYRILLIC[:0x40]
_MARKS_1250 = "".join(sign for sign in _NEXT_1250 if not sign.isalpha() and sign != "\u00a0")
_MORE, _TWO, _THREE = _any(_NEXT), _any(_LATIN_1[0x42:0x60]), _any(_LATIN_1[0x60:0x70])
_DAMAGE = regex.compile(
    "|".join(
        (
            # UTF-8 read as Windows-1252 or Latin-1
            f"(?:{_TWO}{_MORE}|{_THREE}{_MORE}{{2}}|ð{_MORE}{{3}}){{2,}}",
            rf"(?<=\p{{Ll}})[Â-ÖØ-Þ]{_any(_MARKS)}|(?<=\p{{Ll}})[{_CAPITALS}]{_MORE}",
            rf"[{_CAPITALS}]{_any(_MARKS)}(?=\p{{L}})|[ÂÃ][\u00a0\u00ad](?=\p{{L}})",
            rf"(?<!\p{{L}})[ÂÃ]{_MORE}",
            r"(?<=\p{Ll})Ã|(?<!\p{L})Ã(?=\s)|Ã[\u0080-\u009f€ƒ†‡ˆ‰•˜ŠŒŽ¡-ª¬¯-º¼-¿]|[ÃÄÅ][šœžŸ]",
            rf"â€|â{_any(_WESTERN[:0x20] + _LATIN_1[:0x20])}{_MORE}",
            rf"ï»¿|ï¿½|ï[¼½]{_MORE}|ð[\u009fŸ]{_MORE}{{2}}",
            rf"(?<=\p{{L}})[á-é]{_any(_MARKS + 'ºªµ')}{{2}}(?=\p{{L}})",
            # UTF-8 read as Windows-1250, Windows-1251 or Mac Roman
            rf"(?<=\p{{Ll}})[ĂĹÄ]{_any(_NEXT_1250)}|[ĂĹÄ]{_any(_MARKS_1250)}(?=\p{{L}})",
            f"(?:[РС]{_any(_NEXT_1251)}){{3,}}|вЂ",
            r"(?<=\p{Ll})√[©º∂§ü†®ß™≠°±≥•∏¥]|‚Ä[ôòúùìî¶]",
            # what is left where bytes were lost
            r"(?<=\p{Ll})[ÄÅ](?=\p{Ll})|[ÂÃÎÏÐÑØÙ](?=[\p{Greek}\p{Cyrillic}\p{Arabic}\p{Hebrew}])"
            r"|(?<=[\p{Greek}\p{Cyrillic}\p{Arabic}\p{Hebrew}])[ÂÃÎÏÐÑØÙ]",
            "\ufffd",
        )
    )
)


@dataclass(frozen=True)
class _Encoding:
    """An encoding of single bytes in which UTF-8 may be misread."""

    characters: str
    """Those of the bytes 0x80 to 0xFF."""

    @functools.cached_property
    def codes(self) -> dict[int, int]:
        """Characters above ASCII → their bytes."""
        return {ord(character): 0x80 + place for place, character in enumerate(self.characters)}

    @functools.cached_property
    def leads(self) -> tuple[str, str, str]:
        """The first characters of sequences of two, three and four."""
        return self.characters[0x42:0x60], self.characters[0x60:0x70], self.characters[0x70:0x75]

    @functools.cached_property
    def sequence(self) -> re.Pattern[str]:
        """One character above ASCII in UTF-8."""
        return re.compile(_sequence(*self.leads, self.characters[:0x40]))

    def read(self, text: str) -> str | None:
        """Return the UTF-8 that *text* is in this encoding, or None."""
        codes = self.codes
        try:
            return bytes([code if code < 0x80 else codes[code] for code in map(ord, text)]).decode()
        except (KeyError, UnicodeDecodeError):
            return None


def _sequence(two: str, three: str, four: str, more: str) -> str:
    more = _any(more)
    return f"{_any(two)}{more}|{_any(three)}{more}{{2}}|{_any(four)}{more}{{3}}"


_ENCODINGS = [
    _Encoding(table(name))
    for name in (
        "latin-1",
        "cp1252",
        "cp1251",
        "cp1250",
        "cp1253",
        "cp1254",
        "cp1257",
        "iso8859-2",
        "mac-roman",
        "cp437",
    )
]
"""In the order of trial."""
_TWOS, _THREES, _FOURS = ("".join({*chain(*some)}) for some in zip(*(e.leads for e in _ENCODINGS)))
_MORES = "".join({*chain(*(encoding.characters[:0x40] for encoding in _ENCODINGS))})
_SEQUENCE = re.compile(_sequence(_TWOS, _THREES, _FOURS, _MORES))
"""A sequence in any encoding, or a mixture."""

STARTS = (_TWOS + _THREES + _FOURS, _MORES)
"""Characters that start damage, and those that go on with it."""
ALONE = "Ã\ufffdÂÎÏÐÑØÙÄÅ"
"""Characters that may be damage without the others."""
_QUICK = re.compile(f"{_any(ALONE)}|{_SEQUENCE.pattern}")


def damage(text: str) -> str | None:
    """Return the first characters of *text* that are no right text, or None.

    They are UTF-8 that was read in another encoding, remains of it, or U+FFFD.
    """
    if text.isascii() or not _QUICK.search(text):
        return None
    if found := _DAMAGE.search(text):
        return str(found[0])
    if undone(text) is not None and (first := _SEQUENCE.search(text)):
        return first[0]
    return None


def undone(text: str, language: Language | None = None) -> str | None:
    """Return a misread *text* as it was, or None if that is not certain.

    Text in a known *language* has letters of its scripts, or Latin ones, and a letter that it does
    not write, before a sign, is a misread letter that it writes.
    """
    if text.isascii() or not _SEQUENCE.search(text):
        return None
    own = None if language is None else _letters(language)
    now = text
    for _ in range(_LAYERS):
        below = _below(now, own)
        if below is None:
            break
        now = below
    return now if now != text and _is_sound(text, now, language) else None


_Own = Callable[[str], bool]


def _below(text: str, own: _Own | None) -> str | None:
    """Return the text below a layer of misreading, if that is certain."""
    for encoding in _ENCODINGS:
        below = encoding.read(text)
        if below is not None and any(_odd_sequences(text, encoding, own)):
            return below
    for encoding in _ENCODINGS:
        if (below := _mended_parts(text, encoding)) is not None:
            return below
    return None


def _odd_sequences(text: str, encoding: _Encoding, own: _Own | None) -> Iterator[bool]:
    """Yield for each sequence whether it could not stand in right text."""
    for found in encoding.sequence.finditer(text):
        if own is not None and found[0][0].isalpha() and not own(found[0][0]):
            read = encoding.read(found[0])
            yield read is not None and own(read)
        yield not _may_stand(text, *found.span())


def _mended_parts(text: str, encoding: _Encoding) -> str | None:
    """Return *text* with its sequences read, if no run of them could stand, and the rest is right.

    None if there are none, or that is not certain.
    """
    pieces, last, run_is_odd = list[str](), 0, True
    for found in encoding.sequence.finditer(text):
        start, end = found.span()
        read = encoding.read(found[0])
        if read is None or (start > last and not run_is_odd):
            return None
        run_is_odd = (run_is_odd and start == last and last > 0) or not _may_stand(text, start, end)
        pieces += [text[last:start], read]
        last = end
    if not pieces or not run_is_odd:
        return None
    pieces.append(text[last:])
    return None if _lost("".join(pieces[::2]), pieces[1::2], encoding) else "".join(pieces)


_FIRST = (0xC2, 0xC3, 0xC4, 0xC5, 0xC6, 0xC7, 0xC8, 0xE1, 0xE2)
"""First bytes of Latin letters and punctuation."""


def _lost(rest: str, written: list[str], encoding: _Encoding) -> bool:
    """Whether *rest* may have sequences that lost bytes.

    Such begin as those of Latin letters and of punctuation, or as those that were *written*.
    """
    bytes_of = encoding.codes.get
    first = {character.encode()[0] for character in written}
    codes = ((sign, bytes_of(ord(sign))) for sign in rest if not sign.isascii())
    return any(
        code in first or (code in _FIRST and not _OTHER_LETTER.match(sign)) for sign, code in codes
    )


_OTHER_LETTER = re.compile("[\u0370-\u052f]")
"""Letters of Greek and Cyrillic."""

_AFTER_WORD = "»«”“’‘›‹´…–—·•\u00a0\u00ad®™©°²³¹ªº†‡№"
"""Signs that may follow a word at once."""
_AFTER_LETTER = "»«”“’‘›‹´…–—\u00a0\u00ad"
"""Those that may follow a letter alone."""
_JOINING = "’‘–—…·•\u00a0\u00ad№"
"""Those that another word may follow at once."""
_NO_SUCCESSORS = "œŒŸƒæÆøØ"
"""Letters that follow no letter with an accent."""
_LETTERS = ("Lu", "Ll", "Lt")


def _may_stand(text: str, start: int, end: int) -> bool:
    """Whether the sequence at *start* to *end* may be right text.

    Such is the end of a word, with signs that may follow it, or within a word.
    """
    lead, more = text[start], text[start + 1 : end]
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    if not lead.isalpha():
        return _sign_may_stand(lead, more, before, after)
    if (lead.isupper() and before.islower()) or (lead in "ÂÃ" and before.isdigit()):
        return False
    letters = more
    while letters and (unicodedata.category(letters[-1]) not in _LETTERS or letters[-1] in "ªºµ"):
        letters = letters[:-1]
    signs = more[len(letters) :]
    if letters and not _may_follow(lead, letters):
        return False
    if not signs:
        return True
    usual = _AFTER_WORD if letters or before.isalpha() else _AFTER_LETTER
    if not set(signs) <= set(usual):
        return False
    if after.isalnum():
        return signs[-1] in _JOINING
    return not (signs[-1] == "\u00a0" and after.isspace())


def _may_follow(lead: str, letters: str) -> bool:
    """Whether *letters* may follow the letter *lead* in a word."""
    if lead == "Ã" or not letters.isalpha() or set(letters) & set(_NO_SUCCESSORS):
        return False
    if _OTHER_LETTER.match(lead + letters) and not all(map(_OTHER_LETTER.match, lead + letters)):
        return False
    return letters.islower() or (letters.isupper() and lead.isupper())


def _sign_may_stand(lead: str, more: str, before: str, after: str) -> bool:
    """Whether a sequence that begins with a sign may be right text."""
    if lead == "×":
        return set(more) <= set("¹²³¼½¾\u00a0»”’–—")
    if lead in "÷€" or unicodedata.category(lead)[0] in "PZ":
        return lead + more[0] != "‚Ä"
    return more == "π" or not (before.isalpha() or after.isalpha())


_WORD = re.compile(r"[^\W\d_]+")
_LATIN, _CYRILLIC_LETTER = re.compile("[A-Za-zÀ-ɏ]"), re.compile("[Ѐ-ԯ]")


def _is_sound(text: str, right: str, language: Language | None) -> bool:
    """Whether *right* may be the right text of the misread *text*."""
    if any(unicodedata.category(sign) in ("Cc", "Cn", "Co", "Cs") for sign in {*right} - {*text}):
        return False
    if _QUICK.search(right) and _DAMAGE.search(right):
        return False
    if any(
        _LATIN.search(word) and _CYRILLIC_LETTER.search(word) and word not in text
        for word in _WORD.findall(right)
    ):
        return False
    if language is None or not language.scripts:
        return True
    letters = characters.in_script(*language.scripts, "Latin", "Common", "Inherited")
    return all(letters[ord(sign)] for sign in {*right} - {*text} if sign.isalpha())


def _letters(language: Language) -> _Own:
    """Return the letters of a language as a test of a text."""
    table = characters.alphabet(language.code)
    return lambda text: all(table[ord(sign)] for sign in text)
