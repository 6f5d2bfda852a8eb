"""Rows: what is good, what is bad and why, each byte written back; columns of a window at once."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.errors import InputError
from bitextfilter.io.columns import LineFields, Utf8Texts, utf8_of
from bitextfilter.io.row_reader import RowReader, row_windows
from bitextfilter.io.rows import (
    BadRow,
    Columns,
    RawLines,
    Row,
    RowParser,
    TextColumn,
    WantedColumn,
    is_blank,
    number_of,
    strict,
)

BOM = b"\xef\xbb\xbf"


def read(
    data: bytes, columns: Columns | TextColumn | None = None, header: bool = False
) -> RowReader:
    return RowReader(io.BytesIO(data), "pairs.tsv", columns, header)


def rows_of(data: bytes, columns: Columns | TextColumn | None = None) -> list[Row | BadRow]:
    return list(read(data, columns))


def test_a_row_has_number_bytes_ending_and_texts() -> None:
    assert rows_of("a\tä\tx\nb\tc".encode()) == [
        Row(1, "a\tä\tx".encode(), b"\n", ("a", "ä")),
        Row(2, b"b\tc", b"", ("b", "c")),
    ]


def test_source_and_target_may_stand_anywhere() -> None:
    (row,) = rows_of(b"0.5\tsource\ttarget\tmore\n", Columns(-3, 3))
    assert isinstance(row, Row)
    assert (row.source, row.target) == ("source", "target")


def test_an_empty_file_has_no_rows() -> None:
    reader = read(b"")
    assert list(reader) == []
    assert reader.first_line() == b""


@pytest.mark.parametrize("mark", ["\r", "\u2028", "\u2029", "\x85", "\f", "\v", "\x1c", "\x1e"])
def test_only_a_newline_ends_a_row(mark: str) -> None:
    line = f"one{mark}two\tdrei{mark}vier{mark}!"
    (row,) = rows_of(f"{line}\n".encode())
    assert isinstance(row, Row)
    assert f"{row.source}\t{row.target}" == line


def test_a_carriage_return_before_the_newline_is_not_text() -> None:
    first, second, third = rows_of(b"a\tb\r\nc\td\r\r\ne\tf\r")
    assert first == Row(1, b"a\tb", b"\r\n", ("a", "b"))
    assert second == Row(2, b"c\td\r", b"\r\n", ("c", "d\r"))
    assert third == Row(3, b"e\tf\r", b"", ("e", "f\r"))


def test_a_bom_is_not_text_at_the_start_and_is_elsewhere() -> None:
    reader = read(BOM + b"a\tb\n" + BOM + b"c\td\n")
    first, second = strict(reader)
    assert (first.source, second.source) == ("a", "\ufeffc")
    assert reader.first_line() == BOM


@pytest.mark.parametrize(
    ("line", "columns", "reason"),
    [
        (b"a", Columns(), "1 column, expected at least 2 (--tcol 2)"),
        (b"", Columns(), "the source is empty"),
        (b"a\tb\tc", Columns(1, 5), "3 columns, expected at least 5 (--tcol 5)"),
        (b"a\tb\tc", Columns(-4, 2), "3 columns, expected at least 4 (--scol -4)"),
        (b"\tb", Columns(), "the source is empty"),
        (b"a\t", Columns(), "the target is empty"),
        ("a\t \u00a0\u200b\u3000\r\ufeff".encode(), Columns(), "the target is empty"),
        (b"a\tb\0c", Columns(), "NUL byte in the target"),
        (b"ab\xff\tb", Columns(), "the source is not UTF-8 at its byte 3"),
        (b"a\tb\xe2\x82", Columns(), "the target is not UTF-8 at its byte 2"),
        (b"\xed\xa0\x80\tb", Columns(), "the source is not UTF-8 at its byte 1"),
        (b"a\0", TextColumn(), "NUL byte in the line"),
        (b"", TextColumn(), "the line is empty"),
        (b"a\tb", TextColumn(3), "2 columns, expected at least 3 (--column 3)"),
        (b"a\t ", TextColumn(2), "the sentence is empty"),
    ],
)
def test_a_bad_row_says_why(line: bytes, columns: Columns | TextColumn, reason: str) -> None:
    good = b"a\tb\tc\td\te"
    first, bad, last = rows_of(good + b"\n" + line + b"\n" + good, columns)
    assert isinstance(first, Row)
    assert isinstance(last, Row)
    assert isinstance(bad, BadRow)
    assert (bad.number, bad.line, bad.ending, bad.reason) == (2, line, b"\n", reason)


def test_a_strict_reader_stops_with_file_line_and_remedy() -> None:
    rows = strict(read(b"a\tb\nc\n"))
    assert next(rows).source == "a"
    with pytest.raises(InputError) as caught:
        next(rows)
    assert str(caught.value) == (
        "pairs.tsv:2: 1 column, expected at least 2 (--tcol 2); "
        "--on-error reject --rejects FILE keeps going"
    )


def test_bytes_of_other_columns_are_not_looked_at() -> None:
    (row,) = rows_of(b"a\tb\t\xff\0\t\t\n")
    assert isinstance(row, Row)
    assert row.line == b"a\tb\t\xff\0\t\t"


def test_a_megabyte_in_a_line_and_fifty_columns() -> None:
    long = "wörter " * 150_000
    line = "\t".join([long, *"abc", *map(str, range(46))])
    (row,) = rows_of(line.encode(), Columns(1, -1))
    assert isinstance(row, Row)
    assert (row.source, row.target) == (long, "45")


def test_a_whole_line_or_one_column_of_sentences() -> None:
    (whole,) = rows_of(b"a\tb\n", TextColumn())
    (second,) = rows_of(b"a\tb\n", TextColumn(2))
    assert isinstance(whole, Row)
    assert isinstance(second, Row)
    assert (whole.text, second.text) == ("a\tb", "b")


def test_columns_by_name() -> None:
    reader = read(BOM + b"id\tde\ten\r\n1\tja\tyes\r\n", Columns("en", "de"), header=True)
    (row,) = strict(reader)
    assert (row.number, row.source, row.target) == (2, "yes", "ja")
    assert reader.first_line(["mlp", "csls"]) == BOM + b"id\tde\ten\tmlp\tcsls\r\n"


def test_a_header_without_a_newline_gets_one_when_written() -> None:
    reader = read(b"en\tde", Columns("en", "de"), header=True)
    assert list(reader) == []
    assert reader.first_line(["mlp"]) == b"en\tde\tmlp\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "pairs.tsv: empty, expected a header line"),
        (b"en\tde\n", "pairs.tsv:1: column 'fr' (--tcol) is not in the header; it has en, de"),
        (b"fr\tfr\n", "pairs.tsv:1: column 'fr' (--tcol) is twice in the header; it has fr, fr"),
    ],
)
def test_a_header_that_lacks_the_column(data: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(data, Columns(1, "fr"), header=True)
    assert str(caught.value) == message


@given(st.text(alphabet=st.characters(categories=["Zs", "Zl", "Zp", "Cc", "Cf"])))
def test_white_space_and_controls_are_blank(text: str) -> None:
    assert is_blank(text)


@given(st.text(), st.characters(categories=["L", "M", "N", "P", "S"]), st.text())
def test_anything_with_a_mark_on_paper_is_not_blank(before: str, mark: str, after: str) -> None:
    assert unicodedata.category(mark)[0] in "LMNPS"
    assert not is_blank(before + mark + after)


@given(st.binary(max_size=200), st.sampled_from([b"\n", b"\r\n", b"\t", b"\xef\xbb\xbf", b"\0"]))
def test_every_byte_can_be_written_back(noise: bytes, mark: bytes) -> None:
    data = mark + noise.replace(b"n", b"\n").replace(b"r", b"\r").replace(b"t", mark)
    reader = read(data, Columns(1, -1))
    rows = list(reader)
    assert reader.first_line() + b"".join(row.line + row.ending for row in rows) == data
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))
    assert len(rows) == data.count(b"\n") + (not data.endswith(b"\n") and data != BOM)


fields = st.text(st.characters(exclude_characters="\t\n\0", codec="utf-8"), max_size=12)


@given(st.lists(st.tuples(fields, fields, fields), max_size=6), st.booleans())
def test_texts_are_read_as_they_were_written(table: list[tuple[str, ...]], crlf: bool) -> None:
    ending = "\r\n" if crlf else "\n"
    data = "".join("\t".join(("#", *line, "x")) + ending for line in table).encode()
    for row, line in zip(rows_of(data, Columns(2, -2)), table, strict=True):
        blank = [
            side for side, text in (("source", line[0]), ("target", line[2])) if is_blank(text)
        ]
        if isinstance(row, Row):
            assert ((row.source, row.target), blank) == ((line[0], line[2]), [])
        else:
            assert row.reason == f"the {blank[0]} is empty"


def test_windows_are_bounded_in_rows_and_bytes() -> None:
    rows = rows_of(b"a\tb\n" * 7 + b"a\tb" + b"c" * 100 + b"\n" + b"a\tb\n" * 2)
    assert [len(window) for window in row_windows(rows, 3)] == [3, 3, 3, 1]
    assert [len(window) for window in row_windows(rows, 50, most_bytes=60)] == [8, 2]
    assert [row for window in row_windows(rows, 3) for row in window] == rows
    assert list(row_windows([], 3)) == []


def test_a_window_ends_with_the_row_that_reaches_a_bound() -> None:
    rows = rows_of(b"a\tbb\n" * 9)
    held = len(rows[0].line)
    for most, expected in ((3 * held - 1, 3), (3 * held, 3), (3 * held + 1, 4), (1, 1)):
        windows = list(row_windows(rows, 50, most_bytes=most))
        assert len(windows[0]) == len(windows[1]) == expected
    assert [len(window) for window in row_windows(rows, 1)] == [1] * 9
    lines = [len(part.raw) for part in read(b"a\tbb\n" * 9).lines(2)]
    assert lines == [2, 2, 2, 2, 1]


def test_a_window_of_lines_ends_with_the_block_that_reaches_a_bound() -> None:
    """The file is read in blocks of 16 KiB."""
    windows = [len(part.raw) for part in read(b"a\tb\n" * 30_000).lines(20_000, 2 << 15)]
    assert windows == [1 << 14, 30_000 - (1 << 14)]


def test_windows_are_bounded_in_bytes_unless_said_otherwise() -> None:
    rows = rows_of(b"a\t" + b"b" * (1 << 22) + b"\n") * 9
    assert [len(window) for window in row_windows(rows, 100)] == [4, 4, 1]


PAIR = b"I am going home.\tIch gehe nach Hause.\n"


ROWS = [PAIR, b"Hi\tHallo\t0.9312\n", b"w " * 8 + b"\t" + b"w " * 8]


@pytest.mark.parametrize("data", ROWS)
def test_a_header_that_looks_like_a_row_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match=r"pairs\.tsv:1: the header looks like a row; leave out"):
        read(data, header=True)


@pytest.mark.parametrize(
    "data",
    [
        b"en\tde\tmlp\n",
        b"The English text\tThe German text\t2014\n",
        PAIR.replace(b".", b""),
        b"x\n",
    ],
)
def test_names_are_a_header(data: bytes) -> None:
    columns = Columns(1, 1) if b"\t" not in data else Columns()
    assert read(data, columns, header=True).header == data[:-1]


def test_a_column_that_is_named_makes_any_line_a_header() -> None:
    for data in (*ROWS[:2], b"Hi\tHallo\n"):
        name = data.decode().split("\t")[0]
        found = read(data, Columns(name, 2), header=True)
        assert (found.header, found.doubt) == (data.removesuffix(b"\n"), "")


@pytest.mark.parametrize("data", [b"Hi\tHallo\n", b"hello\thallo\tclean\n", b"it is\tes\n"])
def test_a_header_of_unusual_names_is_doubted(data: bytes) -> None:
    one, two = data.decode().split()[0], "is taken for the names of columns: if it is a row, the"
    doubt = read(data, header=True).doubt
    assert doubt.startswith(f"pairs.tsv:1: '{one}") and two in doubt
    for column in (TextColumn(-1), TextColumn()):
        one = read(b"x\t" + data.replace(b"\n", b" you\n"), column, header=True)
        assert "(--column NAME)" in one.doubt
    assert read(data).doubt == ""


@pytest.mark.parametrize(
    "names", ["en\tde\tmlp", "source\ttarget", "Source text\tsentence2", "text_en\tpt-BR\tx"]
)
def test_usual_names_are_not_doubted(names: str) -> None:
    assert read(f"{names}\n".encode(), header=True).doubt == ""


PARTS = [
    *(b"a", b"\t", b"\n", b"\r", b"\r\n", b"\0", b"\0unfit\0", b"\xff", b"\xc3", b"\xed\xa0\x80"),
    *(b"\xf4\x90\x80\x80", b"1.5", b" ", b"\x0b", *(sign.encode() for sign in "é漢😀")),
]
PLAIN = [b"a", b"\t", b"\n", b" ", b"1.5", b"\x0b", "漢\u2028".encode()]
BYTES = st.lists(st.sampled_from(PARTS), min_size=1, max_size=40).map(b"".join) | st.lists(
    st.sampled_from(PLAIN), max_size=40
).map(lambda parts: b"".join([*parts, b"\n"]))
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
