"""Shard by shard, the same bytes: on every engine, in parts, and after a run that ended early."""

from __future__ import annotations

import gzip
import io
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import click
import numpy as np
import pytest
from click.testing import Result
from console import invoke, says_one_line
from toys import sentences, toy_model

from bitextfilter.commands import embed, score
from bitextfilter.commands import filter as filtering
from bitextfilter.commands.frame import shards
from bitextfilter.errors import WorkerError
from bitextfilter.scoring import model as models
from bitextfilter.scoring import row_checks as column_languages

BOM = b"\xef\xbb\xbf"
PAIRS = [f"{s}\t{t}".encode() for s, t in zip(*sentences(23, 7), strict=True)]
BAD = [*PAIRS[:5], b"a1", *PAIRS[5:12], b"a1\t\xff", *PAIRS[12:], b"", b"a2\tb2"]

INPUTS = {
    "plain": b"".join(line + b"\n" for line in PAIRS),
    "header": b"x\ty\n" + b"".join(line + b"\n" for line in PAIRS),
    "BOM, CRLF": BOM + b"".join(line + b"\r\n" for line in PAIRS),
    "BOM, header, CRLF": BOM + b"x\ty\r\n" + b"".join(line + b"\r\n" for line in PAIRS),
    "no newline at the end": b"\n".join(PAIRS),
    "bad rows": b"".join(line + b"\n" for line in BAD),
    "header, bad rows": b"x\ty\n" + b"\n".join(BAD),
    "one line": PAIRS[0],
    "empty": b"",
    "header alone": b"x\ty",
    "BOM alone": BOM,
}

COMMANDS: dict[str, tuple[click.Command, list[str]]] = {
    "score": (score.main, ["--similarity", "mlp,cosine"]),
    "score-only": (score.main, ["--score-only", "--similarity", "csls"]),
    "embed": (embed.main, ["--language", "ba", "--column", "2"]),
    "filter": (filtering.main, ["--rule", "length:minimum=5"]),
    "explain": (filtering.main, ["--rule", "length:minimum=5", "--explain"]),
}


def call(
    folder: Path, name: str, *words: object, data: bytes = b"", code: int | None = None
) -> Result:
    command, options = COMMANDS[name]
    start = (*options, "--model", folder, "--on-error", "reject", "--threads", "1")
    return invoke(command, *start, *words, data=data, code=code)


def outcome(folder: Path, name: str, place: Path, *words: object) -> tuple[bytes, bytes, Any, str]:
    """Output, rejects, counts and facts of the manifest, and what is said but for the summary."""
    files = ["-o", place / "out", "--rejects", place / "bad", "--manifest", place / "run.json"]
    place.mkdir()
    result = call(folder, name, *words, *files, "--batch-size", "2")
    assert result.exit_code == 0, result.output
    manifest = json.loads((place / "run.json").read_bytes())
    assert {path.name for path in place.iterdir()} == {"out", "bad", "run.json"}
    said = [line for line in result.stderr.splitlines() if " rows/s" not in line]
    told = (manifest["counts"], manifest["facts"], said)
    return (place / "out").read_bytes(), (place / "bad").read_bytes(), told, result.stderr


@pytest.mark.gate(8)
@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("name", COMMANDS)
def test_shards_give_the_bytes_and_the_counts_of_a_stream(
    folder: Path, tmp_path: Path, name: str, kind: str
) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_bytes(INPUTS[kind])
    header = ["--header"] if "header" in kind else []
    whole = outcome(folder, name, tmp_path / "whole", *header, "-i", path)
    words = ["--resume", tmp_path / "parts", "--shard-rows", "4"]
    parts = outcome(folder, name, tmp_path / "by-shards", *header, "-i", path, *words)
    assert parts[:3] == whole[:3]
    assert not (tmp_path / "parts").exists()


@pytest.mark.gate(8)
@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("name", COMMANDS)
def test_parts_are_the_whole(folder: Path, tmp_path: Path, name: str, kind: str) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_bytes(INPUTS[kind])
    header = ["--header"] if "header" in kind else []
    whole = outcome(folder, name, tmp_path / "whole", *header, "-i", path)
    parts = [
        outcome(folder, name, tmp_path / str(n), *header, "-i", path, "--shard", f"{n}/3")
        for n in (1, 2, 3)
    ]
    assert b"".join(part[1] for part in parts) == whole[1]
    if name == "embed":
        arrays = [np.load(io.BytesIO(part[0])) for part in parts]
        np.testing.assert_array_equal(np.concatenate(arrays), np.load(io.BytesIO(whole[0])))
    else:
        assert b"".join(part[0] for part in parts) == whole[0]


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("options", [[], ["--shard-rows", "4", "--resume", "PARTS"]])
def test_several_files_are_one(folder: Path, tmp_path: Path, name: str, options: list[str]) -> None:
    lines = INPUTS["header, bad rows"].splitlines(keepends=True)
    whole, *paths = (tmp_path / name for name in ("whole.tsv", "1.tsv", "2.tsv.gz", "3.tsv"))
    whole.write_bytes(b"".join(lines))
    head = lines[0]
    paths[0].write_bytes(BOM + b"".join(lines[:9]))
    paths[1].write_bytes(gzip.compress(BOM + head + b"".join(lines[9:14])[:-1]))
    paths[2].write_bytes(head + b"".join(lines[14:]))
    options = [str(tmp_path / "parts") if word == "PARTS" else word for word in options]
    expected = outcome(folder, name, tmp_path / "one", "--header", "-i", whole)
    found = outcome(folder, name, tmp_path / "many", "--header", *paths, *options)
    if name in ("score", "filter", "explain"):
        found = (found[0].removeprefix(BOM), *found[1:])
    assert found[:3] == expected[:3]


