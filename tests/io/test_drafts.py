"""Drafts: gone when they are done with, or when their process is."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bitextfilter.io.files import draft, open_output

HOLD = """
import sys, time
from pathlib import Path
from bitextfilter.io.files import draft
with draft(Path(sys.argv[1]), folder=sys.argv[2] == "folder") as path:
    if path.is_dir():
        (path / "part").touch()
    print(path.name, flush=True)
    time.sleep(60)
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def holder(target: Path, kind: str) -> tuple[subprocess.Popen[str], str]:
    """A process that has a draft of *target*, and the name of that."""
    line = [sys.executable, "-c", HOLD, str(target), kind]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_a_killed_process_left_goes_and_the_draft_of_a_living_one_stays(
    tmp_path: Path, kind: str
) -> None:
    target = tmp_path / "out.tsv"
    first, one = holder(target, kind)
    second, two = holder(target, kind)
    with first, second:
        assert [one, two] == [".out.tsv.1.partial", ".out.tsv.2.partial"]
        for process, left in (second, [one]), (first, []):
            process.send_signal(signal.SIGKILL)
            process.wait()
            with open_output(target) as stream:
                stream.write(b"x")
            assert names(tmp_path) == [*left, "out.tsv"]


def test_the_draft_of_another_file_stays(tmp_path: Path) -> None:
    (tmp_path / ".out.tsv.gz.1.partial").touch()
    with open_output(tmp_path / "out.tsv") as stream:
        stream.write(b"x")
    assert names(tmp_path) == [".out.tsv.gz.1.partial", "out.tsv"]


@pytest.mark.parametrize("folder", [False, True])
def test_a_draft_that_was_renamed_leaves_its_name_to_the_next(tmp_path: Path, folder: bool) -> None:
    target = tmp_path / "out"
    with draft(target, folder) as one:
        one.rename(target)
        with draft(target, folder) as other:
            assert other == one
        assert names(tmp_path) == ["out"]
    assert names(tmp_path) == ["out"]
