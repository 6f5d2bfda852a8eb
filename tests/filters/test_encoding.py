"""Damage that is made on purpose is found; the same text undamaged passes."""

from __future__ import annotations

import pytest

from bitextfilter.filters.encoding import BadEncoding
from bitextfilter.filters.pairs import Pairs

CLEAN = {
    "de": "Über die Straße fährt ein schöner Zug, „ganz langsam“ – für 5 €.",
    "fr": "« Où êtes-vous ? » L’été dernier, ça coûtait 20 € à l’hôtel.",
    "cs": "Příliš žluťoučký kůň úpěl ďábelské ódy, řekl „Žižka“.",
    "pl": "Zażółć gęślą jaźń. Świat, „Łódź” i źródło.",
    "pt": "Não, a irmã e o coração: «amanhã» à tarde é uma opção.",
    "ro": "Ăștia au mulțumit; «Într-o zi» ține-ți cuvântul.",
    "tr": "Şarkı, ağaç ve çiçek; İstanbul’da öğrenciler.",
    "vi": "Tiếng Việt có nhiều dấu; “Đây” là một ví dụ.",
    "is": "Þýðir það að ég ætti að fara? Já, „núna“.",
    "ru": "Это «простой» пример – съешь же ещё этих булок.",
    "uk": "Її мрії – це «щось» особливе; Сіль і Рівне.",
    "el": "Καλημέρα, τι κάνετε; «Ωραία».",
    "ar": "مرحبا، كيف حالك؟",
    "hi": "नमस्ते, आप कैसे हैं?",
    "zh": "你好，“世界”！今天天气很好。",
    "ja": "こんにちは、「世界」。コーヒーを飲みます。",
}


def sloppily(data: bytes, codec: str) -> str:
    """Decode each byte by itself, those that the codec lacks as Latin-1."""
    return "".join(bytes([byte]).decode(codec, "ignore") or chr(byte) for byte in data)


def damaged(texts: list[str]) -> list[bool]:
    pairs = Pairs(texts, ["Wort"] * len(texts))
    return (~BadEncoding().check(pairs).keep).tolist()


@pytest.mark.parametrize("language", CLEAN)
def test_utf_8_taken_for_something_else(language: str) -> None:
    text = CLEAN[language]
    once = [sloppily(text.encode(), "cp1252"), text.encode().decode("latin-1")]
    twice = [sloppily(once[0].encode(), "cp1252"), once[1].encode().decode("latin-1")]
    assert damaged([text, text.upper(), *once, *twice]) == [False, False, True, True, True, True]
    assert damaged([once[0].replace("\u00a0", " ").replace("\u00ad", "")]) == [True]


@pytest.mark.parametrize(
    ("codec", "languages"), [("cp1250", "de fr cs pl"), ("cp1251", "ru uk"), ("mac_roman", "de fr")]
)
def test_utf_8_taken_for_other_codings(codec: str, languages: str) -> None:
    texts = [sloppily(CLEAN[language].encode(), codec) for language in languages.split()]
    assert damaged(texts) == [True] * len(texts)
