"""Formats as users convert them, and tables as the input of other commands."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest
from click.testing import Result
from console import invoke, says_one_line

from bitextfilter.training.data import PairFile

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = "id\ten\tde\tscore\n1\ta\tä\t0.50\n2\tb\tb\t\n3\tc\tc \t1e-3\n"
NAMED = ("--header", "--scol", "en", "--tcol", "de")


def call(*words: object, data: str | bytes = b"", command: str = "bitext-convert") -> Result:
    return invoke(command, *words, data=data, code=None)


def made(*words: object, data: str | bytes = b"", command: str = "bitext-convert") -> str:
    result = invoke(command, "-q", *words, data=data)
    assert result.stderr == ""
    return result.stdout_bytes.decode()


def saved(path: Path, **columns: object) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def test_rows_to_parquet_and_back(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    fields = "translation.en,translation.de"
    words = ("--to", "parquet", *NAMED, "--fields", fields, "--numbers", "score")
    assert made(*words, "-o", path, data=ROWS) == ""
    assert pq.read_table(path).to_pylist()[1] == {
        "translation": {"en": "b", "de": "b"},
        "id": "2",
        "score": None,
    }
    back = ("--from", "parquet", "--fields", fields, "--keep", "id,score", "--header", path)
    assert made(*back) == (
        "translation.en\ttranslation.de\tid\tscore\na\tä\t1\t0.5\nb\tb\t2\t\nc\tc \t3\t0.001\n"
    )
    result = call("--from", "parquet", "--fields", fields, path)
    assert "left out: id, score (--keep NAME keeps one)" in result.stderr
    again = made("--from", "parquet", "--fields", fields, "--to", "jsonl", "-i", path)
    assert again.startswith('{"translation": {"en": "a", "de": "ä"}}\n')


def test_a_table_as_the_input_of_any_command(tmp_path: Path) -> None:
    pair = [{"en": "One two.", "de": "Eins zwei."}, None, {"en": "b\n", "de": "c"}]
    kind = pa.struct([("en", pa.string()), ("de", pa.string())])
    path = saved(tmp_path / "a.parquet", translation=pa.array(pair, kind), n=[1, 2, 3])
    arrow = tmp_path / "a.arrow"
    with pa.ipc.new_file(arrow, pq.read_schema(path)) as writer:
        writer.write_table(pq.read_table(path))
    columns = ("--scol", "translation.en", "--tcol", "translation.de")
    for name in (path, arrow):
        words = ("-i", name, *columns, "--rule", "length", "-o", tmp_path / "out")
        result = call(*words, command="bitext-filter")
        message = f"{name.name}:4: a tab or line break in a text; bitext-convert --from parquet --w"
        says_one_line(result, 65, message)
    rejects = tmp_path / "rejects"
    skip = ("--on-error", "reject", "--rejects", rejects)
    words = ("--column", "n", *columns, *skip)
    header = "translation.en\ttranslation.de\tn\n"
    two = "\t\t2\nOne two.\tEins zwei.\t1\n"
    assert made("-i", path, *words, command="bitext-rank") == header + two
    assert rejects.read_text() == "4\ta tab or line break in a text\tb \tc\t3\n"
    words = (*columns, *skip, "--rule", "length")
    assert made(path, arrow, *words, command="bitext-filter") == (
        header + "One two.\tEins zwei.\t1\n" * 2
    )


def test_names_of_tables_tell_their_format(tmp_path: Path) -> None:
    path, arrow = tmp_path / "a.parquet", tmp_path / "a.arrow"
    assert made("-o", path, data="a\tx\t1\n") == ""
    with pa.ipc.new_file(arrow, pq.read_schema(path)) as writer:
        writer.write_table(pq.read_table(path))
    for table in (path, arrow):
        assert made(table) == made("-i", table) == "a\tx\n"
        named = ("--scol", "target", "--tcol", "1")
        assert made(table, *named, "--to", "csv") == "target,source,3\r\nx,a,1\r\n"


def test_tables_are_not_written_as_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.tsv").write_text("a\tb\t1\n")
    message = "a.parquet is the name of a table, but rows are written: bitext-convert --header"
    for words in (["-o", "a.parquet"], ["--on-error", "reject", "--rejects", "a.parquet"]):
        says_one_line(call("-i", "in.tsv", *words, command="bitext-rank"), 2, message)
    words = ["-i", "in.tsv", "--part", "a=1", "-o", "{}.parquet"]
    says_one_line(call(*words, command="bitext-split"), 2, message)
    assert [path.name for path in tmp_path.iterdir()] == ["in.tsv"]


def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path / "a.parquet", source=["a"], target=["b"])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    message = "Parquet and Arrow need pyarrow: pip install 'bitextfilter[parquet]'"
    says_one_line(call("--from", "parquet", path), 69, message)
    says_one_line(call("-i", path, "--column", "source", command="bitext-rank"), 69, message)
    out = tmp_path / "out.parquet"
    says_one_line(call("--to", "parquet", "-o", out, data="a\tb\n"), 69, message)
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_of_the_datasets_library(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    folder = tmp_path / "new" / "pairs"
    words = ("--to", "datasets", *NAMED, "--fields", "translation.en,translation.de")
    for _ in range(2):  # an older one is replaced
        assert made(*words, "--numbers", "score", folder, data=ROWS) == ""
    loaded = datasets.load_from_disk(str(folder))
    assert loaded[0] == {"translation": {"en": "a", "de": "ä"}, "id": "1", "score": 0.5}
    assert loaded["score"][1:] == [None, 0.001]
    assert loaded.filter(lambda row: (row["score"] or 0) > 0.1, load_from_cache_file=False)[
        "id"
    ] == ["1"]
    result = call("--to", "datasets", "--header", folder, data="a\tb\nc\n")
    says_one_line(result, 65, "stdin:2: 1 column, expected at least 2")
    assert len(datasets.load_from_disk(str(folder))) == 3
    (folder / "notes.txt").write_text("mine")
    says_one_line(call(*words, folder, data=ROWS), 74, f"{folder}: exists, with other files in it")
    assert (folder / "notes.txt").read_text() == "mine"


def test_numbered_columns_of_a_table(tmp_path: Path) -> None:
    out = tmp_path / "a.parquet"
    made("--to", "parquet", "-o", out, data="a\tb\t1\nc\td\t2\n")
    want = "source\ttarget\t3\nc\td\t2\na\tb\t1\n"
    assert made("-i", out, command="bitext-rank") == want
    assert made(out, out, "--top-lines", "1", command="bitext-rank") == want[:22]


def test_a_header_with_a_number(tmp_path: Path) -> None:
    rows = "s\tt\t4\na\tb\tc\td\n"
    wanted = '{"s": "a", "t": "b", "4": "c", "column 4": "d"}\n'
    assert made("--header", "--to", "jsonl", data=rows) == wanted
    commas = rows.replace("\t", ",")
    assert made("--from", "csv", "--header", "--to", "jsonl", data=commas) == wanted


def test_names_that_would_stand_twice() -> None:
    line = '{"source": "a", "target": "b", "k": "c"}\n'
    words = ("--from", "jsonl", "--keep")
    says_one_line(call(*words, "k,k", data=line), 2, "'k' stands twice")
    says_one_line(
        call(*words, "source", "--header", data=line), 78, "two columns would be called 'source'"
    )
    assert made(*words, "source", data=line) == "a\tb\ta\n"


def test_a_name_that_no_header_can_hold(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.parquet", **{"source": ["a"], "target": ["b"], "n\tx": [1]})
    words = ("--from", "parquet", "--keep", "n\tx", "--header", path)
    for reject in ((), ("--on-error", "reject")):
        says_one_line(
            call(*words, *reject), 65, "a.parquet: a tab in the header; --whitespace makes it"
        )
    assert made(*words, "--whitespace") == "source\ttarget\tn x\na\tb\t1\n"


def test_folders_and_packed_tables(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet.gz"
    path.write_bytes(gzip.compress(b"PAR1"))
    says_one_line(
        call("--from", "parquet", path), 65, "a.parquet.gz: a compressed table; unpack it first"
    )
    says_one_line(
        call("--from", "arrow", tmp_path), 66, f"{tmp_path}: cannot be opened: Is a directory"
    )


def test_csv(tmp_path: Path) -> None:
    data = '\ufefflink;de;en\r\n1;"ä;b";a\r\n2;"c\nd";b\r\n'
    words, rejects = ("--from", "csv", "--delimiter", ";", *NAMED), tmp_path / "rejects"
    message = "stdin:3: a line break in the target; --whitespace makes it a space"
    says_one_line(call(*words, data=data), 65, message)
    rows = "en\tde\tlink\na\tä;b\t1\nb\tc d\t2\n"
    assert made(*words, "--whitespace", data=data) == rows
    assert made(*words, "--on-error", "reject", "--rejects", rejects, data=data).count("\n") == 2
    assert rejects.read_text() == '3\ta line break in the target\t2;"c d";b\n'
    comma = "en,de,id,score\r\na,ä,1,0.50\r\nb,b,2,\r\nc,c ,3,1e-3\r\n"
    assert made("--to", "csv", *NAMED, data=ROWS) == comma


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("PAR1\x15\x04", "parquet FILE"),
        ("ARROW1\0\0", "arrow FILE"),
        ('<?xml version="1.0"?><xliff version="1.2">', "xliff"),
        ('<?xml version="1.0"?>', "tmx"),
        ('msgid ""', "po"),
        ('a,"b, c"', "csv"),
        ('"a";b', "csv --delimiter ';'"),
    ],
)
def test_other_formats_are_recognised(line: str, options: str) -> None:
    result = call("--rule", "length", data=line + "\n", command="bitext-filter")
    says_one_line(
        result, 65, f"; bitext-convert --from {options} | bitext-filter reads this format"
    )


def test_tables_to_train_on_and_to_compare_with(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.parquet", source=["a", "c"], target=["b", "d"], n=[1, 2])
    assert list(PairFile(str(path)).texts()) == [("a", "b"), ("c", "d")]
    assert made("--against", path, data="x\ty\na\tb\n", command="bitext-dedup") == "x\ty\n"
    words = ("--by", "either", "--against-source", path)
    result = call(*words, data="x\ty\n", command="bitext-dedup")
    assert (result.exit_code, result.stderr.count("\n")) == (65, 1)
