"""Figures and copied things that agree across languages: formats, number words, units."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.errors import SettingsError
from bitextfilter.filters.figures import _units, named_months, read_dates, read_quantities
from bitextfilter.filters.numbers import (
    in_ascii,
    read_numbers,
    roman_numbers,
    spelt_numbers,
    word_table,
)
from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.registry import parse_rule

RULES = ["numbers", "dates", "units", "email-addresses", "web-addresses", "placeholders", "tags"]

EXAMPLES = """1,500 1.500 2,5 Mio. million 3. März May May4 15:00 pm km miles Meter $5 5€ °F %s %1
    {0} {name} <b> </b> a@b.org http://a.org/en/x zwei three half XIV COVID-19 ½ ٣ 万"""
CHARACTERS = st.text("0123456789 .,:/-'%${}<>@ab\u00a0", max_size=6)
PIECES = st.lists(CHARACTERS | st.sampled_from(EXAMPLES.split()), max_size=8).map(" ".join)
LANGUAGES = st.sampled_from([None, ("en", "de"), ("fr", "cs"), ("zh", "xx"), ("en", "en")])


def kept(spec: str, source: str, target: str, languages: tuple[str, str] | None) -> bool:
    verdict = parse_rule(spec).check(Pairs([source], [target], languages))
    return bool(verdict.keep[0])


@pytest.mark.parametrize("spec", [*RULES, "numbers:allowed=1", "tags:allowed=1"])
@given(text=PIECES, languages=LANGUAGES)
def test_a_text_agrees_with_itself(spec: str, text: str, languages: tuple[str, str] | None) -> None:
    assert kept(spec, text, text, languages)


@pytest.mark.parametrize("spec", [*RULES, "numbers:allowed=1", "tags:allowed=1"])
@given(source=PIECES, target=PIECES, languages=LANGUAGES)
def test_sides_may_change_places(
    spec: str, source: str, target: str, languages: tuple[str, str] | None
) -> None:
    swapped = languages and (languages[1], languages[0])
    assert kept(spec, source, target, languages) == kept(spec, target, source, swapped)


def written(number: int, cents: int) -> list[str]:
    """The number as English, German, French, Swiss and programs write it."""
    english = f"{number:,}.{cents:02d}" if cents else f"{number:,}"
    swapped = english.translate(str.maketrans(".,", ",."))
    french = english.replace(",", "\u202f").replace(".", ",")
    return [english, swapped, french, english.replace(",", "'"), english.replace(",", "")]


@given(st.integers(0, 10**12), st.integers(0, 99), st.data())
def test_numbers_agree_however_they_are_written(
    number: int, cents: int, data: st.DataObject
) -> None:
    forms = st.sampled_from(written(number, cents))
    assert kept("numbers", data.draw(forms), data.draw(forms), None)


@given(st.integers(10**4, 10**12), st.integers(10**4, 10**12), st.data())
def test_other_numbers_do_not(one: int, other: int, data: st.DataObject) -> None:
    first, second = (data.draw(st.sampled_from(written(value, 0))) for value in (one, other))
    assert kept("numbers", first, second, ("en", "de")) == (one == other)


ONES = {
    "en": """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
        fifteen sixteen seventeen eighteen nineteen""",
    "de": """null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn
        fünfzehn sechzehn siebzehn achtzehn neunzehn""",
    "fr": """zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze
        seize dix-sept dix-huit dix-neuf""",
}
TENS = {
    "en": "_ _ twenty thirty forty fifty sixty seventy eighty ninety",
    "de": "_ _ zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
    "fr": "_ _ vingt trente quarante cinquante soixante _ quatre-vingt _",
}


def ones(language: str, number: int) -> str:
    return ONES[language].split()[number]


