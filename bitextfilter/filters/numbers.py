"""Numbers of a text, in figures and in words, with all values that each may have.

1.500 is fifteen hundred or one and a half; 3.4 may be a date. A number has several readings, and
agrees with the other side if one of them does. Values are digits without idle zeros, with a point
for a fraction: ``1500``, ``1.5``.

Number words match by their beginnings, so that endings and compounds do not matter (*zweite*,
*dreijährig*, *pětiletý*), and neighbours are combined (*vingt-deux*, *fünfundzwanzig*). Since other
words begin like numbers, words may only excuse a figure on the other side, never demand one.
"""

from __future__ import annotations

import functools
import math
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import regex

from bitextfilter.io.files import read_toml
from bitextfilter.text import characters

Readings = frozenset[tuple[str, ...]]

_NUMBER = regex.compile(
    r"[0-9]+(?:[.,'’٫٬][0-9]+|[ \u00a0\u2009\u202f][0-9]{3}(?![0-9]))*", regex.ASCII
)
_SEPARATOR = regex.compile(r"[^0-9]")
_SQUARE = regex.compile(r"(?<=[\s0-9])([ckm]?m)[2²]\b")
_MIXED = regex.compile(r"(?<=[0-9]) ([1-9])/([2-9])(?![/0-9])")
_VULGAR = regex.compile(r"([0-9]?)[ \u00a0\u2009\u202f]?([¼-¾⅐-⅞↉])")
_SIMPLE = regex.compile(r"(?<![/.,0-9])([1-9])/([2-9]|10)(?![/0-9])|[¼-¾⅐-⅞↉⁄]")
_RAISED = regex.compile("[⁰¹²³⁴-⁹]+|[₀-₉]+")


def _decimal(numerator: int, denominator: int) -> str:
    """Write a fraction below 1 with three digits at most: ``.5``, ``.333``."""
    return f"{numerator / denominator:.3f}".strip("0")


class Number(NamedTuple):
    """A number in a text."""

    text: str
    start: int
    end: int
    readings: Readings
    """Possible meanings; each is one value, or several."""

    def agrees(self, values: set[str]) -> bool:
        """Return True if *values* include those of a reading."""
        return any(values.issuperset(reading) for reading in self.readings)


_REST = r"([0-9]{1,4}|[0-9],[0-9]{3})"
_MYRIADS = regex.compile(
    rf"(?<![0-9][.,]|[0-9])([0-9]{{1,9}})(?:[万萬만]{_REST}|[億亿억]{_REST}(?=[万萬만]))"
    r"(?![0-9]|[.,][0-9])"
)


def _joined_myriads(found: regex.Match[str]) -> str:
    """Write 1万2000 as 12000, and 1億2000万 as 12000万."""
    return str(int(found[1]) * 10**4 + int((found[2] or found[3]).replace(",", "")))


def _vulgar(found: regex.Match[str]) -> str:
    """Write 1½ as 1.5, and ½ as 0.5."""
    return (found[1] or " 0") + _decimal(round(unicodedata.numeric(found[2]) * 2520), 2520)


def _mixed(found: regex.Match[str]) -> str:
    """Write the 3/4 of 2 3/4 as .75."""
    numerator, denominator = int(found[1]), int(found[2])
    return _decimal(numerator, denominator) if numerator < denominator else found[0]


def has_fractions(text: str) -> bool:
    """Return whether a text may have a simple fraction: ½, 1/2."""
    return _SIMPLE.search(text) is not None


def raised_values(text: str) -> set[str]:
    """Return the values of superscripts and subscripts: they are not demanded, but may be digits.

    ``CO₂`` may be CO2, and a note ² may be missing.
    """
    raised = (map(unicodedata.digit, found) for found in _RAISED.findall(text))
    return {str(int("".join(map(str, digits)))) for digits in raised}


