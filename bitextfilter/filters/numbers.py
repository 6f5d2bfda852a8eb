"""Numbers in figures and in words, with all values that each may have.

1.500 is fifteen hundred or one and a half; 3.4 may be a date. A number has several readings, and
agrees with the other side if one of them does. Values are digits without idle zeros, with a point
for a fraction: ``1500``, ``1.5``.

Number words match by their beginnings, so that endings and compounds do not matter (*zweite*,
*dreijährig*, *pětiletý*), and neighbours are combined (*vingt-deux*, *fünfundzwanzig*). Since other
words begin like numbers, words may only excuse a figure on the other side, never demand one.
"""

from __future__ import annotations

import functools
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import regex

from bitextfilter.io.files import read_toml

_ABBREVIATIONS = {
    **dict.fromkeys(("k", "tsd", "tys", "tis", "тыс"), 3),
    **dict.fromkeys(("m", "mn", "mio", "mln", "mil", "млн"), 6),
    **dict.fromkeys(("b", "bn", "mrd", "mld", "md", "млрд"), 9),
    **dict.fromkeys(("tn", "bio"), 12),
}
"""Short forms of thousand, million and so on in any language, as powers of ten."""

_HALVES = """half halb hälft demi moitié půl polo medio media mitad mezz meio meia metade połow pół
    halv полов"""
"""Beginnings of words for a half."""

_JOINT = r"(?:\p{L}{0,4}[\s-](?:(?:and|und|et|en|e|i|y)[\s-])?|\p{L}?(?:and|und|en|ën|e|i|y|a|ь)?)"
"""Text between the words of one number: an ending, *and*."""

_WORD_START = r"(?<![\p{L}\p{M}])"
_UNSPACED = ("zh", "ja")
_MULTIPLIERS = frozenset((100, 1000, 10**4, 10**5, 10**6, 10**7, 10**8, 10**9, 10**12))

_LONGEST_SCALE = 12
"""Characters of a space and the longest word for a thousand or more."""

_ABBREVIATION = regex.compile(
    rf"\s?({'|'.join(sorted(_ABBREVIATIONS, key=len, reverse=True))})(?![\p{{L}}\p{{M}}])"
)
_HALF_WORD = regex.compile(rf"{_WORD_START}(?:{'|'.join(_HALVES.split())})|einhalb")
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_ROMAN_NUMBER = regex.compile(
    r"(?<!\w)(?=[IVXLCDM])M{0,3}(?:C[MD]|D?C{0,3})(?:X[CL]|L?X{0,3})(?:I[XV]|V?I{0,3})(?!\w)"
)


def spelt_numbers(text: str, language: str | None) -> set[str]:
    """Return the values of number words in *text*, in digits.

    Without *language*, in any language; nothing for an unknown language.
    """
    lower = text.casefold()
    return {value for words in _words_of(language) for value in words.read(lower)}


def scales_at(text: str, place: int, language: str | None) -> set[int]:
    """Return the powers of ten by which a word at *place* multiplies the figure before it."""
    following = text[place : place + _LONGEST_SCALE].casefold()
    short = _ABBREVIATION.match(following)
    found = {_ABBREVIATIONS[short[1]]} if short else set()
    for words in _words_of(language):
        if long := words.scale.match(following):
            found.add(len(str(words.values[long[1]])) - 1)
    return found


def scale_words() -> str:
    """Return a regular expression for thousand, million and so on, and their short forms."""
    words = (
        word for table in _tables().values() for word, value in _entries(table) if value >= 1000
    )
    return rf"(?:{_either(_ABBREVIATIONS)})\.?|(?:{_either(words)})\p{{L}}*"


def roman_numbers(text: str) -> set[str]:
    """Return the values, in digits, of the Roman numbers of *text* below 4000."""
    return {str(_roman(found[0])) for found in _ROMAN_NUMBER.finditer(text)}


def _roman(number: str) -> int:
    total = 0
    for sign, follower in zip(number, number[1:] + "I", strict=True):
        value = _ROMAN[sign]
        total += -value if value < _ROMAN[follower] else value
    return total


class _Words:
    """The number words of a language."""

    def __init__(self, language: str) -> None:
        self.values = dict(_entries(_tables()[language]))
        unspaced = language in _UNSPACED
        self._multipliers = _MULTIPLIERS | {10} if unspaced else _MULTIPLIERS
        start, joint = ("", "") if unspaced else (_WORD_START, _JOINT)
        word = _either(self.values)
        self.scale = regex.compile(
            rf"[\s-]?({_either(w for w, v in self.values.items() if v >= 1000)})"
        )
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
def _tables() -> dict[str, str]:
    """Return the number words of each language."""
    tables = read_toml(Path(__file__).with_name("number_words.toml"))
    return {**tables, "ja": tables["zh"]}


