"""The simulated crawl of examples/clean-a-crawl, from a small folder of data."""

from __future__ import annotations

import gzip
import json
import os
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
