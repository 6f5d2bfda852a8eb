from __future__ import annotations

import datetime
import io
from pathlib import Path

import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from bitextfilter.errors import InputError, NotFoundError  # noqa: E402
from bitextfilter.io import arrow_file  # noqa: E402
from bitextfilter.io.arrow_file import ArrowTable, ArrowWriter, open_as_rows  # noqa: E402
from bitextfilter.io.lines import LINE_BYTES  # noqa: E402
from bitextfilter.io.row_reader import RowReader  # noqa: E402
from bitextfilter.io.rows import BadRow, Columns, Row  # noqa: E402


def rows_of(path: Path) -> bytes:
    with open_as_rows(str(path)) as stream:
        return stream.read()


def saved(path: Path, *, groups: int = 1 << 20, **columns: object) -> Path:
    pq.write_table(pa.table(columns), path, row_group_size=groups)
    return path


def test_all_columns_as_text(tmp_path: Path) -> None:
    path = saved(
        tmp_path / "a.parquet",
        pair=pa.array([{"en": "a", "x": {"de": "b"}}, None, {"en": "", "x": None}]),
        score=[0.1, 1e20, None],
        single=pa.array([0.1, 2.0, float("nan")], pa.float32()),
        count=pa.array([1, -2, None], pa.int8()),
        kept=[True, None, False],
        kind=pa.array(["u", None, "v"]).dictionary_encode(),
        day=[datetime.date(2020, 2, 1), None, None],
        nothing=pa.nulls(3),
        raw=pa.array([b"\xff\r", b"z", b""]),
        large=pa.array(["ä", "\u2028", " "], pa.large_string()),
    )
    assert rows_of(path).split(b"\n") == [
        b"pair.en\tpair.x.de\tscore\tsingle\tcount\tkept\tkind\tday\tnothing\traw\tlarge",
        b"a\tb\t0.1\t0.1\t1\ttrue\tu\t2020-02-01\t\t\xff\r\t\xc3\xa4",
        b"\t\t1e+20\t2\t-2\t\t\t\t\tz\t\xe2\x80\xa8",
        b"\t\t\tnan\t\tfalse\tv\t\t\t\t ",
        b"",
    ]


@pytest.mark.parametrize("kind", ["parquet", "file", "stream"])
@pytest.mark.parametrize("count", [0, 1, 4095, 4096, 10_001])
def test_rows_of_every_kind_of_file(tmp_path: Path, kind: str, count: int) -> None:
    table = pa.table({"a": [f"a{n}" for n in range(count)], "b": pa.array(range(count))})
    path = tmp_path / "t.arrow"
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=3000)
    else:
        make = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
        with make(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=5000)
    want = b"a\tb\n" + b"".join(b"a%d\t%d\n" % (n, n) for n in range(count))
    assert rows_of(path) == want


def test_fields_are_found_by_whole_names_first(tmp_path: Path) -> None:
    path = saved(
        tmp_path / "a.parquet", **{"t.en": ["x"], "t": [{"en.gb": "y"}], "u": [{"v": {"w": "z"}}]}
    )
    with ArrowTable(str(path)) as table:
        assert table.names == ["t.en", "t.en.gb", "u.v.w"]
        (columns,) = table.batches(["u.v.w", "t.en", "t.en.gb"])
    assert [column.to_pylist() for column in columns] == [[b"z"], [b"x"], [b"y"]]


UNFIT = ["a\tb", "a\nb", "a\n", "\t"]


