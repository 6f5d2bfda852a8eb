"""The wording of a text: what is left without differences that a comparison ignores."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Collection
from html.entities import html5

import regex

from bitextfilter.errors import SettingsError
from bitextfilter.languages import read_language
from bitextfilter.settings import none_of
from bitextfilter.text.composition import normal_form
from bitextfilter.text.units import UNSPACED

IGNORABLE = ("case", "punctuation", "symbols", "digits", "space")
"""Parts of texts that a comparison can ignore."""

IGNORED = ("case", "punctuation", "space")
"""Those that it ignores if nothing else is said: numbers and signs tell texts apart."""

_CATEGORIES = {
    "punctuation": ("P",),
    "symbols": ("S",),
    "digits": ("Nd", "No"),
    "space": ("Z", "Cc", "Cf"),
}
_SIGNS = frozenset("#%*/@{}\\§¶†‡‰‱′″‴※٪؉؊")
"""Punctuation of Unicode that carries meaning as symbols do: C# is not C."""
_QUOTES = frozenset("`")
"""Symbols of Unicode that are used as quotes."""
_SAME = {**dict.fromkeys("‐‑‒–−", "-"), "⁄": "/", "∕": "/", "’": "'"}
"""Signs written in several ways → one of them."""

_MEANT = re.compile(
    r"([&.,:;'’!_\-‐‑‒–٫٬](?:"
    r"(?=\w)(?:"
    r"(?<=\d[^!;&])(?=\d)"  # 3:2
    r"|(?<![\w.].)(?<=\.)"  # .NET
    r"|(?<=[^\W\d_]\w\.)(?=[^\W\d_]{2})"  # foo.bar
    r"|(?<!\w.)(?<=[\-‐‑‒–])(?=\d|[^\W\d_](?!\w))"  # -5, -i
    r"|(?<![\w!].)(?<=!)"  # !ready
    r"|(?<=\w&))"  # R&D
    r"|(?<=&)(?!\w)"  # R & D
    r"|(?<=[^\W_]_)(?=_*[^\W_])"  # is_valid
    r"|(?<=[\-‐‑‒–])(?:(?<!\w.)(?=-\w|[.,]\d)"  # --list, -.5
    r"|(?<=\d.)(?!\w)"  # 1990-
    r"|(?<!\w\w.)(?<=[^\W\d_].)(?!\w))"  # A-
    r"|(?<=\d\ [:\-‐‑‒–])(?=\ \d)"  # 3 : 2
    r"|(?<=!)(?==)"  # !=
    r"|(?<!\w.)(?<=[:;])-?[()]+))"  # :-)
)
"""Punctuation that carries meaning by its place, as a sign."""
_STOP = regex.compile(
    r"\.(?:(?<=\p{Ll}.)(?=\p{Lu})|(?<=\p{Lo}\p{M}*+.)(?=\p{L})|(?<=\p{L}\p{M}*+.)(?=\p{Lo}))"
)
"""A full stop that lacks a space: sleeps.He, but not foo.bar."""
_MEASURE = r"(?<![^\s(\[\"'“„«‘‚‹])([0-9]{{1,3}}(?:[.,][0-9]+)?)[{}](?!\w)"
_FEET = re.compile(_MEASURE.format("'’")), re.compile(r"(?<!\w)['‘‚‛‹›](?=\S)"), r"\1′"
_INCHES = re.compile(_MEASURE.format('"”')), re.compile(r"(?<!\w)[\"“„‟«»](?=\S)"), r"\1″"
"""A number with a quote for a prime, the start of a quotation with such quotes, and the mended
number."""
_NUMBER_AND_QUOTE = re.compile("[0-9]['’\"”]")
_POWER = regex.compile(r"(?<=\p{N})(?=\p{No})")
"""Between a digit and another that only its form sets apart: 10² is not 102."""

_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
_MARK = re.compile(r" ?@([-‐‑–/.,:])@ ?")
_WITHIN = re.compile(
    r"(?<=[0-9])(?=['’\"”](?!\w))|(?<=[^\W_])(?=_)|(?<=[^\W\d_]\w\.)(?=[^\W\d_]{2})"
)

_UNIT = rf"""(?: [\p{{Katakana}}ー]++ | [\p{{Han}}\p{{Hiragana}}]{{1,2}}+
    | (?:[{UNSPACED}]\p{{M}}*+){{1,5}}+ | [\w--_\d{UNSPACED}]++ )"""
_CURRENCY = (
    r"\b (aud|brl|cad|chf|clp|cny|czk|dkk|eur|gbp|hkd|huf|idr|inr|jpy|krw|mxn|nok|nzd|pkr|pln|rmb"
    "|ron|rub|sek|sgd|thb|try|twd|uah|usd|zar)"
)
_FIGURE = rf"(?<= {_CURRENCY} [\W_]*+ |) (\d++ (?: [\W_]*+ {_UNIT} )?)"
"""A number: the currency before it, if any, and itself with the word behind it, such as a unit, or
that word's first characters if it has no spaces around."""
_SIGN = rf"[\p{{S}}{re.escape(''.join(sorted(_SIGNS)))}--`]"

_CAPITALS = {"tr": {ord("I"): "ı", ord("İ"): "i"}}
_CAPITALS["az"] = _CAPITALS["crh"] = _CAPITALS["tr"]
"""Languages → capitals whose small letters differ from Unicode's default (SpecialCasing.txt)."""
_DOTTED = {"lt": re.compile("(?<=[ijį])\u0307")}
"""Languages → a dot that small letters keep below an accent, where capitals have none."""

