from __future__ import annotations

import io
from collections.abc import Sequence

import pytest

from bitextfilter.corpus.formats.base import PairRecord
from bitextfilter.corpus.formats.xliff import XliffReader
from bitextfilter.errors import InputError
from bitextfilter.io.rows import BadRow

OLD = """<?xml version="1.0"?>
<!DOCTYPE xliff SYSTEM "xliff.dtd">
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file original="a.c" source-language="en" target-language="de-AT" datatype="c"><body>
<trans-unit id="1"><source>Open <g id="1">the <x id="2"/>file</g></source>
<seg-source><mrk mtype="seg" mid="1">Open the file</mrk></seg-source>
<target state="translated">Die <g id="1">Datei<ph
id="3">&lt;br><sub>no</sub></ph></g> öffnen</target>
<alt-trans><source>Open</source><target>Auf</target></alt-trans></trans-unit>
<group><trans-unit id="2"><source>none</source></trans-unit>
<trans-unit id="3"><source>empty</source><target/></trans-unit></group>
<trans-unit id="4"><note>n</note><source>a &amp; b</source>
<target><![CDATA[<ä>]]></target></trans-unit>
</body></file>
<file original="b.c" source-language="en-GB" target-language="fr"><body>
<trans-unit id="1"><source>yes</source><target>oui</target></trans-unit>
<trans-unit id="2"><source>no</source><target xml:lang="de">nein</target></trans-unit>
</body></file></xliff>"""
NEW = """<x:xliff xmlns:x="urn:oasis:names:tc:xliff:document:2.0"
version="2.0" srcLang="en" trgLang="de">
<x:file id="f1"><x:unit id="u1"><x:segment id="s1"
state="final"><x:source>One <x:pc id="1">two</x:pc></x:source>
<x:target>Eins <x:pc id="1">zwei</x:pc><x:cp hex="0001"/></x:target></x:segment>
<x:ignorable><x:source> </x:source><x:target> </x:target></x:ignorable>
<x:segment><x:source>three<x:ph id="2"/></x:source><x:target>drei</x:target></x:segment></x:unit>
</x:file></x:xliff>"""


def reader(
    data: str, languages: tuple[str, str] | None = None, keep: Sequence[str] = ()
) -> XliffReader:
    return XliffReader(io.BytesIO(data.encode()), "a.xlf", languages, keep)


def texts(read: XliffReader) -> list[tuple[str, str, dict[str, str]]]:
    pairs = list(read)
    assert all(isinstance(pair, PairRecord) for pair in pairs)
    return [(p.source, p.target, dict(p.others)) for p in pairs if isinstance(p, PairRecord)]


def test_version_1_2() -> None:
    """Codes are no text, alternatives no translations; units without a target are skipped."""
    read = reader(OLD, keep=("file", "id", "state"))
    assert texts(read) == [
        ("Open the file", "Die Datei öffnen", {"file": "a.c", "id": "1", "state": "translated"}),
        ("a & b", "<ä>", {"file": "a.c", "id": "4", "state": ""}),
        ("yes", "oui", {"file": "b.c", "id": "1", "state": ""}),
        ("no", "nein", {"file": "b.c", "id": "2", "state": ""}),
    ]
    assert read.skipped == {"without a translation": 2}
    assert next(iter(reader(OLD))).number == 5


def test_version_2() -> None:
    read = reader(NEW, ("en", "de"), keep=("id", "state"))
    assert texts(read) == [
        ("One two", "Eins zwei\x01", {"id": "u1", "state": "final"}),
        ("three", "drei", {"id": "u1", "state": ""}),
    ]
    assert (read.skipped, read.dropped) == ({}, {"file"})


UNIT = """<trans-unit id="1"><source>{}</source><seg-source>{}</seg-source>
<target>{}</target></trans-unit>"""


def segments(source: str, target: str) -> XliffReader:
    def marked(text: str) -> str:
        parts = text.split("|")
        return "".join(
            f'<mrk mtype="seg" mid="{part[0]}">{part[1:]}</mrk>' if part[:1].isdigit() else part
            for part in parts
        )

    return reader(f"<xliff>{UNIT.format('One. Two.', marked(source), marked(target))}</xliff>")


@pytest.mark.parametrize(
    ("source", "target", "want", "skipped"),
    [
        ("1One.| |2Two.", "1Um.| |2Dois.", [("One.", "Um."), ("Two.", "Dois.")], 0),
        ("1One.| |2Two.", "2Dois.| |1Um.", [("One.", "Um."), ("Two.", "Dois.")], 0),
        ("1One.|2Two.", "1Um.", [("One.", "Um.")], 1),
        ("1One.|2Two.", "1Um.|2 ", [("One.", "Um.")], 1),
        ("1One.|3Three.", "1Um.|2Dois.", [("One.", "Um.")], 2),
        ("1One <x/>more.", "1Um <x/>mais.", [("One more.", "Um mais.")], 0),
        ("1One.|2Two.", "Um. Dois.", [("One. Two.", "Um. Dois.")], 0),
        ("1One.|2Two.", "1Um.| e |2Dois.", [("One. Two.", "Um. e Dois.")], 0),
        ("1One.|2Two.", "1Um.|1Dois.", [("One. Two.", "Um.Dois.")], 0),
        ("One. Two.", "1Um.|2Dois.", [("One. Two.", "Um.Dois.")], 0),
    ],
)
def test_segments_are_pairs_by_their_identifiers(
    source: str, target: str, want: list[tuple[str, str]], skipped: int
) -> None:
    """A unit whose text is not wholly in segments is one pair."""
    read = segments(source, target)
    assert [pair[:2] for pair in texts(read)] == want
    assert read.skipped == ({"without a translation": skipped} if skipped else {})


