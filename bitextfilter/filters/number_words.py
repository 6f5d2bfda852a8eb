"""Numbers in words: number words of languages, Roman numbers, and scales such as million.

Number words match by their beginnings, so that endings and compounds do not matter (*zweite*,
*dreijährig*, *pětiletý*), and neighbours are combined (*vingt-deux*, *fünfundzwanzig*). Since other
words begin like numbers, words may only excuse a figure on the other side, never demand one.

Tables of the words of languages, and patterns of such words.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import regex

from bitextfilter.io.files import read_toml

_T = TypeVar("_T")

COMMON = ("cs", "de", "en", "es", "fr", "it", "nl", "pl", "pt", "ru", "sv")
"""Languages of the months, and of the words of three letters or fewer, that count where the
language is unknown: in all languages, any text would have some."""
LONGEST_STEM = 20
"""Characters of the longest beginning of a unit or a month, and some to spare."""


@functools.cache
def word_table(name: str) -> dict[str, str]:
    """Return the words of each language in a table of this folder."""
    return read_toml(Path(__file__).with_name(name))


def either(words: Iterable[str]) -> str:
    """Return the pattern of these words, the longest first."""
    return "|".join(sorted(map(regex.escape, words), key=len, reverse=True))


def first(*words: Iterable[str]) -> str:
    """Return the pattern of a place before a character that begins one of the *words*."""
    return f"(?=[{regex.escape(''.join(sorted({word[0] for some in words for word in some})))}])"


def named(word: str, table: Mapping[str, set[_T]]) -> set[_T]:
    """Return the meanings of a *word*, or of its longest beginning that may go on (``word*``)."""
    stems = (f"{word[:size]}*" for size in range(min(len(word), LONGEST_STEM), 0, -1))
    return next((table[form] for form in (word, *stems) if form in table), set())


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
_PREFIXES = {"ar": "[وفبكل]{0,2}(?:ال|لل)?", "he": "[והבכלמש]{0,3}"}
"""Small words that a language writes as one with the next word."""
_UNSPACED = ("zh", "ja", "th")
_MULTIPLIED_TENS = (*_UNSPACED, "id", "ko", "vi")
"""Languages that say two-ten for 20."""
_MULTIPLIERS = frozenset((100, 1000, 10**4, 10**5, 10**6, 10**7, 10**8, 10**9, 10**12))


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


def _is_short(word: str) -> bool:
    """Return True if *word* may begin many words of other languages."""
    return word.isascii() and len(word) < _FEWEST_LETTERS


_FEWEST_LETTERS = 4


class _Words:
    """The number words of a language; without the *short* ones if it is only supposed."""

    def __init__(self, language: str, short: bool = True) -> None:
        words = _entries(_tables()[language])
        self.values = {word: value for word, value in words if short or not _is_short(word)}
        self._multipliers = _MULTIPLIERS | ({10} if language in _MULTIPLIED_TENS else set())
        prefix = _PREFIXES.get(language, "")
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
