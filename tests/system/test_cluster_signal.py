"""A signal ends a command with the cluster that it has started."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest
from console import heeding
from toys import sentences, toy_model


@pytest.mark.gate(0)
def test_a_signal_ends_a_cluster_that_was_started(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    rows = zip(*sentences(3000, 5), strict=True)
    (tmp_path / "rows").write_text("".join(f"{one}\t{other}\n" for one, other in rows) * 4)
    words = ["--model", toy_model(tmp_path / "toy"), "-i", "rows", "-o", "out", "--threads", "1"]
    words += ["--engine", "ray", "--workers", "2", "--shard-rows", "20", "--resume", "parts"]
    line = [*heeding("bitext-score"), "-q", *map(str, words)]
    child = subprocess.Popen(line, stderr=subprocess.PIPE, cwd=tmp_path)
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
