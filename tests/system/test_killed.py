"""Killed at any point, a command leaves no half-written file behind its name."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from itertools import cycle
from pathlib import Path

import pytest
from console import BIN

LINES = {
    "fix": ["bitext-fix", "--threads", "1"],
    "filter": ["bitext-filter", "--rule", "default", "--without", "language", "--threads", "2"],
    "dedup": ["bitext-dedup", "--match", "normalised", "--keep", "best"],
    "rank": ["bitext-rank", "--top-words", "100k"],
    "report": ["bitext-report"],
}
"""One command of each kind: a stream, workers, rows that are kept or ordered, and a page."""

SIGNALS = dict(zip(LINES, cycle([signal.SIGKILL, signal.SIGTERM]), strict=False))


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("killed") / "rows.tsv"
    chooser = random.Random(1)
    words = [f"word{number}" for number in range(500)]
    with path.open("w", encoding="utf-8") as file:
        for _ in range(40_000):
            source, target = (" ".join(chooser.choices(words, k=9)) for _ in "st")
            file.write(f"{source}\t{target}\t{chooser.random():.4f}\n")
    return path


def start(name: str, rows: Path, folder: Path) -> subprocess.Popen[bytes]:
    words = LINES[name]
    line = [sys.executable, str(BIN / words[0]), *words[1:], "-q", "-i", str(rows)]
    out, manifest = str(folder / "out"), str(folder / "manifest.json")
    return subprocess.Popen(
        [*line, "-o", out, "--manifest", manifest], stderr=subprocess.PIPE, cwd=folder
    )


@pytest.mark.gate("filter", "dedup")
@pytest.mark.parametrize("name", LINES)
def test_killed_at_any_point(name: str, rows: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    began = time.monotonic()
    done = start(name, rows, whole)
    assert done.communicate()[1] == b""
    assert done.returncode == 0
    seconds, expected = time.monotonic() - began, (whole / "out").read_bytes()
    folder, kind = tmp_path / "killed", SIGNALS[name]
    folder.mkdir()
    child = start(name, rows, folder)
    time.sleep(seconds * random.Random(name).uniform(0.3, 0.9))
    child.send_signal(kind)
    child.communicate()
    left = {path.name for path in folder.iterdir()}
    if "out" in left:
        assert (folder / "out").read_bytes() == expected
    if "manifest.json" in left:
        assert "out" in left
    if kind == signal.SIGTERM:
        assert child.returncode in (0, 143, -15)
        assert left <= {"out", "manifest.json"}
    else:
        again = start(name, rows, folder)
        assert (again.communicate()[1], again.returncode) == (b"", 0)
        assert {path.name for path in folder.iterdir()} == {"out", "manifest.json"}
