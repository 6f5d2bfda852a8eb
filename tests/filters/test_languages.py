"""Default rules under every spelling of a language: right rows stay, foreign ones go."""

from __future__ import annotations

import pytest

from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.pipeline import Pipeline
from bitextfilter.filters.registry import parse_rules, usable
from bitextfilter.languages import read_language

ENGLISH = "We are going home now, all together, because it is late."
GERMAN = "Wir gehen jetzt alle zusammen nach Hause, weil es spät ist."
RIGHT = {
    "pt pt-BR pt_BR pt-br por pt_PT": "Vamos todos juntos para casa agora, porque já é tarde.",
    "no nb nob nb-NO nor no_NO": "Vi går hjem nå, alle sammen, fordi det er sent.",
    "nn nno": "Vi går heim no, alle saman, fordi det er seint.",
    "zh zho cmn zh-Hans zh_Hans zho_Hans zh-CN zh_SG": "现在很晚了，我们大家一起回家吧。",
    "zh zho zh-Hant zh_Hant zho_Hant zh-TW zh_HK": "現在很晚了，我們大家一起回家吧。",
    "yue yue_Hant zh-yue": "而家好夜喇，我哋一齊返屋企啦。",
    "he iw heb he_IL": "עכשיו מאוחר, ולכן כולנו הולכים הביתה ביחד.",
    "id in ind": "Sekarang kami semua pulang bersama-sama karena sudah malam.",
    "sr sr-Cyrl sr_Cyrl srp_Cyrl sr-RS": "Сада сви заједно идемо кући, јер је већ касно.",
    "sr sr-Latn sr_Latn sh hbs sr@latin sr-RS": "Sada svi zajedno idemo kući, jer je već kasno.",
    "hr hrv bs": "Sada svi zajedno idemo kući, jer je već kasno.",
    "et est ekk": "Me läheme nüüd kõik koos koju, sest on juba hilja.",
    "lv lav lvs": "Mēs tagad visi kopā ejam mājās, jo ir jau vēls.",
    "ar ara arb ar-EG": "نذهب الآن جميعا إلى البيت لأن الوقت متأخر.",
    "fa fas pes prs": "حالا همه با هم به خانه می‌رویم، چون دیر است.",
    "tl tgl fil": "Uuwi na kaming lahat ngayon dahil gabi na.",
    "ms msa zsm": "Kami semua pulang bersama-sama sekarang kerana sudah lewat.",
    "uz uz-Latn uzn_Latn": "Hozir kech bo'lgani uchun hammamiz birga uyga ketyapmiz.",
    "uz uz-Cyrl": "Ҳозир кеч бўлгани учун ҳаммамиз бирга уйга кетяпмиз.",
    "ja jpn ja_JP": "もう遅いので、今からみんなで一緒に家に帰ります。",
    "ko kor ko_KR": "이제 늦었으니 우리 모두 함께 집에 갑니다.",
    "el ell gre": "Τώρα πάμε όλοι μαζί σπίτι, γιατί είναι αργά.",
    "bho": "अब हमनी के सब लोग एक साथ घरे जात बानी, काहे कि देर हो गइल बा।",
    "sat": "ᱱᱤᱛᱚᱜ ᱟᱵᱚ ᱡᱚᱛᱚ ᱦᱚᱲ ᱚᱲᱟᱜ ᱵᱚᱱ ᱪᱟᱞᱟᱜᱼᱟ᱾",
    "crh crh_Latn": "Şimdi episi beraber evge ketemiz, çünki keç oldı.",
}
UNTAUGHT = {
    "nan nan-TW zh-min-nan nan_Latn": "Lán chit-má lóng beh tò-tńg-khì chhù, í-keng chin òaⁿ.",
    "nan nan_Hant": "咱這馬攏欲轉去厝，因為已經真暗矣。",
    "cdo": "Nguāi-gáuk-nè̤ng hiêng-câi duâi-gă dṳ̆ng chió, ĭng-ôi ī-gĭng iâ uāng.",
    "hak": "Ngài-têu hien-chhai chhiông-phû chón vuk-khâ, yîn-vi yí-kîn hén am.",
    "mww": "Tam sim no peb sawv daws mus tsev ua ke vim twb yuav tsaus ntuj lawm.",
}
"""Of languages that no identifier knows."""
KEPT = [
    (code, text) for codes, text in [*RIGHT.items(), *UNTAUGHT.items()] for code in codes.split()
]


