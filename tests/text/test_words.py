"""Sentences, words and tokens: cut, numbered, counted."""

from __future__ import annotations

import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bitextfilter.errors import DeviceError, ModelError, SettingsError
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.segment import SegmenterSettings
from bitextfilter.text.units import joined_units, word_units
from bitextfilter.text.words import (
    UNITS,
    TokenUnits,
    count_characters,
    count_words,
    numbered,
    split_sentences,
    split_words,
    word_forms,
)


@given(st.lists(st.text()))
@example(["", "a", "", "a b  a", "\0", "x\0y \0 z"])
def test_numbered_and_put_together_again(sentences: list[str]) -> None:
    rows, words = numbered(sentences)
    assert words[0] == "" and len(set(words)) == len(words)
    read = [[words[place] for place in row] for row in rows]
    assert read == [sentence.replace("\0", " ").split() for sentence in sentences]


MIXED = st.text(st.sampled_from("ab 京都。タイไทยดี\u0e48é  ,"))


@given(st.text() | MIXED)
def test_units_and_put_together_again(text: str) -> None:
    assert joined_units(word_units(text)) == " ".join(text.split())


@pytest.mark.parametrize(
    ("text", "units", "turned"),
    [
        ("the big cat", ["the", "big", "cat"], "cat big the"),
        ("我住在北京。", ["我住", "在北", "京", "。"], "。京在北我住"),
        ("用 Word 打开文件", ["用", " Word", " 打开", "文件"], "文件 打开 Word用"),
        ("ผมชื่อ Bob", ["ผม", "ชื่อ", " Bob"], "Bobชื่อผม"),
        ("a 字 b", ["a", "字", "b"], "b 字 a"),
        ("", [], ""),
    ],
)
def test_units_of_scripts_without_spaces(text: str, units: list[str], turned: str) -> None:
    assert word_units(text) == units
    assert joined_units(units[::-1]) == turned


@given(st.lists(st.text().map(lambda text: Normalisation()(text, "en"))))
def test_split(sentences: list[str]) -> None:
    words, counts = split_words(sentences)
    stream = iter(words)
    assert [[next(stream) for _ in range(n)] for n in counts] == [s.split() for s in sentences]


def test_rules_are_of_the_language() -> None:
    assert split_sentences("Das ist z.B. einer.  Am 3. Mai kam er. Gut!", "de") == [
        "Das ist z.B. einer.",
        "Am 3. Mai kam er.",
        "Gut!",
    ]
    assert split_sentences("你好。世界！", "zh") == ["你好。", "世界！"]


@pytest.mark.parametrize("space", "\u00a0\u202f\u3000\u2009\u2028\u0085")
def test_spaces_of_other_kinds_stay_what_they_are(space: str) -> None:
    text = f"Hello A{space}. Then{space}B."
    found = split_sentences(text, "en")
    assert " ".join(found).replace(" ", "") == text.replace(" ", "")
    assert split_sentences(f"It is.{space}So{space}what.", "en") == ["It is.", f"So{space}what."]


def test_a_long_text_is_divided_piece_by_piece() -> None:
    sentence = "Dr. Smith came at 5 p.m. to see us."
    assert split_sentences(f"{sentence} " * 900, "en") == [sentence] * 900
    assert split_sentences("word " * 9000, "en") == [("word " * 9000).strip()]


def test_nothing() -> None:
    assert split_sentences("", "en") == []
    assert split_sentences("  ", "en") == []


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentencex", None)
    with pytest.raises(DeviceError, match=r"bitextfilter\[sentences\]"):
        split_sentences("A. B.", "en")


@pytest.mark.parametrize(
    ("sentence", "forms"),
    [
        ("Das Haus, das HAUS!", {"das", "haus"}),
        ("l'eau d’or", {"l", "eau", "d", "or"}),
        ("Straße STRASSE", {"strasse"}),
        ("12,5 % von 1999er", {"12", "5", "von", "1999er"}),
        ("snake_case", {"snake", "case"}),
        ("हिन्दी में", {"हिन्दी", "में"}),
        ("мир МИР", {"мир"}),
        ("東京都へ行く", {"東京", "京都", "都へ", "へ行", "行く"}),
        ("コーヒーを", {"コー", "ーヒ", "ヒー", "ーを"}),
        ("cafe\u0301", {"caf\u00e9"}),
        ("山 I", {"山", "i"}),
        ("iPhoneを買う", {"iphone", "を買", "買う"}),
        ("", set()),
        ("... - !", set()),
    ],
)
def test_forms(sentence: str, forms: set[str]) -> None:
    assert word_forms(sentence) == forms


