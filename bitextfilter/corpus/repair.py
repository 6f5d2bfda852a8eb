"""Repairs that need no guessing: of encoding, entities, stray characters and spaces.

A repair is a function of one text. None makes a tab, a newline or a NUL, so that repaired text
still fits its column.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Collection
from functools import partial
from html.entities import html5

from bitextfilter.errors import SettingsError
from bitextfilter.languages import Language, read_language
from bitextfilter.settings import none_of
from bitextfilter.text.byte_encodings import table
from bitextfilter.text.composition import normal_form
from bitextfilter.text.misreading import damage, undone
from bitextfilter.text.typography import is_wide, put_right

_PASSES = 16
"""Most layers of entities in entities, or of mojibake on mojibake, that are undone."""

# C1 controls that were Windows-1252
_C1 = re.compile("[\x80-\x9f]")
_C1_READ = dict(enumerate(table("cp1252")[:0x20], 0x80))

_ENTITY = re.compile(r"&#?[0-9A-Za-z]{1,32};")
_UNFIT = re.compile(r"[\t\n\r\0]")

# Colours of terminals; control characters but white space; characters of interlinear annotation
# and old Arabic shaping; noncharacters.
_CONTROL = re.compile(
    r"\x1b\[[0-9;?]*[A-Za-z]"
    "|[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u206a-\u206f\ufff9-\ufffb\ufdd0-\ufdef\ufffe\uffff]"
)

# Word joiner and byte-order mark; soft hyphens between letters (elsewhere one stands for a true
# hyphen); zero-width spaces, but not beside scripts that separate words by them (Thai, Lao,
# Tibetan, Myanmar, Khmer, Tai, Javanese). The joiners U+200C and U+200D and marks of direction
# stay.
_UNSPACED = "\u0e00-\u109f\u1780-\u17ff\u1950-\u1aaf\ua980-\uaadf"
_INVISIBLE = re.compile(
    r"[\u2060\ufeff]|(?<=\w)\u00ad+(?=\w)"
    f"|(?<![{_UNSPACED}\u200b])\u200b+(?![{_UNSPACED}\u200b])"
)

# One no-break or ideographic space alone may be good typography.
_SPACES = re.compile(r"\s{2,}|[^\S \u00a0\u2007\u202f\u3000]")
_NO_BREAK = dict.fromkeys(map(ord, "\u00a0\u2007\u202f"), " ")

_QUOTES = {
    **dict.fromkeys(map(ord, "“”„‟«»"), '"'),
    **dict.fromkeys(map(ord, "‘’‚‛‹›"), "'"),
}
_LIGATURES = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}
_WIDTHS = {
    0x3000: " ",
    **{code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFF01, 0xFFDD)},
}


def _entities(text: str) -> str:
    """Decode HTML entities such as &eacute; and &#233;, but not in text with a <."""
    return text if "&" not in text or "<" in text else _ENTITY.sub(_decoded, text)


def _decoded(found: re.Match[str]) -> str:
    """Return the text of an entity, or the entity itself if that is not a valid character."""
    entity = found[0]
    if entity[1] != "#" and entity[1:] not in html5:
        return entity
    characters = html.unescape(entity)
    if not characters or characters == "\ufffd" or _CONTROL.search(characters):
        return entity
    return _UNFIT.sub(" ", characters)


def _mojibake(text: str, language: Language | None = None) -> str:
    """Undo UTF-8 read as Latin-1, Windows-1252 and the like, where certain."""
    if text.isascii():
        return text
    if (right := undone(text, language)) is not None:
        return right
    return text.translate(_C1_READ) if _C1.search(text) and not damage(text) else text


def _control(text: str) -> str:
    """Drop control characters, noncharacters and the colours of terminals."""
    return text if text.isprintable() else _CONTROL.sub("", text)


def _invisible(text: str) -> str:
    """Drop zero-width spaces, soft hyphens in words and byte-order marks."""
    return text if text.isprintable() else _INVISIBLE.sub("", text)


