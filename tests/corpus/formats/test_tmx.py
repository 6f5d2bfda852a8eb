from __future__ import annotations

import gzip
import io
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.corpus.formats.base import PairRecord, UnfitError
from bitextfilter.corpus.formats.tmx import TmxReader, tmx_writer
from bitextfilter.errors import InputError
from bitextfilter.io.rows import BadRow

LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def unit(*variants: tuple[str, str], inside: str = "") -> str:
    texts = "".join(f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in variants)
    return f"<tu>{inside}{texts}</tu>"


def memory(*units: str, start: str = "") -> bytes:
    body = "\n".join(units)
    return f'{start}<tmx version="1.4"><header/><body>\n{body}\n</body></tmx>'.encode()


def reader(data: bytes, languages: tuple[str, str] = ("en", "de"), keep: str = "") -> TmxReader:
    return TmxReader(io.BytesIO(data), "m.tmx", languages, keep.split())


def texts(data: bytes, *languages: str) -> list[tuple[str, str]]:
    read = list(reader(data, (languages[0], languages[1]) if languages else ("en", "de")))
    assert all(isinstance(pair, PairRecord) for pair in read)
    return [(pair.source, pair.target) for pair in read if isinstance(pair, PairRecord)]


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
    assert texts(memory(unit(("eng", "a"), ("en", "b"), ("de", "x")))) == [("b", "x")]


def test_the_lang_of_old_versions() -> None:
    data = memory(unit(("en", "a"), ("de", "b")).replace("xml:lang", "lang"))
    assert texts(data) == [("a", "b")]


def test_units_without_both_languages_are_counted() -> None:
    data = memory(unit(("en", "a"), ("fr", "b")), unit(("en", "c"), ("de", "d")), "<tu/>")
    found = reader(data)
    assert len(list(found)) == 1
    assert found.skipped == 2


def test_languages_that_are_nowhere_are_an_error() -> None:
    with pytest.raises(InputError, match=r"m\.tmx: no unit is in both en and de; it has en, fr-ca"):
        texts(memory(unit(("en", "a"), ("fr-CA", "b"))))
    assert texts(memory()) == []


def test_codes_inside_a_text_are_left_out_and_marked_text_stays() -> None:
    text = (
        '<bpt i="1">&lt;b <sub>x</sub>></bpt>bold<ept i="1">&lt;/b></ept> and '
        '<hi type="term">marked</hi><ph/> <it pos="begin">[</it>t<ut>{</ut>xt<g>!</g>'
    )
    assert texts(memory(unit(("en", text), ("de", "y")))) == [("bold and marked txt!", "y")]


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
        (memory(unit(("en", "a"), ("de", "b")))[:-9], "m.tmx:3: not well-formed XML: "),
        (memory("\n<tu>"), "m.tmx:4: not well-formed XML: mismatched tag"),
        (memory(unit(("en", "&undeclared;"))), "m.tmx:2: not well-formed XML: undefined entity"),
        (memory(unit(("en", "&#1;"))), "m.tmx:2: not well-formed XML: reference to invalid"),
        (memory(unit(("en", "a\x01"))), "m.tmx:2: not well-formed XML: not well-formed"),
        (b"<tmx><body>\n\xff", "m.tmx:2: not well-formed XML: not well-formed"),
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
    writer = tmx_writer(("en", "de-AT"))
    parts = [writer.first, *map(writer.lines, pairs), writer.end()]
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