@pytest.mark.parametrize(
    ("units", "sentence", "tokens"),
    [
        (TokenUnits("words"), "The  House,\u00a0red.", ["the", "house,", "red."]),
        (TokenUnits("words", lowercase=False), "The House", ["The", "House"]),
        (
            TokenUnits("words"),
            "a <s> </s> <unk> <UNK>",
            ["a", "&lt;s&gt;", "&lt;/s&gt;"] + ["&lt;unk&gt;"] * 2,
        ),
        (TokenUnits("words", lowercase=False), "<UNK> <S>", ["&lt;UNK&gt;", "<S>"]),
        (TokenUnits("tokens"), "Don't (stop) 3€", ["don", "'", "t", "(", "stop", ")", "3", "€"]),
        (TokenUnits("tokens"), "कि <s>", ["कि", "<", "s", ">"]),
        (TokenUnits("characters"), "Ab c", ["<w>", "a", "b", "<w>", "c", "<w>"]),
        (TokenUnits("characters"), "<w>", ["<w>", "<", "w", ">", "<w>"]),
        (TokenUnits("words"), "<w>", ["&lt;w&gt;"]),
    ],
)
def test_tokens(units: TokenUnits, sentence: str, tokens: list[str]) -> None:
    assert units(sentence) == tokens


@pytest.mark.parametrize("unit", UNITS)
def test_blank_sentences_have_no_tokens(unit: str) -> None:
    assert [TokenUnits(unit)(blank) for blank in ("", " \u3000", "\u200b")] == [[], [], []]


@given(st.text())
def test_tokens_can_stand_in_a_line_of_an_arpa_file(sentence: str) -> None:
    for unit in UNITS:
        for token in TokenUnits(unit)(sentence.encode("utf-8", "replace").decode()):
            assert token.encode().split() == [token.encode()]
            assert token not in {"<s>", "</s>", "<unk>", "<UNK>"}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("lowercase", [True, False])
def test_note_is_read_back(unit: str, lowercase: bool) -> None:
    units = TokenUnits(unit, lowercase)
    assert TokenUnits.from_note(units.note()) == units


def test_notes_of_others() -> None:
    assert TokenUnits.from_note("# made by hand") is None
    assert TokenUnits.from_note("bitextfilter") is None
    for note in ("# bitextfilter unit=syllables lowercase=yes", "# bitextfilter unit=words"):
        with pytest.raises(ModelError, match="newer"):
            TokenUnits.from_note(note)


def test_unknown_unit() -> None:
    with pytest.raises(SettingsError, match="syllables"):
        TokenUnits("syllables")


TEXTS = ["", " \u3000\n", "one", " two  words\u2028", "你好，世界。", "a\u0301 b"]


def test_words_and_characters() -> None:
    assert count_words(TEXTS) == [0, 0, 1, 2, 1, 2]
    assert count_characters(TEXTS) == [0, 0, 3, 8, 6, 3]
    assert count_words([]) == count_characters([]) == []


@given(st.lists(st.text(), max_size=5))
def test_against_one_character_at_a_time(texts: list[str]) -> None:
    assert count_characters(texts) == [sum(not c.isspace() for c in text) for text in texts]
    starts = [
        sum(not c.isspace() and (i == 0 or text[i - 1].isspace()) for i, c in enumerate(text))
        for text in texts
    ]
    assert count_words(texts) == starts


def test_subwords_are_the_pieces_of_a_language() -> None:
    sides = ["lower lowest low"] * 9, ["nieder niederste"] * 9
    settings = SegmenterSettings("bpe", vocabulary_size=12)
    processor = TextProcessor.learn(sides, ("en", "de"), Normalisation(), settings)
    texts = ["", "lower slow", "low\n"]
    lengths = processor.lengths(texts, "en")
    assert lengths == [len(pieces) for pieces in processor.segmenter.segment_all(texts)]
    assert lengths[0] == 0 and lengths[1] > 2
