"""Numbers in figures and in words, with all values that each may have.

A word counts by how it begins, so that endings and compounds do not matter (*zweite*,
*dreijährig*, *pětiletý*), and neighbours are put together (*vingt-deux*, *fünfundzwanzig*). Some
words that are no numbers begin like one: what is read here may excuse a figure on the other side,
and never asks for one.

1.500 is fifteen hundred or one and a half, depending on who writes it; 3.4 may be a date. A number
is kept with every reading that it has, and agrees with the other side if one of them does.
Values are digits without leading or idle zeros, and a point for a fraction: ``1500``, ``1.5``.
"""

from __future__ import annotations

import functools
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import regex

_WORDS = {
    "cs": """0=nul 1=jed,prvn 2=dv,druh,oba,obě 3=tři,tří,třet,třem,třech 4=čtyř,čtvr 5=pět,pát
        6=šest 7=sedm 8=osm 9=devět,devít,devát 10=deset,desít,desát 11=jedenáct 12=dvanáct,tucet
        13=třináct 14=čtrnáct 15=patnáct 16=šestnáct 17=sedmnáct 18=osmnáct 19=devatenáct
        20=dvacet,dvacít,dvacát 30=třicet,třicít,třicát 40=čtyřicet,čtyřicít,čtyřicát 50=padesát
        60=šedesát 70=sedmdesát 80=osmdesát 90=devadesát 100=sto,sta,stě,set,stov 1000=tisíc
        10^6=milion 10^9=miliard""",
    "de": """0=null 1=ein,erst 2=zwei,zwo,doppel,beid 3=drei,dritt 4=vier 5=fünf 6=sechs
        7=sieben,siebt 8=acht 9=neun 10=zehn 11=elf 12=zwölf,dutzend 13=dreizehn 14=vierzehn
        15=fünfzehn 16=sechzehn 17=siebzehn 18=achtzehn 19=neunzehn 20=zwanzig 30=dreißig,dreissig
        40=vierzig 50=fünfzig 60=sechzig 70=siebzig 80=achtzig 90=neunzig 100=hundert 1000=tausend
        10^6=million 10^9=milliard 10^12=billion""",
    "en": """0=zero,nil 1=one,first,once,single 2=two,second,twice,double,couple,both 3=three,third
        4=four,quarter 5=five,fifth 6=six 7=seven 8=eight 9=nine,ninth 10=ten 11=eleven
        12=twelve,twelf,dozen 13=thirteen 14=fourteen 15=fifteen 16=sixteen 17=seventeen 18=eighteen
        19=nineteen 20=twenty,twentie 30=thirty,thirtie 40=forty,fortie 50=fifty,fiftie
        60=sixty,sixtie 70=seventy,seventie 80=eighty,eightie 90=ninety,ninetie 100=hundred
        1000=thousand 10^5=lakh 10^7=crore 10^6=million 10^9=billion 10^12=trillion""",
    "es": """0=cero 1=un,primer 2=dos,dós,segund,dobl 3=tres,trés,tercer 4=cuatr,cuart 5=cinc,quint
        6=seis,séis,sext 7=siet,sépt 8=och,octav 9=nuev,noven 10=diez,dieci,décim 11=once
        12=doce 13=trece 14=catorc 15=quinc 20=veint 30=treint 40=cuarent 50=cincuent
        60=sesent 70=setent 80=ochent 90=novent 100=cien 500=quinient 700=setecient 900=novecient
        1000=mil 10^6=millon,millón""",
    "fr": """0=zéro 1=un,premi 2=deux,second,doubl 3=trois,tripl 4=quatr 5=cinq 6=six 7=sept
        8=huit 9=neuf,neuv 10=dix 11=onz 12=douz 13=treiz 14=quatorz 15=quinz 16=seiz 20=vingt
        30=trent 40=quarant 50=cinquant 60=soixant 70=septant 80=quatre-vingt 90=nonant 100=cent
        1000=mill 10^6=million 10^9=milliard""",
    "it": """0=zero 1=un,prim 2=due,second,doppi 3=tre,tré,terz 4=quattr,quart 5=cinqu,quint
        6=sei,sest 7=sett 8=ott 9=nov,non 10=diec,decim 11=undic 12=dodic,dozzin 13=tredic
        14=quattordic 15=quindic 16=sedic 17=diciassett 18=diciott 19=diciannov 20=vent
        30=trent 40=quarant 50=cinquant 60=sessant 70=settant 80=ottant 90=novant 100=cent
        1000=mill,mila 10^6=milion 10^9=miliard""",
    "nl": """0=nul 1=een,één,eerst 2=twee 3=drie,derd 4=vier 5=vijf 6=zes 7=zeven 8=acht 9=negen
        10=tien 11=elf 12=twaalf,dozijn 13=dertien 14=veertien 15=vijftien 16=zestien 17=zeventien
        18=achttien 19=negentien 20=twintig 30=dertig 40=veertig 50=vijftig 60=zestig 70=zeventig
        80=tachtig 90=negentig 100=honderd 1000=duizend 10^6=miljoen 10^9=miljard""",
    "pl": """0=zer 1=jed,pierwsz 2=dw,drug 3=trz 4=czter,czwart 5=pię,piąt 6=sześ,szóst
        7=siedem,siódm 8=osiem,ośm,ósm 9=dziewię,dziewiąt 10=dziesię,dziesiąt 11=jedenaś
        12=dwanaś,tuzin 13=trzynaś 14=czternaś 15=piętnaś 16=szesnaś 17=siedemnaś
        18=osiemnaś 19=dziewiętnaś 20=dwadzie,dwudzie 30=trzydzie 40=czterdzie 50=pięćdziesiąt
        60=sześćdziesiąt 70=siedemdziesiąt 80=osiemdziesiąt 90=dziewięćdziesiąt
        100=sto,stu,set 200=dwie 1000=tysi 10^6=milion 10^9=miliard""",
    "pt": """0=zero 1=um,primeir 2=dois,duas,segund,dobr 3=três,tres,terceir 4=quatr,quart
        5=cinc,quint 6=seis,sext 7=sete,sétim 8=oit 9=nov,non 10=dez,décim 11=onze 12=doze,dúzia
        13=treze 14=catorze,quatorze 15=quinze 16=dezesseis,dezasseis 17=dezessete,dezassete
        18=dezoito 19=dezenove,dezanove 20=vint 30=trint 40=quarent 50=cinquent 60=sessent
        70=setent 80=oitent 90=novent 100=cem,cent 200=duzent 300=trezent 500=quinhent 1000=mil
        10^6=milhão,milhões,milhao,milhoes 10^9=bilhão,bilhões,bilhao,bilhoes""",
    "ru": """0=ноль,нул 1=од,перв 2=дв,втор,оба,обе 3=три,тре,трё 4=четыр,четвер,четвёр 5=пят 6=шест
        7=сем,седьм 8=восем,восьм 9=девят 10=десят 11=одиннадцат 12=двенадцат,дюжин 13=тринадцат
        14=четырнадцат 15=пятнадцат 16=шестнадцат 17=семнадцат 18=восемнадцат 19=девятнадцат
        20=двадцат 30=тридцат 40=сорок 50=пятьдесят,пятидесят 60=шестьдесят,шестидесят
        70=семьдесят,семидесят 80=восемьдесят,восьмидесят 90=девяност 100=сто,ста,сот
        1000=тысяч 10^6=миллион 10^9=миллиард""",
    "sv": """0=noll 1=en,ett,först 2=två,andra 3=tre 4=fyra,fjärd 5=fem 6=sex,sjätt 7=sju
        8=åtta,åtton 9=nio 10=tio 11=elva 12=tolv,dussin 13=tretton 14=fjorton 15=femton 16=sexton
        17=sjutton 18=arton 19=nitton 20=tjugo 30=trettio 40=fyrtio 50=femtio 60=sextio
        70=sjuttio 80=åttio 90=nittio 100=hundra 1000=tusen 10^6=miljon 10^9=miljard""",
    "zh": """0=零,〇 1=一 2=二,两,兩,双 3=三 4=四 5=五 6=六 7=七 8=八 9=九 10=十 100=百 1000=千
        10^4=万,萬 10^8=亿,億 10^12=兆""",
}
"""How number words begin; those from a thousand on also multiply figures (2.5 million)."""
_WORDS["ja"] = _WORDS["zh"]

