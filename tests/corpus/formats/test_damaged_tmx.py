from __future__ import annotations

import io

import pytest
from growth import assert_linear
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.corpus.formats.base import PairRecord
from bitextfilter.corpus.formats.tmx import TmxReader
from bitextfilter.errors import InputError
from bitextfilter.io.rows import BadRow

Found = tuple[list[tuple[str, str]], list[tuple[int, str]]]

UNIT = """<tu tuid="{0}">
<tuv xml:lang="en"><seg>source {0}</seg></tuv>
<tuv xml:lang="de"><seg>Satz ä {0}</seg></tuv>
</tu>
"""
HEAD = '<?xml version="1.0" encoding="{}"?>\n<tmx version="1.4"><header srclang="en"/><body>\n'
END = "</body></tmx>\n"


def memory(*units: str, encoding: str = "UTF-8") -> str:
    return HEAD.format(encoding) + "".join(units) + END


def read(data: bytes | str) -> Found:
    """Return the pairs, and the bad units: line and reason."""
    raw = data.encode() if isinstance(data, str) else data
    found = list(TmxReader(io.BytesIO(raw), "m.tmx", ("en", "de"), ()))
    good = [(pair.source, pair.target) for pair in found if isinstance(pair, PairRecord)]
    return good, [(bad.number, bad.reason) for bad in found if isinstance(bad, BadRow)]


def pair(number: int) -> tuple[str, str]:
    return f"source {number}", f"Satz ä {number}"


def unit(number: int, old: str = "", new: str = "") -> str:
    assert old in UNIT
    return UNIT.replace(old, new, 1).format(number) if old else UNIT.format(number)


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        ("</seg></tuv>\n</tu>", "</tuv>\n</tu>", 9, "mismatched tag"),
        ("</tu>", "</tux>", 10, "mismatched tag"),
        ("<seg>source", "<seg>AT&T source", 8, "not well-formed (invalid token)"),
        ("<seg>source", "<seg>a < b source", 8, "not well-formed (invalid token)"),
        ("<seg>source", "<seg>&nbsp;source", 8, "undefined entity"),
        ("<seg>source", "<seg>&#1;source", 8, "reference to invalid character number"),
        ("<seg>source", "<seg>\x02source", 8, "not well-formed (invalid token)"),
        ('tuid="{0}"', 'tuid="{0}" tuid="1"', 7, "duplicate attribute"),
        ('"en"', '"en', 8, "not well-formed (invalid token)"),
        ("<tu ", "<tux ", 10, "mismatched tag"),
    ],
)
def test_a_damaged_unit_is_rejected_and_the_next_one_read(
    old: str, new: str, line: int, reason: str
) -> None:
    good, bad = read(memory(unit(1), unit(2, old, new), unit(3), unit(4)))
    assert good == [pair(1), pair(3), pair(4)]
    assert bad == [(line, f"not well-formed XML: {reason}")]


def test_a_unit_that_does_not_end() -> None:
    good, bad = read(memory(unit(1), unit(2, "\n</tu>"), unit(3)))
    assert good == [pair(1), pair(3)]
    assert bad == [(7, "a unit that does not end: another begins in line 10")]
    good, bad = read(memory(*(unit(n, "\n</tu>") for n in range(3)), unit(3)))
    assert good == [pair(3)] and [number for number, _ in bad] == [3, 6, 9]


SECTIONS = {
    "<!--": ("-->", "a comment"),
    "<![CDATA[": ("]]>", "a CDATA section"),
    "<?x ": ("?>", "a processing instruction"),
}


def in_section(start: str, number: int) -> str:
    """Return a unit with a whole section."""
    whole = f"{start}source{SECTIONS[start][0]}"
    return unit(number, "source", whole if "CDATA" in start else f"{whole}source")


@pytest.mark.parametrize("start", SECTIONS)
@pytest.mark.parametrize(
    "place", ["source", "{0}</seg></tuv>\n<tuv", "<tuv", "Satz", "</tuv>\n</tu>"]
)
@pytest.mark.parametrize("later", [(), (3,), (3, 4, 5), (5,)])
def test_a_section_that_does_not_end(start: str, place: str, later: tuple[int, ...]) -> None:
    """Wherever it begins, and wherever the next one of its kind ends."""
    damaged = unit(2, place, start + place)
    rest = [in_section(start, n) if n in later else unit(n) for n in (3, 4, 5)]
    good, bad = read(memory(in_section(start, 1), damaged, *rest))
    assert good == [pair(n) for n in (1, 3, 4, 5)]
    line = 7 + damaged.partition(start)[0].count("\n")
    assert bad == [(line, f"{SECTIONS[start][1]} that does not end")]


@pytest.mark.parametrize("start", SECTIONS)
def test_several_sections_that_do_not_end(start: str) -> None:
    """One after the other, the last at the end of the file, in any pieces, or within a unit."""
    damaged = [unit(n, "source", f"{start}source") for n in range(6)]
    good, bad = read(memory(*damaged[:2], unit(6), damaged[2], in_section(start, 7)))
    assert good == [pair(6), pair(7)] and [line for line, _ in bad] == [4, 8, 16]
    data = memory(unit(6), *damaged, unit(7), damaged[0])
    good, bad = read(data[: data.rindex("Satz")])
    assert good == [pair(6), pair(7)] and len(bad) == 7
    closed = unit(1, "source", f"{start}source").replace(
        "Satz", f"Satz {start}x{SECTIONS[start][0]}"
    )
    good, bad = read(memory(closed, unit(2)))
    assert good == [pair(2)] and [line for line, _ in bad] == [4]
    note = "x" * (65_300 - len(start))
    for size in range(len(start) + 3):
        data = memory(unit(1), f"<note>{note}{'x' * size}</note>", damaged[0], unit(2))
        assert (65_536 - data.index(start)) in range(-400, 400)
        assert read(data)[0] == [pair(1), pair(2)]


