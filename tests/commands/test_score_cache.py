"""bitext-score --cache: the same bytes as without, however the cache came to be."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import Result
from console import invoke
from toys import sentences

from bitextfilter.commands import score
from bitextfilter.scoring.cached_scores import CACHE_FILE
from bitextfilter.scoring.measures import MEASURES

SOURCES, TARGETS = sentences(300, 7)
LINES = [f"{s}\t{t}\n".encode() for s, t in zip(SOURCES, TARGETS, strict=True)]
DATA = b"".join(LINES)
ALL = ("--similarity", ",".join(MEASURES), "--digits", "9")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def call(folder: Path, *words: object, data: bytes = DATA, code: int | None = 0) -> Result:
    return invoke(score.main, *words, "--model", folder, data=data, code=code)


def counted(result: Result) -> tuple[int, int]:
    """How many rows the summary says were cached, and scored."""
    words = result.stderr.split("\n")[-2].replace(",", "").split(" ")
    return int(words[words.index("cached") - 1]), int(words[words.index("scored") - 1])


@pytest.mark.parametrize("digits", ["0", "9"])
def test_the_bytes_are_those_without_a_cache(calibrated: Path, cache: Path, digits: str) -> None:
    words = ("--similarity", ",".join(MEASURES), "--digits", digits)
    plain = call(calibrated, *words)
    assert "cached" not in plain.stderr
    for batch, expected in (("7", (0, 300)), ("1000", (300, 0)), ("64", (300, 0))):
        result = call(calibrated, *words, "--cache", cache, "--batch-size", batch)
        assert result.stdout_bytes == plain.stdout_bytes
        assert counted(result) == expected


def test_rejected_rows_are_neither_cached_nor_scored(calibrated: Path, cache: Path) -> None:
    data = b"".join([LINES[0], b"one\n", b"\xff\tb\n", LINES[0], b"a1\t \n", LINES[1]])
    words = (*ALL, "--on-error", "reject")
    for expected in ((1, 2), (3, 0)):
        result = call(calibrated, *words, "--cache", cache, data=data)
        assert result.stdout_bytes == call(calibrated, *words, data=data).stdout_bytes
        assert counted(result) == expected
        assert "6 rows, 3 rejected, " in result.stderr
    with closing(sqlite3.connect(cache / CACHE_FILE)) as base:
        (entries,) = base.execute("select count(*) from scores").fetchone()
    assert entries == 2 * len(MEASURES)


def test_the_manifest_has_the_counts_and_quiet_is_quiet(
    folder: Path, cache: Path, tmp_path: Path
) -> None:
    path = tmp_path / "run.json"
    words = ("-q", "--cache", cache, "--manifest", path)
    assert call(folder, *words).stderr == ""
    assert call(folder, *words, data=DATA + b"a1\tb2\n").stderr == ""
    counts = json.loads(path.read_bytes())["counts"]
    assert counts == {"rows": 301, "rejected": 0, "cached": 300, "scored": 1}


def test_a_cache_is_no_output_and_a_damaged_one_named_with_the_remedy(
    calibrated: Path, cache: Path
) -> None:
    for words in ((cache, "-o", cache), (cache, "--manifest", cache)):
        said = call(calibrated, "--cache", *words, code=2).stderr
        assert "--cache needs a file of its own" in said
    call(calibrated, "--cache", "-", code=2)
    assert not cache.exists()
    call(calibrated, *ALL, "--cache", cache)
    data = (cache / CACHE_FILE).read_bytes()
    (cache / CACHE_FILE).write_bytes(data[: len(data) // 2])
    said = call(calibrated, *ALL, "--cache", cache, code=65).stderr
    remedy = "delete it, and its scores are computed again"
    assert said.endswith(f"bitext-score: {cache / CACHE_FILE}: damaged cache; {remedy}\n")
