from __future__ import annotations

import gzip
import io
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.corpus.formats.base import FormatSettings, PairRecord, UnfitError
from bitextfilter.corpus.formats.tmx import TmxReader, writer
from bitextfilter.errors import InputError
from bitextfilter.io.rows import BadRow

LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def unit(*variants: tuple[str, str], inside: str = "") -> str:
    texts = "".join(f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in variants)
    return f"<tu>{inside}{texts}</tu>"


def memory(*units: str, start: str = "") -> bytes:
    body = "\n".join(units)
    return f'{start}<tmx version="1.4"><header/><body>\n{body}\n</body></tmx>'.encode()


def reader(
    data: bytes,
    languages: tuple[str, str] | None = ("en", "de"),
    keep: str = "",
    every: bool = False,
) -> TmxReader:
    return TmxReader(io.BytesIO(data), "m.tmx", languages, keep.split(), every)


def pairs(read: TmxReader) -> list[tuple[str, str]]:
    found = list(read)
    assert all(isinstance(pair, PairRecord) for pair in found)
    return [(pair.source, pair.target) for pair in found if isinstance(pair, PairRecord)]


def texts(data: bytes, *languages: str) -> list[tuple[str, str]]:
    return pairs(reader(data, (languages[0], languages[1]) if languages else ("en", "de")))


def test_units_and_their_lines() -> None:
    data = memory(unit(("en", "a &amp; b"), ("de", " x ")), unit(("de", "z"), ("en", "")))
    first, second = reader(data)
    assert isinstance(first, PairRecord) and isinstance(second, PairRecord)
    assert (first.number, first.source, first.target) == (2, "a & b", " x ")
    assert (second.number, second.source, second.target) == (3, "", "z")


VARIANTS = [("en-GB", "british"), ("EN_us", "american"), ("de-AT", "x"), ("fr", "y")]


@pytest.mark.parametrize(
    ("asked", "found"),
    [("en", "british"), ("en-us", "american"), ("EN-US", "american"), ("en_GB", "british")],
)
def test_variants_of_a_language(asked: str, found: str) -> None:
    assert texts(memory(unit(*VARIANTS)), asked, "fr") == [(found, "y")]


def test_the_language_itself_comes_before_its_variants() -> None:
    assert texts(memory(unit(*VARIANTS, ("en", "plain"))), "en", "de") == [("plain", "x")]
    assert texts(memory(unit(("en-GB", "a"), ("eng", "b"), ("de", "x")))) == [("b", "x")]
    both = memory(unit(("en-GB", "a"), ("en", "b")))
    assert texts(both, "en", "en-GB") == [("b", "a")]
    assert texts(both, "en-GB", "en") == [("a", "b")]


@pytest.mark.parametrize(
    ("code", "asked", "found"),
    [
        ("eng", "en", True), ("ger", "de", True), ("deu-AT", "de", True),
        ("zh-Hant-TW", "zh-Hant", True), ("zh_TW", "zh-Hant", True), ("zh-TW", "zh-Hans", False),
        ("zho", "zh", True), ("cmn-Hans", "zh-CN", True), ("zh-CN", "zh-Hans", True),
        ("iw", "he", True), ("en", "en-GB", True), ("en-US", "en-GB", False),
        ("x-Mine", "x-mine", True), ("Klingon", "en", False), ("a" * 70_000, "en", False),
    ],
)  # fmt: skip
def test_the_codes_of_a_language(code: str, asked: str, found: bool) -> None:
    data = memory(unit((code, "a"), ("fr", "b")), unit((asked, "c"), ("fr", "d")))
    assert texts(data, asked, "fr") == [("a", "b")] * found + [("c", "d")]


