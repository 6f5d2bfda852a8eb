from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from growth import assert_linear
from hypothesis import given, settings
from hypothesis import strategies as st

from bitextfilter.corpus.formats.base import PairRecord
from bitextfilter.corpus.formats.srt import Cue, SrtReader, groups, linked, read_cues
from bitextfilter.errors import InputError

Times = tuple[int, int]


def stamp(value: int) -> str:
    seconds, part = divmod(value, 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02},{part:03}"


def subtitles(cues: Sequence[tuple[int, int, str]]) -> str:
    return "".join(
        f"{number}\n{stamp(start)} --> {stamp(stop)}\n{text}\n\n"
        for number, (start, stop, text) in enumerate(cues, 1)
    )


def cues(data: str | bytes) -> list[Cue]:
    raw = data.encode() if isinstance(data, str) else data
    return read_cues(io.BytesIO(raw), "a.srt")


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
    assert cues("") == []


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        ("WEBVTT\n\n", 1, "no cue of an SRT file: expected 00:00:01,000 --> "),
        ("1\n", 1, "no cue of an SRT file"),
        ("1\nGood day\n", 2, "no cue of an SRT file"),
        ("\n1\n00:00:01,000 -> 00:00:02,000\n", 3, "no cue of an SRT file"),
        (f"1\n{'9' * 5000}:00:00,000 --> 00:00:02,000\n", 2, "no cue of an SRT file"),
        ("1\n00:00:03,000 --> 00:00:02,000\na\n", 2, "a cue that ends before it begins"),
        (b"1\n00:00:01,000 --> 00:00:02,000\nsch\xf6n\n", None, "not UTF-8 at byte 36; iconv"),
        ("1\n00:00:01,000 --> 00:00:02,000\na\n".encode("utf-16"), None, "not UTF-8 at byte 1"),
    ],
)
def test_files_that_are_no_subtitles(data: str | bytes, line: int | None, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        cues(data)
    assert (error.value.file, error.value.line) == ("a.srt", line)


def test_pairs_by_time() -> None:
    source = [
        (0, 2000, "A"),
        (2000, 4000, "B"),
        (5000, 6000, "C"),
        (7000, 9000, "D"),
        (20_000, 20_000, "E"),
    ]
    target = [(100, 3900, "ab"), (5400, 6400, "c"), (7900, 8900, "d"), (12_000, 13_000, "x")]
    read = reader(subtitles(source), subtitles(target))
    pairs = list(read)
    assert [pair[:3] for pair in pairs] == [(1, "A B", "ab"), (9, "C", "c"), (13, "D", "d")]
    assert all(isinstance(pair, PairRecord) for pair in pairs)
    assert read.skipped == 1


def test_files_without_a_pair() -> None:
    one, other = subtitles([(0, 1000, "a")]), subtitles([(1000, 2000, "b")])
    with pytest.raises(InputError, match="a: no cue is shown at the time of one of the other file"):
        list(reader(one, other))
    assert list(reader("", "")) == []


def test_cues_that_are_shown_together_are_no_pair_if_they_are_too_many() -> None:
    source = [(n * 100, n * 100 + 100, f"s{n}") for n in range(4)]
    read = reader(
        subtitles([*source, (900, 999, "x")]), subtitles([(0, 400, "t"), (900, 999, "y")])
    )
    assert [pair[1:3] for pair in read if isinstance(pair, PairRecord)] == [("x", "y")]
    assert read.skipped == 5


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


@settings(max_examples=80)
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
