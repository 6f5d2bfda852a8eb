"""Inputs cut at line ends: nothing lost or twice; the folder that a run can be gone on from."""

from __future__ import annotations

import gzip
import io
import json
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextfilter.errors import InputError, OutputError, SettingsError
from bitextfilter.io import work_folder as shards
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import TextColumn
from bitextfilter.io.work_folder import (
    JoinedFiles,
    Manifest,
    Shard,
    check_plan,
    cut,
    kept_folder,
    nth_part,
    passing_folder,
)

BOM = b"\xef\xbb\xbf"
CONTENT = st.lists(st.sampled_from([b"a", b"b\xc3\xa9", b"\r", b"\n", b"\n", b"\x85", b"\f"])).map(
    b"".join
)


def naive_rows(files: list[bytes], header: bool) -> tuple[bytes, list[tuple[int, int, bytes]]]:
    """What stands before the rows of some files, and each row: file, line, bytes."""
    before, rows = b"", []
    for place, content in enumerate(files):
        bom = BOM if content.startswith(BOM) else b""
        lines = content[len(bom) :].split(b"\n")
        whole = [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
        if place == 0:
            before = bom + (whole[0] if header else b"")
        for number, line in enumerate(whole, 1):
            if header and number == 1:
                continue
            closed = line if line.endswith(b"\n") or place == len(files) - 1 else line + b"\n"
            rows.append((place, number, closed))
    return before, rows


def read(source: Shard | JoinedFiles, header: bool) -> tuple[bytes, list[tuple[str, int, bytes]]]:
    """What a command reads and says of a part: what stands before it, and its rows."""
    name = source.name
    reader = RowReader(source.lines(), name, TextColumn(blank=True), header)
    if isinstance(source, Shard) and source.index:
        reader.start_at(source.number)
    before = reader.first_line()
    return before, [(*source.place(row.number), row.line + row.ending) for row in reader]


def write(folder: Path, contents: list[bytes], header: bool) -> tuple[list[bytes], list[str]]:
    files = [content if not header else put_header(content) for content in contents]
    paths = [folder / f"{place}.tsv" for place in range(len(files))]
    for path, content in zip(paths, files, strict=True):
        path.write_bytes(content)
    return files, [str(path) for path in paths]


def put_header(content: bytes) -> bytes:
    bom = BOM if content.startswith(BOM) else b""
    return bom + b"names\n" + content[len(bom) :]


FILES = st.lists(
    st.tuples(st.booleans(), CONTENT).map(lambda pair: BOM * pair[0] + pair[1]),
    min_size=1,
    max_size=3,
)


@given(FILES, st.integers(1, 4), st.booleans())
def test_shards_are_the_rows(contents: list[bytes], rows: int, header: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        files, paths = write(Path(name), contents, header)
        before, expected = naive_rows(files, header)
        found = list(cut(paths, rows, header, lambda index: Path(name) / f"{index}.input"))
        assert [shard.index for shard in found] == list(range(len(found)))
        assert all(shard.rows <= rows for shard in found)
        parts = [read(shard, header) for shard in found]
        assert b"".join(part[0] for part in parts) == before
        assert [row for part in parts for row in part[1]] == [
            (paths[place], line, content) for place, line, content in expected
        ]
        numbers = [shard.number + place for shard in found for place in range(shard.rows)]
        assert numbers == list(range(1 + header, 1 + header + len(expected)))


@given(FILES, st.booleans())
def test_joined_files_are_the_rows(contents: list[bytes], header: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        files, paths = write(Path(name), contents, header)
        before, expected = naive_rows(files, header)
        assert read(JoinedFiles(paths, header), header) == (
            before,
            [(paths[place], line, content) for place, line, content in expected],
        )


@given(st.booleans(), CONTENT, st.integers(1, 6), st.booleans())
def test_parts_are_the_rows(bom: bool, content: bytes, parts: int, header: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        (file,), (path,) = write(Path(name), [BOM * bom + content], header)
        before, expected = naive_rows([file], header)
        found = [nth_part(path, part, parts, header) for part in range(1, parts + 1)]
        read_parts = [read(shard, header) for shard in found]
        assert read_parts[0][0] == before
        assert [b"" for _ in found[1:]] == [part[0] for part in read_parts[1:]]
        rows = [row for part in read_parts for row in part[1]]
        assert rows == [(path, line, content) for _, line, content in expected]


@pytest.mark.parametrize("name", ["-", "pairs.tsv.gz"])
def test_what_is_not_plain_is_unpacked_into_a_file_for_each_shard(
    tmp_path: Path, name: str
) -> None:
    data = BOM + b"".join(b"row %d\n" % number for number in range(10))
    path = name if name == "-" else str(tmp_path / name)
    if name != "-":
        Path(path).write_bytes(gzip.compress(data))
    found = cut([path], 4, False, lambda index: tmp_path / f"{index}.input", io.BytesIO(data))
    first = next(found)
    assert sorted(tmp_path.glob("*.input")) == [tmp_path / "0.input"]
    parts = [read(shard, False) for shard in [first, *found]]
    shown = "stdin" if name == "-" else path
    rows = [(shown, number + 1, b"row %d\n" % number) for number in range(10)]
    assert parts == [(BOM, rows[:4]), (b"", rows[4:8]), (b"", rows[8:])]


def test_long_lines_end_a_shard_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "SHARD_BYTES", 100)
    path = tmp_path / "rows"
    path.write_bytes(b"".join(b"x" * size + b"\n" for size in (10, 200, 50, 60, 5)))
    found = cut([str(path)], 3, False, lambda index: tmp_path / "unused")
    assert [(str(shard), shard.size) for shard in found] == [
        (f"{path}:1-2", 212),
        (f"{path}:3-4", 112),
        (f"{path}:5-5", 6),
    ]


def test_digests_tell_texts_apart(tmp_path: Path) -> None:
    def digests(data: bytes, header: bool = False) -> list[str]:
        (tmp_path / "rows").write_bytes(data)
        found = cut([str(tmp_path / "rows")], 2, header, lambda index: tmp_path / "unused")
        return [shard.digest for shard in found]

    before = digests(b"a\nb\nc\nd\n")
    assert digests(b"a\nb\nc\ne\n")[0] == before[0] != digests(b"a\nB\nc\nd\n")[0]
    assert digests(b"a\nb\nc\ne\n")[1] != before[1] == digests(b"a\nB\nc\nd\n")[1]
    assert digests(b"x\na\nb\n", True)[0] != digests(b"y\na\nb\n", True)[0]


def test_a_file_that_shrinks_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    path.write_bytes(b"a\nb\nc\n")
    _, shard = cut([str(path)], 2, False, lambda index: tmp_path / "unused")
    path.write_bytes(b"a\nb\n")
    with pytest.raises(InputError, match="rows: changed while it was read"):
        list(shard.lines())


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (b"x\tz\nrow\n", r"two:1: the header differs from the one of .*one$"),
        (b"", "two: empty, expected a"),
    ],
)
def test_headers_have_to_agree(tmp_path: Path, second: bytes, message: str) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(BOM + b"x\ty\r\nrow\n")
    two.write_bytes(second)
    paths = [str(one), str(two)]
    for lines in (
        cut(paths, 5, True, lambda index: tmp_path / "unused"),
        JoinedFiles(paths, True).lines(),
    ):
        with pytest.raises(InputError, match=message):
            list(lines)


@pytest.mark.parametrize("name", ["-", "rows.gz", "missing"])
def test_only_a_plain_file_has_parts(tmp_path: Path, name: str) -> None:
    (tmp_path / "rows.gz").write_bytes(gzip.compress(b"row\n"))
    path = name if name == "-" else str(tmp_path / name)
    with pytest.raises(SettingsError, match="only a plain file can be cut by --shard"):
        nth_part(path, 1, 2, False)


SHARD = Shard(3, "pairs.tsv", "/data/pairs.tsv", 0, 100, 50, 151, 151, digest="abc")
PLAN = {"command": "bitext-score", "--digits": "4"}


def test_a_finished_shard_is_known_by_its_text(tmp_path: Path) -> None:
    with kept_folder(tmp_path / "parts", PLAN) as folder:
        assert folder.finished(SHARD) is None
        folder.finish(SHARD, {"counts": {"rows": 50}})
        assert folder.finished(replace(SHARD, path="/elsewhere")) == {"counts": {"rows": 50}}
        with pytest.raises(SettingsError, match=r"pairs.tsv:151-200 has changed since"):
            folder.finished(replace(SHARD, digest="abd"))


def test_what_is_finished_stays_until_the_folder_is_emptied(tmp_path: Path) -> None:
    path = tmp_path / "new" / "parts"
    with kept_folder(path, PLAN) as folder:
        folder.finish(SHARD, {"counts": {}})
    with kept_folder(path, PLAN) as folder:
        assert folder.finished(SHARD) == {"counts": {}}
        (path / ".000004.output.0123456789ab.partial").touch()
        folder.file(4, "rejects").touch()
    folder.empty()
    assert list(tmp_path.glob("new/*")) == []


@pytest.mark.parametrize("most", range(7))
def test_emptying_that_is_cut_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    remove, left = Path.unlink, iter(range(most))

    def remove_some(path: Path, missing_ok: bool = False) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        remove(path, missing_ok)

    monkeypatch.setattr(Path, "iterdir", lambda path: iter([*sorted(path.glob("*"))][::-1]))
    with kept_folder(tmp_path, PLAN) as folder:
        for index in range(3):
            folder.file(index, "output").touch()
            folder.finish(replace(SHARD, index=index), {})
    monkeypatch.setattr(Path, "unlink", remove_some)
    with suppress(KeyboardInterrupt):
        folder.empty()
    monkeypatch.undo()
    for index in range(3):
        finished = folder.finished(replace(SHARD, index=index))
        assert finished is None or folder.file(index, "output").exists()


def test_a_folder_that_another_run_has_by_now_is_left_to_it(tmp_path: Path) -> None:
    with kept_folder(tmp_path / "parts", PLAN) as folder:
        folder.file(0, "output").touch()
        folder.finish(replace(SHARD, index=0), {})
        folder.empty()
        assert folder.finished(replace(SHARD, index=0)) == {}
    folder.empty()
    folder.empty()
    assert list(tmp_path.iterdir()) == []


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    with kept_folder(tmp_path, PLAN) as folder:
        folder.file(0, "output").touch()
    (tmp_path / "mine.txt").touch()
    folder.empty()
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(SettingsError, match="holds no earlier run"), kept_folder(tmp_path, PLAN):
        pass


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({**PLAN, "--digits": "2"}, "is of another run: --digits was 4, now it is 2"),
        ({"command": "bitext-score"}, "--digits was 4, now it is not given"),
        ({**PLAN, "--similarity": "mlp"}, "--similarity was not given, now it is mlp"),
    ],
)
def test_the_folder_of_another_run_is_refused(
    tmp_path: Path, plan: dict[str, str], message: str
) -> None:
    with kept_folder(tmp_path / "parts", PLAN):
        pass
    with pytest.raises(SettingsError, match=message), kept_folder(tmp_path / "parts", plan):
        pass


