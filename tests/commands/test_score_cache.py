"""bitext-score --cache: the same bytes as without, however the cache came to be."""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from console import BIN
from toys import sentences, toy_model

from bitextfilter.commands import score
from bitextfilter.scoring import cached_scores as cache_module
from bitextfilter.scoring.cached_scores import CACHE_FILE
from bitextfilter.scoring.measures import MEASURES

SOURCES, TARGETS = sentences(300, 7)
LINES = [f"{s}\t{t}\n".encode() for s, t in zip(SOURCES, TARGETS, strict=True)]
DATA = b"".join(LINES)
ALL = ("--similarity", ",".join(MEASURES), "--digits", "9")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_model(tmp_path_factory.mktemp("models") / "toy")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def call(folder: Path, *words: str | Path, data: bytes = DATA) -> Result:
    arguments = [*(str(word) for word in words), "--model", str(folder)]
    return CliRunner().invoke(score.main, arguments, input=data)


def counted(result: Result) -> tuple[int, int]:
    """How many rows the summary says were cached, and scored."""
    assert result.exit_code == 0, result.stderr
    words = result.stderr.split("\n")[-2].replace(",", "").split(" ")
    return int(words[words.index("cached") - 1]), int(words[words.index("scored") - 1])


@pytest.mark.parametrize("digits", ["0", "4", "9"])
def test_the_bytes_are_those_without_a_cache(folder: Path, cache: Path, digits: str) -> None:
    words = ("--similarity", ",".join(MEASURES), "--digits", digits)
    plain = call(folder, *words)
    assert "cached" not in plain.stderr
    for batch, expected in (("7", (0, 300)), ("1000", (300, 0)), ("64", (300, 0))):
        result = call(folder, *words, "--cache", cache, "--batch-size", batch)
        assert result.stdout_bytes == plain.stdout_bytes
        assert counted(result) == expected


def test_neither_order_nor_columns_nor_other_measures_matter(folder: Path, cache: Path) -> None:
    call(folder, "--cache", cache, "--similarity", "mlp,csls")
    order = random.Random(1).choices(range(300), k=400)
    rows = [f"id\t{TARGETS[i]}\tx\t{SOURCES[i]}\r\n" for i in order]
    data = "".join(["\ufeffa\tto\tb\tfrom\r\n", *rows]).encode()
    words = ("--header", "--scol", "from", "--tcol", "2", "--similarity", "csls")
    result = call(folder, *words, "--cache", cache, data=data)
    assert result.stdout_bytes == call(folder, *words, data=data).stdout_bytes
    assert counted(result) == (400, 0)


def test_swapped_columns_are_other_pairs(folder: Path, cache: Path) -> None:
    call(folder, "--cache", cache)
    words = ("--scol", "2", "--tcol", "1", "--no-column-check")
    result = call(folder, *words, "--cache", cache)
    assert counted(result) == (0, 300)
    assert result.stdout_bytes == call(folder, *words).stdout_bytes


def test_rejected_rows_are_neither_cached_nor_scored(folder: Path, cache: Path) -> None:
    data = b"".join([LINES[0], b"one\n", b"\xff\tb\n", LINES[0], b"a1\t \n", LINES[1]])
    words = (*ALL, "--on-error", "reject")
    for expected in ((1, 2), (3, 0)):
        result = call(folder, *words, "--cache", cache, data=data)
        assert result.stdout_bytes == call(folder, *words, data=data).stdout_bytes
        assert counted(result) == expected
        assert "6 rows, 3 rejected, " in result.stderr
    with closing(sqlite3.connect(cache / CACHE_FILE)) as base:
        (entries,) = base.execute("select count(*) from scores").fetchone()
    assert entries == 2 * len(MEASURES)


def test_another_model_is_scored_anew(folder: Path, cache: Path, tmp_path: Path) -> None:
    other = toy_model(tmp_path / "other", dim=8)
    plain = call(other, *ALL)
    call(folder, *ALL, "--cache", cache)
    for expected in ((0, 300), (300, 0)):
        result = call(other, *ALL, "--cache", cache)
        assert (result.stdout_bytes, counted(result)) == (plain.stdout_bytes, expected)


@pytest.mark.parametrize("neighbours", ["input", "file"])
def test_margins_belong_to_their_neighbours(
    folder: Path, cache: Path, tmp_path: Path, neighbours: str
) -> None:
    other = toy_model(tmp_path / "other") / "neighbours.npz"
    asked = str(other) if neighbours == "file" else "input"
    call(folder, "--similarity", "csls,mlp", "--cache", cache)
    words = ("--similarity", "csls,mlp", "--neighbours", asked)
    if neighbours == "file":  # the same neighbours, from another file
        assert counted(call(folder, *words, "--cache", cache)) == (300, 0)
        return
    plain = call(folder, *words)
    for expected in ((0, 300), (300, 0)):
        result = call(folder, *words, "--cache", cache)
        assert (result.stdout_bytes, counted(result)) == (plain.stdout_bytes, expected)
    shorter = b"".join(LINES[:-1])
    result = call(folder, *words, "--cache", cache, data=shorter)
    assert result.stdout_bytes == call(folder, *words, data=shorter).stdout_bytes
    assert counted(result) == (0, 299)