@pytest.mark.parametrize("options", [[], ["--shard-rows", "4", "--resume", "PARTS"]])
def test_a_bad_row_is_named_by_its_own_file_and_line(
    folder: Path, tmp_path: Path, options: list[str]
) -> None:
    one, two = tmp_path / "one.tsv", tmp_path / "two.tsv"
    one.write_bytes(b"x\ty\n" + INPUTS["plain"])
    two.write_bytes(INPUTS["header, bad rows"])
    options = [str(tmp_path / "parts") if word == "PARTS" else word for word in options]
    words = ["--header", "--on-error", "stop", one, two, *options, "-o", tmp_path / "out"]
    message = f"bitext-score: {two}:7: 1 column, expected at least 2"
    says_one_line(call(folder, "score", *words), 65, message)
    assert not (tmp_path / "out").exists()


def test_stdin_goes_in_and_stdout_comes_out(folder: Path, tmp_path: Path) -> None:
    words = ["--resume", tmp_path / "parts", "--shard-rows", "4"]
    for kind in ("plain", "no newline at the end", "empty"):
        found = call(folder, "score", *words, data=INPUTS[kind])
        assert found.stdout_bytes == call(folder, "score", data=INPUTS[kind]).stdout_bytes
        assert list(tmp_path.iterdir()) == []


@pytest.mark.gate(4)
@pytest.mark.parametrize("fails", range(6))
@pytest.mark.parametrize("name", ["score", "embed", "filter"])
def test_a_run_goes_on_where_it_ended(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, fails: int
) -> None:
    path, parts = tmp_path / "pairs.tsv", tmp_path / "parts"
    path.write_bytes(INPUTS["bad rows"])
    words = ["--resume", parts, "--shard-rows", "4", "-i", path, "-o", tmp_path / "out"]
    done: list[int] = []
    real = shards._Job._do

    def breaking(job: Any, shard: Any) -> Any:
        if len(done) == fails and fails < 6:
            raise OSError("the machine breaks")
        done.append(shard.index)
        return real(job, shard)

    monkeypatch.setattr(shards._Job, "_do", breaking)
    assert call(folder, name, *words).exit_code == 74
    assert len(list(parts.glob("*.json"))) == fails + 1  # those of the shards, and the plan
    assert not (tmp_path / "out").exists()
    before = {file: file.stat().st_mtime_ns for file in parts.glob("*.output")}
    monkeypatch.setattr(shards._Job, "_do", real)
    kept = shards.WorkFolder.empty
    monkeypatch.setattr(shards.WorkFolder, "empty", lambda folder: None)
    assert call(folder, name, *words).exit_code == 0
    assert {file: file.stat().st_mtime_ns for file in before} == before
    kept(shards.WorkFolder(parts))
    call(folder, name, "-i", path, "-o", tmp_path / "expected")
    assert (tmp_path / "out").read_bytes() == (tmp_path / "expected").read_bytes()


def interrupted(folder: Path, tmp_path: Path) -> list[object]:
    """The words of a run that ended at its third shard."""
    path = tmp_path / "pairs.tsv"
    path.write_bytes(INPUTS["bad rows"])
    words = ["-i", path, "--resume", tmp_path / "parts", "--shard-rows", "3"]
    assert call(folder, "score", *words, "--on-error", "stop").exit_code == 65
    return words


def test_what_decides_the_result_has_to_be_the_same(folder: Path, tmp_path: Path) -> None:
    """And the input where it is done."""
    words = interrupted(folder, tmp_path)
    other = toy_model(tmp_path / "other", classifier=True, dim=16)
    for more, message in (
        (["--on-error", "stop", "--digits", "2"], "--digits was 4, now it is 2"),
        (["--on-error", "stop", "--shard-rows", "5"], "--shard-rows was 3, now it is 5"),
        (["--on-error", "stop", "--model", other], "--model was "),
        (["--on-error", "reject"], "--on-error was stop, now it is reject"),
    ):
        result = call(folder, "score", *words, *more)
        says_one_line(result, 78, f"parts is of another run: {message}")
    words, path = [*words, "--on-error", "stop"], tmp_path / "pairs.tsv"
    path.write_bytes(INPUTS["plain"].replace(PAIRS[1], PAIRS[2]))
    said = call(folder, "score", *words, code=78).stderr
    assert f"parts is of another input: {path}:1-3 has changed since" in said
    path.write_bytes(INPUTS["plain"])  # the bad row has been put right
    result = call(folder, "score", *words)
    assert result.stdout_bytes == call(folder, "score", "-i", path).stdout_bytes