def in_ascii(text: str) -> str:
    """Write digits and simple fractions in ASCII, km2 as km²; only the first 100,000 characters."""
    text = text[: 10 * MOST_NUMBERS]
    if not text.isascii():
        text = text.translate(_digits())
        text = _VULGAR.sub(_vulgar, text.replace("⁄", "/"))
        text = _MYRIADS.sub(_joined_myriads, text)
    text = _MIXED.sub(_mixed, text)
    return str(_SQUARE.sub(r"\1²", text))


@functools.cache
def _digits() -> dict[int, str]:
    """Return the ASCII digit of each digit."""
    values = characters.digits()
    return {code: str(values[code]) for code in np.flatnonzero(values >= 0).tolist()}


MOST_NUMBERS = 10_000
"""Numbers, and dates, of a side that are read, which bounds the time."""


def read_numbers(text: str) -> list[Number]:
    """Find the numbers of a *text* from ``in_ascii``, the first 10,000 of them."""
    return [
        Number(found[0], found.start(), found.end(), _readings(found[0]))
        for found in islice(_NUMBER.finditer(text), MOST_NUMBERS)
    ]


def values_of(numbers: Iterable[Number]) -> set[str]:
    """Return all values that the numbers may have."""
    return {value for number in numbers for reading in number.readings for value in reading}


@functools.lru_cache(maxsize=1 << 12)
def _readings(text: str) -> Readings:
    groups, marks = _SEPARATOR.split(text), _SEPARATOR.findall(text)
    if not marks:
        return frozenset([(_plain(text),)])
    readings: set[tuple[str, ...]] = set()
    whole = _grouped(groups, marks)
    if whole:
        readings.add((_plain("".join(groups)),))
    if not whole or (marks[0].isspace() and not any(group[0] == "0" for group in groups[1:])):
        readings.add(tuple(_plain(group) for group in groups))
    if marks[-1] in ".,٫" and marks[-1] not in marks[:-1] and _grouped(groups[:-1], marks[:-1]):
        readings.add((_plain("".join(groups[:-1]), groups[-1]),))
    return frozenset(readings)


def _grouped(groups: list[str], marks: list[str]) -> bool:
    """Return True if groups may be one whole number: 1 234 567, or 12,34,567 in India."""
    sizes = [len(group) for group in groups]
    one_mark = len(set(marks)) == 1 and sizes[0] <= 3 == sizes[-1]
    return not marks or (one_mark and set(sizes[1:-1]) <= {2, 3})


def _plain(whole: str, decimals: str = "") -> str:
    """Write a value without idle zeros."""
    whole, decimals = whole.lstrip("0") or "0", decimals.rstrip("0")
    return f"{whole}.{decimals}" if decimals else whole


_MINUTES = regex.compile(r"(?<=[0-9][:hH])00(?![0-9])")
_YEAR = regex.compile(r"[12][0-9]{3}")


_PARTS = {
    f"0{_decimal(one, other)}": (str(one), str(other))
    for other in range(2, 11)
    for one in range(1, other)
    if math.gcd(one, other) == 1
}
"""Decimals of simple fractions → numerator and denominator."""


def with_fractions(number: Number) -> Number:
    """Return *number*, if it is a simple fraction, as numerator and denominator, too."""
    more = {_PARTS[one] for one, *_ in filter(None, number.readings) if one in _PARTS}
    return number._replace(readings=number.readings | more)


def widened(number: Number, text: str, language: str | None, clock: bool) -> Number:
    """Return *number* with the readings that its context allows.

    2.5 million may be 2500000, 1990 may be 90, the 00 of 15:00 and the 20 of 20世纪90年代 may be
    missing, and with a.m. or p.m. on a side (*clock*), 3 may be 15. For years of other calendars
    see :func:`_years`.
    """
    more: set[tuple[str, ...]] = {(str(year),) for year in _years(number, text, language)}
    for power in scales_at(text, number.end, language):
        for whole, _, decimals in (r[0].partition(".") for r in number.readings if len(r) == 1):
            moved = decimals[:power].ljust(power, "0")
            more.add((_plain(whole + moved, decimals[power:]),))
    if _YEAR.fullmatch(number.text):
        more.add((_plain(number.text[2:]),))
    if _MINUTES.match(text, number.start) or _DECADE_OF_CENTURY.match(text, number.end):
        more.add(())
    if clock:
        for first, *rest in filter(None, number.readings):
            if len(first) <= 2 and "." not in first and int(first) <= 24:
                more.add((str((int(first) + 12) % 24), *rest))
    return number._replace(readings=number.readings | more)