def test_the_manifest_has_the_counts_and_quiet_is_quiet(
    folder: Path, cache: Path, tmp_path: Path
) -> None:
    path = tmp_path / "run.json"
    words = ("-q", "--cache", cache, "--manifest", path)
    assert call(folder, *words).stderr == ""
    assert call(folder, *words, data=DATA + b"a1\tb2\n").stderr == ""
    counts = json.loads(path.read_bytes())["counts"]
    assert counts == {"rows": 301, "rejected": 0, "cached": 300, "scored": 1}


def test_what_is_no_cache_is_refused(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "scores.tsv"
    path.write_bytes(b"a\tb\n")
    result = call(folder, "--cache", path)
    assert (result.exit_code, result.stdout_bytes) == (65, b"")
    message = "not a cache of this version of bitextfilter; name a new folder, or an empty one"
    assert result.stderr == f"bitext-score: {path}: {message}\n"
    assert path.read_bytes() == b"a\tb\n"


@pytest.mark.parametrize("option", ["-o", "--manifest"])
def test_a_cache_is_no_output(folder: Path, cache: Path, option: str) -> None:
    result = call(folder, "--cache", cache, option, cache)
    assert result.exit_code == 2
    assert "--cache needs a file of its own" in result.stderr
    assert call(folder, "--cache", "-").exit_code == 2
    assert not cache.exists()


def test_damaged_entries_are_computed_again(folder: Path, cache: Path) -> None:
    plain = call(folder, *ALL).stdout_bytes
    call(folder, *ALL, "--cache", cache)
    with closing(sqlite3.connect(cache / CACHE_FILE)) as base, base:
        base.execute("update scores set entry = entry + 1 where key < x'20'")
        base.execute("update scores set entry = null where key > x'e0'")
    result = call(folder, *ALL, "--cache", cache)
    assert result.stdout_bytes == plain
    assert counted(result)[1] > 0
    assert counted(call(folder, *ALL, "--cache", cache)) == (300, 0)


def test_a_damaged_cache_is_named_with_the_remedy(folder: Path, cache: Path) -> None:
    call(folder, *ALL, "--cache", cache)
    data = (cache / CACHE_FILE).read_bytes()
    (cache / CACHE_FILE).write_bytes(data[: len(data) // 2])
    result = call(folder, *ALL, "--cache", cache)
    remedy = "delete it, and its scores are computed again"
    assert result.exit_code == 65
    assert result.stderr.endswith(f"bitext-score: {cache / CACHE_FILE}: damaged cache; {remedy}\n")


def test_a_full_disk_is_exit_74(folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def small(*arguments: Any, **settings: Any) -> sqlite3.Connection:
        base = sqlite3.Connection(*arguments, **settings)
        base.execute("pragma max_page_count = 3")
        return base

    monkeypatch.setattr(cache_module.sqlite3, "connect", small)
    result = call(folder, *ALL, "--cache", cache)
    assert result.exit_code == 74
    assert f"{cache / CACHE_FILE}: cannot be used: database or disk is full\n" in result.stderr


def start(folder: Path, cache: Path, data: Path, output: Path) -> subprocess.Popen[bytes]:
    words = ["-q", "--batch-size", "20", "--threads", "1", "--model", str(folder), *ALL]
    line = [sys.executable, str(BIN / "bitext-score"), *words, "--cache", str(cache)]
    return subprocess.Popen([*line, "-i", str(data), "-o", str(output)], stderr=subprocess.PIPE)


@pytest.fixture(scope="module")
def long(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """A file that takes some seconds, and its scores."""
    path = tmp_path_factory.mktemp("long") / "rows.tsv"
    sides = sentences(6000, 8)
    path.write_text("".join(f"{s}\t{t}\n" for s, t in zip(*sides, strict=True)))
    return path, call(folder, *ALL, "-i", path).stdout_bytes


def test_after_a_kill_the_next_run_goes_on(
    folder: Path, cache: Path, long: tuple[Path, bytes], tmp_path: Path
) -> None:
    data, expected = long
    child = start(folder, cache, data, tmp_path / "out")
    time.sleep(random.Random(1).uniform(1.5, 3.0))
    child.send_signal(signal.SIGKILL)
    child.communicate()
    result = call(folder, *ALL, "--cache", cache, "-i", data)
    assert result.stdout_bytes == expected
    assert sum(counted(result)) == 6000
    assert counted(call(folder, *ALL, "--cache", cache, "-i", data)) == (6000, 0)


@pytest.mark.gate(0)
def test_two_at_once(folder: Path, cache: Path, long: tuple[Path, bytes], tmp_path: Path) -> None:
    data, expected = long
    outputs = [tmp_path / "one", tmp_path / "two"]
    children = [start(folder, cache, data, output) for output in outputs]
    for child, output in zip(children, outputs, strict=True):
        assert child.communicate(timeout=120)[1] == b""
        assert output.read_bytes() == expected
    assert counted(call(folder, *ALL, "--cache", cache, "-i", data)) == (6000, 0)
