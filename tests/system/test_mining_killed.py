"""bitext-align that is killed goes on, and on a full disk leaves nothing."""

from __future__ import annotations

import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from console import BIN
from toys import sentences, toy_model


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("mining")
    model = toy_model(folder / "model")
    paths = folder / "source.txt", folder / "target.txt"
    for path, lines in zip(paths, sentences(6_000, 4), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines[::-1]))
    words = [sys.executable, str(BIN / "bitext-align"), "-q", *map(str, paths)]
    return [*words, "--model", str(model), "--batch-size", "500"]


def test_killed_it_goes_on(line: list[str], tmp_path: Path) -> None:
    began = time.monotonic()
    whole = subprocess.run(line, capture_output=True, check=True).stdout
    seconds, chooser = time.monotonic() - began, random.Random(1)
    work, out = tmp_path / "work", tmp_path / "out.tsv"
    resumed = [*line, "--resume", str(work), "-o", str(out)]
    child = subprocess.Popen(resumed)
    time.sleep(seconds * chooser.uniform(0.3, 0.95))
    child.send_signal(signal.SIGKILL)
    child.wait()
    subprocess.run(resumed, check=True)
    assert out.read_bytes() == whole
    assert len(whole) > 100_000


@pytest.mark.gate(0)
def test_a_full_disk_is_said(line: list[str], tmp_path: Path) -> None:
    """No file may grow beyond 200 KB."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    for more in ([], ["--resume", str(tmp_path / "work")]):
        words = [*line, *more, "-o", str(tmp_path / "out.tsv")]
        done = subprocess.run(words, check=False, capture_output=True, text=True, preexec_fn=limit)
        assert done.returncode == 74
        assert done.stderr.count("\n") == 1
        assert "cannot be written" in done.stderr
        assert not (tmp_path / "out.tsv").exists()
