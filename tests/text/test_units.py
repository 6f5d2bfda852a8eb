"""What a language model's tokens are, and the line that says so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.errors import ModelError, SettingsError
from bitextfilter.text.units import UNITS, TokenUnits


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
