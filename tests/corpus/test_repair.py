"""Repairs of texts, done at once; rows found in other files, against loops over all rows."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.corpus import other_texts
from bitextfilter.corpus.other_texts import (
    AGAINST_BY,
    AgainstSettings,
    Likeness,
    OtherTexts,
    word_count,
)
from bitextfilter.corpus.repair import DEFAULTS, REPAIRS, Repairer
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import Columns, TextColumn
from bitextfilter.text.wording import IGNORED, untokenised
from tests.support.wording import plain

TASTE = ("ligatures", "width", "quotes", "no-break-spaces")
ANY_LANGUAGE = tuple(name for name in REPAIRS if name != "typography")

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
    assert set(REPAIRED) == set(ANY_LANGUAGE)
    assert set(DEFAULTS) == set(ANY_LANGUAGE) - set(TASTE)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [(name, *row) for name, rows in REPAIRED.items() for row in rows],
)
def test_what_each_repair_does(name: str, text: str, expected: str) -> None:
    assert Repairer([name])(text) == (expected, (name,))
    assert Repairer(set(ANY_LANGUAGE) - {name})(text)[0] != expected


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_right_stays(text: str) -> None:
    assert Repairer()(text) == (text, ())


def test_repairs_work_together_and_are_named_in_order() -> None:
    text = "&Atilde;&sup3;&shy;e&nbsp;  caf&Atilde;&copy;"
    assert Repairer()(text) == ("óe café", ("entities", "mojibake", "invisible", "spaces"))


def test_full_width_entities() -> None:
    assert Repairer(ANY_LANGUAGE)("＆ａｍｐ；") == ("&", ("entities", "width"))


def test_an_unknown_repair() -> None:
    with pytest.raises(SettingsError, match="repair 'magic' is none of entities, mojibake"):
        Repairer(["nfc", "magic"])


NASTY = st.text(
    st.sampled_from("&#;amplt3x8 9<>\u00adéÃ¼â€™\u201cÂ\u00a0\u200b\x96\x1b[m\rＡｶﾞﬁe\u0308ក…’ÅŠ�")
)
ANY = NASTY | st.text(st.characters(exclude_characters="\t\n\0", exclude_categories=["Cs"]))


@given(ANY, st.sets(st.sampled_from(ANY_LANGUAGE)) | st.just(set(DEFAULTS)))
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


WORDS = st.sampled_from(["a", "b", "A", "b!", "ä", "漢字", "7", "&quot;"])
SIDE = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)
ROWS = st.lists(st.tuples(SIDE, SIDE), max_size=12)
Row = tuple[str, str]


def is_in(row: Row, other: Row, by: str, least: int) -> bool:
    """Whether a row occurs as another, of two columns."""
    short = all(word_count(text) < least for text in row)
    if by == "pair" or (short and by in ("any", "either") and row == other):
        return row == other
    if by == "any":
        return any(word_count(text) >= least and text in other for text in row) or (
            short and row == other[::-1]
        )
    sides = {"either": (0, 1), "source": (0,), "target": (1,)}[by]
    return any(row[side] == other[side] and word_count(row[side]) >= least for side in sides)


def tsv(rows: Sequence[Sequence[str]]) -> io.BytesIO:
    return io.BytesIO("".join("\t".join(row) + "\n" for row in rows).encode())


def reader(known: OtherTexts, rows: Sequence[Sequence[str]], name: str) -> RowReader:
    """A reader of the columns that are compared."""
    if not known.columns:
        return RowReader(tsv(rows), name, TextColumn(blank=True))
    if len(known.columns) == 1:
        return RowReader(tsv(rows), name, TextColumn(1 + (known.columns[0] == "target")))
    return RowReader(tsv(rows), name, Columns(blank=True))


@pytest.mark.gate(5)
@pytest.mark.parametrize("by", AGAINST_BY)
@pytest.mark.parametrize("match", ["exact", "normalised"])
@given(rows=ROWS, others=ROWS, least=st.integers(1, 3), window=st.integers(1, 5))
def test_rows_are_found_as_by_loops(
    by: str, match: str, rows: Sequence[Row], others: Sequence[Row], least: int, window: int
) -> None:
    known = OtherTexts(AgainstSettings(match, by, least))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(other_texts, "_WINDOW", window)
        known.read(reader(known, others, "f"))
    found = known.find(rows)
    said = [known.reason(number) if number else "" for number in found.tolist()]

    def form(text: str) -> str:
        return text if match == "exact" else plain(untokenised(text), IGNORED)

    clean = [[(form(a), form(b)) for a, b in some] for some in (rows, others)]
    numbered = [*enumerate(clean[1], 1)]
    assert said == [
        next((f"occurs in f:{n}" for n, other in numbered if is_in(row, other, by, least)), "")
        for row in clean[0]
    ]


OTHERS = [
    ("The mayor opened the new bridge on Monday .", "Der B&#252;rgermeister kam am Montag ."),
    ("Yes .", "Ja ."),
    ("Thank you very much .", "Vielen Dank ."),
    ("It is 5 &apos; by 9 &quot; .", "in foo.bar is _ valid.so it ends . select _ all"),
]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (("The mayor opened the new bridge on Monday", "Etwas anderes"), "occurs in f:1"),
        (("Etwas anderes", "THE MAYOR OPENED THE NEW BRIDGE ON MONDAY!"), "occurs in f:1"),
        (("Now", "Der Bürgermeister kam am Montag"), "occurs in f:1"),
        (("Breaking: the mayor opened the new bridge on Monday.", "x"), "shares n-grams with f:1"),
        (("Yes!", "Ja!"), "occurs in f:2"),
        (("Ja", "Yes"), "occurs in f:2"),
        (("Yes!", "Doch!"), ""),
        (("Thank you very much", "Danke"), "occurs in f:3"),
        (("Thank you very much, all of you, for coming", "Danke"), ""),
        (("Danke", "Vielen Dank"), ""),
        (("It is 5' by 9\".", "x"), "occurs in f:4"),
        (("x", "In „foo.bar“: is_valid.So it ends. Select _All"), "occurs in f:4"),
    ],
)
def test_which_rows_leak(row: Row, reason: str) -> None:
    """Of a test set that was tokenised by Moses; short texts are found only with a translation."""
    known = OtherTexts()
    known.read(reader(known, OTHERS, "f"))
    (number,) = known.find([row]).tolist()
    assert (known.reason(number) if number else "") == reason


def test_pairs_are_near_if_both_sides_are() -> None:
    likeness = Likeness(alike=2, within=3)
    known = OtherTexts(AgainstSettings("near", "pair", likeness=likeness))
    known.read(reader(known, [("a b c d", "e f g h"), ("a", "b")], "f"))
    rows = [
        ("x a b c d", "e f g h x"),
        ("a b c d", "x"),
        ("a", "b"),
        ("A b c d.", "E f g h."),
        ("b", "a"),
    ]
    found = [known.reason(number) if number else "" for number in known.find(rows).tolist()]
    near, equal = "shares n-grams with f:1", "occurs in f:1"
    assert found == [near, "", "occurs in f:2", equal, ""]


def test_several_files_and_texts_of_one_side() -> None:
    known = OtherTexts(AgainstSettings("exact", words=1))
    known.read(reader(known, [("a", "b", "9"), ("c",)], "lines"))
    known.read(RowReader(io.BytesIO(b""), "empty", TextColumn(blank=True)))
    known.read(RowReader(io.BytesIO(b"x\n\nb\nq\n"), "texts", TextColumn(blank=True)), "target")
    known.read(reader(known, [("x", "y")], "more"))
    rows = [("z", "a"), ("9", "z"), ("c", "z"), ("z", "x"), ("q", "z"), ("z", "q"), ("x", "z")]
    found = known.find(rows).tolist()
    assert [known.reason(number) if number else "" for number in found] == [
        "occurs in lines:1",
        "occurs in lines:1",
        "occurs in lines:2",
        "occurs in texts:1",
        "",
        "occurs in texts:4",
        "occurs in more:1",
    ]


def test_one_side_alone() -> None:
    known = OtherTexts(AgainstSettings(words=1), ("target",))
    known.read(reader(known, [("a", "b")], "f"))
    assert [bool(number) for number in known.find([("a",), ("b",), ("c",)])] == [True, True, False]
    with pytest.raises(SettingsError, match="of rows, only the target can be looked up"):
        OtherTexts(AgainstSettings(by="pair"), ("target",))


def test_each_side_has_the_capitals_of_its_language() -> None:
    for codes, is_found in ((("en", "tr"), True), (None, False)):
        known = OtherTexts(AgainstSettings(languages=codes))
        known.read(reader(known, [("x", "IŞIK IŞIK IŞIK")], "f"))
        assert bool(known.find([("y", "ışık ışık ışık")])[0]) == is_found


def test_a_bad_row_stops_the_reading() -> None:
    known = OtherTexts(AgainstSettings(by="pair"))
    with pytest.raises(InputError, match="f:2: 1 column"):
        known.read(RowReader(io.BytesIO(b"a\tb\nc\n"), "f", Columns()))


@pytest.mark.parametrize("wrong", [{"match": "fuzzy"}, {"by": "both"}])
def test_settings_that_there_are_not(wrong: dict[str, str]) -> None:
    with pytest.raises(SettingsError):
        AgainstSettings(**wrong)  # type: ignore[arg-type]