_ERAS = {"明治": 1867, "大正": 1911, "昭和": 1925, "平成": 1988, "令和": 2018}
"""The year before the first one of Japanese eras."""
_HUNDREDS = regex.compile(r"[-–]?(?:luv|luk|tal)")
_DECADE = regex.compile(r"\.\s?áratug")
_DECADE_OF_CENTURY = regex.compile(r"\s?(?:世[纪紀]|세기)\s?[0-9]0\s?(?:年代|년대)")
_CENTURY = regex.compile(r"(?<![0-9])([0-9]{1,2})\s?(?:世[纪紀]|세기)\s?$")
_LONGEST_YEAR = 4
BUDDHIST_YEARS = range(2400, 2600)
"""Years of texts of today in Thailand, ``BUDDHIST_ERA`` higher than elsewhere."""
BUDDHIST_ERA = 543


def _years(number: Number, text: str, language: str | None) -> Iterator[int]:
    """Yield years and centuries that *number* stands for by its context.

    平成18年 is 2006, 20世纪90年代 is 1990, พ.ศ. 2560 is 2017, the Finnish or Swedish 1800s are the
    19th century, the Icelandic eighth decade is that of 70.
    """
    if not number.text.isdigit() or len(number.text) > _LONGEST_YEAR:
        return
    value = int(number.text)
    if era := _ERAS.get(text[max(0, number.start - 2) : number.start]):
        yield era + value
    if century := _CENTURY.search(text, max(0, number.start - 6), number.start):
        yield 100 * (int(century[1]) - 1) + value
    if language == "th" and value in BUDDHIST_YEARS:
        yield value - BUDDHIST_ERA
    if not value % 100 and _HUNDREDS.match(text, number.end):
        yield value // 100 + 1
    if _DECADE.match(text, number.end):
        yield 10 * (value - 1)


COMMON = ("cs", "de", "en", "es", "fr", "it", "nl", "pl", "pt", "ru", "sv")
"""Languages of the months, and of the words of three letters or fewer, that count where the
language is unknown: in all languages, any text would have some."""


@functools.cache
def word_table(name: str) -> dict[str, str]:
    """Return the words of each language in a table of this folder."""
    return read_toml(Path(__file__).with_name(name))


def either(words: Iterable[str]) -> str:
    """Return the pattern of these words, the longest first."""
    return "|".join(sorted(map(regex.escape, words), key=len, reverse=True))


ABBREVIATIONS = {
    **dict.fromkeys(("k", "tsd", "tys", "tis", "тыс"), 3),
    **dict.fromkeys(("m", "mn", "mio", "mln", "mil", "млн"), 6),
    **dict.fromkeys(("b", "bn", "mrd", "mld", "md", "млрд"), 9),
    **dict.fromkeys(("tn", "bio"), 12),
}
"""Short forms of thousand, million and so on in any language, as powers of ten."""

_HALVES = """half halb hälft demi moitié půl polo medio media mitad mezz meio meia metade połow pół
    halv полов puoli puole poole fél jumătat μισ yarım buçuk setengah separuh nửa rưỡi आध डेढ़ نصف
    חצי pusė pusant половин hálf"""
"""Beginnings of words for a half: of a whole, of an hour (30 minutes), of a hundred percent."""