def test_segments_within_others_and_other_marks_are_text() -> None:
    inner = '<mrk mtype="x-term">b</mrk><mrk mtype="seg" mid="2">c</mrk>'
    source = f'<mrk mtype="seg" mid="1">a {inner}</mrk>'
    read = reader(f"<xliff>{UNIT.format('no', source, source)}</xliff>")
    assert texts(read) == [("a bc", "a bc", {})]


SEGMENT = "<segment{}><source>a</source><target>b</target></segment>"
YES = ' translate="yes"'
OF_STATE = '<trans-unit id="1"{}><source>a</source><target{}>b</target></trans-unit>'


@pytest.mark.parametrize(
    ("inside", "reason"),
    [
        (OF_STATE.format("", ' state="new"'), "in state new"),
        (OF_STATE.format("", ' state="needs-translation"'), "in state needs-translation"),
        (OF_STATE.format("", ' state="needs-l10n"'), "in state needs-l10n"),
        (OF_STATE.format("", ' state="needs-adaptation"'), "in state needs-adaptation"),
        (OF_STATE.format("", ' state="needs-review-translation"'), ""),
        (OF_STATE.format("", ' state="signed-off"'), ""),
        (OF_STATE.format(' translate="no"', ""), "not to be translated"),
        (OF_STATE.format(YES, ""), ""),
        (f'<group translate="no">{OF_STATE.format("", "")}</group>', "not to be translated"),
        (f'<group translate="no"/>{OF_STATE.format("", "")}', ""),
        (f'<group translate="no">{OF_STATE.format(YES, "")}</group>', ""),
        (SEGMENT.format(' state="initial"'), "in state initial"),
        (SEGMENT.format(' state="reviewed"'), ""),
        (SEGMENT.format(""), ""),
    ],
)
def test_units_that_are_not_translated(inside: str, reason: str) -> None:
    read = reader(f"<xliff>{OF_STATE.format('', '')}<file>{inside}</file></xliff>")
    assert len(texts(read)) == 2 - bool(reason)
    assert read.skipped == ({reason: 1} if reason else {})


def test_why_no_unit_has_a_pair() -> None:
    units = OF_STATE.format("", ' state="new"') * 2
    with pytest.raises(InputError, match=r"a\.xlf: no unit has a translation: 2 in state new"):
        list(reader(f"<xliff>{units}</xliff>"))


def test_codes_leave_no_double_spaces() -> None:
    data = OF_STATE.replace(">a<", '>Save <ph id="1">%s</ph> files<x id="2" ctype="lb"/>now <bx/><')
    assert texts(reader(f"<xliff>{data.format('', '')}</xliff>"))[0][0] == "Save files now"


@pytest.mark.parametrize(
    ("languages", "want"),
    [
        (("en", "de"), ["Die Datei öffnen", "<ä>", "nein"]),
        (("EN", "de_at"), ["Die Datei öffnen", "<ä>", "nein"]),
        (("en-gb", "fr"), ["oui"]),
        (("eng", "ger"), ["Die Datei öffnen", "<ä>", "nein"]),
    ],
)
def test_only_units_in_the_languages(languages: tuple[str, str], want: list[str]) -> None:
    assert [target for _, target, _ in texts(reader(OLD, languages))] == want


def test_a_language_that_is_not_said_may_be_any() -> None:
    data = OLD.replace(' target-language="fr"', "")
    assert [target for _, target, _ in texts(reader(data, ("en", "cs")))] == ["oui"]


def test_files_without_a_pair() -> None:
    with pytest.raises(
        InputError, match=r"no unit is translated from de to en; it has en to de-AT"
    ):
        list(reader(OLD, ("de", "en")))
    data = "<xliff><trans-unit><source>a</source></trans-unit></xliff>"
    with pytest.raises(InputError, match=r"^a\.xlf: no unit has a translation: 1 without a "):
        list(reader(data))
    assert list(reader("<xliff/>")) == []


def test_an_entity_that_is_not_declared() -> None:
    """The unit is bad; its texts are not guessed."""
    first, bad, *_ = reader(OLD.replace("a &amp; b", "a&nbsp;b"))
    assert isinstance(first, PairRecord) and isinstance(bad, BadRow)
    assert bad.reason == "the entity &nbsp; is not declared"


DEEP = "<trans-unit>" + "<g>" * 200


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (OLD[:900], "not well-formed XML"),
        (OLD.replace("a &amp; b", "<![CDATA[a"), r"a\.xlf:12: a CDATA section that does not end"),
        (OLD.replace("</group>", "</grup>"), r"a\.xlf:\d+: not well-formed XML: mismatched tag"),
        (f"<xliff>{DEEP}", "elements more than 100 deep"),
        (NEW.replace("0001", "D800"), "the element cp has no character 'D800'"),
        (NEW.replace("0001", "110000"), "the element cp has no character '110000'"),
        (NEW.replace("0001", "x"), "the element cp has no character 'x'"),
    ],
)
def test_files_that_are_refused(data: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(reader(data))


@pytest.mark.parametrize(
    "body",
    [
        "<segment><segment></segment><source>a</source></segment>",
        "<segment><ph><segment><source>a</source></segment></ph><target>b</target></segment>",
        "<source>a</source><target>b</target><cp hex='61'/><ph></ph>",
        "<segment><source><source>a</source></source><target><ph><cp/></ph></target></segment>",
    ],
)
def test_elements_in_odd_places(body: str) -> None:
    with pytest.raises(InputError, match="no unit has a translation"):
        list(reader(f"<xliff><segment><source>a</source></segment>{body}</xliff>"))
