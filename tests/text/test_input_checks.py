"""Doubts about first rows: each for what it is for, and none for good rows."""

from __future__ import annotations

import pytest

from bitextfilter.text.input_checks import (
    columns_doubt,
    header_doubt,
    kind_of_column,
    swapped_columns,
    uneven_row,
)

EN = ["The house is old.", "Nobody came to the door today.", "Please close the window."]
DE = ["Das Haus ist alt.", "Heute kam niemand an die Tür.", "Bitte schließen Sie das Fenster."]
ROWS = list(map(list, zip(EN, DE, strict=True)))
PAIR = {"--scol": 0, "--tcol": 1}


@pytest.mark.parametrize(
    "header",
    [
        *("source target", "src tgt", "sentence1 sentence2", "en de", "EN DE", "en-US de_DE"),
        *(
            "eng_Latn deu_Latn",
            "English German",
            "en_text de_text",
            "text.en text.de",
            "cs zh_Hans",
        ),
    ],
)
def test_a_header_is_one(header: str) -> None:
    assert header_doubt(header.split(), ROWS)


HEADERS = """
Quelle|Ziel
Quelltext|Zieltext
Originaltext|Übersetzung
source_lang|target_lang
Satz_de|Satz_en
texte source|texte cible
texto origen|texto destino
Источник|Перевод
源语言|目标语言
原文|译文
来源|目标
原文|訳文
원문|번역문
kaynak|hedef
स्रोत|लक्ष्य
المصدر|الهدف
Deutsch|Englisch
Deutsch|English
Deutsch|Français
Français|Allemand
Русский|Немецкий
українська|англійська
Ελληνικά|Αγγλικά
العربية|الإنجليزية
فارسی|انگلیسی
עברית|אנגלית
हिन्दी|अंग्रेज़ी
中文|英文
中文|英语
日本語|英語
한국어|영어
ไทย|อังกฤษ
Tiếng Việt|Tiếng Anh
Türkçe|İngilizce
Bahasa Indonesia|Bahasa Inggris
srpski|engleski
српски|енглески
español|inglés
English (en)|German (de)
"""
NO_HEADERS = """
Quelle|source
Ziel|goal
Übersetzung|translation
phrase|frase
Original|Оригинал
Deutsch|German
Français|French
中文|Chinese
Polish|polski
Englisch|English
Yes|Ja
How?|Hoe?
It was.|War es.
Estonian|eesti ja vene
Indonesia|Indonesien
---|de
"""


@pytest.mark.parametrize("header", HEADERS.split("\n")[1:-1])
def test_a_header_is_one_in_other_languages(header: str) -> None:
    assert header_doubt(header.split("|"), ROWS)


@pytest.mark.parametrize("row", NO_HEADERS.split("\n")[1:-1])
def test_a_word_and_its_translation_are_no_header(row: str) -> None:
    assert not header_doubt(row.split("|"), ROWS)
    assert not header_doubt(row.split("|")[::-1], ROWS)


@pytest.mark.parametrize("row", [*ROWS, ["OK", "OK"], ["Hi", "Hallo"], ["", ""], ["text", "Text"]])
def test_a_row_is_no_header(row: list[str]) -> None:
    assert not header_doubt(row, ROWS)


def test_codes_among_words_are_words() -> None:
    words = [["he", "er"], ["no", "nein"], ["house", "Haus"]]
    assert not header_doubt(["my", "de"], words)
    assert header_doubt(["source", "target"], words)
    assert header_doubt(["Quelle", "Ziel"], words)
    assert not header_doubt(["Deutsch", "Englisch"], words)


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["http://a.example/1", "https://b.example/x?y=1", "www.c.example"], "web addresses"),
        (["a.example.com/en/", "b.example.de/x", "c.example.org/"], "web addresses"),
        (["12", "-0.5", "1,000", "3e-4"], "numbers"),
        (["doc-001", "doc-002", "en/page.html"], "identifiers"),
        (["news", "news", "news"], "labels"),
        (EN, "text"),
        (["一九九五年建成的房子", "今天没有人来。", "请关上窗户。"], "text"),
        (["house", "cat", "dog"], ""),
        ([], ""),
    ],
)
def test_kinds(texts: list[str], kind: str) -> None:
    assert kind_of_column(texts) == kind


def test_text_is_found_where_it_is() -> None:
    urls = [
        [f"http://a.example/{n}", f"http://a.example/de/{n}", *ROWS[n], "0.8"] for n in range(3)
    ]
    found = "columns 1 and 2 hold web addresses; text seems to be in columns 3 and 4"
    assert columns_doubt(urls, PAIR) == f"{found}: --scol 3 --tcol 4"
    assert columns_doubt(urls[:1], PAIR) == f"{found}: --scol 3 --tcol 4"
    assert columns_doubt(urls, {"--scol": 2, "--tcol": -2}) == ""
    numbered = [[str(n), *row] for n, row in enumerate(ROWS)]
    found = "column 1 holds numbers; text seems to be in columns 2 and 3: --scol 2 --tcol 3"
    assert columns_doubt(numbered, PAIR) == found
    assert columns_doubt(numbered, {"--column": 0}).endswith(
        "text seems to be in column 2: --column 2"
    )
    assert columns_doubt([row[:2] for row in urls], PAIR) == "columns 1 and 2 hold web addresses"


@pytest.mark.parametrize(
    "rows", [ROWS, [["1", "1"], ["2", "2"]], [], [["a1", "b1"], ["a2", "b2"], ["a3", "b3"]]]
)
def test_no_doubt_without_a_better_choice(rows: list[list[str]]) -> None:
    assert columns_doubt(rows, PAIR) == ""


def test_uneven_rows() -> None:
    assert uneven_row([["a", "b"], ["a", "b", "c"], [""], ["a", "b"]]) == (1, 3, 2)
    assert uneven_row([["a", "b"], [""], ["a", "b"]]) is None
    assert uneven_row([]) is None


@pytest.mark.parametrize("count", [1, 3])
def test_few_rows_tell_swapped_columns(count: int) -> None:
    said = swapped_columns(DE[:count], EN[:count], ("en", "de"))
    assert said == (
        "the columns look swapped: the source column looks like de, the target column like en"
    )
    assert swapped_columns(DE[:count], EN[:count], ("en-US", "deu_Latn"))
    assert not swapped_columns(EN[:count], DE[:count], ("en", "de"))


def test_what_is_no_evidence_of_swapped_columns() -> None:
    assert not swapped_columns(DE, DE, ("en", "de"))
    assert not swapped_columns(EN, EN, ("en", "de"))
    assert not swapped_columns(["Berlin", "42"], ["Berlin", "42"], ("en", "de"))
    assert not swapped_columns(DE, EN, ("aa", "bb"))
    assert not swapped_columns(DE, EN, ("en", "en"))
    assert not swapped_columns([], [], ("en", "de"))