def _ligatures(text: str) -> str:
    """Spell out the Latin ligatures U+FB00 to U+FB06."""
    return text if text.isascii() else text.translate(_LIGATURES)


def _width(text: str) -> str:
    """Give full-width Latin, and half-width kana and hangul, their usual width."""
    usual = text if text.isascii() else text.translate(_WIDTHS)
    return text if usual == text else normal_form(usual)


def _quotes(text: str) -> str:
    """Make typographic quotation marks and apostrophes plain."""
    return text if text.isascii() else text.translate(_QUOTES)


def _no_break_spaces(text: str) -> str:
    """Make no-break spaces plain."""
    return text if text.isprintable() else text.translate(_NO_BREAK)


def _spaces(text: str) -> str:
    """Make runs of white space, line breaks and odd spaces one plain space; trim."""
    if "  " in text or not text.isprintable():
        text = _SPACES.sub(" ", text)
    return text.strip()


def _nfc(text: str) -> str:
    """Write characters in the composed form of Unicode, NFC."""
    return normal_form(text)


def _typography(text: str, language: Language | None = None) -> str:
    """Write marks, spaces beside them and quotation marks as the language does."""
    return text if language is None else put_right(text, language)


REPAIRS: dict[str, Callable[[str], str]] = {
    "entities": _entities,
    "mojibake": _mojibake,
    "control": _control,
    "invisible": _invisible,
    "spaces": _spaces,
    "nfc": _nfc,
    "ligatures": _ligatures,
    "width": _width,
    "quotes": _quotes,
    "no-break-spaces": _no_break_spaces,
    "typography": _typography,
}
"""Repairs by name, in the order of application: mojibake before repairs that would hide it."""

DEFAULTS = tuple(REPAIRS)[:6]
"""The default repairs; the others also change good typography."""

_BEFORE_DAMAGE = DEFAULTS[:2]
"""The repairs of text with damage."""


def _check_typography(names: Collection[str], language: Language | None) -> None:
    """Raise SettingsError where the repair ``typography`` cannot be done."""
    if language is None:
        raise SettingsError("repair typography needs a language: --languages en,de or --one de")
    if "width" in names and is_wide(language):
        raise SettingsError(
            f"repairs width and typography contradict each other in {language.tag}: leave one out"
        )


class Repairer:
    """Applies repairs to texts: ``Repairer()("caf&eacute;")``.

    The repairs are applied until nothing changes, so that repairing twice is the same as once. A
    text that does not settle stays as it was. So does one with damage that cannot be mended: no
    repair then hides it from the rule ``bad-encoding``. Only entities are decoded there.
    """

    def __init__(self, names: Collection[str] = DEFAULTS, language: str | None = None) -> None:
        """Take the repairs of these *names*, for texts in a *language*, if it is known.

        Raises SettingsError for an unknown repair or language, for ``typography`` without a
        language, and for repairs that contradict each other.
        """
        if unknown := set(names) - set(REPAIRS):
            raise SettingsError(f"repair {none_of(min(unknown), REPAIRS)}")
        self._repairs = {name: REPAIRS[name] for name in REPAIRS if name in names}
        known = None if language is None else read_language(language)
        if "typography" in names:
            _check_typography(names, known)
            self._repairs["typography"] = partial(_typography, language=known)
        if known is not None and "mojibake" in names:
            self._repairs["mojibake"] = partial(_mojibake, language=known)

    def __call__(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Return *text* repaired, and the names of the repairs that changed it, in order."""
        simple = text.isascii() and text.isprintable() and text == text.strip()
        if simple and "&" not in text and "  " not in text:
            return text, ()  # no repair changes it
        now, sound, names = text, None, set[str]()
        for _ in range(_PASSES):
            before = now
            for name, repair in self._repairs.items():
                if name not in _BEFORE_DAMAGE and now != sound:
                    if damage(now):
                        break
                    sound = now
                repaired = repair(now)
                if repaired != now:
                    names.add(name)
                    now = repaired
            if now == before:
                done = () if now == text else tuple(n for n in self._repairs if n in names)
                return now, done
        return text, ()
