"""Sentences and word forms."""

from __future__ import annotations

import sys

import pytest

from bitextfilter.errors import DeviceError
from bitextfilter.text.tokens import split_sentences, word_forms


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
