"""Numbers, quantities and dates of a text, with all values that each may have.

1.500 is fifteen hundred or one and a half; 3.4 may be a date. A number has several readings, and
agrees with the other side if one of them does. Values are digits without idle zeros, with a point
for a fraction: ``1500``, ``1.5``.

Number words match by their beginnings, so that endings and compounds do not matter (*zweite*,
*dreijährig*, *pětiletý*), and neighbours are combined (*vingt-deux*, *fünfundzwanzig*). Since other
words begin like numbers, words may only excuse a figure on the other side, never demand one.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import regex

from bitextfilter.io.files import read_toml
from bitextfilter.text import characters

_T = TypeVar("_T")

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


def _either(words: Iterable[str]) -> str:
    """Return the pattern of these words, the longest first."""
    return "|".join(sorted(map(regex.escape, words), key=len, reverse=True))


_LONGEST_SCALE = 12
"""Characters of a space and the longest word for a thousand or more."""

_ABBREVIATION = regex.compile(rf"\s?({_either(_ABBREVIATIONS)})(?![\p{{L}}\p{{M}}])")
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
    if not any(map(str.isalpha, text[place : place + 2])):
        return set()
    following = text[place : place + _LONGEST_SCALE].casefold()
    short = _ABBREVIATION.match(following)
    found = {_ABBREVIATIONS[short[1]]} if short else set()
    for words in _words_of(language):
        if long := words.scale.match(following):
            found.add(len(str(words.values[long[1]])) - 1)
    return found


def roman_numbers(text: str) -> set[str]:
    """Return the values, in digits, of the Roman numbers of *text* below 4000."""
    found = set()
    for number in _ROMAN_NUMBER.findall(text):
        values = [_ROMAN[sign] for sign in number]
        followed = zip(values, [*values[1:], 0], strict=True)
        found.add(str(sum(-one if one < after else one for one, after in followed)))
    return found


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
def _table(name: str) -> dict[str, str]:
    """Return the words of each language in a table of this folder."""
    return read_toml(Path(__file__).with_name(name))


def _tables() -> dict[str, str]:
    """Return the number words of each language."""
    tables = _table("number_words.toml")
    return {**tables, "ja": tables["zh"]}


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
    """Write digits and simple fractions in ASCII, km2 as km²; only the first 100,000 characters."""
    text = text[: 10 * _MOST_NUMBERS]
    if not text.isascii():
        text = text.translate(_digits())
        text = _FRACTION.sub(lambda found: (found[1] or "0") + _FRACTIONS[found[2]], text)
    text = _HALF.sub(".5", text)
    return str(_SQUARE.sub(r"\1²", text))


@functools.cache
def _digits() -> dict[int, str]:
    """Return the ASCII digit of each digit."""
    values = characters.digits()
    return {code: str(values[code]) for code in np.flatnonzero(values >= 0).tolist()}


_MOST_NUMBERS = 10_000
"""Numbers, and dates, of a side that are read, which bounds the time."""


def read_numbers(text: str) -> list[Number]:
    """Find the numbers of a *text* from ``in_ascii``, the first 10,000 of them."""
    return [
        Number(found[0], found.start(), found.end(), _readings(found[0]))
        for found in islice(_NUMBER.finditer(text), _MOST_NUMBERS)
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
        for whole, _, decimals in (r[0].partition(".") for r in number.readings if len(r) == 1):
            moved = decimals[:power].ljust(power, "0")
            more.add((_plain(whole + moved, decimals[power:]),))
    if _YEAR.fullmatch(number.text):
        more.add((_plain(number.text[2:]),))
    if _MINUTES.match(text, number.start):
        more.add(())
    if clock:
        for first, *rest in filter(None, number.readings):
            if len(first) <= 2 and "." not in first and int(first) <= 24:
                more.add((str((int(first) + 12) % 24), *rest))
    return Number(number.text, number.start, number.end, number.readings | more)


_RANGE = r"\s?(?:[-–—]|to|bis|au|à|až|do|tot|till)\s?[0-9][0-9.,]*+"
_PER = r"\s?(?:/|(?:per|pro|an|a|za|v|par|por|na)\s\p{L}|all'|à l)"
_ENTRY = regex.compile(r"\n(?! )")
_PREFIXES = "us$ $ € £ ¥ ₽ usd eur gbp jpy cny chf kč".split()  # noqa: SIM905 - one line
_LONGEST_PREFIX = 5

_TOLERANCE = 0.1
"""Largest relative difference of a converted quantity: conversions are rounded."""


class Unit(NamedTuple):
    """A unit: a value of it is ``(value + offset) * factor`` in the base unit of *measures*."""

    name: str
    measures: str
    factor: float
    offset: float = 0.0


class Quantity(NamedTuple):
    """A number, and the units that it may have."""

    number: Number
    text: str
    units: frozenset[Unit]

    @property
    def values(self) -> set[str]:
        """The values that the number may have."""
        return {reading[0] for reading in self.number.readings if len(reading) == 1}

    def converts_to(self, other: Quantity) -> bool:
        """Return True if *other* may be the same in another unit, to within a tenth."""
        return any(
            one.name != two.name
            and one.measures == two.measures
            and abs(first - second) <= _TOLERANCE * max(first, second)
            for one, first in self._amounts()
            for two, second in other._amounts()
        )

    def _amounts(self) -> Iterator[tuple[Unit, float]]:
        for unit in self.units:
            for value in self.values:
                yield unit, (float(value) + unit.offset) * unit.factor


def read_quantities(text: str, numbers: Iterable[Number]) -> list[Quantity]:
    """Return the *numbers* of a *text* that have a unit."""
    before, after = _patterns()
    found = []
    for number in numbers:
        start, end = number.start, number.end
        if unit := before.search(text, max(0, start - _LONGEST_PREFIX), start):
            start = unit.start()
        elif unit := after.match(text, end):
            end = unit.end()
        if unit and (units := _units_of(unit[1])):
            found.append(Quantity(number, text[start:end], units))
    return found


@functools.lru_cache(maxsize=1 << 12)
def _units_of(form: str) -> frozenset[Unit]:
    """Return the units with this form."""
    return frozenset(_named(form.lower(), _units()))


@functools.cache
def _units() -> dict[str, set[Unit]]:
    """Return the units of each form in units.txt.

    The table has the name, dimension, factor and offset of each unit, then its forms. One that
    ends in ``*`` may go on; one of two units may mean either.
    """
    found: dict[str, set[Unit]] = {}
    table = Path(__file__).with_name("units.txt").read_text(encoding="utf-8")
    for entry in _ENTRY.split(table.strip()):
        head, *lines = entry.splitlines()
        name, measures, *numbers = head.split()
        for form in " ".join(lines).lower().split():
            found.setdefault(form, set()).add(Unit(name, measures, *map(float, numbers)))
    return found


_LONGEST_STEM = 20
"""Characters of the longest beginning of a unit or a month, and some to spare."""


def _named(word: str, table: Mapping[str, set[_T]]) -> set[_T]:
    """Return the meanings of a *word*, or of its longest beginning that may go on (``word*``)."""
    stems = (f"{word[:size]}*" for size in range(min(len(word), _LONGEST_STEM), 0, -1))
    return next((table[form] for form in (word, *stems) if form in table), set())


@functools.cache
def _patterns() -> tuple[regex.Pattern[str], regex.Pattern[str]]:
    """Return the patterns of a unit before a number, and of one after it."""
    either = _either(_units()).replace(r"\*", r"\p{L}*")
    scales = [word for t in _tables().values() for word, value in _entries(t) if value >= 1000]
    scale = rf"(?:{_either(_ABBREVIATIONS)})\.?|(?:{_either(scales)})\p{{L}}*"
    first = _first(_units(), scales, _ABBREVIATIONS, "d")
    return (
        regex.compile(rf"({'|'.join(map(regex.escape, _PREFIXES))})\s?$", regex.IGNORECASE),
        regex.compile(
            rf"(?:{_RANGE})?[\s-]?{first}(?:(?:{scale})\s)?(?:de\s|d')?({either})(?![\p{{Latin}}\p{{Cyrillic}}\p{{N}}])"
            rf"(?!{_PER})",
            regex.IGNORECASE,
        ),
    )


def _first(*words: Iterable[str]) -> str:
    """Return the pattern of a place before a character that begins one of the *words*."""
    return f"(?=[{regex.escape(''.join(sorted({word[0] for some in words for word in some})))}])"


class Day(NamedTuple):
    """A day in digits; year or day of the month may be unknown."""

    year: str | None
    month: str
    day: str | None


class Date(NamedTuple):
    """A date in a text, and the days that it may mean."""

    text: str
    readings: frozenset[Day]


def read_dates(text: str, language: str | None) -> list[Date]:
    """Find the dates of a *text* with ASCII digits: in figures, and with a month's name.

    The names are in *language*, or in any known language without it. Of each kind the first 10,000
    are found.
    """
    found = []
    for match in islice(_FIGURES.finditer(text), _MOST_NUMBERS):
        orders = ("ymd", "ydm") if match["t"] == "/" else ("ymd",)
        found.append((match[0], [match.group(*order) for order in orders]))
    signs = islice(_SIGNS.finditer(text), _MOST_NUMBERS)
    found += [(match[0], [match.group(*"ymd")]) for match in signs]
    names = _names(language)
    if names is not None and names.word.search(text):
        for match in islice(names.date.finditer(text), _MOST_NUMBERS):
            year, day = match.group("year", "day")
            found.append((match[0], [(year, month, day) for month in names.of(match["month"])]))
    dates = [Date(date.strip(), frozenset(_days(readings))) for date, readings in found]
    return [date for date in dates if date.readings]


def named_months(text: str, language: str | None) -> set[str]:
    """Return the months named in *text*, 1 to 12."""
    names = _names(language)
    if names is None:
        return set()
    return {month for found in names.word.finditer(text) for month in names.of(found["month"])}


_FIGURES = regex.compile(
    r"(?<![0-9.,:/-])(?:"
    r"(?P<y>[0-9]{4})(?P<s>[./-])\s?(?P<m>[0-9]{1,2})(?P=s)\s?(?P<d>[0-9]{1,2})"
    r"|(?P<d>[0-9]{1,2})(?P<t>[./-])\s?(?P<m>[0-9]{1,2})(?P=t)\s?(?P<y>[0-9]{4}|[0-9]{2})"
    r")(?![0-9/-]|[.,:][0-9])"
)
_SIGNS = regex.compile(
    r"(?:(?P<y>[0-9]{4})[年년]\s?)?(?P<m>[0-9]{1,2})[月월](?:\s?(?P<d>[0-9]{1,2})[日號号일])?"
)
_WITH_NAME = (
    r"(?:(?<![0-9.,:/])(?P<day>[0-9]{1,2})(?:st|nd|rd|th|er|\.|º|ª|-го)?\s?(?:of\s|de\s|di\s)?"
    r"WORD(?:,?\s(?:de\s|del\s)?(?P<year>[0-9]{4})(?![0-9]))?"
    r"|WORD\s(?:the\s)?(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?(?![0-9]|[.,:][0-9])"
    r"(?:,?\s(?P<year>[0-9]{4})(?![0-9]))?"
    r"|WORD,?\s(?:of\s|de\s)?(?P<year>[0-9]{4})(?![0-9]))"
)


class _Names:
    """The names of the months in some languages."""

    def __init__(self, tables: Iterable[str]) -> None:
        self._months: dict[str, set[str]] = {}
        for table in tables:
            for month, names in enumerate(table.split(), start=1):
                for name in names.split("/"):
                    self._months.setdefault(name, set()).add(str(month))
        either = _either(self._months).replace(r"\*", r"\p{L}*")
        word = rf"(?<!\p{{L}})(?P<month>{either})(?!\p{{L}})\.?"
        self.word = regex.compile(word, regex.IGNORECASE)
        date = _first(self._months, "0123456789") + _WITH_NAME.replace("WORD", word)
        self.date = regex.compile(date, regex.IGNORECASE)

    def of(self, word: str) -> set[str]:
        """Return the months that *word* may name."""
        return _named(word.lower(), self._months)


def month_names() -> dict[str, str]:
    """Return the names of the months in order, by language."""
    return _table("months.toml")


@functools.lru_cache
def _names(language: str | None) -> _Names | None:
    tables = month_names()
    if language is None:
        return _Names(tables.values())
    return _Names([tables[language]]) if language in tables else None


def _days(readings: Iterable[tuple[str | None, ...]]) -> Iterator[Day]:
    """Yield the possible days of *readings* (year, month, day)."""
    for year, month, day in readings:
        month, day = (month or "").lstrip("0"), day and day.lstrip("0")
        if 1 <= int(month or 0) <= 12 and (day is None or 1 <= int(day or 0) <= 31):
            yield Day(year, month, day)