def tens(language: str, number: int) -> str:
    return TENS[language].split()[number // 10]


def english(number: int) -> str:
    if number < 20:
        return ones("en", number)
    if number < 100:
        rest = "-" + ones("en", number % 10) if number % 10 else ""
        return tens("en", number) + rest
    size, name = (100, "hundred") if number < 1000 else (1000, "thousand")
    rest = f" and {english(number % size)}" if number % size else ""
    return f"{english(number // size)} {name}{rest}"


def german(number: int) -> str:
    if number < 20:
        return ones("de", number)
    if number < 100:
        first = ones("de", number % 10) + "und" if number % 10 else ""
        return first + tens("de", number)
    size, name = (100, "hundert") if number < 1000 else (1000, "tausend")
    rest = german(number % size) if number % size else ""
    return f"{german(number // size)}{name}{rest}"


def french(number: int) -> str:
    if number < 20:
        return ones("fr", number)
    if number < 100:
        base = number // 20 * 20 if number >= 60 else number // 10 * 10
        return tens("fr", base) + (f"-{french(number - base)}" if number > base else "")
    size, name = (100, "cent") if number < 1000 else (1000, "mille")
    times = f"{french(number // size)} " if number // size > 1 else ""
    rest = f" {french(number % size)}" if number % size else ""
    return f"{times}{name}{rest}"


@given(st.integers(0, 999_999))
def test_number_words(number: int) -> None:
    for language, name in (("en", english), ("de", german), ("fr", french)):
        assert str(number) in spelt_numbers(name(number), language), name(number)
        assert str(number) in spelt_numbers(name(number), None)


@pytest.mark.parametrize(
    ("language", "words", "value"),
    [
        ("cs", "dvacet pět", "25"), ("ar", "الخامس والأربعين", "45"),
        ("ar", "مليارين", "2000000000"), ("bg", "двадесет и пет", "25"), ("da", "femogtyve", "25"),
        ("el", "είκοσι πέντε", "25"), ("et", "kolmkümmend viis", "35"),
        ("fi", "kolmekymmentäviisi", "35"), ("fi", "kahdeksantoista", "18"),
        ("he", "עשרים וחמש", "25"), ("hi", "सोलहवीं", "16"), ("hu", "huszonöt", "25"),
        ("id", "tiga puluh sembilan", "39"), ("id", "dua belas", "12"),
        ("is", "tuttugu og fimm", "25"), ("ko", "스물다섯", "25"), ("lt", "dvidešimt penki", "25"),
        ("lv", "divdesmit pieci", "25"), ("no", "tjuefem", "25"), ("ro", "treizeci și cinci", "35"),
        ("th", "สามสิบห้า", "35"), ("tr", "yirmi beş", "25"), ("uk", "двадцять п'ять", "25"),
        ("vi", "hai mươi lăm", "25"), ("cs", "dvě stě třicet", "230"), ("es", "dieciocho", "18"),
        ("es", "doscientos treinta y cinco", "235"), ("it", "ventitré", "23"),
        ("it", "duemila", "2000"), ("nl", "vijfentwintig", "25"), ("nl", "eenentwintigste", "21"),
        ("pl", "dwadzieścia pięć", "25"), ("pt", "vinte e cinco", "25"),
        ("ru", "двадцать пять тысяч", "25000"), ("sv", "tjugofem", "25"),
        ("zh", "三百二十五万", "3250000"), ("ja", "千九百八十四", "1984"),
    ],
)  # fmt: skip
def test_number_words_of_other_languages(language: str, words: str, value: str) -> None:
    assert value in spelt_numbers(words, language)


def test_an_unknown_language_has_no_number_words() -> None:
    assert spelt_numbers("two zwei deux", "xx") == set()


def test_roman_numbers() -> None:
    """Against subtracting the largest sign again and again."""
    signs = [("M", 1000), ("CM", 900), ("D", 500), ("CD", 400), ("C", 100), ("XC", 90), ("L", 50)]
    signs += [("XL", 40), ("X", 10), ("IX", 9), ("V", 5), ("IV", 4), ("I", 1)]
    for number in range(1, 4000):
        text, left = "", number
        for sign, value in signs:
            text += sign * (left // value)
            left %= value
        assert roman_numbers(f"({text})") == {str(number)}
    assert roman_numbers("MIX IIII VIVA") == {"1009"}


MONTHS = word_table("months.toml")


@pytest.mark.parametrize("language", MONTHS)
def test_months_have_names(language: str) -> None:
    tables = MONTHS[language].split()
    assert len(tables) == 12
    for month, names in enumerate(tables, start=1):
        for name in names.replace("*", "").replace("_", " ").split("/"):
            shouted = name.upper() if name.upper().lower() == name else name
            assert named_months(shouted, language) == {str(month)}
            assert named_months(name.capitalize(), language) == {str(month)}
            (date,) = read_dates(f"4 {name} 1999", language)
            assert date.readings == {("1999", str(month), "4")}


def test_every_form_of_a_unit_is_read() -> None:
    for form, known in _units().items():
        text = f"5 {form.replace('*', '')} x"
        (quantity,) = read_quantities(text, read_numbers(text))
        assert quantity.text == text[:-2]
        assert known <= quantity.units


@pytest.mark.parametrize(
    ("one", "other", "converts"),
    [
        ("100 km/h", "62 mph", True), ("32 °F", "0 °C", True), ("212 °F", "100 °C", True),
        ("212 °F", "150 °C", False), ("1 gallon", "3.8 litres", True), ("2 weeks", "14 Tage", True),
        ("1 km", "1000 g", False), ("1 km", "1 km", False),
    ],
)  # fmt: skip
def test_conversions(one: str, other: str, converts: bool) -> None:
    ((first,), (second,)) = (read_quantities(text, read_numbers(text)) for text in (one, other))
    assert first.converts_to(second) is converts
    assert second.converts_to(first) is converts


def test_digits_of_all_scripts() -> None:
    assert in_ascii("٣ ५ ７ 2½ ½ 5 km2 ²") == "3 5 7 2.5 0.5 5 km² ²"


def test_a_number_may_be_long() -> None:
    digits = "9" * 10_000
    assert kept("numbers", digits, digits + ".", None)
    assert not kept("numbers", digits + " km", digits + "8 m", None)


@pytest.mark.parametrize("rule", ["numbers", "tags"])
def test_no_fewer_than_none_may_differ(rule: str) -> None:
    with pytest.raises(SettingsError, match="allowed must be at least 0, not -1"):
        parse_rule(f"{rule}:allowed=-1")
