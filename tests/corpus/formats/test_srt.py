from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from growth import assert_linear
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.corpus.formats.base import PairRecord
from bitextfilter.corpus.formats.srt import Cue, SrtReader, Subtitles, groups, linked, read_cues
from bitextfilter.errors import InputError
from bitextfilter.io.rows import BadRow

Times = tuple[int, int]


def stamp(value: int) -> str:
    seconds, part = divmod(value, 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02},{part:03}"


def subtitles(cues: Sequence[tuple[int, int, str]]) -> str:
    return "".join(
        f"{number}\n{stamp(start)} --> {stamp(stop)}\n{text}\n\n"
        for number, (start, stop, text) in enumerate(cues, 1)
    )


def read(data: str | bytes) -> Subtitles:
    raw = data.encode() if isinstance(data, str) else data
    return read_cues(io.BytesIO(raw), "a.srt")


def cues(data: str | bytes) -> list[Cue]:
    found = read(data)
    assert found.bad == []
    return found.cues


def shown(data: str) -> list[tuple[int, str]]:
    return [(cue.start // 1000, cue.text) for cue in cues(data)]


def reader(source: str, target: str) -> SrtReader:
    streams = [(io.BytesIO(text.encode()), name) for text, name in ((source, "a"), (target, "b"))]
    return SrtReader(*streams)


def test_cues() -> None:
    """Marks are removed; numbers may be missing; the order is that of the times."""
    data = (
        "\ufeff\r\n1\r\n00:00:05,000 --> 00:00:06,500 X1:40 X2:600\r\n"
        "<i>Good\r\nday</i>\r\n\r\n\r\n"
        '01:02:03.4-->1:2:3.500\n{\\an8}- A <3 B -\n<font color="#fff">c</font>\n \n'
        "3\n00:00:01,000 --> 00:00:02,000\n\n"
        "4\n00:00:00,000 --> 00:00:01,000\n2001\n"
    )
    assert cues(data) == [
        Cue(15, 0, 1000, "2001"),
        Cue(2, 5000, 6500, "Good day"),
        Cue(8, 3_723_400, 3_723_500, "- A <3 B - c"),
    ]
    assert cues(data[1:].encode("utf-16")) == cues(data) and cues("") == []


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        ("WEBVTTX\n\n", 1, "no cue of an SRT file: expected 00:00:01,000 --> "),
        ("1\n", 1, "no cue of an SRT file"),
        ("\n\nfilm\n1\n00:00:01,000 --> 00:00:02,000\n", 3, "no cue of an SRT file"),
        ("1\nGood day\n", 2, "no cue of an SRT file"),
        (b"1\n00:00:01,000 --> 00:00:02,000\nsch\xf6n\n", None, "not UTF-8 at byte 36; iconv"),
        (b"\xff\xfe1", None, "not UTF-8 at byte 3; iconv"),
    ],
)
def test_files_that_are_no_subtitles(data: str | bytes, line: int | None, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        cues(data)
    assert (error.value.file, error.value.line) == ("a.srt", line)


ONE, TWO = "00:00:01,000 --> 00:00:02,000", "00:00:03,000 --> 00:00:04,000"


@pytest.mark.parametrize(
    "times",
    [
        "00:00:01,000 -> 00:00:02,000", "00:00:01,000 \u2014> 00:00:02,000",
        "00:00:01,000  00:00:02,000", "00:00:01,000 -->", "00:00:1x --> 00:00:02,000",
        f"{'9' * 5000}:00:00,000 --> 00:00:02,000", "00:00:03,000 --> 00:00:02,000",
    ],
)  # fmt: skip
def test_a_cue_with_bad_times_is_no_text_of_the_one_before(times: str) -> None:
    found = read(f"1\n{ONE}\na\n\n2\n{times}\nb\n\n3\n{TWO}\nc\n")
    (bad,) = found.bad
    assert (bad.number, bad.line, bad.file) == (6, b"b", "a.srt")
    assert bad.reason.startswith(("no times of a cue: ", "a cue that ends before it begins"))
    assert [cue.text for cue in found.cues] == ["a", "c"]


@pytest.mark.parametrize(
    ("data", "want"),
    [
        (f"1\n{ONE}\na\n2\n{TWO}\nb\n", ["a", "b"]),
        (f"{ONE}\na\n{TWO}\nb\n", ["a", "b"]),
        (f"1\n{ONE}\na\n12\n2\n{TWO}\nb\n", ["a 12", "b"]),
        (f"1\n{ONE}\n12\n\n{TWO}\nb\n", ["12", "b"]),
        (f"{ONE}\n12\n{TWO}\nb\n", ["12", "b"]),
        (f"1\n{ONE}\na\n\nb\n\n\nc\n\n2\n{TWO}\nd\n\ne", ["a b c", "d e"]),
        (f"1\n\n{ONE}\n\na\n\n2\n\n{TWO}\n\nb\n\n", ["a", "b"]),
        (f"1\r\r\n{ONE}\r\r\na\r\r\n\r\r\n2\r\r\n{TWO}\r\r\nb", ["a", "b"]),
        (f"1\r{ONE}\ra\r\r2\r{TWO}\rb", ["a", "b"]),
        (f"5\n{ONE}\n1984\n\n7\n{TWO}\nb\n", ["1984", "b"]),
        (f"1\n{ONE}\n10:30 - 11:45 --> x\n\n2\n{TWO}\nb\n", ["10:30 - 11:45 --> x", "b"]),
        ("1\n00:01 --> 00:02\na\n\n2\n00:03,5 --> 00:04.5\nb\n", ["a", "b"]),
    ],
)
def test_where_a_cue_begins(data: str, want: list[str]) -> None:
    assert shown(data) == list(zip((1, 3), want, strict=True))


def test_web_vtt() -> None:
    data = (
        "\ufeffWEBVTT - a film\nKind: captions\n\nSTYLE\n::cue { color: red }\n\n"
        "REGION\nid:fred\n\nNOTE one\nof two lines\n\nfirst cue\n"
        "00:01.000 --> 00:02.000 align:start line:0%\n<v.loud Roger Bingham>Good <i.x>day</i>\n"
        "<c.yellow>to</c> <00:01.500>you &amp; &lt;me&gt;&nbsp;!\n\nNOTE no\ncue\n\n"
        "2\n00:00:03.000 --> 00:00:04.000\n<ruby>\u6771<rt>to</rt></ruby> A < B\n\nNOTE\n"
    )
    assert shown(data) == [(1, "Good day to you & <me> !"), (3, "\u6771 A < B")]
    assert [cue.line for cue in cues(data)] == [13, 21]
    assert cues("WEBVTT") == cues("WEBVTT\n\nNOTE x\n") == []
    assert read("WEBVTT\n\n00:03.000 --> 00:02.000\na").bad[0].number == 3


def test_subtitles_of_both_kinds_are_pairs() -> None:
    vtt = "WEBVTT\n\n00:01.000 --> 00:02.000\nhi\n"
    assert [pair[1:3] for pair in reader(vtt, subtitles([(1000, 2000, "ja")]))] == [("hi", "ja")]


def test_bad_cues_of_either_file_are_rejected_before_the_pairs() -> None:
    one = subtitles([(0, 1000, "a"), (3000, 2000, "b")])
    bad, pair = reader(one, subtitles([(0, 1000, "x")]))
    assert isinstance(bad, BadRow) and (bad.number, bad.file) == (6, "a")
    assert pair[1:3] == ("a", "x")
    (bad, _) = reader(subtitles([(0, 1000, "x")]), one)
    assert isinstance(bad, BadRow) and (bad.number, bad.file) == (6, "b")


def test_pairs_by_time() -> None:
    source = [
        (0, 2000, "A"),
        (2000, 4000, "B"),
        (5000, 6000, "C"),
        (7000, 9000, "D"),
        (20_000, 20_000, "E"),
    ]
    target = [(100, 3900, "ab"), (5400, 6400, "c"), (7900, 8900, "d"), (12_000, 13_000, "x")]
    found = reader(subtitles(source), subtitles(target))
    pairs = list(found)
    assert [pair[:3] for pair in pairs] == [(1, "A B", "ab"), (9, "C", "c"), (13, "D", "d")]
    assert all(isinstance(pair, PairRecord) for pair in pairs)
    assert found.skipped == {"without a text": 1, "without a partner": 1}


def test_files_without_a_pair() -> None:
    one, other = subtitles([(0, 1000, "a")]), subtitles([(1000, 2000, "b")])
    with pytest.raises(InputError, match="a: no cue is shown at the time of one of the other file"):
        list(reader(one, other))
    assert list(reader("", "")) == []


def test_cues_that_are_shown_together_are_no_pair_if_they_are_too_many() -> None:
    source = [(n * 100, n * 100 + 100, f"s{n}") for n in range(4)]
    found = reader(
        subtitles([*source, (900, 999, "x")]), subtitles([(0, 400, "t"), (900, 999, "y")])
    )
    assert [pair[1:3] for pair in found if isinstance(pair, PairRecord)] == [("x", "y")]
    assert found.skipped == {"with more than 3 at its time": 5}


def test_hostile_times_take_linear_time() -> None:
    def one_group(cues: list[Cue]) -> None:
        assert len(list(groups(cues, cues))) == 1

    assert_linear(lambda size: one_group([Cue(1, 0, 9 + n, "a") for n in range(size)]), 20_000)
    assert_linear(lambda size: one_group([Cue(1, n, n + 2, "a") for n in range(size)]), 20_000)


SIDE = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), max_size=8)


def naive(sides: Sequence[Sequence[Cue]]) -> list[set[tuple[int, Cue]]]:
    """Return the connected parts of the graph of links, in the order of their times."""
    left = [(side, cue) for side in (0, 1) for cue in sides[side]]
    parts = []
    while left:
        part, rest = [left[0]], left[1:]
        for side, cue in part:
            near = [(s, c) for s, c in rest if s != side and linked(cue, c)]
            part += near
            rest = [item for item in rest if item not in near]
        parts.append(set(part))
        left = rest
    return parts


@given(SIDE, SIDE)
def test_groups_are_the_parts_of_the_graph(one: list[Times], other: list[Times]) -> None:
    """Of cues that do not overlap on their own side."""
    sides = []
    for cuts in (one, other):
        made, last = [], 0
        for n, (start, size) in enumerate(sorted(cuts)):
            if start >= last:
                made.append(Cue(n, start, start + size, "x"))
                last = start + size
        sides.append(made)
    found = [{*((0, cue) for cue in s), *((1, cue) for cue in t)} for s, t in groups(*sides)]
    assert sorted(map(sorted, found)) == sorted(map(sorted, naive(sides)))
