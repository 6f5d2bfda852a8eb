"""The wording of texts, against rules applied character by character."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.errors import SettingsError
from bitextfilter.text.wording import IGNORABLE, IGNORED, normaliser, untokenised
from tests.support.wording import plain

EVERYTHING = IGNORABLE


@pytest.mark.parametrize(
    ("text", "ignored", "expected"),
    [
        ("Good  morning!", IGNORED, "good morning"),
        ("Größe: 3,5 m² (ﬁne) STRASSE", EVERYTHING, "grösse m fine strasse"),
        ("well-known don’t", IGNORED, "well known don t"),
        ("１２ＡＢ、漢字。", EVERYTHING, "ab 漢字"),
        ("１２ＡＢ、漢字。", IGNORED, "12ab 漢字"),
        ("co\u00adop\u200b\u2028x\x85y\tz", IGNORED, "coop x y z"),
        ("café cafe\u0301", IGNORED, "café café"),
        ("हिन्दी १२३", EVERYTHING, "हिन्दी"),
        (" 12.5 % ", EVERYTHING, "12.5 %"),
        ("Only 12.5 %", ("case", "punctuation", "digits", "space"), "only %"),
        ("A  b! 1", ("case",), "a  b! 1"),
        ("A  b! 1", ("punctuation",), "A  b  1"),
        ("A  b! 1", ("digits",), "A  b!  "),
        ("A  b! 1", ("space",), "A b! 1"),
        ("A  b! 1", ("case", "space"), "a b! 1"),
        ("A b! 1%", ("symbols",), "A b! 1 "),
        ("A  b! 1", (), "A  b! 1"),
    ],
)
def test_what_normalising_leaves(text: str, ignored: Sequence[str], expected: str) -> None:
    assert normaliser(ignored)(text) == expected


@pytest.mark.parametrize(
    "texts",
    [
        "He was born in 1990.|He was born in 2005.",
        "C++ is fast.|C# is fast.|C is fast.|F# is fast.",
        ".NET is old.|Net is old.",
        "I got an A.|I got an A+.|I got an A-.",
        "It is 5 °C.|It is -5 °C.|It is +5 °C.|It is ±5 °C.|It is ~5 °C.",
        "They won 3:2.|They won 3,2.|They won 3.2.|They won 32.|They won 3/2.|They won 3-2.",
        "It costs 5.|It costs $5.|It costs 5 €.|It costs 5 £.",
        "A half: 50.|A half: 50 %.|A half: 50 ‰.",
        "Take 5½.|Take 51/2.|Take 5 1/2.",
        "It is 10².|It is 102.|It is 10.",
        "born 1990|born 1990–|born –1990",
        "a = b|a != b|a == b|a < b|a > b|a ≤ b",
        "R D|R&D|R/D|R@D|R*D|R+D",
        "Fine :)|Fine :(|Fine",
        "Use i.|Use -i.|Use --i.",
        "It is 3 - 2.|It is 3 + 2.|It is 3 : 2.|It is 3 2.",
        "I am happy 😀|I am happy 😢|I am happy",
        "foo.bar|foo bar|foo_bar|foobar",
        "open php.ini now|open php ini now|open php_ini now",
        "Die Datei größe.тест|Die Datei größe тест",
        "__init__ is_valid|init is valid",
        "résumé|resume",
        "คน|ค้น|ค่น",
        "१२३|١٢٣|123",
        "か|が|カ",
    ],
)
def test_numbers_and_signs_tell_texts_apart(texts: str) -> None:
    """Alone, in capitals, and within a sentence."""
    for frame in ("{}", "So: {} Yes.", "„{}“"):
        each = [frame.format(text) for text in texts.split("|")]
        for found in (
            list(map(normaliser(IGNORED), each)),
            [normaliser(IGNORED)(t.upper()) for t in each],
        ):
            assert len({*found}) == len(each), found


def test_feet_and_inches_outside_of_quotations() -> None:
    texts = ["It is 5.", "It is 5'.", 'It is 5".', 'It is 5.5".', "It is (5', 7\")."]
    texts += ["„It’s 7' now“", "„It’s 7 now“", '‘It’s 7" now’']
    assert len({*map(normaliser(IGNORED), texts)}) == len(texts)


@pytest.mark.parametrize(
    "texts",
    [
        'Good morning!|good  morning|GOOD MORNING.|"Good morning"|(Good morning)…|«Good morning»',
        "Tom – the cat – sleeps.|Tom, the cat, sleeps!|Tom - the cat - sleeps|Tom—the cat—sleeps",
        "It is 50 %.|It is 50%.|(It is 50 %)|It is 50 ％!",
        "3–2|3-2|3 – 2",
        "−5 °C|-5°C",
        "&File|_File|File...|F\u00adile|__File__",
        "He was born in '90'.|He was born in \"90\".|He was born in “90”.|He was born in 90.",
        "\"He is 5\"|'He is 5'|He is 5",
        "He was born in 1990'|He was born in 1990\"|He was born in 1990",
        "It is 5' long|It is 5′ long|It is 5’ long",
        'It is 5" long|It is 5″ long|It is 5” long',
        "He sleeps.She reads.|He sleeps. She reads.|he sleeps, she reads",
        "e.g. this|E. g. this|e g this",
        "Nr.5|Nr. 5",
        "15.Kapitel|15. Kapitel",
        "نام.آن|نام. آن",
        "वह है.वह|वह है. वह",
        "It’s me.|It's me!|It`s me",
        "STRASSE|Straße",
    ],
)
def test_marks_that_only_decorate_do_not(texts: str) -> None:
    assert len({*map(normaliser(IGNORED), texts.split("|"))}) == 1


MARKS = st.text("aB7²½ .,:;-–!=&()%*'\"”“\u00ad`_+éकि", max_size=9)


@given(st.text() | MARKS, st.sets(st.sampled_from(IGNORABLE)))
def test_normalising_is_as_written_down(text: str, ignored: set[str]) -> None:
    assert normaliser(sorted(ignored))(text) == plain(text, sorted(ignored))


def test_capitals_become_small_by_the_rules_of_the_language() -> None:
    turkish, english = normaliser(IGNORED, "tr_TR"), normaliser(IGNORED)
    for big, small in (("ISPARTA", "ısparta"), ("İZMİR", "izmir"), ("I\u0307ki", "iki")):
        assert turkish(big) == turkish(small) == small
        assert english(big) != english(small)
    assert turkish("SIRA") != turkish("sira") and english("SIRA") == english("sira")
    assert normaliser(IGNORED, "aze-Latn")("QIŞ") == "qış"
    assert normaliser(IGNORED, "lt")("i̇\u0301") == normaliser(IGNORED, "lt")("Í")
    with pytest.raises(SettingsError, match="'xx-yy' is not the code of a language"):
        normaliser(IGNORED, "xx-yy")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He said : &quot; It &apos;s late . &quot;", 'He said : " It \'s late . "'),
        ("well @-@ known and @/@ or", "well-known and/or"),
        ("&#91; a &#124; b &#93; &lt; c &amp; d", "[ a | b ] < c & d"),
        ("&amp;quot; twice", '" twice'),
        ("5' or 5&quot;, 5'11", "5 ' or 5 \", 5'11"),
        ("is_valid php.ini e.g. File.Open", "is _valid php. ini e.g. File. Open"),
        ("AT&T; &nothing; &copy &#xe9; @ home", "AT&T; &nothing; &copy é @ home"),
    ],
)
def test_the_marks_of_a_tokeniser_are_undone(text: str, expected: str) -> None:
    assert untokenised(text) == expected


def test_no_such_part() -> None:
    with pytest.raises(SettingsError, match="'cases' is none of case, "):
        normaliser(("cases",))