Wording = Callable[[str], str]


def normaliser(ignored: Collection[str], language: str = "") -> Wording:
    """Return a function that removes the *ignored* parts of a text, names in ``IGNORABLE``.

    Compatibility forms (full-width letters, ligatures) are unified by Unicode's NFKC. ``case``:
    case folding (``ß`` is ``ss``), by the rules of *language*, if one is given. ``punctuation``:
    marks that only decorate become spaces; ``symbols``: so do signs that carry meaning, such as
    ``%``, ``#``, or the mark of ``3:2`` and ``-5``. ``digits`` become spaces. ``space``: runs of
    white space, and those beside signs, become one space, none at the ends; invisible characters
    are removed. A text of which nothing would be left keeps all but its spaces. Raises
    SettingsError for an unknown name.
    """
    if unknown := set(ignored) - set(IGNORABLE):
        raise SettingsError(none_of(min(unknown), IGNORABLE))
    fold = _case_folder(language) if "case" in ignored else str
    removed, squeeze = _Blanks(ignored), "space" in ignored
    digits, spaces = _Blanks({"digits"} & {*ignored}), _Blanks({"space"} & {*ignored})
    by_place = "punctuation" in ignored and "symbols" not in ignored

    def left(text: str) -> str:
        if not by_place:
            return text.translate(removed)
        parts = _MEANT.split(text.translate(digits) if "digits" in ignored else text)
        parts[::2] = [part.translate(removed) for part in parts[::2]]
        parts[1::2] = [removed.sign(mark) for mark in parts[1::2]]
        return "".join(parts)

    def normalise(text: str) -> str:
        if by_place:
            text = _STOP.sub(". ", _with_primes(text)) if "." in text else _with_primes(text)
        if not text.isascii():
            text = normal_form(_POWER.sub("^", text), "NFKC")
        text = fold(text)
        shrunk = left(text)
        if not shrunk or shrunk.isspace():
            shrunk = text.translate(spaces)
        return " ".join(shrunk.split()) if squeeze else shrunk

    return normalise


def figures(ignored: Collection[str]) -> Wording:
    """Return a function that lists the numbers of a text, with their units, and its signs.

    Similar texts have the same. The text is without its *ignored* parts.
    """
    sign = r"[^\w\s]|_" if "punctuation" in ignored else _SIGN
    figure = regex.compile(f"{_FIGURE} | ({sign})", regex.VERSION1 | regex.VERBOSE)
    return lambda text: " ".join("".join("".join(parts).split()) for parts in figure.findall(text))


def _with_primes(text: str) -> str:
    """Return *text* with primes instead of quotes behind numbers: 5', where no quotation began."""
    if not _NUMBER_AND_QUOTE.search(text):
        return text
    for measure, opening, primed in (_FEET, _INCHES):
        quotation = opening.search(text)
        start = quotation.start() if quotation else len(text)
        text = measure.sub(primed, text[:start]) + text[start:]
    return text


def _case_folder(language: str) -> Wording:
    """Return Unicode's case folding, by the rules of a language, for text in NFKC.

    That is its caseless form of compatibility-normalised text (Unicode Standard, D146).
    """
    code = read_language(language).code if language else ""
    capitals, dotted = _CAPITALS.get(code), _DOTTED.get(code)

    def fold(text: str) -> str:
        if capitals is not None:
            text = text.translate(capitals)
        if text.isascii():
            return text.lower()
        text = normal_form(text.casefold(), "NFKC")
        return text if dotted is None else normal_form(dotted.sub("", text), "NFKC")

    return fold


class _Blanks(dict[int, str]):
    """A self-filling table for ``str.translate`` that replaces characters by spaces."""

    def __init__(self, names: Collection[str]) -> None:
        """Replace the parts with these *names*, and set symbols that stay apart from words."""
        super().__init__()
        self._names = names
        self._apart = {"punctuation", "space"} <= {*names}

    def sign(self, sign: str) -> str:
        """Return a sign that stays, in one of the ways to write it."""
        sign = _SAME.get(sign, sign)
        return f" {sign} " if self._apart else sign

    def __missing__(self, code: int) -> str:
        character = chr(code)
        kind = _kind(character)
        if kind in self._names:
            self[code] = "" if unicodedata.category(character) == "Cf" else " "
        elif kind == "symbols" and "punctuation" in self._names:
            self[code] = self.sign(character)
        else:
            self[code] = character
        return self[code]


def _kind(character: str) -> str:
    """Return the name in ``IGNORABLE`` that a character belongs to, but for case; or none."""
    if character in _SIGNS:
        return "symbols"
    if character in _QUOTES:
        return "punctuation"
    category = unicodedata.category(character)
    return next((name for name, of in _CATEGORIES.items() if category.startswith(of)), "")


def untokenised(text: str) -> str:
    """Return *text* without entities and the marks of Moses' tokeniser: ``&quot;``, ``@-@``.

    The spaces that it set beside punctuation stay; marks within names, which it may have set apart
    or made small, get one: ``is _valid``, ``foo. bar``, and so do quotes behind numbers.
    """
    for _ in range(2):  # &amp;quot;
        if "&" in text:
            text = _ENTITY.sub(_character, text)
    return _WITHIN.sub(" ", _MARK.sub(r"\1", text) if "@" in text else text)


def _character(entity: re.Match[str]) -> str:
    """Return the character of an entity; one that there is not stays."""
    known = entity[0][1] == "#" or entity[0][1:] in html5
    return html.unescape(entity[0]) if known else entity[0]