def _either(words: Iterable[str]) -> str:
    return "|".join(sorted(map(regex.escape, words), key=len, reverse=True))


def _entries(table: str) -> Iterator[tuple[str, int]]:
    """Read ``value=word,word``, where a value may be a power."""
    for entry in table.split():
        value, words = entry.split("=")
        base, _, power = value.partition("^")
        for word in words.split(","):
            yield word.casefold(), int(base) ** int(power or 1)


@functools.lru_cache
def _words_of(language: str | None) -> tuple[_Words, ...]:
    if language is None:
        return tuple(_Words(known) for known in _tables() if known != "ja")
    return (_Words(language),) if language in _tables() else ()


Readings = frozenset[tuple[str, ...]]

_NUMBER = regex.compile(
    r"[0-9]+(?:[.,'’٫٬][0-9]+|[ \u00a0\u2009\u202f][0-9]{3}(?![0-9]))*", regex.ASCII
)
_SEPARATOR = regex.compile(r"[^0-9]")
_SQUARE = regex.compile(r"(?<=[\s0-9])([ckm]?m)[2²]\b")
_HALF = regex.compile(r"(?<=[0-9]) 1/2(?![0-9])")
_FRACTION = regex.compile("([0-9]?)([¼½¾])")
_FRACTIONS = {"¼": ".25", "½": ".5", "¾": ".75"}


@dataclass(frozen=True)
class Number:
    """A number in a text."""

    text: str
    start: int
    end: int
    readings: Readings
    """Possible meanings; each is one value, or several."""

    def agrees(self, values: set[str]) -> bool:
        """Return True if *values* include those of a reading."""
        return any(values.issuperset(reading) for reading in self.readings)


def in_ascii(text: str) -> str:
    """Write digits of all scripts and simple fractions in ASCII, and km2 as km²."""
    if not text.isascii():
        text = text.translate(_digits())
        text = _FRACTION.sub(lambda found: (found[1] or "0") + _FRACTIONS[found[2]], text)
    text = _HALF.sub(".5", text)
    return str(_SQUARE.sub(r"\1²", text))


@functools.cache
def _digits() -> dict[int, str]:
    """Return the ASCII digit of each digit of another script."""
    codes = range(0x80, sys.maxunicode + 1)
    values = ((code, unicodedata.decimal(chr(code), None)) for code in codes)
    return {code: str(value) for code, value in values if value is not None}


def read_numbers(text: str) -> list[Number]:
    """Find the numbers of a *text* from ``in_ascii``."""
    return [
        Number(found[0], found.start(), found.end(), _readings(found[0]))
        for found in _NUMBER.finditer(text)
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
    if len(set(marks)) > 1 or sizes[0] > 3:
        return not marks
    return not marks or (sizes[-1] == 3 and set(sizes[1:-1]) <= {2, 3})


def _plain(whole: str, decimals: str = "") -> str:
    """Write a value without idle zeros."""
    whole, decimals = whole.lstrip("0") or "0", decimals.rstrip("0")
    return f"{whole}.{decimals}" if decimals else whole


def word_values(text: str, language: str | None) -> set[str]:
    """Return the values of number words and Roman numbers in *text*."""
    found = spelt_numbers(text, language) | roman_numbers(text)
    if _HALF_WORD.search(text.casefold()):
        found |= {f"{value}.5" for value in found | {"0"}} | {"50"}
    return found


_MINUTES = regex.compile(r"(?<=[0-9][:hH])00(?![0-9])")
_YEAR = regex.compile(r"[12][0-9]{3}")


def widened(number: Number, text: str, language: str | None, clock: bool) -> Number:
    """Return *number* with the readings that its context allows.

    2.5 million may be 2500000, 1990 may be 90, the 00 of 15:00 may be missing, and with a.m. or
    p.m. on a side (*clock*), 3 may be 15.
    """
    more: set[tuple[str, ...]] = set()
    for power in scales_at(text, number.end, language):
        more.update(
            (_shifted(reading[0], power),) for reading in number.readings if len(reading) == 1
        )
    if _YEAR.fullmatch(number.text):
        more.add((_plain(number.text[2:]),))
    if _MINUTES.match(text, number.start):
        more.add(())
    if clock:
        more.update(_twelve_hours_off(number.readings))
    return Number(number.text, number.start, number.end, number.readings | more)


def _shifted(value: str, power: int) -> str:
    whole, _, decimals = value.partition(".")
    moved = decimals[:power].ljust(power, "0")
    return _plain(whole + moved, decimals[power:])


def _twelve_hours_off(readings: Readings) -> Iterator[tuple[str, ...]]:
    """Yield the readings that start with an hour, moved by twelve hours."""
    for first, *rest in filter(None, readings):
        if len(first) <= 2 and "." not in first and int(first) <= 24:
            yield (str((int(first) + 12) % 24), *rest)
