"""Tags against Python's parser of HTML, left to read every sentence to its end."""

from __future__ import annotations

import random
from html.parser import HTMLParser

from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.web import HtmlTags


class Collector(HTMLParser):
    """Keeps the names of the tags that are opened."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)


def first_tag(sentence: str) -> str | None:
    collector = Collector()
    try:
        collector.feed(sentence)
        collector.close()
    except AssertionError:
        pass
    return next(iter(collector.tags), None)


PIECES = ["<", "<", ">", ">", "a", "B", "/", " ", "!", "--", "=", '"', "'", "?", "[", "script", "é"]


def test_tags_are_those_of_the_parser() -> None:
    draw = random.Random(5)
    sentences = ["".join(draw.choices(PIECES, k=draw.randrange(15))) for _ in range(4000)]
    verdict = HtmlTags().check(Pairs(sentences, [""] * len(sentences)))
    said = [None if keep else verdict.reason(i) for i, keep in enumerate(verdict.keep)]
    tags = list(map(first_tag, sentences))
    assert 100 < sum(tag is not None for tag in tags) < 3900
    assert said == [None if tag is None else f"html-tags(source)={tag}" for tag in tags]


def test_a_line_of_opening_tags_takes_no_time() -> None:
    """The parser alone needs minutes for it, for its time grows with the square."""
    assert HtmlTags().check(Pairs(["1 > 0 " + "<a" * 100_000], [""])).keep.all()
