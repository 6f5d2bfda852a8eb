"""What a command asks of its process, and what becomes of a pipe when one command fails."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from console import BIN

ROWS = b"a b\tc d\t0.5\n" * 20
BAD = b"x\xfcz\ty\t0.4\n"

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has pipes with modes")


Shell = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def shell(tmp_path: Path, commands: Path) -> Shell:
    """Runs a line of bash in the folder, without ``pipefail``; ``keep`` is a filter."""
    (tmp_path / "rows").write_bytes(ROWS)
    search = os.pathsep.join([str(commands), str(Path(sys.executable).parent), os.environ["PATH"]])

    def call(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
        script = f'keep() {{ bitext-filter -q --rule length --threads 1 "$@"; }}\n{line}'
        env = {**os.environ, "PATH": search, **environment}
        return subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True,
            errors="replace", timeout=120, check=False,
        )  # fmt: skip

    return call


@pytest.mark.gate(0)
@linux
def test_what_follows_a_failed_command_fails_too_and_leaves_no_file(
    tmp_path: Path, shell: Shell
) -> None:
    (tmp_path / "rows").write_bytes(ROWS + BAD)
    done = shell("keep --batch-size 9 < rows | keep | bitext-rank -q -o best")
    assert done.returncode == 65
    assert not (tmp_path / "best").exists()
    first, *others = sorted(done.stderr.splitlines(), key=lambda line: "failed" in line)
    assert first.startswith("bitext-filter: stdin:21: the source is not UTF-8")
    failed = "stdin: the command that writes to it failed: rows are missing"
    assert sorted(others) == [f"bitext-filter: {failed}", f"bitext-rank: {failed}"]


@linux
def test_a_command_that_was_killed_is_known(tmp_path: Path) -> None:
    (tmp_path / "rows").write_bytes(ROWS)
    pipe = f"""
import subprocess, sys
keep = [sys.executable, "{BIN}/bitext-filter", "-q", "--rule", "length", "--batch-size", "9"]
rank = [sys.executable, "{BIN}/bitext-rank", "-q", "-o", "best"]
first = subprocess.Popen(keep, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
second = subprocess.Popen(rank, stdin=first.stdout)
first.stdout.close()
first.stdin.write(open("rows", "rb").read())
first.stdin.flush()
import time
time.sleep(3)
first.kill()
sys.exit(second.wait())
"""
    done = subprocess.run(
        [sys.executable, "-c", pipe], cwd=tmp_path, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert (done.returncode, sorted(path.name for path in tmp_path.iterdir())) == (65, ["rows"])
    assert "bitext-rank: stdin: the command that writes to it failed" in done.stderr


def test_an_empty_pipe_is_suspicious_and_so_are_those_that_follow(
    tmp_path: Path, shell: Shell
) -> None:
    done = shell("zcat nothing.gz | keep | bitext-rank -q -o best")
    assert done.returncode == 65
    assert list(tmp_path.iterdir()) == [tmp_path / "rows"]
    assert "bitext-filter: stdin: empty: the command that writes to it may have failed" in (
        done.stderr
    )


@linux
def test_an_empty_result_is_fine_and_so_is_an_empty_file(tmp_path: Path, shell: Shell) -> None:
    (tmp_path / "none").touch()
    none = "keep --rule length:minimum=9 < rows"
    line = f"{none} | bitext-rank -q -o one; echo $?; bitext-rank -q -o two < none"
    done = shell(line)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")
    assert [(tmp_path / name).read_bytes() for name in ("one", "two")] == [b"", b""]


@linux
def test_a_failure_before_another_command_in_one_pipe_is_not_forgotten(
    tmp_path: Path, shell: Shell
) -> None:
    (tmp_path / "bad").write_bytes(BAD)
    done = shell("{ keep < rows; keep < bad; keep < rows; } | bitext-rank -o best")
    assert done.returncode == 65
    assert not (tmp_path / "best").exists()


def test_one_setting_for_a_whole_pipe_over_which_the_option_wins(
    tmp_path: Path, shell: Shell
) -> None:
    (tmp_path / "rows").write_bytes(ROWS + BAD + b"only\n")
    line = "keep < rows | bitext-dedup -q | bitext-rank -q -o best; echo ${PIPESTATUS[@]}"
    done = shell(line, BITEXTFILTER_ON_ERROR="reject")
    assert (done.stdout, done.stderr) == ("0 0 0\n", "")
    assert (tmp_path / "best").read_bytes() == ROWS[: ROWS.index(b"\n") + 1]
    done = shell("keep --on-error stop < rows", BITEXTFILTER_ON_ERROR="reject")
    assert done.returncode == 65


def test_a_wrong_setting_names_the_variable(tmp_path: Path, shell: Shell) -> None:
    done = shell("keep", BITEXTFILTER_ON_ERROR="skip")
    assert done.returncode == 2
    assert "BITEXTFILTER_ON_ERROR" in done.stderr and "'stop', 'reject'" in done.stderr
    assert done.stderr.count("\n") == 1


PROBE = """
import resource
import sys
import numpy as np
from bitextfilter.commands.frame.command import keep_freed_memory, steady_speed_and_memory

steady_speed_and_memory()
if "training" in sys.argv:
    keep_freed_memory()

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

def many(numbers):
    for _ in range(200):
        np.empty(numbers).fill(1)

many(60_000)
before = faults()
many(60_000)
print((faults() - before) / 200)

many(2_000_000)
before = resident()
large = np.empty(2_000_000)
large.fill(1)
print((resident() - before) / large.nbytes)
"""


def asked(*words: str) -> tuple[float, float]:
    """Page faults of half a MB asked for again, and the share of new memory in 16 MB more."""
    line = [sys.executable, "-c", PROBE, *words]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    faults, share_new = map(float, done.stdout.split())
    return faults, share_new


glibc = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="what glibc's malloc can be told"
)


@glibc
def test_small_arrays_stay_at_hand_and_large_ones_go_back() -> None:
    """Half a MB again is no new page; 16 MB again are new memory, whatever the pages' size."""
    faults, share_new = asked()
    assert faults < 5
    assert share_new > 0.9


@glibc
def test_a_training_keeps_large_arrays_at_hand() -> None:
    """16 MB again are those of before."""
    faults, share_new = asked("training")
    assert faults < 5
    assert share_new < 0.1