def verdict(target: str, language: str) -> str:
    """The verdict of the default rules on the English sentence and *target*."""
    languages = ("en-US", read_language(language).tag)
    pipeline = Pipeline(usable(parse_rules(["default"]), languages)[0])
    return pipeline.check(Pairs([ENGLISH], [target], languages)).verdict(0)


@pytest.mark.gate(25)
@pytest.mark.parametrize(("code", "text"), KEPT)
def test_a_right_row_stays_under_every_code_of_its_language(code: str, text: str) -> None:
    assert verdict(text, code) == "keep"


@pytest.mark.gate(25)
@pytest.mark.parametrize("code", sorted({code for codes in RIGHT for code in codes.split()}))
def test_a_foreign_row_goes_under_every_code_that_is_known(code: str) -> None:
    assert verdict(GERMAN, code) != "keep"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("zh-Hans", "現在很晚了，我們大家一起回家吧。"),
        ("zh_CN", "現在很晚了，我們大家一起回家吧。"),
        ("zh-Hant", "现在很晚了，我们大家一起回家吧。"),
        ("zh-TW", "现在很晚了，我们大家一起回家吧。"),
        ("sr-Latn", "Сада сви заједно идемо кући, јер је већ касно."),
        ("sr_Cyrl", "Sada svi zajedno idemo kući, jer je već kasno."),
        ("uz-Cyrl", "Hozir kech bo'lgani uchun hammamiz birga uyga ketyapmiz."),
        ("ja", "이제 늦었으니 우리 모두 함께 집에 갑니다."),
    ],
)
def test_the_script_of_the_tag_is_checked(code: str, text: str) -> None:
    assert "script(target)=" in verdict(text, code)


@pytest.mark.parametrize(
    ("code", "right", "foreign"),
    [
        ("uz", RIGHT["uz uz-Cyrl"], "Мы все вместе идём домой, потому что уже поздно."),
        (
            "tk",
            "Ҳәзир гич болды, биз ҳеммәмиз биле өе гидйәрис.",
            "Сега всички се прибираме у дома.",
        ),
        (
            "az",
            "Инди геҷдир, буна ҝөрә дә һамымыз бирликдә евә ҝедирик.",
            "Ми всі йдемо додому разом.",
        ),
        (
            "ms",
            "كامي سموا ڤولڠ برسام٢ سكارڠ كران سوده ليوت.",
            "نذهب الآن جميعا إلى البيت لأن الوقت متأخر.",
        ),
        ("kk-Latn", "Qazir keş boldı, sondıqtan bärimiz birge üyge qaytamız.", GERMAN),
    ],
)
def test_a_foreign_row_goes_in_a_second_script_too(code: str, right: str, foreign: str) -> None:
    assert verdict(right, code) == "keep"
    assert verdict(foreign, code).startswith("language(target)=")


def test_one_character_of_the_other_variant_of_chinese_passes() -> None:
    assert verdict("他姓鍾，住在北京的一条小街上。", "zh-Hans") == "keep"


def test_a_side_whose_language_nobody_can_tell_is_named() -> None:
    languages = ("en", "bho")
    rules, passed_over = usable(parse_rules(["default"]), languages)
    assert passed_over == {
        "language(target)": "language(target): ngrams cannot identify the language 'bho'"
    }
    pipeline = Pipeline(rules)
    pairs = Pairs([GERMAN], [RIGHT["bho"]], languages)
    assert pipeline.check(pairs).verdict(0).startswith("language(source)=")


def test_sides_of_unknown_scripts_are_named() -> None:
    rules, passed_over = usable(parse_rules(["default"]), ("qaa", "qab"))
    assert {"script(source)", "script(target)", "language(source)"} <= passed_over.keys()
    assert not {"script", "language"} & {rule.name for rule in rules}


def test_a_foreign_name_may_be_longer_than_a_chinese_sentence() -> None:
    assert verdict("他在Switzerland住。", "zh") == "keep"
    assert "script(target)=0.214<0.4" in verdict("Switzerland 的", "ja")