def test_units_in_two_scripts_are_told() -> None:
    found = reader(
        memory(unit(("en", "a"), ("zh-CN", "b")), unit(("en", "c"), ("zh_TW", "d"))), ("en", "zh")
    )
    assert len(pairs(found)) == 2
    assert found.notes == [
        "zh is in Simplified (zh-CN) and Traditional (zh_TW): zh-Hans or zh-Hant in --languages"
        " takes one"
    ]
    for asked in ("zh-Hans", "zh-Hant"):
        found = reader(memory(unit(("en", "a"), ("zh-CN", "b"), ("zh_TW", "c"))), ("en", asked))
        assert pairs(found) == [("a", "b" if asked == "zh-Hans" else "c")]
        assert (found.notes, found.further) == ([], {})


def test_further_texts_of_a_language_are_counted_or_taken() -> None:
    data = memory(
        unit(("de-AT", "x"), ("en", "a"), ("de", "y"), ("de-CH", "z")),
        unit(("en", "b"), ("en-US", "c"), ("de", "u"), ("de", "v"), ("fr", "w")),
    )
    found = reader(data)
    assert pairs(found) == [("a", "y"), ("b", "u")]
    assert found.further == {"de-AT": 1, "de-CH": 1, "en-US": 1, "de": 1}
    found = reader(data, every=True)
    assert pairs(found) == [
        *(("a", text) for text in "yxz"),
        *((one, other) for one in "bc" for other in "uv"),
    ]
    assert found.further == {}


@pytest.mark.parametrize(
    ("srclang", "want"), [("de-DE", ("x", "a")), ("*all*", ("a", "x")), ("", ("a", "x"))]
)
def test_the_languages_of_a_file_that_has_two(srclang: str, want: tuple[str, str]) -> None:
    data = memory(unit(("en-GB", "no")), unit(("en-GB", "a"), ("de", "x")))
    found = reader(data.replace(b"<header/>", f"<header srclang='{srclang}'/>".encode()), None)
    assert pairs(found) == [want]
    assert found.texts == (("de", "en") if want[0] == "x" else ("en", "de"))
    assert found.skipped == {"in en-GB": 1}


def test_a_third_language_needs_a_choice() -> None:
    units = unit(("en", "a"), ("de", "x")), unit(("eng", "b"), ("de-AT", "y"), ("fr", "z"))
    read = iter(reader(memory(*units), None))
    assert next(read)[1:3] == ("a", "x")
    message = "m.tmx:3: a third language: en, de, fr; --languages SOURCE,TARGET names two"
    with pytest.raises(InputError, match=message):
        next(read)
    with pytest.raises(InputError, match="no unit is in two languages; it has en, en-GB"):
        list(reader(memory(unit(("en", "a"), ("en-GB", "b"))), None))


def test_texts_outside_of_units_and_units_without_a_text_are_counted() -> None:
    orphan = '<tuv xml:lang="en"><seg>no</seg></tuv>'
    bare = '<tu><tuv xml:lang="en">no</tuv><tuv xml:lang="de"/></tu>'
    found = reader(memory(unit(("en", "a"), ("de", "x")), orphan, bare))
    assert pairs(found) == [("a", "x")]
    assert found.skipped == {"outside of a unit in en": 1, "in en, de without a text": 1}


def test_the_lang_of_old_versions() -> None:
    data = memory(unit(("en", "a"), ("de", "b")).replace("xml:lang", "lang"))
    assert texts(data) == [("a", "b")]


def test_units_without_both_languages_are_counted() -> None:
    data = memory(unit(("en", "a"), ("fr", "b")), unit(("en", "c"), ("de", "d")), "<tu/>")
    found = reader(data)
    assert len(list(found)) == 1
    assert found.skipped == {"in en, fr": 1, "in no language": 1}


def test_languages_that_are_nowhere_are_an_error() -> None:
    with pytest.raises(InputError, match=r"m\.tmx: no unit is in both en and de; it has en, fr-CA"):
        texts(memory(unit(("en", "a"), ("fr-CA", "b"))))
    assert texts(memory()) == []