ABBREVIATIONS = {
    **dict.fromkeys(("k", "tsd", "tys", "tis", "тыс"), 3),
    **dict.fromkeys(("m", "mn", "mio", "mln", "mil", "млн"), 6),
    **dict.fromkeys(("b", "bn", "mrd", "mld", "md", "млрд"), 9),
    **dict.fromkeys(("tn", "bio"), 12),
}
"""Short forms of thousand, million and so on in any language, as powers of ten."""

HALVES = """half halb hälft demi moitié půl polo medio media mitad mezz meio meia metade połow pół
    halv полов"""
"""How the words for a half begin."""

_JOINT = r"(?:\p{L}{0,4}[\s-](?:(?:and|und|et|en|e|i|y)[\s-])?|\p{L}?(?:and|und|en|ën|e|i|y|a|ь)?)"
"""What may stand between number words that belong together: an ending, *and*."""

_WORD_START = r"(?<![\p{L}\p{M}])"
_UNSPACED = ("zh", "ja")
_MULTIPLIERS = frozenset((100, 1000, 10**4, 10**5, 10**6, 10**7, 10**8, 10**9, 10**12))

_LONGEST_SCALE = 12
"""Characters that say by how much: a space, and the longest word for a thousand or more."""

_ABBREVIATION = regex.compile(
    rf"\s?({'|'.join(sorted(ABBREVIATIONS, key=len, reverse=True))})(?![\p{{L}}\p{{M}}])"
)
_HALF_WORD = regex.compile(rf"{_WORD_START}(?:{'|'.join(HALVES.split())})|einhalb")
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_ROMAN_NUMBER = regex.compile(
    r"(?<!\w)(?=[IVXLCDM])M{0,3}(?:C[MD]|D?C{0,3})(?:X[CL]|L?X{0,3})(?:I[XV]|V?I{0,3})(?!\w)"
)


