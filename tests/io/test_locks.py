"""The lock beside a file: one process at a time, and nothing left behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bitextfilter.errors import OutputError
from bitextfilter.io.locks import locked

ADD = """
import sys
from pathlib import Path
from bitextfilter.io.locks import locked
path = Path(sys.argv[1])
for _ in range(200):
    with locked(path):
        number = int(path.read_text())
        path.write_text(str(number + 1))
"""


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_nothing_that_several_processes_add_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "count"
    path.write_text("0")
    line = [sys.executable, "-c", ADD, str(path)]
    running = [subprocess.Popen(line) for _ in range(4)]
    assert [process.wait(60) for process in running] == 4 * [0]
    assert path.read_text() == "800"
    assert names(tmp_path) == ["count"]


def fail_within(path: Path, lock: Path) -> None:
    with locked(path):
        assert lock.exists()
        raise KeyError


def test_the_lock_goes_with_an_error_and_a_stale_one_holds_nobody_up(tmp_path: Path) -> None:
    stale = tmp_path / ".table.lock"
    stale.touch()
    (tmp_path / "link").symlink_to(tmp_path / "table")
    with pytest.raises(KeyError):
        fail_within(tmp_path / "link", stale)
    assert names(tmp_path) == ["link"]


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "table"
    with pytest.raises(OutputError, match="table: cannot be written: No such file"), locked(path):
        pass
