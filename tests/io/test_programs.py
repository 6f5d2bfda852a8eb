"""Programs that answer lines: well, badly, late and not at all; and nothing of them stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bitextfilter.errors import WorkerError
from bitextfilter.io.programs import Lines, PoolSettings, Program, ProgramPool

LINES = [b"%d\n" % number for number in range(1, 7)]


def answers(command: str, lines: list[bytes] = LINES, timeout: float | None = 20) -> list[bytes]:
    with ProgramPool(PoolSettings(command, timeout=timeout)) as pool:
        return [answer for _, some in pool.answers([Lines(lines)]) for answer in some]


def test_each_line_has_an_answer() -> None:
    assert answers("cat") == [b"1", b"2", b"3", b"4", b"5", b"6"]
    assert answers("sed 's/$/\\r/'") == answers("cat")
    assert answers("tac") == answers("cat")[::-1]
    assert answers("cat", []) == []
    assert answers("printf 'no line end'", [b"x\n"]) == [b"no line end"]


def test_more_than_pipes_hold() -> None:
    lines = [b"x" * 1000 + b"\n"] * 2000
    assert answers("cat", lines) == [b"x" * 1000] * 2000
    assert answers("tac", lines) == [b"x" * 1000] * 2000
    noisy = "head -c 300000 /dev/zero >&2; exec cat"
    assert answers(noisy, lines) == [b"x" * 1000] * 2000


def test_answers_come_before_the_end(tmp_path: Path) -> None:
    with ProgramPool(PoolSettings("head -n 1; sleep 100")) as pool:
        assert next(pool.answers([Lines(LINES)]))[1] == [b"1"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("cat; echo 7", "cat; echo 7: more than 6 lines for 6 rows"),
        ("head -n 2", "head -n 2: answered 2 of 6 rows"),
        ("head -n 2; echo a >&2; echo why >&2; exit 3", "after 2 of 6 rows; its stderr ends: why"),
        ("cat; exit 1", "ended with exit code 1 after 6 of 6 rows"),
        ("kill -9 $$", "ended with signal 9 after 0 of 6 rows"),
        ("no-such-program", "exit code 127 after 0 of 6 rows; its stderr ends: "),
        ("head -c 2000000 /dev/zero", "a line longer than 1 MiB"),
    ],
)  # fmt: skip
def test_failures(command: str, message: str) -> None:
    with pytest.raises(WorkerError) as caught:
        answers(command)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "command", ["sleep 100", "cat > /dev/null; sleep 100", "head -1; sleep 99"]
)
def test_no_answer_in_time(command: str) -> None:
    begun = time.monotonic()
    with pytest.raises(WorkerError, match=r"no answer for 0\.3 s"):
        answers(command, timeout=0.3)
    assert time.monotonic() - begun < 20


def test_closing_stdout_is_not_the_end() -> None:
    with pytest.raises(WorkerError, match=r"no answer for 0\.3 s"):
        answers("cat; exec >&-; sleep 100", timeout=0.3)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def wait_for(path: Path) -> int:
    while not (path.exists() and path.read_text().strip()):
        time.sleep(0.01)
    return int(path.read_text())


@pytest.mark.parametrize(
    ("command", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", -9), ("sleep 100", None)]
)
def test_the_exit_code_without_waitid(
    command: str, code: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on macOS before Python 3.13."""
    deadline = time.monotonic() + 10
    for lacking in (False, True):
        if lacking:
            monkeypatch.delattr(os, "waitid")
        with Program(command) as program:
            while code is not None and program.code() is None and time.monotonic() < deadline:
                time.sleep(0.01)
            assert program.code() == code and program.code() == code


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("deaf", ["", "trap '' TERM; "])
def test_all_that_it_started_ends_with_it(
    deaf: str, waits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not waits:
        monkeypatch.delattr(os, "waitid")
    inner = tmp_path / "pid"
    with Program(f"{deaf}sleep 100 & echo $! > {inner}; wait; sleep 100") as program:
        pid = wait_for(inner)
        assert is_running(pid)
    deadline = time.monotonic() + 10
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(pid)
    assert program._process.returncode is not None


ASKING = """
from bitextfilter.io.programs import Lines, PoolSettings, ProgramPool
with ProgramPool(PoolSettings("echo $$ > {path}; sleep 100")) as pool:
    list(pool.answers([Lines([b"x\\n"])]))
"""


def test_an_interrupted_run_ends_it(tmp_path: Path) -> None:
    inner = tmp_path / "pid"
    code = ASKING.format(path=inner)
    heed = (
        "import signal; from bitextfilter.io.drafts import interrupt\n"
        "signal.signal(signal.SIGINT, lambda *_: interrupt(KeyboardInterrupt()))\n"
    )
    with subprocess.Popen([sys.executable, "-c", heed + code], stderr=subprocess.DEVNULL) as run:
        pid = wait_for(inner)
        run.send_signal(signal.SIGINT)
        assert run.wait(30) != 0
    assert not is_running(pid)
