"""Columns of a window at once: the same rows, texts and faults as line by line."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.io.columns import LineFields, Utf8Texts, utf8_of
from bitextfilter.io.rows import BadRow, RawLines, Row, RowParser, WantedColumn, number_of

PARTS = [
    *(b"a", b"\t", b"\n", b"\r", b"\r\n", b"\0", b"\0unfit\0", b"\xff", b"\xc3", b"\xed\xa0\x80"),
    *(b"\xf4\x90\x80\x80", b"1.5", b" ", b"\x0b", *(sign.encode() for sign in "é漢😀")),
]
BYTES = st.lists(st.sampled_from(PARTS), min_size=1, max_size=40).map(b"".join)
PLACES = st.sampled_from([(0, 1), (1, 0), (0, 0), (-1, 0), (-2, 2), (3, -4), (0,), (-1,), ()])


def parser_of(places: Sequence[int], blank: bool) -> RowParser:
    wanted = [WantedColumn(f"side {place}", "--scol", place) for place in places]
    return RowParser("pairs.tsv", wanted, places, blank=blank)


@given(data=BYTES, places=PLACES, blank=st.booleans())
def test_lines_are_read_as_one_by_one(data: bytes, places: Sequence[int], blank: bool) -> None:
    window, parser = RawLines(7, io.BytesIO(data).readlines()), parser_of(places, blank)
    lines, rows = LineFields(window, parser), window.rows(parser)
    assert len(lines) == len(rows)
    assert lines.bad == {at: row for at, row in enumerate(rows) if isinstance(row, BadRow)}
    assert lines.first_bad() == next((row for row in rows if isinstance(row, BadRow)), None)
    good = [(at, row) for at, row in enumerate(rows) if isinstance(row, Row)]
    assert lines.good().tolist() == [at for at, _ in good]
    for column, place in enumerate(places or (None,)):
        texts = lines.texts(place, lines.good())
        assert [*texts] == [row.texts[column] for _, row in good]
        assert [texts[at] for at in range(len(texts))] == [*texts]
    assert [lines.row(at) for at in range(len(rows))] == rows
    assert [lines.line(at) for at in range(len(rows))] == [row.line for row in rows]
    assert [lines.ending(at) for at in range(len(rows))] == [row.ending for row in rows]
    assert lines.columns.tolist() == [
        raw.removesuffix(b"\n").count(b"\t") + 1 for raw in window.raw
    ]
    for place in (0, 2, -1):
        fields = [row.line.split(b"\t") for _, row in good]
        expected = [
            number_of(some[place]) if -len(some) <= place < len(some) else np.nan for some in fields
        ]
        np.testing.assert_array_equal(lines.numbers(place, lines.good()), expected)
    keep = np.arange(len(rows)) % 3 != 1
    kept = [raw for raw, wanted in zip(window.raw, keep, strict=True) if wanted]
    assert lines.kept(keep) == b"".join(kept)


def test_a_row_can_be_refused_once() -> None:
    lines = LineFields(RawLines(1, [b"a\tb\n", b"c\n"]), parser_of((0, 1), True))
    lines.refuse(0, "too good")
    lines.refuse(1, "too bad")
    reasons = {index: row.reason for index, row in lines.bad.items()}
    assert reasons == {0: "too good", 1: "1 column, expected at least 2 (--scol 1)"}


@given(st.lists(st.text(max_size=4), max_size=5))
def test_texts_as_bytes(texts: list[str]) -> None:
    whole = [text.encode("utf-8", "replace").decode() for text in texts]
    read = Utf8Texts(utf8_of(whole))
    assert utf8_of(read) is read.utf8
    assert [*read] == whole
    assert [*read[1:]] == whole[1:]
    places = np.arange(len(whole))[::2]
    assert [*read.at(places)] == whole[::2]
