"""Properties of characters: tables over all 0x110000 code points, made when first used.

``table[codes]`` looks up every character of a text at once.
"""

from __future__ import annotations

import functools
import sys
import unicodedata
from collections.abc import Collection, Iterable
from itertools import product
from pathlib import Path
from string import ascii_lowercase

import numpy as np
from numpy.typing import NDArray

from bitextfilter.errors import SettingsError
from bitextfilter.io.files import read_toml
from bitextfilter.languages import any_language

_COUNT = sys.maxunicode + 1
_BLOCK = 0x3000
"""No code point above this one is white space."""


@functools.cache
def _alphabets() -> dict[str, str]:
    return dict(read_toml(Path(__file__).with_name("alphabets.toml"))["letters"])


_ALIKE = (
    range(0x40000, 0xE0000),
    range(0xE1000, 0xF0000),
    range(0xF0000, 0xFFFFE),
    range(0x100000, 0x10FFFE),
)
"""Code points without a property of their own: planes that are unassigned, or for private use."""
_SURROGATES = slice(0xD800, 0xE000)


@functools.cache
def _looked_at() -> tuple[str, NDArray[np.int64]]:
    """Return the code points that are looked at, and how many are like each: of ``_ALIKE``, one.

    Surrogates are spaces.
    """
    codes, like = np.arange(_COUNT, dtype=np.uint32), np.ones(_COUNT, dtype=np.int64)
    codes[_SURROGATES] = 0x20
    for alike in _ALIKE:
        like[alike.start : alike.stop] = 0
        like[alike.start] = len(alike)
    order = "utf-32-le" if sys.byteorder == "little" else "utf-32-be"
    return codes[like > 0].tobytes().decode(order), like[like > 0]


@functools.cache
def _having(name: str) -> NDArray[np.bool_]:
    """Return which of the code points looked at have a property, as ``Lu`` or ``Script=Latin``."""
    import regex  # commands that need no table start sooner without it

    text, _ = _looked_at()
    found = np.zeros(len(text), dtype=bool)
    for match in regex.finditer(rf"\p{{{name}}}+", text):
        found[match.start() : match.end()] = True
    return found


def _having_any(names: Iterable[str]) -> NDArray[np.bool_]:
    """Return the table of the characters that have one of some properties."""
    _, like = _looked_at()
    table = np.repeat(np.logical_or.reduce([_having(name) for name in names]), like)
    table[_SURROGATES] = False
    table.flags.writeable = False
    return table


@functools.cache
def in_category(*categories: str) -> NDArray[np.bool_]:
    """Return the table of general categories: ``Lu``, or ``L`` for all that start with it."""
    return _having_any(categories)


@functools.cache
def in_script(*scripts: str) -> NDArray[np.bool_]:
    """Return the table of Unicode scripts, as ``Latin``. Raises SettingsError if unknown."""
    import regex

    try:
        return _having_any(f"Script={name}" for name in scripts)
    except regex.error as error:
        raise SettingsError(f"no Unicode script is called {', '.join(scripts)}") from error


@functools.cache
def is_alphabetic() -> NDArray[np.bool_]:
    """Return the table of Unicode's Alphabetic property: letters, and marks that act as such."""
    return _having_any(["Alphabetic"])


@functools.cache
def in_groups(*groups: str) -> NDArray[np.int8]:
    """Return the table of the group that holds a character, from 0, and -1 for others."""
    table = np.full(_COUNT, -1, dtype=np.int8)
    for number, group in enumerate(groups):
        table[[ord(sign) for sign in group]] = number
    table.flags.writeable = False
    return table


@functools.cache
def digits() -> NDArray[np.int8]:
    """Return the table of the values of decimal digits in any script: 0 to 9, and -1 for others."""
    table = np.full(_COUNT, -1, dtype=np.int8)
    places = np.flatnonzero(in_category("Nd"))
    table[places] = [unicodedata.decimal(chr(place), -1) for place in places]
    table.flags.writeable = False
    return table


@functools.cache
def lower_case() -> NDArray[np.uint32]:
    """Return the table of lower-case forms, for letters that have one of a single code point."""
    table = np.arange(_COUNT, dtype=np.uint32)
    for place in np.flatnonzero(in_category("Lu", "Lt")).tolist():
        lower = chr(place).lower()
        table[place] = ord(lower) if len(lower) == 1 else place
    table.flags.writeable = False
    return table


@functools.cache
def is_space() -> NDArray[np.bool_]:
    """Return the table of the characters that ``str.split`` splits at."""
    table = np.zeros(_COUNT, dtype=bool)
    table[[code for code in range(_BLOCK + 1) if chr(code).isspace()]] = True
    table.flags.writeable = False
    return table


UNSPACED = {
    **dict.fromkeys(("Han", "Hiragana", "Katakana", "Bopomofo", "Yi"), 2),
    **dict.fromkeys(("Thai", "Lao", "Khmer", "Myanmar", "Tibetan"), 5),
    **dict.fromkeys(("Balinese", "Javanese", "New_Tai_Lue", "Tai_Le", "Tai_Tham", "Tai_Viet"), 5),
}
"""Scripts that are written without spaces between words, and the characters that count as a word.

In translations, an English word has 1.7 letters and marks of Chinese and Japanese, 5.1 of Thai and
5.0 of Khmer (Parallel Universal Dependencies, newstest2021, FLORES).
"""


def share_an_alphabet(letters: Collection[str]) -> bool:
    """Whether some language of ``alphabets.toml`` writes all of these small *letters*."""
    return any({*ascii_lowercase, *own}.issuperset(letters) for own in _alphabets().values())


@functools.cache
def only_in(variant: str) -> NDArray[np.bool_]:
    """Return the table of the Chinese characters of one *variant* alone: ``Hans`` or ``Hant``.

    By the national standards: of ``Hans``, those in GB 2312 and not in Big5; of ``Hant``, those in
    the frequent half of Big5 (its level 1) and not in GB 2312.
    """
    simplified = _decoded("gb2312", range(0xB0, 0xF8))
    traditional = _decoded("big5", range(0xA4, 0xFA if variant == "Hans" else 0xC7))
    own, other = (simplified, traditional) if variant == "Hans" else (traditional, simplified)
    table = np.zeros(_COUNT, dtype=bool)
    table[sorted(own - other)] = True
    table &= in_script("Han")
    table.flags.writeable = False
    return table


def _decoded(codec: str, first: Iterable[int]) -> set[int]:
    """Return the code points of the characters of two bytes with these *first* ones."""
    pairs = (bytes(pair).decode(codec, "ignore") for pair in product(first, range(0x40, 0xFF)))
    return {ord(text) for text in pairs if len(text) == 1}


@functools.cache
def alphabet(language: str) -> NDArray[np.bool_]:
    """Return the table of the letters of a *language*, with combining marks.

    A language that is not in ``alphabets.toml`` has all letters of its scripts, or of all scripts
    if these are unknown.
    """
    read = any_language(language)
    own = _alphabets().get(read.code)
    if own is None:
        return in_script(*read.scripts, "Inherited") if read.scripts else is_alphabetic()
    letters = {form for letter in ascii_lowercase + own for form in (letter, letter.upper())}
    table: NDArray[np.bool_] = in_category("M").copy()
    table[[ord(letter) for letter in letters if len(letter) == 1]] = True
    decomposed = {part for letter in letters for part in unicodedata.normalize("NFD", letter)}
    table[[ord(letter) for letter in decomposed if letter.isalpha()]] = True
    table.flags.writeable = False
    return table