_AND = "and|und|et|en|e|i|y|и|og|și|ja|és|και|và|ir|un|و|ו"
_JOINT = (
    rf"(?:\p{{L}}{{0,4}}\p{{M}}?[\s-](?:(?:{_AND})[\s-])?|\p{{L}}?(?:and|und|en|ën|e|i|y|a|ь|og)?)"
)
"""Text between the words of one number: an ending, *and*."""

_IN_CHARACTERS = ("ja", "wuu", "yue", "zh")
_DIGITS = "〇一二三四五六七八九"
_CHINESE_DIGITS = str.maketrans(_DIGITS + "○零点點", "0123456789" + "00..")
_SINO_KOREAN = "영공일이삼사오육칠팔구십백천만억조"
_HANGUL_TO_CHINESE = str.maketrans(_SINO_KOREAN, "零〇一二三四五六七八九十百千万億兆")
_SINO_KOREAN_NUMBER = regex.compile(rf"[{_SINO_KOREAN}](?:\s?[{_SINO_KOREAN}])+")
_ONE_BY_ONE = regex.compile(f"[{_DIGITS}○零]+[点點][{_DIGITS}○零]+|[{_DIGITS}○零]{{2,}}")

_WORD_START = r"(?<![\p{L}\p{M}])"
_LEADING = {"ar": "[وفبكل]{0,2}(?:ال|لل)?", "he": "[והבכלמש]{0,3}"}
"""Small words that a language writes as one with the next word."""
_UNSPACED = ("zh", "ja", "th")
_MULTIPLIED_TENS = (*_UNSPACED, "id", "ko", "vi")
"""Languages that say two-ten for 20."""
_MULTIPLIERS = frozenset((100, 1000, 10**4, 10**5, 10**6, 10**7, 10**8, 10**9, 10**12))


_FEWEST_LETTERS = 4
"""A shorter word in ASCII may begin many words of other languages."""
_LONGEST_SCALE = 12
"""Characters of a space and the longest word for a thousand or more."""

_ABBREVIATION = regex.compile(rf"\s?({either(ABBREVIATIONS)})(?![\p{{L}}\p{{M}}])")
_HALF_WORD = regex.compile(rf"{_WORD_START}(?:{'|'.join(_HALVES.split())})|einhalb|半")
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_ROMAN_NUMBER = regex.compile(
    r"(?<!\w)(?=[IVXLCDM])M{0,3}(?:C[MD]|D?C{0,3})(?:X[CL]|L?X{0,3})(?:I[XV]|V?I{0,3})"
    r"(?:(?<=[IVX])(?:er?|[eè]me|i[eè]me))?(?!\w)"
)


def word_values(text: str, language: str | None) -> set[str]:
    """Return the values of number words and Roman numbers in *text*."""
    found = spelt_numbers(text, language) | roman_numbers(text)
    if _HALF_WORD.search(text.casefold()):
        found |= {f"{value}.5" for value in found | {"0"}} | {"30", "50"}
    return found


def spelt_numbers(text: str, language: str | None) -> set[str]:
    """Return the values of number words in *text*, in digits.

    Without *language*, in any language; words of fewer than four Latin letters then count in those
    of ``COMMON`` alone. Nothing for an unknown language.
    """
    lower = _folded(text, language)
    found = {value for words in _words_of(language) for value in words.read(lower)}
    if language in (None, "ko"):
        for number in _SINO_KOREAN_NUMBER.findall(text):
            parts = number.translate(_HANGUL_TO_CHINESE).split()
            found.update(*(spelt_numbers(part, "zh") for part in (*parts, "".join(parts))))
    if language in (None, *_IN_CHARACTERS):
        found.update(map(_digit_by_digit, _ONE_BY_ONE.findall(text)))
    return found


def _digit_by_digit(number: str) -> str:
    """Return the value, in digits, of Chinese ones: 1945 of 一九四五, 3.5 of 三点五."""
    whole, point, decimals = number.translate(_CHINESE_DIGITS).partition(".")
    return (whole.lstrip("0") or "0") + (point + decimals.rstrip("0")).rstrip(".")


