"""Killed at any point, a run that keeps its parts goes on, and ends with the same bytes."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest
from console import heeding
from toys import sentences, toy_model

LINES = {
    "score": ["bitext-score", "--similarity", "mlp,csls", "--threads", "1"],
    "filter": ["bitext-filter", "--rule", "length:minimum=4", "--threads", "2"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_model(tmp_path_factory.mktemp("models") / "toy")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "rows.tsv"
    pairs = list(zip(*sentences(3000, 5), strict=True))
    lines = [f"{s}\t{t}\n" if n % 700 else "bad\n" for n, (s, t) in enumerate(pairs * 4)]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def start(name: str, place: Path, model: Path, rows: Path, *more: str) -> subprocess.Popen[bytes]:
    line = [*heeding(LINES[name][0]), *LINES[name][1:], "-q", *more]
    files = ["-i", str(rows), "-o", str(place / "out"), "--rejects", str(place / "bad")]
    words = [*line, *files, "--on-error", "reject", "--model", str(model)]
    return subprocess.Popen(words, stderr=subprocess.PIPE, cwd=place)


@pytest.mark.gate(1)
@pytest.mark.parametrize(
    ("name", "kind", "code"),
    [
        ("score", signal.SIGKILL, -9),
        ("filter", signal.SIGTERM, 143),
    ],
)
def test_killed_and_gone_on_with(
    name: str, kind: signal.Signals, code: int, folder: Path, rows: Path, tmp_path: Path
) -> None:
    whole, place = tmp_path / "whole", tmp_path / "resumed"
    whole.mkdir()
    place.mkdir()
    assert start(name, whole, folder, rows).communicate()[1] == b""
    expected = {path.name: path.read_bytes() for path in whole.iterdir()}
    assert set(expected) == {"out", "bad"}
    words = ["--resume", "parts", "--shard-rows", "240"]
    child = start(name, place, folder, rows, *words)
    least = random.Random(name).randint(1, 24)
    while child.poll() is None and len(list(place.glob("parts/0*.json"))) < least:
        time.sleep(0.002)
    child.send_signal(kind)
    child.communicate()
    assert child.returncode == code
    assert not (place / "out").exists()
    assert least <= len(list(place.glob("parts/0*.json"))) < 50
    before = {path: path.stat().st_mtime_ns for path in place.glob("parts/*.json")}
    last = start(name, place, folder, rows, *words)
    while last.poll() is None and not (place / "out").exists():
        for path, stamp in before.items():
            with suppress(FileNotFoundError):
                assert path.stat().st_mtime_ns == stamp
        time.sleep(0.002)
    assert last.communicate()[1] == b""
    left = {path.name: path.read_bytes() for path in place.iterdir() if "partial" not in path.name}
    assert left == expected


def test_a_signal_ends_a_cluster_that_was_started(folder: Path, rows: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    more = ["--engine", "ray", "--workers", "2", "--shard-rows", "20", "--resume", "parts"]
    child = start("score", tmp_path, folder, rows, *more)
    while child.poll() is None and len(list(tmp_path.glob("parts/0*.json"))) < 3:
        time.sleep(0.01)
    workers = descendants(child.pid)
    assert len(workers) > 3
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=60)[1] == b"bitext-score: interrupted\n"
    assert child.returncode == 130
    assert not (tmp_path / "out").exists()
    patience = time.monotonic() + 20
    while any(map(alive, workers)):
        assert time.monotonic() < patience, "the cluster goes on"
        time.sleep(0.1)


def descendants(process: int) -> list[int]:
    """The processes that a process started, and those that these did."""
    pairs = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, check=True).stdout
    parents = dict(tuple(map(int, line.split())) for line in pairs.splitlines())
    found = [process]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def alive(process: int) -> bool:
    """Whether a process is there and not a zombie."""
    line = ["ps", "-o", "stat=", "-p", str(process)]
    state = subprocess.run(line, capture_output=True, check=False).stdout.strip()
    return state != b"" and not state.startswith(b"Z")