def test_sections_that_end_are_no_damage() -> None:
    """Units in a comment are not read; texts may speak of units."""
    hidden = f"<!-- {unit(2)} {unit(3)} --><?tool <seg>?>"
    for text in ("</seg></tuv></tu><tu> and <!-- or <?x", "<![CDATA[ and <tu>", "<?x and ?>"):
        spoken = unit(4, "source", f"<![CDATA[{text}]]>")
        good, bad = read(memory(unit(1), hidden, spoken, unit(5)))
        assert (good, bad) == ([pair(1), (f"{text} 4", "Satz ä 4"), pair(5)], [])


@pytest.mark.gate(0)
def test_a_long_section_that_does_not_end() -> None:
    """Over more than a megabyte, without another one."""
    units = [*map(unit, range(40_000))]
    for start in SECTIONS:
        good, bad = read(memory(*units, unit(1, "source", f"{start}source"), *units))
        assert len(good) == 80_000 and len(bad) == 1


def test_a_file_that_is_cut() -> None:
    data = memory(unit(1), unit(2), unit(3))
    good, bad = read(data[: data.index("source 3")])
    assert good == [pair(1), pair(2)]
    assert bad == [(12, "not well-formed XML: no element found")]
    assert read(data.removesuffix(END)) == (
        [pair(1), pair(2), pair(3)],
        [(15, "not well-formed XML: no element found")],
    )


def test_two_files_in_one() -> None:
    good, bad = read(memory(unit(1)) + memory(unit(2)))
    assert good == [pair(1), pair(2)]
    assert bad == [(8, "not well-formed XML: junk after document element")]


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16", "utf-16-le", "utf-16-be"])
def test_damage_in_any_encoding(encoding: str) -> None:
    name = "utf-16" if encoding.startswith("utf-16") else encoding
    data = memory(unit(1), unit(2, "</tu>"), unit(3, "</seg>"), unit(4), encoding=name)
    good, bad = read(data.encode(encoding))
    assert good == [pair(1), pair(4)]
    assert len(bad) == 2


def test_bytes_that_are_no_text() -> None:
    data = memory(*map(unit, range(4))).encode()
    good, bad = read(data.replace(b"source 2", b"source \xff2"))
    assert good == [pair(0), pair(1), pair(3)] and [number for number, _ in bad] == [12]
    with pytest.raises(InputError, match=r"m\.tmx:\d+: not UTF-16, which it begins as"):
        read(b"\xff\xfe" + data.decode().encode("utf-16-le") + b"\x00\xd8<\0")


def test_units_after_damage_are_bounded_as_others() -> None:
    """Entities are refused, and those that are not declared make a bad unit."""
    bomb = '<!DOCTYPE tmx [<!ENTITY a "aa">]><tmx><body>'
    with pytest.raises(InputError, match="declares the entity 'a', which is refused"):
        read(bomb + unit(1, "</seg>") + unit(2) + END)
    good, bad = read(memory(unit(1, "</seg>"), unit(2, "source", "a&nbsp;"), unit(3)))
    assert good == [pair(3)]
    assert bad[1] == (7, "the entity &nbsp; is not declared")
    with pytest.raises(InputError, match="a tag or comment longer than 1 MiB"):
        read(memory(unit(1, "</seg>"), f"<tu><!--{'x' * (3 << 20)}"))


def test_damage_at_the_ends_of_pieces() -> None:
    """Wherever the pieces of the file end, the line and the next unit are found."""
    for size in range(65_000, 66_200, 7):
        note = f"<note>{'x' * size}</note>"
        data = memory(unit(1), unit(2, "</seg>", f"</seg>{note}</x>"), unit(3), unit(4))
        good, bad = read(data)
        assert (good, len(bad)) == ([pair(1), pair(3), pair(4)], 1), size
        assert bad[0][0] == 8


def test_damage_takes_linear_time() -> None:
    damaged = unit(1, "</seg>").encode()
    head, end = HEAD.format("UTF-8").encode(), END.encode()
    assert_linear(lambda size: read(head + damaged * size + end), 2000)
    assert_linear(lambda size: read(head + b"<x>" + b"</y>" * size + end), 20_000)
    assert_linear(lambda size: read(head + b"</y>" + b"<tu" * size + end), 20_000)
    for start in SECTIONS:
        damaged = unit(1, "source", f"{start}source").encode()
        assert_linear(lambda size, unit=damaged: read(head + unit * size + end), 2000)


@given(st.data())
def test_no_pair_is_wrong_after_a_line_is_lost_or_doubled(data: st.DataObject) -> None:
    count = data.draw(st.integers(3, 8))
    lines = "".join(map(unit, range(count))).splitlines(keepends=True)
    for _ in range(data.draw(st.integers(1, 2))):
        place = data.draw(st.integers(0, len(lines) - 1))
        lines[place : place + 1] = data.draw(st.sampled_from([[], [lines[place]] * 2]))
    good, bad = read(memory(*lines))
    assert set(good) <= {pair(number) for number in range(count)}
    assert len(good) >= count - 4
    assert bad or len(good) >= count - 2
