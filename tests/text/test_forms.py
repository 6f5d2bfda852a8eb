"""Words as they are written, in scripts of every kind."""

from __future__ import annotations

import pytest

from bitextfilter.text.tokens import word_forms


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