def test_a_cache_goes_with_shards_and_may_grow_meanwhile(folder: Path, tmp_path: Path) -> None:
    words = [*interrupted(folder, tmp_path), "--on-error", "stop", "--cache", tmp_path / "cache"]
    assert call(folder, "score", *words).exit_code == 65
    (tmp_path / "pairs.tsv").write_bytes(INPUTS["plain"])
    result = call(folder, "score", *words)
    assert result.stdout_bytes == call(folder, "score", data=INPUTS["plain"]).stdout_bytes
    assert "23 rows, 0 rejected, 0 cached, 20 scored" in result.stderr
    again = call(folder, "score", *words)
    assert again.stdout_bytes == result.stdout_bytes
    assert "23 rows, 0 rejected, 20 cached, 3 scored" in again.stderr


def test_a_worker_elsewhere_says_what_it_lacks(tmp_path: Path) -> None:
    here = shards.WorkerSetup(lambda: len, tmp_path)
    with pytest.raises(WorkerError, match=r"missing is not on .*: workers need a shared file"):
        replace(here, needed=tmp_path / "missing")()
    with pytest.raises(WorkerError, match=r"has bitextfilter .*, not 0.0.1: workers need the same"):
        replace(here, version="0.0.1")()
    assert here() is len
    assert Path.cwd() == Path(here.folder)


def test_neighbours_of_several_files(folder: Path, tmp_path: Path) -> None:
    paths = [tmp_path / "1.tsv", tmp_path / "2.tsv"]
    lines = INPUTS["plain"].splitlines(keepends=True)
    paths[0].write_bytes(b"".join(lines[:9]))
    paths[1].write_bytes(b"".join(lines[9:]))
    words = ["--similarity", "csls", "--neighbours", "input"]
    expected = call(folder, "score", *words, data=INPUTS["plain"])
    assert call(folder, "score", *words, *paths).stdout_bytes == expected.stdout_bytes != b""


def test_a_model_is_loaded_once(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = Mock(side_effect=models.load)
    monkeypatch.setattr(models, "load", loads)
    shards.load_model_once.cache_clear()
    words = ("--resume", tmp_path / "x", "--shard-rows", "2")
    call(folder, "score", *words, data=INPUTS["plain"], code=0)
    assert loads.call_count == 1


def test_the_columns_are_checked_once(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(column_languages, "check_columns", lambda *_: "the columns look swapped")
    words = ["--resume", tmp_path / "parts", "--shard-rows", "12"]
    result = call(folder, "score", *words, data=INPUTS["plain"])
    assert result.stderr.count("bitext-score: warning: the columns look swapped (--scol") == 1
    (tmp_path / "rows").write_bytes(INPUTS["plain"])
    for part, times in ((1, 1), (2, 0)):
        result = call(folder, "score", "-i", tmp_path / "rows", "--shard", f"{part}/2")
        assert result.stderr.count("look swapped") == times


def test_one_file_is_that_of_i(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "rows"
    path.write_bytes(INPUTS["BOM, CRLF"])
    expected = call(folder, "score", "-i", path).stdout_bytes
    assert call(folder, "score", path).stdout_bytes == expected
    assert call(folder, "score", "-", data=INPUTS["BOM, CRLF"]).stdout_bytes == expected
    lost = call(folder, "score", "a", "b", "--resume", tmp_path / "parts")
    assert lost.exit_code == 66 and "a: cannot be opened" in lost.stderr


def test_without_ray_it_is_said_how_to_get_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("--engine", "ray", "--threads", "2")
    said = call(folder, "filter", *words, data=INPUTS["plain"], code=2).stderr
    assert "a worker of this command has one thread: --workers says how many" in said
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "bitextfilter.distributed", raising=False)
    result = call(folder, "score", "--engine", "ray", data=INPUTS["plain"])
    says_one_line(result, 69, "needs the package ray: pip install 'bitextfilter[ray]'")


@pytest.mark.parametrize("by_option", [True, False])
def test_a_cluster_that_is_not_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch, by_option: bool
) -> None:
    pytest.importorskip("ray")
    address = "127.0.0.1:9"
    words = ("--engine", "ray", *(["--ray-address", address] if by_option else []))
    if not by_option:
        monkeypatch.setenv("RAY_ADDRESS", address)
    result = call(folder, "score", *words, data=INPUTS["plain"])
    says_one_line(result, 69, f"the Ray cluster at {address} cannot be reached: ")