def test_codes_inside_a_text_are_left_out_and_marked_text_stays() -> None:
    text = (
        '<bpt i="1">&lt;b <sub>x</sub>></bpt>bold<ept i="1">&lt;/b></ept> and '
        '<hi type="term">marked</hi><ph/> <it pos="begin">[</it>t<ut>{</ut>xt<g>!</g>'
    )
    assert texts(memory(unit(("en", text), ("de", "y")))) == [("bold and marked txt!", "y")]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("Save <ph/> files", "Save files"), ("Save<ph/> files", "Save files"),
        ("Save <ph/><ph/> <ph>x</ph> files", "Save files"),
        ("Save <bpt/>my<ept/> files", "Save my files"), ("<ph/> Save <ph/>", "Save"),
        (" Save <hi> x</hi>", " Save  x"), ("Save<ph/>files", "Savefiles"),
        ("Save<ph type='lb'/>files", "Save files"), ("Save <ph type='lb'/>files", "Save files"),
        ("<ph/>", ""), ("a<hi>b<sub>c</sub></hi> d", "ab d"), ("a\u00a0<ph/> !", "a\u00a0!"),
    ],
)  # fmt: skip
def test_spaces_around_codes(text: str, want: str) -> None:
    assert texts(memory(unit(("en", text), ("de", "x")))) == [(want, "x")]


def test_properties() -> None:
    inside = '<note>n</note><prop type="score">0.5</prop><prop type="domain">a&#9;b</prop>'
    inside += '<prop type="score">0.7</prop>'
    tuv = '<tuv xml:lang="en"><prop type="score">no</prop><seg>a</seg></tuv>'
    data = memory(unit(("de", "x"), inside=inside + tuv), unit(("en", "b"), ("de", "y")))
    found = reader(data, keep="score id")
    one, other = found
    assert isinstance(one, PairRecord) and isinstance(other, PairRecord)
    assert one.others == {"score": "0.5", "id": ""}
    assert other.others == {"score": "", "id": ""}
    assert found.dropped == {"domain"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_encodings(encoding: str) -> None:
    named = "iso-8859-1" if encoding == "latin-1" else encoding.removesuffix("-sig")
    start = f'<?xml version="1.0" encoding="{named}"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n'
    data = memory(unit(("en", "café"), ("de", "Öl")), start=start)
    assert texts(data.decode().encode(encoding)) == [("café", "Öl")]


@pytest.mark.parametrize("encoding", ["U", "shift_jis", "idna", "hex", "cp037"])
def test_an_encoding_that_is_not_read(encoding: str) -> None:
    start = f'<?xml version="1.0" encoding="{encoding}"?>\n'
    with pytest.raises(InputError, match=r"^m.tmx:1: .*encoding"):
        texts(memory(unit(("en", "a"), ("de", "b")), start=start))


def test_text_is_in_one_piece_wherever_the_pieces_of_the_file_end() -> None:
    text = "äöü &amp; " * 20_000
    assert texts(memory(unit(("en", text), ("de", "x")))) == [(text.replace("&amp;", "&"), "x")]


def test_memory_is_that_of_a_piece() -> None:
    """The reader is ahead of its user by a piece of the file, however long that is."""
    stream = io.BytesIO(memory(*[unit(("en", "a"), ("de", "b"))] * 50_000))
    pairs = iter(TmxReader(stream, "m.tmx", ("en", "de"), ()))
    next(pairs)
    assert stream.tell() <= 1 << 16


BOMB = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "lol"}">' for n in range(10))


@pytest.mark.parametrize(
    "entity", [BOMB, '<!ENTITY x SYSTEM "file:///etc/passwd">', '<!ENTITY % x "y">']
)
def test_entities_of_a_file_are_refused(entity: str) -> None:
    data = memory(unit(("en", "&l9;"), ("de", "x")), start=f"<!DOCTYPE tmx [\n{entity}]>")
    with pytest.raises(InputError, match=r"m\.tmx:2: declares the entity '(l0|x)', which is"):
        list(reader(data))


