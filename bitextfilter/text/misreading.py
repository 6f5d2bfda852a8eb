"""UTF-8 that was read in another encoding: found, and undone where the right text is certain.

A misreading is undone a layer at a time. A layer is certain if

- the characters above ASCII, put back into the bytes of one encoding, are UTF-8: all of them, or
  all that damage could have made,
- some of them could not stand so in right text: ``Ã¤`` in a word could not, but in MAÇÃ» the last
  two may be a letter and a quotation mark,
- no reading in another encoding looks better,

and the text below the last layer has neither damage nor invalid characters, and no new word in two
scripts. All else is left.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Iterator
from itertools import chain
from string import ascii_lowercase

import regex

from bitextfilter.languages import Language
from bitextfilter.text.byte_encodings import (
    CENTRAL,
    ENCODINGS,
    FREQUENT,
    LEFT_ALONE,
    Encoding,
    any_of,
    sequence_of,
)
from bitextfilter.text.composition import normal_form

_LAYERS = 8
"""Most misreadings of misread text that are undone."""

_TWOS, _THREES, _FOURS = (
    "".join(dict.fromkeys(chain(*some)))
    for some in zip(*(encoding.leads for encoding in ENCODINGS), strict=True)
)
_MORES = "".join(dict.fromkeys(chain(*(encoding.characters[:0x40] for encoding in ENCODINGS))))
_LEADS, _MORE = _TWOS + _THREES + _FOURS, frozenset(_MORES)
_STARTING = re.compile(f"{any_of(_LEADS)}(?={any_of(_MORES)})")
"""The first character of a sequence in any encoding, or a mixture."""
_LONG_RUN = re.compile(f"(?:{sequence_of(_TWOS, _THREES, _FOURS, _MORES)}){{4}}")

STARTS = (_LEADS, _MORES)
"""Characters that start damage, and those that go on with it."""
ALONE = "ÂÃÎÏÐÑØÙ\ufffd\u212b" + "".join(map(chr, (*range(0x80, 0xA0), *range(0x300, 0x370))))
"""Characters that may be damage without the others."""
REMAINING = (
    ("ã", "".join(map(chr, range(0xA1, 0xBF)))),
    (ascii_lowercase, "ГД"),
    ("ГД", ascii_lowercase),
    ("в", "Ђ"),
    ("â", "stmrvld"),
)
"""Characters that may be damage where one of the first stands before one of the second."""
WITHIN = "ÄÅĂĹ"
"""Those that may be damage after a small letter."""
_OTHERS = r"[\p{Greek}\p{Cyrillic}\p{Arabic}\p{Hebrew}]"
_REMAINS = regex.compile(
    "|".join(
        (
            r"(?<=\p{Ll})(?:Ã|[ÄÅÐÑĂĹ](?!\p{Lu}))|(?<!\p{L})Ã(?=[\sa-np-z])",
            rf"[ÂÃÎÏÐÑØÙ](?={_OTHERS})|(?<={_OTHERS})[ÂÃÎÏÐÑØÙ]|(?<=[a-hj-z])[ГД]|[ГД](?=[a-hj-z])|вЂ",
            r"\b[A-Z]Ã[©ª²³¹º®°](?=\s+\p{Ll})|\b(?i:(?:it|that|what|there|he|she|let)âs|Iâm)\b"
            r"|\b(?i:(?:I|you|we|they)â(?:re|ve|ll|d))\b"
            r"|\b(?i:(?:is|are|was|were|do|does|did|has|have|had|ca|wo|would|could|should)nât)\b",
            f"{any_of(_LEADS)}[\u0080-\u009f]",
            r"ã(?:[¡-©®°-´¶¹¼-¾](?=\p{Ll})|[¢¤-¦±µ¸¼-¾](?!\w))",  # made small afterwards
            "\ufffd",
        )
    )
)
"""What is left of sequences that lost bytes: ``nÃ¡mÄstÃ``, ``Ñегодня``, ``itâs``."""
_QUICK = re.compile(
    f"[ÂÃÎÏÐÑØÙ\x80-\x9f\ufffd]|ã[¡-¾]|[^\\W\\d_A-Z][{WITHIN}]|[a-z][ГД]|[ГД][a-z]|вЂ"
    "|[A-Za-z]â(?:s|t|m|re|ve|ll|d)\\b"
)
"""Found where ``_REMAINS`` is, and sooner."""

_C1 = re.compile("[\x80-\x9f]")
_USUAL = re.compile(
    "[\u00a0-\u017f\u0218-\u021b\u0384-\u03ce\u0401-\u045f\u0490\u0491\u0531-\u0587\u05b0-\u05ea\u060c-\u06d5"
    "\u0900-\U0010ffff]"
)
"""Characters but rare letters of Latin, Greek and Cyrillic, and signs of phonetics."""


def damage(text: str) -> str | None:
    """Return the first characters of *text* that are no right text, or None.

    They are UTF-8 that was read in another encoding, remains of it, or U+FFFD, all composed.
    """
    if text.isascii():
        return None
    text = normal_form(text)
    if _is_suspicious(text):
        encoding = _likeliest(text)
        for run in encoding.runs.finditer(text):
            for sequence in encoding.sequence.finditer(text, *run.span()):
                if _is_odd(text, *sequence.span(), encoding):
                    return run[0]
    found = _remains(text) or _with_controls(text)
    if found is None and undone(text) is not None and (first := _STARTING.search(text)):
        found = text[first.start() : first.start() + 2]
    return found


def _with_controls(text: str) -> str | None:
    """Return the first C1 control, if all of a text is UTF-8 in an encoding that is not undone."""
    found = _C1.search(text)
    return found[0] if found and any(some.read(text) is not None for some in LEFT_ALONE) else None


def _remains(text: str) -> str | None:
    found = _REMAINS.search(text) if _QUICK.search(text) else None
    return None if found is None else str(found[0])


@functools.lru_cache(4)
def _is_suspicious(text: str) -> bool:
    """Whether some characters could not stand in right text if they are UTF-8 in an encoding."""
    starts = [found.start() for found in _STARTING.finditer(text)]
    for start in starts:
        for length, leads in enumerate((_TWOS, _THREES, _FOURS), 2):
            more = text[start + 1 : start + length]
            possible = text[start] in leads and len(more) == length - 1 and _MORE.issuperset(more)
            if possible and not _may_stand(text, start, start + length):
                return True
    return len(starts) >= 4 and _LONG_RUN.search(text) is not None


def _likeliest(text: str) -> Encoding:
    """Return the encoding of most sequences."""
    return max(ENCODINGS, key=lambda some: some.covered(text))


def undone(text: str, language: Language | None = None) -> str | None:
    """Return a misread *text* as it was, composed, or None if that is not certain.

    Text in a known *language* has letters of its scripts, or Latin ones, and a letter that it does
    not write, before a sign, is a misread letter that it writes.
    """
    text = normal_form(text)
    own = _letters(language) if language is not None and language.scripts else None
    if not (_is_suspicious(text) if own is None else _STARTING.search(text)):
        return None
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
    possible = [
        (encoding, below) for encoding in ENCODINGS if (below := encoding.read(text)) is not None
    ]
    whole = [
        below
        for encoding, below in possible
        if encoding.long_run.search(text) or any(_odd_sequences(text, encoding, own))
    ]
    if not whole:
        return _mended_parts(text)
    if possible[0][1] != whole[0]:
        return None  # a rare letter in a more usual encoding
    if _is_contradicted(text, whole):
        return None
    central = [CENTRAL[0].read(text), CENTRAL[1].read(text)]
    if whole[0] == central[0] != central[1] and central[1] is not None:
        return _in_one_alphabet(text, [below for below in central if below], own)
    return whole[0]


def _is_contradicted(text: str, readings: list[str]) -> bool:
    """Whether another reading looks better than the first.

    It has fewer rare letters, or, in an encoding that is left alone, as few, and new letters of one
    alphabet, where the first has not. To look as good is enough if the first is not in a frequent
    encoding.
    """

    def looks(reading: str) -> tuple[int, bool]:
        return len(_RARE.findall(reading)), not _share_an_alphabet(text, reading)

    first, *more = readings
    bound = looks(first)
    if any(looks(other)[0] < bound[0] for other in more):
        return True
    others = {below for some in LEFT_ALONE if (below := some.read(text)) is not None} - {first}
    looking = [looks(other) for other in others if not _C1.search(other)]
    frequent = any(some.read(text) == first for some in FREQUENT)
    return any(other < bound or (other == bound and not frequent) for other in looking)


def _share_an_alphabet(text: str, reading: str) -> bool:
    """Whether some known language writes all letters of a *reading* that *text* lacks."""
    from bitextfilter.text import characters  # needs numpy

    return characters.share_an_alphabet(_new_letters(text, reading))


def _new_letters(text: str, reading: str) -> set[str]:
    return {letter for letter in {*reading.lower()} - {*text.lower()} if letter.isalpha()}


def _in_one_alphabet(text: str, readings: list[str], own: _Own | None) -> str | None:
    """Return the first of two *readings*, if some known language writes its new letters alone.

    Where the language is known, they are its letters, and the second reading may be right, too.
    """
    fitting = [
        reading
        for reading in readings
        if (
            all(map(own, _new_letters(text, reading))) if own else _share_an_alphabet(text, reading)
        )
    ]
    certain = len(fitting) == 1 and (own is not None or fitting == readings[:1])
    return fitting[0] if certain else None


_RARE = regex.compile(
    r"[\u0108-\u010b\u0114\u0115\u011c\u011d\u0120\u0121\u0124-\u0129\u012c\u012d\u0132-\u0135\u0138"
    r"\u013f\u0140\u0149-\u014b\u014e\u014f\u0154\u0155\u015c\u015d\u0166-\u0169\u016c\u016d"
    r"\u0174-\u0178\u017f-\u0217\u021c-\u036f]"
    r"|(?<=\p{L})\p{Lu}(?=\p{Ll})|(?<=\p{Ll})\p{Lu}|(?<=\p{Ll}[ '’])\p{Lu}(?!\p{L})"
    r"|(?<=\p{Lu})\p{Ll}(?=\p{Lu})|(?<=[a-z])[\p{Cyrillic}\p{Armenian}\p{Arabic}]"
)
"""Letters of few languages, capitals within words, or alone behind small letters, small letters
within capitals, and two scripts in a word."""


def _odd_sequences(text: str, encoding: Encoding, own: _Own | None) -> Iterator[bool]:
    """Yield for each sequence whether it could not stand in right text."""
    for found in encoding.sequence.finditer(text):
        if own is not None and found[0][0].isalpha() and not own(found[0][0]):
            read = encoding.read(found[0])
            yield read is not None and own(read)
        yield _is_odd(text, *found.span(), encoding)


def _mended_parts(text: str) -> str | None:
    """Return *text* with its sequences read, if no run of them could stand, and the rest is right.

    None if there are none, or that is not certain. The encoding is that of most sequences.
    """
    encoding = _likeliest(text)
    covered = encoding.covered(text)
    others = [(some.covered(text), some) for some in LEFT_ALONE]
    if any(more > covered for more, _ in others):
        return None
    pieces, last, run_is_odd = list[str](), 0, True
    for found in encoding.sequence.finditer(text):
        start, end = found.span()
        read = encoding.read(found[0])
        if read is None or (start > last and not run_is_odd):
            return None
        run_is_odd = (run_is_odd and start == last and last > 0) or _is_odd(
            text, start, end, encoding
        )
        pieces += [text[last:start], read]
        last = end
    if not pieces or not run_is_odd:
        return None
    pieces.append(text[last:])
    rest, written = "".join(pieces[::2]), pieces[1::2]
    possible = [some for some in ENCODINGS if some is ENCODINGS[0] or some.covered(text)]
    strange = "".join(sign for sign in rest if ord(sign) not in encoding.codes)
    lost = any(_lost(rest, written, some) for some in possible)
    lost |= any(_lost(strange, written, some) for same, some in others if same == covered)
    return None if lost else "".join(pieces)


_FIRST = frozenset(b"\xc2\xc3\xc4\xc5\xc6\xc7\xc8\xc9\xe1\xe2")
"""First bytes of Latin letters and of punctuation."""
_FIRST_OF_SCRIPTS = (
    frozenset(b"\xcd\xce\xcf"),
    frozenset(b"\xd0\xd1\xd2\xd3"),
    frozenset(b"\xd4\xd5\xd6\xd7"),
    frozenset(b"\xd8\xd9\xda\xdb"),
    frozenset(b"\xe0\xe1"),
    frozenset(b"\xe3\xe4\xe5\xe6\xe7\xe8\xe9\xea\xeb\xec\xed\xef"),
    frozenset(b"\xf0"),
)
"""Those of Greek, Cyrillic, Armenian and Hebrew, Arabic, scripts of South and East Asia, emoji."""


def _lost(rest: str, written: list[str], encoding: Encoding) -> bool:
    """Whether *rest* may have sequences that lost bytes.

    Such begin as those of Latin letters and of punctuation, or as those of a script *written*.
    """
    bytes_written = {character.encode()[0] for character in written}
    first = _FIRST.union(*(some for some in _FIRST_OF_SCRIPTS if some & bytes_written))
    return any(encoding.codes.get(ord(sign)) in first for sign in rest if not sign.isascii())


_AFTER_LETTER = frozenset("»«”“„’‘‚›‹´΄…–—\u00a0\u00ad")
"""Signs that may follow Â or Ã alone at once."""
_AFTER_WORD = _AFTER_LETTER.union("·•®™©°²³¹ªº†‡№§€£¥")
"""Those that may follow a word, or another letter."""
_LAST_SIGNS = frozenset("„‚§€£¥№")
"""Those of them that no other follows."""
_JOINING = frozenset("’‘΄–—…·•\u00a0\u00ad№")
"""Those that another word may follow at once."""
_FRENCH = frozenset("àâæçéèêëîïôùûü")
"""The letters with accents before œ and ÿ."""
_SOUTHERN, _POLISH = frozenset("áâäíîúýüöőűÁÂÄÍÎÚÝÜÖŐŰ"), frozenset("ąęłśźżĄĘŁŚŹŻ")
"""Letters that Windows-1250 has; no word has the latter after the former."""
_OTHER_SCRIPT = re.compile("[\u0370-\u052f]")
"""Letters of Greek and Cyrillic."""


def _is_odd(text: str, start: int, end: int, encoding: Encoding) -> bool:
    """Whether the sequence at *start* to *end* is a usual character rather than right text."""
    read = encoding.read(text[start:end])
    if read is None or _may_stand(text, start, end):
        return False
    within = text[start].isupper() and text[start - 1 : start].islower()
    return within or bool(_USUAL.match(read) or _C1.search(text, start, end))


def _may_stand(text: str, start: int, end: int) -> bool:
    """Whether the sequence at *start* to *end* may be right text.

    Such has letters that may follow each other, and signs that may follow or join words.
    """
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    lead = last = text[start]
    if not lead.isalpha():
        return _sign_may_stand(text[start:end], before, after)
    if not _may_begin(before, lead):
        return False
    in_word = before.isalpha()
    usual = _AFTER_WORD if in_word or lead not in "ÂÃ" else _AFTER_LETTER
    for sign in text[start + 1 : end]:
        if _is_letter(sign):
            may_follow = _may_follow(last, sign) if _is_letter(last) else last in _JOINING
            in_word, usual = _is_letter(last), _AFTER_WORD
        else:
            may_follow = sign in usual and last not in _LAST_SIGNS
            may_follow = may_follow and last + sign != "Ã¥"
            may_follow = may_follow and (sign != "\u00ad" or _is_letter(last))
        if not may_follow:
            return False
        last = sign
    if last == "\u00ad" and lead.isupper() and after.islower():
        return False
    return _may_end(last, after, in_word, lone=usual is _AFTER_LETTER)


def _may_begin(before: str, lead: str) -> bool:
    """Whether the letter *lead* may follow another character, if there is one."""
    if before.isalpha() and (_differ(before, lead) or (lead.isupper() and before.islower())):
        return False
    return not (lead in "ÂÃ" and before.isdigit())


def _may_end(last: str, after: str, in_word: bool, lone: bool) -> bool:
    """Whether the *last* character of a sequence may stand before another, if there is one."""
    if _is_letter(last):
        capitals_end = in_word and last.isupper() and after.islower()
        return not capitals_end and not (after.isalpha() and _differ(last, after))
    if after.isalnum():
        return last in _JOINING and not lone
    return not (lone and last == "\u00a0" and after.isspace())


def _is_letter(sign: str) -> bool:
    return unicodedata.category(sign) in ("Lu", "Ll") and sign != "µ"


def _may_follow(letter: str, successor: str) -> bool:
    """Whether a letter may follow a *letter* with an accent, or of another script, in a word."""
    if successor == "ƒ" or (letter in "ÂÃĂĹƒ" and successor not in "şŞ"):
        return False
    if successor in "ŠšŽž" if letter in "Åå" else letter in _SOUTHERN and successor in _POLISH:
        return False
    if successor in "œŒŸ" and letter.lower() not in _FRENCH:
        return False
    if _differ(letter, successor):
        return False
    return successor.islower() or letter.isupper()


_SIGNS_OF_MAC = frozenset(["‚Ç¨", *(f"‚Ä{sign}" for sign in "òôúùûìî¶¢†π∫∞")])
"""The euro sign, quotation marks, dashes and the like in UTF-8, as Mac Roman reads them."""
_TERMS = frozenset("π∑∏∫∆∞")
"""Signs that may follow that of a root."""


def _differ(letter: str, other: str) -> bool:
    """Whether one letter is Greek or Cyrillic, and the other is not; I may be either."""
    return not {letter, other} & {"I", "i"} and bool(_OTHER_SCRIPT.match(letter)) != bool(
        _OTHER_SCRIPT.match(other)
    )


def _sign_may_stand(sequence: str, before: str, after: str) -> bool:
    """Whether a sequence that begins with a sign may be right text."""
    lead, more = sequence[0], sequence[1:]
    if lead == "×":
        return set(more) <= set("¹²³¼½¾\u00a0»”’–—")
    if lead in "÷€" or unicodedata.category(lead)[0] in "PZ":
        return not (lead in "‚„" and (before.isalpha() or sequence in _SIGNS_OF_MAC))
    in_word = before.isalpha() or (after.isalpha() and more not in _TERMS)
    return not in_word and (more in _TERMS or more.isalpha())


_SYMBOL = regex.compile(r"(?<=\p{Ll})[\p{So}--[©®°]](?=\p{Ll})", regex.VERSION1)
"""A symbol within a word."""
_WORD = re.compile(r"[^\W\d_]+")
_MIXED = regex.compile(
    r"(?=.*[^\p{Latin}\p{Common}\p{Inherited}])"
    r"(?=.*[^\p{Greek}\p{Common}\p{Inherited}])"
    r"(?=.*[^\p{Cyrillic}\p{Common}\p{Inherited}])"
    r"(?=.*[\p{Latin}\p{Greek}\p{Cyrillic}])"
    r"(?:.*[\p{Greek}\p{Cyrillic}]|.*[\p{Latin}--[A-Za-z]])",
    regex.VERSION1,
)
"""A word in Latin letters with accents, Greek or Cyrillic, and in another script."""


def _is_sound(text: str, right: str, language: Language | None) -> bool:
    """Whether *right* may be the right text of the misread *text*."""
    new = {*right} - {*text}
    if any(unicodedata.category(sign) in ("Cc", "Cn", "Co", "Cs") for sign in new):
        return False
    if _remains(right) or new.intersection(_SYMBOL.findall(right)):
        return False
    if not right.isascii() and any(some.read(right) is not None for some in ENCODINGS + LEFT_ALONE):
        return False  # perhaps misread once more
    if new & _COMBINING and not _COMBINING.isdisjoint(normal_form(right)):
        return False
    words = {*_WORD.findall(right)}.difference(_WORD.findall(text))
    if 2 * sum(map(bool, map(_MIXED.match, words))) > len(words):
        return False
    return language is None or _in_scripts(new, language)


_COMBINING = frozenset(map(chr, range(0x300, 0x370)))
"""Diacritical marks, which are part of one character with their letter in the normal form."""


def _in_scripts(signs: set[str], language: Language) -> bool:
    """Whether the letters among *signs* are of the language's scripts, or Latin."""
    from bitextfilter.text import characters  # needs numpy

    if not language.scripts:
        return True
    letters = characters.in_script(*language.scripts, "Latin", "Common", "Inherited")
    return all(letters[ord(sign)] for sign in signs if sign.isalpha())


def _letters(language: Language) -> _Own:
    """Return the letters of a language as a test of a text."""
    from bitextfilter.text import characters

    table = characters.alphabet(language.tag)
    return lambda text: all(table[ord(sign)] for sign in text)
