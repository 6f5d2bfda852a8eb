"""The text of HTML pages."""

from __future__ import annotations

import sys

import pytest

from bitextfilter.errors import DeviceError, InputError
from bitextfilter.text.pages import document_lines, is_page, page_lines

PARAGRAPHS = [
    "The old mill stands beside the river, and its wheel still turns in the spring floods.",
    "Visitors may climb the tower every Sunday between ten and four; children pay nothing.",
    "A small museum on the ground floor shows how flour was made two hundred years ago.",
]
PAGE = (
    "<!DOCTYPE html><html><head><title>Mill</title></head><body>"
    "<nav><ul><li><a href='/'>Home</a></li><li><a href='/c'>Contact</a></li></ul></nav>"
    f"<main>{''.join(f'<p>{text}</p>' for text in PARAGRAPHS)}<p>Mühle\t&amp; Fluß</p></main>"
    "<footer><p>Copyright, all rights reserved</p></footer></body></html>"
)


@pytest.mark.parametrize(
    ("name", "head", "page"),
    [
        ("a.html", b"text", True),
        ("a.HTM.gz", b"", True),
        ("a.txt", b"text <html>", False),
        ("a.txt", b"\xef\xbb\xbf\n <!doctype HTML>", True),
        ("a", b'<?xml version="1.0"?>\n<!-- a\n b --><html lang="en">', True),
        ("a", b"<htmlx>", False),
        ("a.html.txt", b"", False),
    ],
)
def test_pages_are_known_by_name_or_beginning(name: str, head: bytes, page: bool) -> None:
    assert is_page(name, head) == page


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1"])
def test_text_is_without_menus(encoding: str) -> None:
    page = PAGE.replace("<head>", f"<head><meta charset='{encoding}'>").encode(encoding)
    wanted = [f"{line}\n".encode() for line in (*PARAGRAPHS, "Mühle & Fluß")]
    assert page_lines(page, "x") == wanted
    assert list(document_lines(page.splitlines(keepends=True), "x")) == wanted
    assert page_lines(page, "x") == wanted


def test_plain_text_stays_as_it_is() -> None:
    lines = [b"%d <p>\r\n" % number for number in range(50)]
    assert list(document_lines(lines, "x.txt")) == lines
    assert list(document_lines([], "x.txt")) == []


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (b"\x89PNG\r\n\x00\x1a", "a binary file"),
        (b"", "no text is found"),
        (b"<html></html>", "no text is found"),
        (b"<html>" * 5000, "no text is found"),
        (bytes(range(1, 256)) * 9, "no text is found"),
    ],
)
def test_pages_without_text(page: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=f"x.html: {reason}"):
        page_lines(page, "x.html")


def test_large_pages_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bitextfilter.text.pages.LINE_BYTES", 100)
    with pytest.raises(InputError, match="larger than"):
        document_lines([b"<html>\n"] * 20, "x")


def test_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    with pytest.raises(DeviceError, match=r"pip install 'bitextfilter\[pages\]'"):
        page_lines(b"<html>text</html>", "x")