def _folded(text: str, language: str | None) -> str:
    """Return *text* in small letters, as its language has them: i and ı of Turkish İ and I."""
    if language == "tr":
        text = text.replace("I", "ı")
    return text.replace("İ", "i").casefold()


def scales_at(text: str, place: int, language: str | None) -> set[int]:
    """Return the powers of ten by which a word at *place* multiplies the figure before it."""
    if not any(map(str.isalpha, text[place : place + 2])):
        return set()
    following = text[place : place + _LONGEST_SCALE].casefold()
    short = _ABBREVIATION.match(following)
    found = {ABBREVIATIONS[short[1]]} if short else set()
    for words in _words_of(language):
        if long := words.scale.match(following):
            found.add(sum(len(str(words.values[word])) - 1 for word in long.captures(1)))
    return found


def roman_numbers(text: str) -> set[str]:
    """Return the values, in digits, of the Roman numbers of *text* below 4000."""
    found = set()
    for number in _ROMAN_NUMBER.findall(text):
        values = [_ROMAN[sign] for sign in number if sign in _ROMAN]
        followed = zip(values, [*values[1:], 0], strict=True)
        found.add(str(sum(-one if one < after else one for one, after in followed)))
    return found


class _Words:
    """The number words of a language; without the *short* ones if it is only supposed."""

    def __init__(self, language: str, short: bool = True) -> None:
        fewest = 0 if short else _FEWEST_LETTERS
        words = _entries(_tables()[language])
        self.values = {w: value for w, value in words if len(w) >= fewest or not w.isascii()}
        self._multipliers = _MULTIPLIERS | ({10} if language in _MULTIPLIED_TENS else set())
        prefix = _LEADING.get(language, "")
        start, joint = _WORD_START + prefix, _JOINT + prefix
        if language in _UNSPACED:
            start = joint = ""
        word = either(self.values)
        least = 10 if language in _MULTIPLIED_TENS else 1000
        powers = {word for word, value in self.values.items() if str(value).strip("0") == "1"}
        scales = either(word for word in powers if self.values[word] >= least)
        self.scale = regex.compile(rf"[\s-]?({scales})" + "+" * (least == 10))
        self._word = regex.compile(word)
        self._number = regex.compile(rf"{start}(?:{word})(?:{joint}(?:{word}))*")

    def read(self, text: str) -> Iterator[str]:
        """Yield the values of the numbers in a case-folded *text*, whole and word by word."""
        for number in self._number.finditer(text):
            values = [self.values[word] for word in self._word.findall(number[0])]
            yield str(self._value(values))
            yield from map(str, values)

    def _value(self, values: list[int]) -> int:
        """Add up the words; a multiplier multiplies the smaller values before it."""
        total = 0
        for value in values:
            if value in self._multipliers:
                part = total % value
                total += (part or 1) * value - part
            else:
                total += value
        return total


@functools.cache
def scale_words() -> list[str]:
    """Return how the words of all languages for a thousand or more begin."""
    return [word for t in _tables().values() for word, value in _entries(t) if value >= 1000]


@functools.cache
def _tables() -> dict[str, str]:
    """Return the number words of each language."""
    tables = word_table("number_words.toml")
    return {**tables, "ja": tables["zh"] + " 10=割"}


def _entries(table: str) -> Iterator[tuple[str, int]]:
    """Read ``value=word,word``: a value may be a power, and _ stands for a space in a word."""
    for entry in table.split():
        value, words = entry.split("=")
        base, _, power = value.partition("^")
        for word in words.replace("_", " ").split(","):
            yield word.casefold(), int(base) ** int(power or 1)


@functools.lru_cache
def _words_of(language: str | None) -> tuple[_Words, ...]:
    if language is None:
        return tuple(_Words(known, known in COMMON) for known in _tables() if known != "ja")
    return (_Words(language),) if language in _tables() else ()
