from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.corpus.repair import DEFAULTS, REPAIRS, Repairer
from bitextfilter.errors import SettingsError

TASTE = ("ligatures", "width", "quotes", "no-break-spaces")

REPAIRED = {
    "entities": [
        ("caf&eacute; &amp; th&#233; &#xe0; &Ccaron;esky", "café & thé à Česky"),
        ("AT&amp;amp;T", "AT&T"),
        ("&amp;amp;amp;lt;", "<"),
        ("&quot;a&#9;b&NewLine;c&#13;d&quot;", '"a b c d"'),
        ("&#150; &#x80;", "– €"),
        ("&lt;b&gt; &amp;", "<b> &"),
    ],
    "mojibake": [
        ("MÃ¼ller trÃ¤umt", "Müller träumt"),
        ("itâ€™s the familyâ€™s", "it’s the family’s"),
        ("45Â°", "45°"),
        ("a \x96 b", "a – b"),
        ("Привет â€“ мир", "Привет – мир"),
    ],
    "control": [
        ("a\x01\x07b\x7f\x9d", "ab"),
        ("\x1b[31;1mred\x1b[0m", "red"),
        ("a\ufffeb\ufff9\ufdd0", "ab"),
    ],
    "invisible": [
        ("an\u00addert\u00adhalb", "anderthalb"),
        ("\ufeffa\u200b\u200bb\u2060", "ab"),
        ("ក\u200bខ a\u200bb", "ក\u200bខ ab"),
    ],
    "spaces": [
        ("  a  b ", "a b"),
        ("a\rb\x0bc\x0cd\u2028e\x85f", "a b c d e f"),
        ("a\u2003b\u2009c", "a b c"),
        ("a\u00a0 b", "a b"),
        ("\u3000私\u3000\u3000は\u3000", "私 は"),
    ],
    "nfc": [("Mu\u0308ller", "Müller"), ("\u212b", "Å")],
    "ligatures": [("Erﬁndung ﬀ ﬃ ﬆ", "Erfindung ff ffi st")],
    "width": [("ＡＢＣ　（１）", "ABC (1)"), ("ｶﾞｷﾞ", "ガギ")],
    "quotes": [("„So“, ‘so’, «so» – it’s", '"So", \'so\', "so" – it\'s')],
    "no-break-spaces": [("10\u00a0%\u202f!", "10 % !")],
}

HARMLESS = [
    "plain",
    "a & b; R&D &c. &nosuch; AT&T;",
    "if (a < b) use &amp; and &lt;",
    "&#0; &#1; &#xD800; &#x110000; &#x81; &;",
    "?a=1&copy=2&not=3",
    "Ein Müßiggänger für 5 € – „ja“ … ça va « oui »",
    "À la carte, crème brûlée, façade, œuvre",
    "Příliš žluťoučký kůň úpěl ďábelské ódy",
    "Ăştia sunt: „CASĂ…”",
    "Привет, «мир»! Київ, ґанок",
    "日本語　私は「Ａ」です。（１）",
    "می\u200cخواهم \u200fעברית\u200e 👩\u200d👩\u200d👧 🏴\U000e0067\U000e0062\U000e007f",
    "ក\u200bខ ไทย\u200bไทย",
    "Forschungs\u00ad, Umwelt\u00ad und – local \u00ad ization",
    "44\u00a0% «\u00a0V\u00a0» 10\u202f000",
    "Erﬁndung",
    "fÃƒÂ ¼ r",
]


def test_every_repair_has_a_row() -> None:
    assert set(REPAIRED) == set(REPAIRS)
    assert set(DEFAULTS) == set(REPAIRS) - set(TASTE)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [(name, *row) for name, rows in REPAIRED.items() for row in rows],
)
def test_what_each_repair_does(name: str, text: str, expected: str) -> None:
    assert Repairer([name])(text) == (expected, (name,))
    assert Repairer(set(REPAIRS) - {name})(text)[0] != expected


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_right_stays(text: str) -> None:
    assert Repairer()(text) == (text, ())


def test_repairs_work_together_and_are_named_in_order() -> None:
    text = "&Atilde;&sup3;&shy;e&nbsp;  caf&Atilde;&copy;"
    assert Repairer()(text) == ("óe café", ("entities", "mojibake", "invisible", "spaces"))


def test_full_width_entities() -> None:
    assert Repairer(REPAIRS)("＆ａｍｐ；") == ("&", ("entities", "width"))


def test_an_unknown_repair() -> None:
    with pytest.raises(SettingsError, match="repair 'magic' is none of entities, mojibake"):
        Repairer(["nfc", "magic"])


NASTY = st.text(
    st.sampled_from("&#;amplt3x8 9<>\u00adéÃ¼â€™\u201cÂ\u00a0\u200b\x96\x1b[m\rＡｶﾞﬁe\u0308ក…’ÅŠ�")
)
ANY = NASTY | st.text(st.characters(exclude_characters="\t\n\0", exclude_categories=["Cs"]))


@given(ANY, st.sets(st.sampled_from(sorted(REPAIRS))) | st.just(set(DEFAULTS)))
def test_twice_is_once_and_the_column_keeps(text: str, names: set[str]) -> None:
    repairer = Repairer(names)
    once, done = repairer(text)
    assert repairer(once) == (once, ())
    assert bool(done) == (once != text)
    assert set(done) <= names
    assert not set(once) & set("\t\n\0")
    once.encode()
    if "nfc" in names and done:
        assert unicodedata.is_normalized("NFC", once)


def test_what_never_settles_is_left() -> None:
    deep = "&" + "amp;" * 100 + "lt;"
    assert Repairer()(deep) == (deep, ())