@pytest.mark.parametrize("text", [*UNFIT, "a\r"])
@pytest.mark.parametrize("place", ["source", "target", "more"])
def test_a_text_that_would_break_its_row(tmp_path: Path, text: str, place: str) -> None:
    """It is a bad row wherever it stands; a ``\\r`` only at the end of a row."""
    columns = {"source": ["s", "s", "s"], "target": ["t", "t", "t"], "more": ["m", "m", "m"]}
    columns[place][1] = text
    with open_as_rows(str(saved(tmp_path / "a.parquet", **columns))) as stream:
        rows = list(RowReader(stream, "a", Columns("source", "target"), header=True))
    if text == "a\r" and place != "more":
        assert all(isinstance(row, Row) for row in rows)
        return
    first, bad, last = rows
    assert isinstance(first, Row) and isinstance(last, Row) and isinstance(bad, BadRow)
    assert (bad.number, bad.reason) == (3, "a tab or line break in a text")
    expected = {name: texts[1] for name, texts in columns.items()}
    expected[place] = text.replace("\t", " ").replace("\n", " ").replace("\r", " ")
    assert bad.line.decode() == "\t".join(expected.values())


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [[1]]}, "column 'a' is of the type list<.*, which is no text"),
        ({"a\tb": ["x"]}, r"the column 'a\\tb' has no name for a TSV"),
        ({"t.en": ["x"], "t": [{"en": "y"}]}, "two columns are called 't.en'"),
    ],
)
def test_tables_that_are_no_rows(
    tmp_path: Path, columns: dict[str, list[object]], message: str
) -> None:
    path = saved(tmp_path / "a.parquet", **columns)
    with pytest.raises(InputError, match=rf"a\.parquet: {message}"):
        rows_of(path)


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    for data in (b"", b"PAR1", b"PAR1" * 5, b"ARROW1\0\0", b"a\tb\n" * 9, b"\xff" * 100):
        path.write_bytes(data)
        with pytest.raises(InputError, match=r"^.*a\.parquet: (cannot be read as|empty, )"):
            rows_of(path)
    with pytest.raises(NotFoundError, match="cannot be opened"):
        rows_of(tmp_path / "none.parquet")
    with pytest.raises(InputError, match=r"^stdin: a table is read from both ends"):
        ArrowTable("-")


@pytest.mark.parametrize("kind", ["parquet", "stream"])
def test_damaged_files_give_the_rows_or_an_error(tmp_path: Path, kind: str) -> None:
    """No other exception, and with the checksums of our own files no other text."""
    writer = ArrowWriter(["a", "b"], (), kind == "parquet")
    data = b"".join(writer.add([f"text {n}", "b" * (n % 9)], 9) for n in range(300)) + writer.end()
    path = tmp_path / "a.parquet"
    path.write_bytes(data)
    good = rows_of(path)
    for place in range(0, len(data), 11 if kind == "parquet" else 97):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])
        try:
            read = rows_of(path)
        except InputError:
            pass
        else:
            lines = zip(read.split(b"\n"), good.split(b"\n"), strict=False)
            same = [one == other for one, other in lines]
            assert kind == "stream" or sum(same) >= len(same) - 1  # the names of columns
        path.write_bytes(data[:place])
        if kind == "parquet":
            with pytest.raises(InputError):
                rows_of(path)


def written(names: list[str], rows: list[list[str | float | None]], *numbers: str) -> object:
    writer = ArrowWriter(names, numbers, parquet=True)
    data = b"".join([*(writer.add(row, 10) for row in rows), writer.end()])
    return pq.read_table(io.BytesIO(data))


def test_what_is_written() -> None:
    table = written(["t.en", "s", "t.de"], [["a", 0.5, "b"], ["", None, None]], "s")
    assert table.schema == pa.schema(  # type: ignore[attr-defined]
        [
            ("t", pa.struct([("en", pa.string()), ("de", pa.string())])),
            ("s", pa.float64()),
        ]
    )
    assert table.to_pylist() == [  # type: ignore[attr-defined]
        {"t": {"en": "a", "de": "b"}, "s": 0.5},
        {"t": {"en": "", "de": None}, "s": None},
    ]
    assert written(["a", "b"], []).num_rows == 0  # type: ignore[attr-defined]


def test_row_groups_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_file, "_GROUP", 10)
    writer = ArrowWriter(["a"], (), parquet=True)
    parts = [writer.add([str(n)], LINE_BYTES if n == 24 else 1) for n in range(27)]
    assert [n for n, part in enumerate(parts) if part] == [0, 9, 19, 24]  # the magic number first
    file = pq.ParquetFile(io.BytesIO(b"".join(parts) + writer.end()))
    assert [file.metadata.row_group(n).num_rows for n in range(4)] == [10, 10, 5, 2]


@pytest.mark.parametrize("names", [["a", "a"], ["a", "a.b"], ["a.b", "a"]])
def test_names_that_exclude_each_other(names: list[str]) -> None:
    with pytest.raises(ValueError, match=names[1].replace(".", r"\.")):
        ArrowWriter(names, (), parquet=True)
