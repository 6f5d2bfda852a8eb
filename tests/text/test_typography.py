"""Typography put right where it is certain: once and for all, and nothing but marks and spaces."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.corpus.repair import Repairer
from bitextfilter.errors import SettingsError
from bitextfilter.filters.language import Typography
from bitextfilter.filters.pairs import Pairs
from bitextfilter.languages import any_language
from bitextfilter.text.typography import _QUOTES, deviations, put_right

KINDS = ("marks", "spaces", "quotes")
PUT_RIGHT = [
    ("zh", "你好,世界!见(下文) 第1,000 页.", "你好，世界！见（下文）第1,000 页."),
    ("zh", "他说 ：“你好!”", "他说：“你好！”"),
    ("zh-TW", "（ 是 ），「 不 」 好吗?", "（是），「不」 好吗？"),
    ("zh", "这是书.", "这是书。"),
    ("zh", "你 好 世 界", "你好世界"),
    ("yue", "你好; 世界", "你好；世界"),
    ("ja", "東京, 大阪。 出来事だ! 次です.", "東京、大阪。出来事だ！　次です。"),
    ("ja", "神様!誰が?", "神様！誰が？"),
    ("ko", "안녕，세상！（좋아）네", "안녕, 세상!(좋아)네"),
    ("en", "Hello，world（see below）again！", "Hello, world (see below) again!"),
    ("en", "the « house » and „home“", "the “house” and “home”"),
    ("de", "“Ja”, «nein» und „so”", "„Ja“, «nein» und „so“"),
    ("de-CH", "(„so”)", "(„so“)"),
    ("fr", "l’«été» et „l’hiver“", "l’«\u00a0été\u00a0» et «\u00a0l’hiver\u00a0»"),
    ("sv", "“x” och »y«", "”x” och »y«"),
    ("pl", "“tak”", "„tak”"),
    ("nb", "»ja«-siden", "«ja»-siden"),
]
LEFT = [
    ("zh", "图 2, 表 3。时间 10:30，1,000 元，a.b，文件(副本).txt"),
    ("zh", "http://例.com/你,好 `你,好` <a title=你,好> {你,好} 一. 二"),
    ("zh", "选择 文件 菜单，说： 神就 三 个 字 “好”「好」，¿？"),
    ("zh", "什么??真的… a，b 用 , 分开"),
    ("ja", "注: 例 (例)。はい！　いいえ"),
    ("ko", "“네” '네' 10：30 你好，世界"),
    ("en", "5” x 7” and “a ‘b’ c” isn’t “x"),
    ("en", "10：30, 1，000 and （你好）"),
    ("de", "„a “b“ c” »x« «y»"),
    ("de", 'f("dd", “DE”)'),
    ("fr", "«\u00a0un\u00a0» « deux » “trois”"),
    ("fr-CH", "«un»"),
    ("und", "“x” „y” a，b"),
    ("xx", "“x” „y” a，b"),
    ("de", "» x «"),
]


@pytest.mark.parametrize(("language", "text", "right"), PUT_RIGHT)
def test_what_is_put_right(language: str, text: str, right: str) -> None:
    assert Repairer(["typography"], language)(text) == (right, ("typography",))
    assert Typography().check(Pairs([text], None, (language,))).keep.tolist() == [False]


@pytest.mark.parametrize(("language", "text"), LEFT)
def test_what_is_left(language: str, text: str) -> None:
    assert deviations(text, any_language(language)) == []


PIECES = [
    *"，。！？：；（）,.!?:;()“”„«»‟ 　\u00a0\"'’-/1a好神はア네w「」『』…",
    "10:30",
    "1,000",
    "http://a",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
LANGUAGES = st.sampled_from(["zh", "ja", "ko", "en", "de", "fr", "fr-CH", "sv", "ru", "und"])


def bare(text: str) -> str:
    """A text without the marks and spaces that may change."""
    return re.sub(r"[\s，。、！？：；（）,.!?:;()“”„«»‟]", "", text)


@given(text=TEXTS, language=LANGUAGES)
def test_once_right_it_passes_the_rule_and_stays(text: str, language: str) -> None:
    right, done = Repairer(["typography"], language)(text)
    assert bool(done) == (right != text) == bool(deviations(text, any_language(language)))
    assert bare(right) == bare(text)
    assert Repairer(["typography"], language)(right) == (right, ())
    assert Typography().check(Pairs([right], [right], (language, language))).keep.all()
    for kept in ("10:30", "1,000", "http://a"):
        assert right.count(kept) >= text.count(kept)


@given(text=TEXTS, language=LANGUAGES)
def test_places_are_in_order_and_kinds_are_counted(text: str, language: str) -> None:
    found = deviations(text, any_language(language))
    ends = [0, *(place for one in found for place in (one.start, one.end))]
    assert ends == sorted(ends)
    assert {one.kind for one in found} <= set(KINDS)
    pairs = Pairs([text], None, (language,))
    for kind in KINDS:
        only = Typography(**{other: other == kind for other in KINDS})
        assert only.values(pairs).item() == sum(one.kind == kind for one in found)


@pytest.mark.parametrize("language", sorted(_QUOTES))
def test_pairs_of_a_language_are_right_in_it(language: str) -> None:
    known = any_language(language)
    for pair in _QUOTES[language]:
        first, last = (pair[0] + " ", " " + pair[1]) if (language, pair) == ("fr", "«»") else pair
        assert deviations(f"Ab {first}cd{last}, ef", known) == []
    assert put_right("‟ab”", known) != "‟ab”"


def test_what_cannot_be_done() -> None:
    with pytest.raises(SettingsError, match="needs a language: --languages en,de or --one de"):
        Repairer(["typography"])
    with pytest.raises(SettingsError, match="width and typography contradict each other in ja"):
        Repairer(["width", "typography"], "ja")
    both = Repairer(["typography", "no-break-spaces"], "fr")
    assert both("«ab»")[0] == "« ab »"
    assert Typography().unable(("und", "de")) == {0: "the typography of und is unknown"}
