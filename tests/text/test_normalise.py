"""Normalisation: what it makes of odd characters, at once, and normal forms of long texts."""

import unicodedata

import pytest
from growth import assert_linear
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.errors import ModelError
from bitextfilter.text.composition import normal_form
from bitextfilter.text.normalise import Normalisation

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("", ""),
        ("  Two \t words\r\n", "two words"),
        ("a\u2028b\u0085c\x0cd\x00e\u3000f\u00a0g", "a b c d e f g"),
        ("\ufeffzero\u200bwidth so\u00adft \u200eleft", "zerowidth soft left"),
        ("u\u0308ber", "\u00fcber"),
        (
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        ),
        ("\u2581mark", "_mark"),
        ("STRASSE Straße", "strasse straße"),
        ("u\u00ad\u0308", "\u00fc"),
    ],
)
def test_odd_characters(sentence: str, expected: str) -> None:
    assert Normalisation()(sentence, "de") == expected


def test_case_is_kept_if_asked() -> None:
    assert Normalisation(lowercase=False)("Der  Hund", "de") == "Der Hund"


@given(TEXT, st.booleans())
def test_once_is_enough(sentence: str, lowercase: bool) -> None:
    normalise = Normalisation(lowercase=lowercase)
    once = normalise(sentence, "en")
    assert normalise(once, "en") == once
    assert unicodedata.is_normalized("NFC", once)
    assert once == " ".join(once.split())


def test_moses_punctuation_and_tokens() -> None:
    moses = Normalisation(punctuation=True, tokenise=True)
    assert (
        moses("He said: \u201cNo\u201d,  didn\u2019t he?", "en")
        == 'he said : " no , " didn \'t he ?'
    )
    assert Normalisation(tokenise=True)("A & B <c>", "en") == "a & b < c >"


def test_dictionary_round_trip() -> None:
    choices = Normalisation(lowercase=False, tokenise=True)
    assert Normalisation.from_dict(choices.to_dict()) == choices


@pytest.mark.parametrize("damaged", [{"stemming": True}, {"lowercase": "yes"}])
def test_damaged_dictionary(damaged: dict[str, object]) -> None:
    with pytest.raises(ModelError, match="lowercase"):
        Normalisation.from_dict(damaged)


MARKS = ["\u0301", "\u0323", "\u0308", "\u0344", "\u0345", "\u0334", "\u093e", "\u20e0", "\u3099"]
PARTS = st.lists(
    st.sampled_from([*MARKS, *MARKS, "e", "é", "ố", "가", "ﾊ", "\u0f73"]), max_size=200
)


@given(PARTS, st.sampled_from(["NFC", "NFKC"]))
def test_is_that_of_unicodedata(parts: list[str], form: str) -> None:
    text = "".join(parts) * 20
    assert normal_form(text, form) == unicodedata.normalize(form, text)


@pytest.mark.parametrize("form", ["NFC", "NFKC"])
def test_takes_no_longer_for_marks_in_disorder(form: str) -> None:
    assert_linear(lambda n: normal_form("a" + "\u0301\u0323" * n, form), 250_000)
