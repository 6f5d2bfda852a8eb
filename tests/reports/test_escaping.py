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
from bitextfilter.reports.page import Report, SideLanguages
from bitextfilter.reports.survey import Sample, Survey

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
    survey.add([Sample(n, text, text, (n / 9,), text) for n in range(9)])
    run = {"command": text, text: text}
    report = Report(survey, text, SideLanguages(text, text), left_out={text: 1}, runs=[(text, run)])
    return Reader(report.html().decode())


def harmless(text: str) -> str:
    """A text of as many letters and words as *text*."""
    return re.sub(r"\S", "x", text)


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


@settings(max_examples=20, deadline=None)
@given(st.text(min_size=1).filter(lambda text: text.strip() == text))
def test_any_text_stays_text(text: str) -> None:
    found = read(text)
    assert found.tags == read(harmless(text)).tags
    assert ("lang", xml_text(text)) in found.attributes
    assert found.data["samples"][0][2] == json.loads(xml_text(json.dumps(text, ensure_ascii=False)))


def test_unprintable_characters_are_replaced() -> None:
    assert xml_text("a\0b\x1f\x85\ud800\ufffe") == "a\ufffdb\ufffd\ufffd\ufffd\ufffd"
    assert xml_text("a\tb\nc é\U0001f600\u202e") == "a\tb\nc é\U0001f600\u202e"
    assert "a\ufffdb" in read("a\ud800b").texts
