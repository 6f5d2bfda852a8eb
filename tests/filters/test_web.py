"""HTML tags as Python's parser sees them, boilerplate of web pages, and likeness in letters."""

from __future__ import annotations

import math
import random
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bitextfilter.errors import NotFoundError, SettingsError
from bitextfilter.filters.likeness import (
    LongestCommonSubstring,
    NgramOverlap,
    SentenceBleu,
    Similarity,
)
from bitextfilter.filters.pairs import BatchSide, Pairs
from bitextfilter.filters.registry import parse_rule
from bitextfilter.filters.web import BadEncoding, Boilerplate, HtmlTags
from bitextfilter.text import misreading


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


LINES: dict[str, list[str]] = {}
for row in Path(__file__).with_name("web_lines.tsv").read_text(encoding="utf-8").splitlines():
    LINES.setdefault(row.split("\t")[0], []).append(row.split("\t")[1])


@pytest.mark.parametrize("language", LINES)
def test_what_web_pages_repeat(language: str) -> None:
    lines = LINES[language]
    kept = Boilerplate().check(Pairs(lines, ["x"] * len(lines))).keep
    assert [line for line, keep in zip(lines, kept, strict=True) if keep] == []


def test_what_a_web_page_tells() -> None:
    told = [
        "Facebook users can share the video with a password of their own.",
        "He read more in the last year, and was back at the top.",
        "Der Datenschutz kommt dabei zu kurz.",
        "Sie legte das Brot in den Warenkorb und ging.",
        "L'accueil des cookies fut bon, dit le site.",
        "Heslo je tajné, nahoru nebo dolů.",
    ]
    assert Boilerplate().check(Pairs(told, told)).keep.all()


def test_a_list_that_makes_no_sense(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        Boilerplate(file=str(tmp_path / "none.txt")).prepare(None)
    (tmp_path / "list.txt").write_text("fine\n# (\n(\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"list\.txt:3: not a regular expression"):
        Boilerplate(file=str(tmp_path / "list.txt")).prepare(None)


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


SIGNS = misreading.ALONE + "".join(misreading.STARTS) + "ãâГДвЂÄÅĂĹ" * 9 + "aZzй1 ’stm" * 9


@given(text=st.text(alphabet=SIGNS, max_size=6))
@example(text="nätÅ").via("a letter before one that is damaged")
@example(text="itâs").via("an apostrophe that lost bytes")
@example(text="ã³o")
def test_damage_is_only_where_it_is_suspected(text: str) -> None:
    if misreading.damage(text) is not None:
        assert BadEncoding().suspects(BatchSide([text])).all()


TEXT = st.text(alphabet="abc ", max_size=9)
TOKENS = st.lists(st.sampled_from("abc"), max_size=8)


def distance(one: str, other: str) -> int:
    """Levenshtein distance, by its recursion."""
    if not one or not other:
        return len(one) + len(other)
    rows = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        last, rows[0] = rows[0], i
        for j, b in enumerate(other, 1):
            last, rows[j] = rows[j], min(rows[j] + 1, rows[j - 1] + 1, last + (a != b))
    return rows[-1]


@given(one=TEXT, other=TEXT)
def test_similarity_is_by_edit_distance(one: str, other: str) -> None:
    longer = max(len(one), len(other))
    expected = 1 - distance(one, other) / longer if longer else 1.0
    (value,) = Similarity().values(Pairs([one], [other]))
    assert value == pytest.approx(expected)


@given(one=TEXT, other=TEXT, maximum=st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0]))
def test_longest_common_substring(one: str, other: str, maximum: float) -> None:
    inside = [one[i:j] for i in range(len(one)) for j in range(i + 1, len(one) + 1)]
    size = max((len(part) for part in inside if part in other), default=0)
    ratio = size / max(1, min(len(one), len(other)))
    verdict = LongestCommonSubstring(maximum).check(Pairs([one], [other]))
    assert bool(verdict.keep[0]) is (ratio <= maximum)


def shared(one: list[str], other: list[str], order: int) -> tuple[int, int, int]:
    """How many n-grams are shared, taken away one by one, and how many there are."""
    first = [one[i : i + order] for i in range(len(one) - order + 1)]
    second = [other[i : i + order] for i in range(len(other) - order + 1)]
    rest, count = list(second), 0
    for gram in first:
        if gram in rest:
            rest.remove(gram)
            count += 1
    return count, len(first), len(second)


@given(one=TOKENS, other=TOKENS, order=st.integers(1, 3))
def test_overlap(one: list[str], other: list[str], order: int) -> None:
    count, first, second = shared(one, other, order)
    expected = count / min(first, second) if min(first, second) else 0
    assert NgramOverlap(order=order).value(one, other) == pytest.approx(expected)


@given(reference=TOKENS, candidate=TOKENS)
def test_bleu(reference: list[str], candidate: list[str]) -> None:
    value = SentenceBleu().value(reference, candidate)
    if not candidate:
        assert value == 0
        return
    product = 1.0
    for order in range(1, 5):
        count, _, total = shared(reference, candidate, order)
        product *= (count + 1) / (total + 1)
    r, c = len(reference) + 1, len(candidate)
    penalty = 1.0 if c >= r else math.exp(1 - r / c)
    assert value == pytest.approx(penalty * product**0.25)


def test_settings_that_make_no_sense() -> None:
    for spec in ("similarity:count=bytes", "ngram-overlap:order=0", "similarity:minimum=2"):
        with pytest.raises(SettingsError):
            parse_rule(spec)