def test_an_entity_of_a_dtd_that_is_not_read() -> None:
    start = '<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n'
    data = memory(
        unit(("en", "a&nbsp;b"), ("de", "x")), unit(("en", "c"), ("de", "d")), start=start
    )
    bad, good = reader(data)
    assert isinstance(bad, BadRow) and isinstance(good, PairRecord)
    assert (bad.number, bad.reason) == (3, "the entity &nbsp; is not declared")
    assert bad.line == b'["ab", "x"]'


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "m.tmx:1: not well-formed XML: no element found"),
        (b"a\tb\n", "m.tmx:1: not well-formed XML: syntax error"),
        (b"\n<?xml version='1.0'?><tmx/>", "m.tmx:2: not well-formed XML: XML or text declaration"),
    ],
)
def test_what_is_no_tmx(data: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        list(reader(data))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(("root", "hint"), [("xliff", "--from xliff reads it"), ("html", "")])
def test_another_kind_of_xml(root: str, hint: str) -> None:
    with pytest.raises(InputError, match=f"begins with <{root}>, expected <tmx>") as caught:
        list(reader(f'<?xml version="1.0"?>\n<{root}/>'.encode()))
    assert hint in str(caught.value)


def test_a_damaged_archive() -> None:
    data = gzip.compress(memory(unit(("en", "a"), ("de", "b"))) * 50)
    stream = gzip.open(io.BytesIO(data[:-20]))
    with pytest.raises(InputError, match=r"m\.tmx: cannot be read any further"):
        list(TmxReader(stream, "m.tmx", ("en", "de"), ()))  # type: ignore[arg-type]


def written(*pairs: PairRecord) -> bytes:
    made = writer(FormatSettings(languages=("en", "de-AT")), reader(b""))
    parts = [made.first, *map(made.lines, pairs), made.end()]
    return b"".join(part for (part,) in parts)


def test_what_is_written_is_tmx_to_others_too() -> None:
    data = written(
        PairRecord(1, "a < b & ]]>", "\ta\r\n", {'"x"': "<0.5>"}), PairRecord(2, "", " ")
    )
    root = ET.fromstring(data)
    assert root.tag == "tmx" and root.get("version") == "1.4"
    header = root.find("header")
    assert header is not None and header.get("srclang") == "en"
    required = "creationtool creationtoolversion segtype o-tmf adminlang srclang datatype"
    assert set(header.keys()) == set(required.split())
    one, other = root.iterfind("body/tu")
    assert [(p.get("type"), p.text) for p in one.iterfind("prop")] == [('"x"', "<0.5>")]
    variants = [(v.get(LANG), v.findtext("seg")) for v in one.iterfind("tuv")]
    assert variants == [("en", "a < b & ]]>"), ("de-AT", "\ta\r\n")]
    assert [v.findtext("seg") for v in other.iterfind("tuv")] == ["", " "]
    assert data.count(b"\n<tu>") == 2


@pytest.mark.parametrize("character", ["\x01", "\x1f", "\ufffe", "\uffff", "\0"])
@pytest.mark.parametrize("place", ["source", "target", "score"])
def test_what_xml_cannot_hold(character: str, place: str) -> None:
    parts = {"source": "a", "target": "b", "score": "c"}
    parts[place] += character
    pair = PairRecord(1, parts["source"], parts["target"], {"score": parts["score"]})
    with pytest.raises(UnfitError, match=f"U\\+{ord(character):04X} in the {place}, which XML"):
        written(pair)


LEGAL = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\ufffe\uffff").filter(
        lambda c: c >= " " or c in "\t\n\r"
    )
)


@given(st.lists(st.tuples(LEGAL, LEGAL, LEGAL), min_size=1, max_size=4))
def test_written_and_read_again(rows: list[tuple[str, str, str]]) -> None:
    pairs = [PairRecord(n, s, t, {"x": x}) for n, (s, t, x) in enumerate(rows)]
    read = list(reader(written(*pairs), keep="x"))
    assert [(p.source, p.target, p.others["x"]) for p in read if isinstance(p, PairRecord)] == rows
