"""Pipelines over a crawl: that of examples/clean-a-crawl, and one with damaged rows."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from console import ROOT

from bitextfilter.damage.noise import CLEAN, CRAWL_NOISE

SCRIPT = ROOT / "examples" / "clean-a-crawl" / "make-crawl.sh"
ROWS = 460


def write(path: Path, rows: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(f"{row}\n" for row in rows).encode()))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    names = ["Anna", "Berta", "Carla", "Dora"] * 100
    write(folder / "train/en-de/one.tsv.gz", [
        f"In {i} years we did not see {name}.\tIn {i} Jahren haben wir {name} nicht gesehen, äh."
        for i, name in enumerate(names)
    ])  # fmt: skip
    write(folder / "train/en-de/two.research.tsv.gz", ["not for us\tnichts für uns"] * 99)
    for language in ("fr", "cs", "ru"):
        text = "not for us\t" + f"six words that are all {language}"
        write(folder / f"train/en-{language}/any.tsv.gz", [text])
    return folder


def crawl(data: Path, output: Path, commands: Path) -> bytes:
    search = os.pathsep.join([str(commands), str(Path(sys.executable).parent), os.environ["PATH"]])
    words = ["sh", str(SCRIPT), str(data), str(output), str(ROWS)]
    done = subprocess.run(
        words, capture_output=True, timeout=120, check=False, env={**os.environ, "PATH": search}
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    return gzip.decompress((output / "crawl.tsv.gz").read_bytes())


def test_the_crawl_has_all_kinds_and_copies_and_is_the_same_again(
    data: Path, tmp_path: Path, commands: Path
) -> None:
    text = crawl(data, tmp_path / "one", commands)
    assert text == crawl(data, tmp_path / "other", commands)
    rows = [line.split("\t") for line in text.decode().removesuffix("\n").split("\n")]
    assert len(rows) == ROWS and {len(row) for row in rows} == {4}
    labels = Counter(row[2] for row in rows)
    assert set(labels) == {CLEAN, *CRAWL_NOISE}
    assert 0.2 < labels[CLEAN] / ROWS < 0.4
    copies = Counter(row[3] for row in rows)
    assert copies["first"] == 402 and min(copies.values()) >= 15
    assert set(copies) == {"first", "exact", "normalised", "near"}
    first = {tuple(row[:3]) for row in rows if row[3] == "first"}
    assert all(tuple(row[:3]) in first for row in rows if row[3] == "exact")
    assert not any("us" in row[0].split() for row in rows)
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == [
        "crawl.tsv.gz", "foreign.txt", "noise-1.json", "noise-2.json", "noise-3.json"
    ]  # fmt: skip
    counts = json.loads((tmp_path / "one" / "noise-1.json").read_bytes())["counts"]
    assert counts["rows"] == 400


DAMAGE = [
    "Latin-1 für alle\tschön".encode("latin-1"), b"a\0b\tNUL", b"one column", b"",
    b"no target here\t", b"half a character\t\xe2\x82", "UTF-16\tx".encode("utf-16-le"),
]  # fmt: skip


def dirty_crawl() -> bytes:
    """The example pairs of the repository with damaged rows among them."""
    rows = (ROOT / "examples" / "pairs.en-de.tsv").read_bytes().splitlines()
    return b"".join(
        b"\n".join([*rows[number::7], DAMAGE[number % len(DAMAGE)]]) + b"\n" for number in range(7)
    )


def pipeline(page: str) -> str:
    """The block of a page that makes a whole pipe go on after bad rows."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (block,) = (block for block in blocks if "BITEXTFILTER_ON_ERROR=reject" in block)
    return re.sub(r"^[$>] ", "", block, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("page", "source", "result"),
    [
        ("docs/filter.md", "crawl.tsv", "best.tsv"),
        ("examples/clean-a-crawl/README.md", "crawl.tsv.gz", "cleaned.tsv"),
    ],
)
def test_the_pipeline_of_a_page_runs_over_damaged_rows(
    page: str, source: str, result: str, tmp_path: Path, commands: Path
) -> None:
    data = dirty_crawl()
    (tmp_path / source).write_bytes(gzip.compress(data) if source.endswith(".gz") else data)
    search = os.pathsep.join([str(commands), str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", pipeline(page)], cwd=tmp_path, env={**os.environ, "PATH": search},
        capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, b""), done.stderr
    best = (tmp_path / result).read_bytes()
    lines = (gzip.decompress(best) if result.endswith(".gz") else best).splitlines()
    assert len(lines) > 5
    scores = [float(line.rpartition(b"\t")[2]) for line in lines]
    assert scores == sorted(scores, reverse=True)
    assert {line.rpartition(b"\t")[0] for line in lines} < set(data.splitlines())
    assert not set(DAMAGE) & {line.rpartition(b"\t")[0] for line in lines}
