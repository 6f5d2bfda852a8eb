"""CSV and columnar tables of other programs: there and back, and damaged ones."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitextfilter.corpus.formats.base import (
    FormatSettings,
    PairReader,
    PairRecord,
    UnfitError,
)
from bitextfilter.corpus.formats.fields import (
    JsonReader,
    TableReader,
    folder_writer,
    table_writer,
)
from bitextfilter.corpus.formats.rows import CsvReader, csv_writer
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import BadRow, Columns, TextColumn

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def source(columns: Sequence[str] | None) -> PairReader:
    reader = JsonReader(RowReader([], "x", TextColumn()), ("source", "target"), ())
    reader.columns = columns
    return reader


def written(
    pairs: Sequence[PairRecord], columns: Sequence[str] | None = None, **details: object
) -> bytes:
    made = table_writer(FormatSettings(**details), source(columns))  # type: ignore[arg-type]
    return b"".join(part for (part,) in [made.first, *map(made.lines, pairs), made.end()])


def test_texts_and_nulls(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    texts = ["a", None, "", "\ttab\n"]
    pq.write_table(pa.table({"x": texts, "y": texts[::-1], "n": [1.5, 2, None, 4]}), path)
    reader = TableReader(str(path), ("x", "y"), ["n"])
    first, second, third, fourth = reader
    assert first == PairRecord(1, "a", "\ttab\n", {"n": "1.5"}, b"a\t tab \t1.5")
    assert isinstance(second, BadRow) and isinstance(third, BadRow)
    assert (second.number, second.reason) == (2, "no text (null) in 'x'")
    assert (third.number, third.reason) == (3, "no text (null) in 'y'")
    assert fourth == PairRecord(4, "\ttab\n", "a", {"n": "4"}, b" tab \ta\t4")
    assert TableReader(str(path), ("x", "x"), ["x"]).dropped == {"n", "y"}
    assert next(iter(TableReader(str(path), ("x", "x"), ["x"])))[1:4] == ("a", "a", {"x": "a"})


def test_a_text_that_is_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": [b"a", b"\xff", b"c"], "y": ["d", "e", "f"]}), path)
    one, two, three = TableReader(str(path), ("x", "y"), ())
    assert isinstance(one, PairRecord) and isinstance(three, PairRecord)
    assert isinstance(two, BadRow) and (two.number, two.reason) == (2, "a text is not UTF-8")


def test_a_column_that_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": ["a"], "y": [["b"]]}), path)
    with pytest.raises(InputError, match=r"a\.parquet: no column 'source': it has x, y"):
        TableReader(str(path), ("source", "target"), ())
    with pytest.raises(InputError, match=r"a\.parquet: column 'y' is of the type list"):
        TableReader(str(path), ("x", "x"), ["y"])


def test_columns_are_those_of_the_first_row() -> None:
    made = table_writer(FormatSettings(), source(None))
    made.lines(PairRecord(1, "a", "b", {"u": "1", "v": "2"}))
    made.lines(PairRecord(2, "c", "d", {"v": "3"}))
    with pytest.raises(UnfitError, match="a column 'w', which the first row lacks"):
        made.lines(PairRecord(3, "e", "f", {"w": "4"}))
    assert made.end()[0].endswith(b"PAR1")


def test_numbers() -> None:
    pairs = [
        PairRecord(n, "a", "b", {"s": text}) for n, text in enumerate(["0.50", "", "-1e3", "inf"])
    ]
    table = pq.read_table(io.BytesIO(written(pairs, ["s"], numbers=["s"])))
    assert table.column("s").to_pylist() == [0.5, None, -1000, float("inf")]
    assert table.schema.field("s").type == pa.float64()
    with pytest.raises(UnfitError, match="no number in 's'"):
        written([PairRecord(1, "a", "b", {"s": "high"})], ["s"], numbers=["s"])
    with pytest.raises(SettingsError, match="--numbers: no column 'x': source, target, s"):
        written(pairs, ["s"], numbers=["x"])


def test_names_that_exclude_each_other() -> None:
    with pytest.raises(SettingsError, match="two columns would be called 'source'"):
        written([], ["source"])


def test_a_folder_for_datasets(tmp_path: Path) -> None:
    """The library itself loads it; without it, the Arrow stream is read by pyarrow."""
    made = folder_writer(FormatSettings(fields=("t.en", "t.de"), numbers=["s"]), source(["s"]))
    pairs = [PairRecord(n, f"a{n}", "b\n", {"s": "0.5"}) for n in range(3)]
    for name, parts in zip(
        ("data-00000-of-00001.arrow", "dataset_info.json", "state.json"),
        zip(made.first, *map(made.lines, pairs), made.end(), strict=True),
        strict=True,
    ):
        (tmp_path / name).write_bytes(b"".join(parts))
    want = [{"t": {"en": f"a{n}", "de": "b\n"}, "s": 0.5} for n in range(3)]
    assert pa.ipc.open_stream(tmp_path / "data-00000-of-00001.arrow").read_all().to_pylist() == want
    try:
        import datasets
    except ImportError:
        return
    loaded = datasets.load_from_disk(str(tmp_path))
    assert list(loaded) == want
    assert loaded.features == {
        "t": {"en": datasets.Value("string"), "de": datasets.Value("string")},
        "s": datasets.Value("float64"),
    }


TEXT = st.text(max_size=6)


@settings(max_examples=20)
@given(st.lists(st.tuples(TEXT, TEXT, st.none() | TEXT), max_size=5))
def test_written_and_read_again(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str | None]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "again.parquet"
    pairs = [
        PairRecord(n, s, t, {} if x is None else {"x": x}) for n, (s, t, x) in enumerate(rows, 1)
    ]
    path.write_bytes(written(pairs, ["x"], fields=("t.a", "t.b")))
    read = list(TableReader(str(path), ("t.a", "t.b"), ["x"]))
    assert all(isinstance(pair, PairRecord) for pair in read)
    assert [(p.source, p.target, p.others["x"]) for p in read if isinstance(p, PairRecord)] == [
        (s, t, x or "") for s, t, x in rows
    ]


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


FIELDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)


@given(st.lists(st.tuples(FIELDS, FIELDS, FIELDS), max_size=5), st.sampled_from(",;\t"))
def test_csv_rows_are_read_again_as_written(
    rows: list[tuple[str, str, str]], delimiter: str
) -> None:
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
