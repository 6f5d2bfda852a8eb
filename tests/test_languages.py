"""Languages: every usual spelling of a code is understood, and no other."""

from __future__ import annotations

import pytest

from bitextfilter.errors import SettingsError
from bitextfilter.languages import _own_names, find_language, named_languages, read_language

SPELLINGS = {
    "en": "en EN eng", "en-Latn": "eng_Latn", "en-US": "en-US en_us EN-us en_US.UTF-8 eng-US",
    "en-GB": "en-GB en_UK", "he": "he iw heb", "id": "id in ind", "zh": "zh zho chi cmn ZH",
    "zh-Hans": "zh-Hans zh_Hans zho_Hans cmn-hans zh-hans", "zh-TW": "zh-TW zh_tw cmn_TW",
    "yue-Hant": "yue_Hant zh-yue-Hant", "no": "no nb nob nor", "nn": "nn nno no-nyn",
    "no-NO": "nb-NO no_NO", "pt-BR": "pt-BR pt_BR pt-br por_BR", "et": "et est ekk",
    "lv": "lv lav lvs", "ar": "ar ara arb", "fa": "fa fas per pes", "ms": "ms msa may zsm",
    "sq": "sq sqi alb als", "sw": "sw swa swh", "tl": "tl tgl fil", "ro": "ro ron rum mo",
    "de": "de deu ger", "cs": "cs ces cze", "uz-Latn": "uz-Latn uzn_Latn",
    "sr-Cyrl": "sr-Cyrl sr_Cyrl srp_Cyrl sr@cyrillic hbs_Cyrl",
    "sr-Latn": "sr-Latn sh hbs sr@latin srp_Latn", "sr-Latn-RS": "sr-Latn-RS sr_RS@latin",
    "ca-valencia": "ca-valencia ca_valencia", "qaa": "qaa", "x-klingon": "x-Klingon",
}  # fmt: skip


@pytest.mark.parametrize(
    ("tag", "text"), [(tag, text) for tag, texts in SPELLINGS.items() for text in texts.split()]
)
def test_every_spelling_of_a_language_is_understood(tag: str, text: str) -> None:
    assert read_language(text).tag == tag
    assert read_language(read_language(text).tag) == read_language(text)


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("xx", "such as en"), ("zz-ZZ", "such as en"), ("", "such as en"), ("en-", "such as en"),
        ("english", "perhaps en (English)?"), ("Portugese", "perhaps pt (Portuguese)?"),
        ("cn", "perhaps zh (Chinese)?"), ("jp", "perhaps ja (Japanese)?"),
        ("gr", "perhaps el (Greek)?"),
    ],
)  # fmt: skip
def test_a_code_nobody_knows_is_refused_with_a_suggestion(text: str, suggestion: str) -> None:
    with pytest.raises(SettingsError, match="is not the code of a language") as refused:
        read_language(text)
    assert suggestion in str(refused.value)


@pytest.mark.parametrize(
    ("text", "scripts"),
    [
        ("de", "Latn"), ("ru", "Cyrl"), ("ja", "Hani Hira Kana"), ("ko", "Hang Hani"),
        ("zh", "Hani Bopo"), ("iw", "Hebr"), ("sr", "Cyrl Latn"), ("sr-RS", "Cyrl Latn"),
        ("sr-ME", "Latn"), ("sr-Cyrl", "Cyrl"), ("pa", "Guru Arab"), ("pa-PK", "Arab"),
        ("uz-Cyrl", "Cyrl"), ("azb", "Arab Latn"), ("crh", "Latn Cyrl"), ("nan", "Hani Bopo Latn"),
        ("nan-TW", "Hani Bopo Latn"), ("zh-min-nan", "Hani Bopo Latn"), ("cdo", "Hani Bopo Latn"),
        ("hak-TW", "Hani Bopo Latn"), ("nan-Hant", "Hani Bopo"), ("zh-TW", "Hani Bopo"),
        ("mww", "Latn Hmnp"), ("crk", "Cans Latn"), ("knc", "Latn Arab"), ("knc_Arab", "Arab"),
        ("min", "Latn Arab"), ("non", "Latn Runr"), ("arc", "Armi Hatr Nbat Palm Syrc Hebr"),
        ("sat", "Olck Deva Beng"), ("ber", "Latn Tfng Arab"), ("dbr", ""), ("qaa", ""), ("und", ""),
        ("x-klingon", ""),
    ],
)  # fmt: skip
def test_scripts_are_those_of_the_likely_subtags(text: str, scripts: str) -> None:
    assert read_language(text).scripts == tuple(scripts.split())


@pytest.mark.parametrize(
    ("text", "variant"),
    [
        ("zh", None), ("zh-Hans", "Hans"), ("zho_Hant", "Hant"), ("zh-CN", "Hans"),
        ("zh-SG", "Hans"), ("zh-TW", "Hant"), ("zh-HK", "Hant"), ("yue-Hant", "Hant"),
        ("ja-JP", None), ("en-US", None),
    ],
)  # fmt: skip
def test_the_variant_of_chinese_is_what_the_tag_says(text: str, variant: str | None) -> None:
    assert read_language(text).variant == variant


@pytest.mark.parametrize(
    ("wide", "narrow", "both"),
    [
        ("zh", "zh-TW", False), ("zh-Hant", "zh-TW", True), ("eng", "en-GB", True),
        ("zh_Hans", "zh", True), ("zh_cn", "zh", True), ("nb", "no", True),
        ("zh_cn", "zh-CN", True), ("sr", "sr-Latn", False),
    ],
)  # fmt: skip
def test_a_language_includes_its_regions(wide: str, narrow: str, both: bool) -> None:
    one, other = read_language(wide), read_language(narrow)
    assert one.includes(other)
    assert other.includes(one) is both


def test_languages_of_other_codes_or_scripts_are_not_included() -> None:
    assert not read_language("zh-Hant").includes(read_language("zh-CN"))
    assert not read_language("pt-BR").includes(read_language("pt-PT"))
    assert not read_language("zh-TW").includes(read_language("zh-HK"))
    assert not read_language("sr-Latn").includes(read_language("sr"))
    assert not read_language("no").includes(read_language("nn"))
    assert not read_language("ca").includes(read_language("es"))


def test_names_of_languages_in_themselves_are_those_of_the_cldr() -> None:
    from babel import Locale

    for locale in {locale for locales in _own_names().values() for locale in locales}:
        known = {name.split(" (")[0].lower() for name in Locale.parse(locale).languages.values()}
        assert any(locale in _own_names().get(name, ()) for name in known), locale


def test_languages_are_found_by_names_in_several_languages() -> None:
    found = named_languages(["Français", "Allemand", "en-US", "Hallo", "Yes", "中文"])
    assert found == {"Français": "fr", "Allemand": "de", "en-US": "en-US", "中文": "zh"}


def test_a_language_is_found_in_its_own_spelling_first() -> None:
    assert find_language("zh_Hans", ["en", "zh"]) == "zh"
    assert find_language("nb", ["no", "sv"]) == "no"
    assert find_language("pt-BR", ["pt", "pt-BR"]) == "pt-BR"
    assert find_language("pt_br", ["pt", "pt-BR"]) == "pt-BR"
    assert find_language("xx", ["xx", "en"]) == "xx"
    assert find_language("xx", ["en"]) is None