def spelt_numbers(text: str, language: str | None) -> set[str]:
    """Return what the number words of *text* may be worth, in digits.

    In any language where it is None; nothing for a language that has no words here.
    """
    lower = text.casefold()
    return {value for words in _words_of(language) for value in words.read(lower)}


def scales_at(text: str, place: int, language: str | None) -> set[int]:
    """Return the powers of ten by which a word at *place* may multiply the figure before it."""
    following = text[place : place + _LONGEST_SCALE].casefold()
    short = _ABBREVIATION.match(following)
    found = {ABBREVIATIONS[short[1]]} if short else set()
    for words in _words_of(language):
        if long := words.scale.match(following):
            found.add(len(str(words.values[long[1]])) - 1)
    return found


def scale_words() -> str:
    """Return a regular expression for thousand, million and so on, and their short forms."""
    words = (word for table in _WORDS.values() for word, value in _entries(table) if value >= 1000)
    return rf"(?:{_either(ABBREVIATIONS)})\.?|(?:{_either(words)})\p{{L}}*"


def has_half(text: str) -> bool:
    """Say whether a word of *text* begins like a half in some language."""
    return bool(_HALF_WORD.search(text.casefold()))


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
        self.values = dict(_entries(_WORDS[language]))
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
        """Yield what the numbers of a case-folded *text* are worth, whole and word by word."""
        for number in self._number.finditer(text):
            values = [self.values[word] for word in self._word.findall(number[0])]
            yield str(self._worth(values))
            yield from map(str, values)

    def _worth(self, values: list[int]) -> int:
        """Add up the words; a multiplier takes what is smaller than itself times itself."""
        total = 0
        for value in values:
            if value in self._multipliers:
                part = total % value
                total += (part or 1) * value - part
            else:
                total += value
        return total


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
        return tuple(_Words(known) for known in _WORDS if known != "ja")
    return (_Words(language),) if language in _WORDS else ()


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
    """A number as it stands in a text."""

    text: str
    start: int
    end: int
    readings: Readings
    """What it may mean: each reading is the values that it holds, often a single one."""

    def agrees(self, values: set[str]) -> bool:
        """Say whether some reading consists of these *values*."""
        return any(values.issuperset(reading) for reading in self.readings)


def in_ascii(text: str) -> str:
    """Write the digits of all scripts and simple fractions in those of ASCII; km2 as km²."""
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
    """Find the numbers of a *text*, as ``in_ascii`` writes it."""
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
    """Say whether groups of digits may be one whole number: 1 234 567, or 12,34,567 in India."""
    sizes = [len(group) for group in groups]
    if len(set(marks)) > 1 or sizes[0] > 3:
        return not marks
    return not marks or (sizes[-1] == 3 and set(sizes[1:-1]) <= {2, 3})


def _plain(whole: str, decimals: str = "") -> str:
    """Write a value without idle zeros."""
    whole, decimals = whole.lstrip("0") or "0", decimals.rstrip("0")
    return f"{whole}.{decimals}" if decimals else whole


def words_worth(text: str, language: str | None) -> set[str]:
    """Return the values that may be meant by words of *text*, and by Roman numbers."""
    found = spelt_numbers(text, language) | roman_numbers(text)
    if has_half(text):
        found |= {f"{value}.5" for value in found | {"0"}} | {"50"}
    return found


_MINUTES = regex.compile(r"(?<=[0-9][:hH])00(?![0-9])")
_YEAR = regex.compile(r"[12][0-9]{3}")


def widened(number: Number, text: str, language: str | None, clock: bool) -> Number:
    """Return *number* with the readings that take a look at the words around it.

    2.5 million may be 2500000, 1990 may be 90, the 00 of 15:00 may be left out, and where one of
    the sides writes a.m. or p.m. (*clock*), 3 may be 15.
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
    """Yield the readings that start with an hour of the clock, with the other hour instead."""
    for first, *rest in filter(None, readings):
        if len(first) <= 2 and "." not in first and int(first) <= 24:
            yield (str((int(first) + 12) % 24), *rest)