def test_a_damaged_plan_is_named(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("[")
    remedy = "plan.json: damaged; remove the folder"
    with pytest.raises(InputError, match=remedy), kept_folder(tmp_path, PLAN):
        pass


def test_groups_of_a_plan_are_compared_by_name(tmp_path: Path) -> None:
    was = {"training": {"seed": 1, "rates": [0.1, 0.2]}, "model": None}
    check_plan(tmp_path, was, {**was, "training": {"rates": (0.1, 0.2), "seed": 1}})
    now = {**was, "training": {"rates": [0.1, 0.2], "seed": 2}}
    with pytest.raises(SettingsError, match=r"training\.seed was 1, now it is 2; go on"):
        check_plan(tmp_path, was, now)


def test_a_passing_folder_stands_beside_the_output_and_goes(tmp_path: Path) -> None:
    with passing_folder(str(tmp_path / "out")) as folder:
        assert folder.path.parent == tmp_path
        folder.finish(SHARD, {})
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "parts"
    with pytest.raises(OutputError, match="cannot be made"), kept_folder(path, PLAN):
        pass


@pytest.mark.parametrize("beside", ["-", "/dev/null", "no/such/folder/out"])
def test_beside_what_is_no_file_it_is_in_tmpdir(beside: str) -> None:
    with passing_folder(beside) as folder:
        assert folder.path.parent == Path(tempfile.gettempdir()).resolve()
    assert not folder.path.exists()


def test_beside_a_file(tmp_path: Path) -> None:
    (tmp_path / "old").touch()
    for name in ("old", "new"):
        with passing_folder(str(tmp_path / name)) as folder:
            assert folder.path.parent == tmp_path.resolve()
        assert not folder.path.exists()


MANIFEST = Manifest(
    "0.1.0", ["bitext-score", "--scol", "de"], {"rows": 3}, 1.5, 2.0, {"seed": 1}, ["tokens"]
)


def test_a_manifest_is_json(tmp_path: Path) -> None:
    MANIFEST.write(tmp_path / "run.json")
    assert json.loads((tmp_path / "run.json").read_bytes()) == {
        "version": "0.1.0",
        "command": ["bitext-score", "--scol", "de"],
        "counts": {"rows": 3},
        "seconds": 1.5,
        "rows_per_second": 2.0,
        "facts": {"seed": 1},
        "compiled": ["tokens"],
    }


def test_a_manifest_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        MANIFEST.write(tmp_path / "nowhere" / "run.json")
