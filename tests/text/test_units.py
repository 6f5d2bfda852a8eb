"""Units of tokens and lengths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.errors import ModelError, SettingsError
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.segment import SegmenterSettings
from bitextfilter.text.units import UNITS, TokenUnits, count_characters, count_subwords, count_words


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
    processor = TextProcessor.learn(*sides, ("en", "de"), Normalisation(), settings)
    count = count_subwords(processor, "en")
    texts = ["", "lower slow", "low\n"]
    assert count(texts) == [len(pieces) for pieces in processor.segmenter.segment_all(texts)]
    assert count(texts)[0] == 0 and count(texts)[1] > 2
