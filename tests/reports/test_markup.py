"""Whatever text comes in, it comes out of the page as that text, and never as markup."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.reports.markup import Markup, cleaned, embedded, joined, tag

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!--<script>",
    "\" onclick=\"x' onclick='x` <",
    "&lt;b&gt; &amp;",
    "]]>\u2028\u2029",
]


class Reader(HTMLParser):
    """What an HTML parser makes of a page: tags with their attributes, and text."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((name, dict(attributes)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("text", HOSTILE)
def test_text_stays_text(text: str) -> None:
    read = Reader(tag("p", text, title=text))
    assert read.tags == [("p", {"title": text})]
    assert read.text == text


@given(st.text())
def test_any_text_stays_text(text: str) -> None:
    read = Reader(tag("p", text, title=text))
    assert read.tags == [("p", {"title": cleaned(text)})]
    assert read.text == cleaned(text)


@given(st.recursive(st.text() | st.integers() | st.none(), st.lists))
def test_data_in_a_script_element_cannot_end_it(data: object) -> None:
    page = tag("script", embedded(data), type="application/json")
    read = Reader(page)
    assert [name for name, _ in read.tags] == ["script"]
    assert json.loads(read.text) == json.loads(cleaned(json.dumps(data, ensure_ascii=False)))
    assert not set("<>&\u2028\u2029") & set(embedded(data))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_data_in_a_script_element(text: str) -> None:
    read = Reader(tag("script", embedded([text, {text: text}])))
    assert len(read.tags) == 1
    assert json.loads(read.text) == [text, {text: text}]


def test_attributes() -> None:
    made = tag("input", type="range", aria_label="a", cls="b", for_="c", hidden=True, open=False)
    assert made == '<input type="range" aria-label="a" class="b" for="c" hidden>'
    assert tag("path", d="M0 0", x=None) == '<path d="M0 0"></path>'


def test_markup_is_not_escaped_twice() -> None:
    assert joined("a<", tag("b", "c&"), 1) == "a&lt;<b>c&amp;</b>1"
    assert isinstance(joined("a"), Markup)


def test_what_no_page_can_hold_is_shown() -> None:
    assert cleaned("a\0b\x1f\x85\ud800\ufffe") == "a\ufffdb\ufffd\ufffd\ufffd\ufffd"
    assert cleaned("a\tb\nc é\U0001f600\u202e") == "a\tb\nc é\U0001f600\u202e"
    tag("p", "\ud800").encode()
    embedded("\ud800").encode()
