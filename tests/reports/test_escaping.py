"""Whatever text comes in, it comes out of the page as that text, and never as markup."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitextfilter.reports.charts import xml_text
from bitextfilter.reports.page import Corpus, Report, SideLanguages
from bitextfilter.reports.survey import Sample, Survey, reason_name, reasons_of

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!--<script>",
    "\" onclick=\"x' onclick='x` <",
    "&lt;b&gt; &amp;",
    "]]>\u2028\u2029",
    "{{ 7 * 7 }} {% raw %} ${policy} {# a #}",
]


class Reader(HTMLParser):
    """A page as an HTML parser sees it: tags, attributes, texts, and the script's data."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.data: Any = None
        self._inside: dict[str, str | None] = {}
        self.feed(page)
        self.close()

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(name)
        self.attributes += attributes
        self._inside = dict(attributes)

    def handle_data(self, data: str) -> None:
        if self._inside.get("id") == "data" and self.data is None:
            self.data = json.loads(data)
        else:
            self.texts.append(data)


def read(text: str) -> Reader:
    """The page of a report in which everything that may be any text is *text*."""
    survey = Survey([text])
    survey.add([Sample(n, text, text, (n / 9,), text, text) for n in range(9)])
    languages, runs = SideLanguages(text, text), [(text, {"command": text, text: text})]
    corpora = [Corpus(survey, text, {text: 1}, [text]) for _ in range(2)]
    report = Report(corpora, text, languages, reasons=True, runs=runs, cuts={text: 0.5})
    return Reader(report.html().decode())


def harmless(text: str) -> str:
    """A text of as many letters, words and reasons as *text*."""
    return re.sub(r"[^\s;=]", "x", text)


@pytest.mark.parametrize("text", HOSTILE)
def test_text_stays_text(text: str) -> None:
    plain = harmless(text)
    expected, found = read(plain), read(text)
    assert found.tags == expected.tags
    assert [name for name, _ in found.attributes] == [name for name, _ in expected.attributes]
    assert ("lang", text) in found.attributes
    assert found.texts.count(text) == expected.texts.count(plain) > 9
    assert found.data["scores"][0]["name"] == text
    assert found.data["samples"][0][1:4] == [text, text, text]
    assert "; ".join(found.data["samples"][0][5]) == text.strip()


def with_reasons(cell: str, asked: bool) -> Reader:
    survey = Survey(["score"])
    survey.add([Sample(n, "s", "t", (n / 9,), reasons=cell) for n in range(4)])
    return Reader(Report([Corpus(survey, "title")], "title", each=1, reasons=asked).html().decode())


@pytest.mark.parametrize("text", HOSTILE)
def test_reasons_stay_text(text: str) -> None:
    """Each is an item of the list below each of eleven pairs; its name is in the table, too."""
    cell = f"{text}; x(source)={text}; {text}=1"
    shown = list(reasons_of(cell))
    without, plain, found = (
        with_reasons("", False),
        with_reasons(cell, False),
        with_reasons(cell, True),
    )
    assert [one for one in shown if plain.texts.count(one) != 11 * shown.count(one)] == []
    assert plain.tags.count("li") == without.tags.count("li") + 11 * len(shown)
    assert found.tags.count("li") == plain.tags.count("li") + 1  # the link to the figure
    assert set(found.tags) == set(without.tags) and found.tags.count("script") == 2
    assert set(map(reason_name, shown)) <= set(found.texts)
    assert [sample[5] for sample in found.data["samples"]] == [shown] * 4


@settings(max_examples=10)
@given(st.text(min_size=1).filter(lambda text: text.strip() == text))
def test_any_text_stays_text(text: str) -> None:
    found = read(text)
    assert found.tags == read(harmless(text)).tags
    assert ("lang", xml_text(text)) in found.attributes
    as_read = json.loads(xml_text(json.dumps([text, *reasons_of(text)], ensure_ascii=False)))
    assert [found.data["samples"][0][2], *found.data["samples"][0][5]] == as_read


def test_unprintable_characters_are_replaced() -> None:
    assert xml_text("a\0b\x1f\x85\ud800\ufffe") == "a\ufffdb\ufffd\ufffd\ufffd\ufffd"
    assert xml_text("a\tb\nc é\U0001f600\u202e") == "a\tb\nc é\U0001f600\u202e"
    assert "a\ufffdb" in read("a\ud800b").texts
