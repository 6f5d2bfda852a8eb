from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.corpus.formats.base import FormatSettings, PairRecord, UnfitError
from bitextfilter.corpus.formats.rows import CsvReader, csv_writer
from bitextfilter.errors import InputError
from bitextfilter.io.rows import BadRow, Columns


def reader(
    data: str | bytes, *, header: bool = False, columns: Columns | None = None, delimiter: str = ","
) -> CsvReader:
    raw = data.encode() if isinstance(data, str) else data
    return CsvReader(io.BytesIO(raw), "a.csv", columns or Columns(), header, delimiter)


def texts(pairs: CsvReader) -> list[tuple[int, str, str, dict[str, str]]]:
    read = list(pairs)
    assert all(isinstance(pair, PairRecord) for pair in read), read
    return [(p.number, p.source, p.target, dict(p.others)) for p in read if type(p) is PairRecord]


def test_quotes_and_line_breaks() -> None:
    """A record may go over lines; its number is that of its first line."""
    data = '\ufeff"a, ""b""",c\r\n"two\r\nlines","t\ta\rb"\n\u2028,\x85,"x"'
    assert texts(reader(data)) == [
        (1, 'a, "b"', "c", {}),
        (2, "two\r\nlines", "t\ta\rb", {}),
        (4, "\u2028", "\x85", {"3": "x"}),
    ]


def test_columns_by_name_and_other_delimiters() -> None:
    for delimiter in ";\t|":
        data = "id,de,en\r\n1,ä,a\r\n".replace(",", delimiter)
        pairs = reader(data, header=True, columns=Columns("en", "de"), delimiter=delimiter)
        assert (pairs.texts, pairs.columns) == (("en", "de"), ["id"])
        assert texts(pairs) == [(2, "a", "ä", {"id": "1"})]
    pairs = reader("a;b;c,d\n", columns=Columns(-1, 1), delimiter=";")
    assert texts(pairs) == [(1, "c,d", "a", {"2": "b"})]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"a", "1 column, expected at least 2"),
        (b"", "0 columns, expected at least 2"),
        (b"a;b", "1 column, expected at least 2"),
        (b"a,\xff", "the row is not UTF-8"),
        (b"a,b,\xed\xa0\x80", "the row is not UTF-8"),
    ],
)
def test_bad_records_between_good_ones(data: bytes, reason: str) -> None:
    one, bad, two = reader(b"a,b\n" + data + b"\nc,d\n")
    assert isinstance(one, PairRecord) and isinstance(two, PairRecord)
    assert isinstance(bad, BadRow)
    assert (bad.number, bad.reason, bad.line) == (2, reason, data)
    if "column" in reason:
        assert "--delimiter names another" in str(bad.error())


def test_ragged_records() -> None:
    """Further columns may be more or fewer than in the header."""
    pairs = reader("s,t,x\na,b\nc,d,1,2\n", header=True)
    assert texts(pairs) == [(2, "a", "b", {}), (3, "c", "d", {"x": "1", "4": "2"})]


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        ('a,b\nc,"d\ne,f\n', 2, 'a quote that is not closed; "" is one within quotes'),
        ('a,b\nc,"d"e\n', 2, "a text after a closing quote"),
        ("a,b\nc\rd,e\n", 2, "a carriage return outside of quotes"),
    ],
)
def test_quotes_that_do_not_match(data: str, line: int, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        list(reader(data))
    assert (error.value.file, error.value.line) == ("a.csv", line)


def test_records_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where each line closes a column and begins another."""
    monkeypatch.setattr("bitextfilter.corpus.formats.rows.LINE_BYTES", 1000)
    assert len(list(reader('"a\n","b"\n' * 1000))) == 1000
    with pytest.raises(InputError, match=r"a\.csv:2: a record larger than"):
        list(reader('a,b\n"' + '","\n' * 1000))
    with pytest.raises(InputError, match=r"a\.csv:1: a record larger than"):
        list(reader("a,b," + "x" * 2000))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty, expected a header line"),
        (b"a,a\n", "two columns are called 'a'"),
        (b"a,\xff\n", "the header is not UTF-8"),
        (b"a;b\n", r"the header has 1 column \(--tcol 2\); --delimiter names"),
    ],
)
def test_headers(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        reader(data, header=True)


def test_a_column_that_is_not_there() -> None:
    with pytest.raises(InputError, match=r"'x' \(--scol\) is not in the header; it has a, b"):
        reader("a,b\n", header=True, columns=Columns("x", "b"))


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)


@given(st.lists(st.tuples(TEXT, TEXT, TEXT), max_size=5), st.sampled_from(",;\t"))
def test_written_and_read_again(rows: list[tuple[str, str, str]], delimiter: str) -> None:
    """By this package and by Python's own reader."""
    source = reader("s,t,x\n", header=True)
    made = csv_writer(FormatSettings(header=True, delimiter=delimiter), source)
    lines = [made.lines(PairRecord(n, s, t, {"x": x})) for n, (s, t, x) in enumerate(rows)]
    data = b"".join(part for (part,) in [made.first, *lines, made.end()])
    plain = list(csv.reader(io.StringIO(data.decode(), newline=""), delimiter=delimiter))
    assert plain == [["s", "t", "x"], *map(list, rows)]
    again = texts(reader(data, header=True, delimiter=delimiter))
    assert [(s, t, others["x"]) for _, s, t, others in again] == rows


def test_a_nul_is_not_written() -> None:
    made = csv_writer(FormatSettings(), reader(""))
    with pytest.raises(UnfitError, match="a NUL in the target"):
        made.lines(PairRecord(1, "a", "b\0"))
