"""Rules under every spelling of a language, and the language models of those of fluency."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np
import pytest

from bitextfilter.errors import DeviceError, ModelError, NotFoundError, SettingsError
from bitextfilter.filters.fluency import CrossEntropy, Perplexity, load_language_model
from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.pipeline import Pipeline
from bitextfilter.filters.registry import make_rule, parse_rule, parse_rules, usable
from bitextfilter.languages import read_language
from bitextfilter.text.ngram_model import write_arpa
from bitextfilter.text.words import TokenUnits
from bitextfilter.training.monolingual import NgramSettings, TokenCorpus, estimate

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


WORDS = ["Haus", "Baum", "alt", "rot", "ist", "das", "ein", "grün."]


def text(seed: int, count: int) -> list[str]:
    drawn = random.Random(seed)
    return [" ".join(drawn.choices(WORDS, k=drawn.randrange(1, 9))) for _ in range(count)]


def arpa(path: Path, units: TokenUnits, order: int = 3) -> str:
    corpus = TokenCorpus(units(sentence) for sentence in text(1, 200))
    with open(path, "wb") as stream:
        write_arpa(estimate(corpus, NgramSettings(order), units).model, stream)
    return str(path)


@pytest.mark.parametrize("unit", ["words", "tokens", "characters"])
def test_a_file_says_what_its_tokens_are(unit: str, tmp_path: Path) -> None:
    path = arpa(tmp_path / "model.arpa", TokenUnits(unit))
    logprobs, counts = load_language_model(path).scores(["Das HAUS.", ""])
    assert counts.tolist() == [{"words": 3, "tokens": 4, "characters": 12}[unit], 1]
    assert logprobs.tolist() == load_language_model(path).scores(["das haus.", " "])[0].tolist()
    kept, _ = load_language_model(path, lowercase=False).scores(["Das HAUS."])
    assert kept[0] < logprobs[0]
    assert load_language_model(path, "characters").scores(["ab c"])[1].tolist() == [7]


@pytest.mark.parametrize("order", [2, 3, 6])
def test_kenlm_and_our_reader_agree(
    order: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("kenlm")
    path = arpa(tmp_path / "model.arpa", TokenUnits("characters"), order)
    sentences = [*text(2, 100), "", "漢字 <s> \u0301"]
    by_kenlm, counts = load_language_model(path).scores(sentences)
    monkeypatch.setitem(sys.modules, "kenlm", None)
    load_language_model.cache_clear()
    by_us, same = load_language_model(path).scores(sentences)
    load_language_model.cache_clear()
    np.testing.assert_allclose(by_kenlm, by_us, rtol=1e-5)
    assert counts.tolist() == same.tolist()
    assert by_kenlm.tolist() != by_us.tolist()  # one is in float32, the other is not


@pytest.mark.parametrize("order", [1, 7])
def test_orders_that_kenlm_does_not_take(order: int, tmp_path: Path) -> None:
    path = arpa(tmp_path / "model.arpa", TokenUnits("characters"), order)
    assert (load_language_model(path).scores(text(2, 3))[0] < 0).all()


def test_binary_files_need_kenlm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.binary"
    path.write_bytes(b"mmap lm http://kheafield.com/code format version 5\n\0cut")
    monkeypatch.setitem(sys.modules, "kenlm", None)
    with pytest.raises(DeviceError, match=r"pip install 'bitextfilter\[kenlm\]'"):
        load_language_model(str(path))


def test_a_damaged_binary_file(tmp_path: Path) -> None:
    pytest.importorskip("kenlm")
    path = tmp_path / "model.binary"
    path.write_bytes(b"mmap lm http://kheafield.com/code format version 5\n\0cut")
    with pytest.raises(ModelError, match=r"model\.binary: KenLM cannot read it"):
        load_language_model(str(path))


def test_rules_find_bad_files_before_they_judge(tmp_path: Path) -> None:
    bad = tmp_path / "bad.arpa"
    bad.write_text("\\data\\\nngram 1=2\n\n\\1-grams:\n-1\t<s>\n", encoding="utf-8")
    rule = make_rule("perplexity", {"source": str(bad), "maximum": 9})
    with pytest.raises(ModelError, match=r"bad\.arpa:6: the file ends too early"):
        rule.prepare(None)
    with pytest.raises(NotFoundError):
        make_rule("perplexity", {"target": str(tmp_path / "none"), "maximum": 9}).prepare(None)
    good = arpa(tmp_path / "good.arpa", TokenUnits())
    both = {"source": good, "source-general": str(tmp_path / "none")}
    with pytest.raises(NotFoundError):
        make_rule("cross-entropy-difference", both).prepare(None)
    make_rule("perplexity", {"source": good, "maximum": 9}).prepare(None)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("perplexity:maximum=9", "perplexity: needs a language model"),
        ("perplexity:source=x", "needs a bound"),
        ("perplexity:source=x,maximum=9,units=syllables", "syllables"),
        (
            "cross-entropy:source=x,maximum=9,per=line",
            "per 'line' is none of token, word",
        ),
        ("cross-entropy-gap:source=x", "needs two models"),
        ("cross-entropy-difference:source=x", "a side needs two models"),
        ("cross-entropy-difference:source=x,target-general=y", "a side needs two models"),
        ("language-model-classifier:target=x", "needs two models"),
    ],
)
def test_settings(spec: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        parse_rule(spec)


def test_values_are_what_they_are_called(tmp_path: Path) -> None:
    """From the probability of five tokens, or of four words, and the end."""
    path = arpa(tmp_path / "model.arpa", TokenUnits("tokens"))
    sentence = "das Haus ist grün."
    probability = 10 ** load_language_model(path).scores([sentence])[0][0]
    perplexity, by_token, by_word = (
        kind(source=path, maximum=1, **more).values(Pairs([sentence], ["anything"]))
        for kind, more in ((Perplexity, {}), (CrossEntropy, {}), (CrossEntropy, {"per": "word"}))
    )
    no = pytest.approx(np.nan, nan_ok=True)
    assert perplexity.tolist() == [[pytest.approx(probability ** (-1 / 6)), no]]
    assert by_token.tolist() == [[pytest.approx(-np.log2(probability) / 6), no]]
    assert by_word.tolist() == [[pytest.approx(-np.log2(probability) / 5), no]]
