from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
from strikes import strike_after

from bitextfilter.io.pipes import Program, ProgramError, Programs


def joined(*lines: str, data: bytes | None = None, say: Any = lambda _: None) -> bytes:
    """What lines of the shell make of *data*."""
    programs = [Program(f"p{n}", ["/bin/sh", "-c", line], say) for n, line in enumerate(lines)]
    sink = io.BytesIO()
    Programs().join(programs, None if data is None else io.BytesIO(data), sink)
    return sink.getvalue()


def test_a_pipe_is_the_pipe_of_the_shell() -> None:
    data = b"".join(b"%d\n" % (n * 7919 % 100_003) for n in range(60_000))  # more than a pipe holds
    lines = "sort -n", "tail -n +5", "uniq | wc -c; cat /dev/null"
    shell = subprocess.run(
        ["/bin/sh", "-c", " | ".join(f"{{ {line}; }}" for line in lines)],
        input=data,
        capture_output=True,
        check=True,
    )
    assert joined(*lines, data=data) == shell.stdout != b""
    assert joined("cat") == b""
    assert joined("cat", data=data) == data


def test_a_reader_that_has_enough_is_no_failure() -> None:
    assert joined("yes", "cat", "head -n 2") == b"y\ny\n"
    assert joined("head -n 1", data=b"a\n" * 10**6) == b"a\n"


def test_the_first_failure_ends_all_and_none_takes_it_for_the_end(tmp_path: Path) -> None:
    said: list[str] = []
    with pytest.raises(ProgramError, match=r"p1 failed \(exit code 3\)") as caught:
        joined(
            "yes",
            "head -n 3; echo no more >&2; exit 3",
            f"cat > {tmp_path}/draft && mv {tmp_path}/draft {tmp_path}/out",
            say=said.append,
        )
    assert caught.value.code == 3
    assert said == ["no more"]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("line", "code"), [("kill -9 $$", 137), ("no-such-program-at-all", 127), ("false", 1)]
)
def test_codes(line: str, code: int) -> None:
    with pytest.raises(ProgramError) as caught:
        joined("sleep 60", line, "cat")
    assert caught.value.code == code


def test_an_error_of_the_source_ends_the_programs() -> None:
    class Broken(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, _: object) -> int:
            raise OSError("broken")

    programs = [Program("p", ["/bin/sh", "-c", "cat; sleep 60"], lambda _: None)]
    with pytest.raises(OSError, match="broken"):
        Programs().join(programs, io.BufferedReader(Broken()), io.BytesIO())


def test_all_that_a_program_started_is_ended(tmp_path: Path) -> None:
    programs = Programs()
    line = f"sleep 60 & echo $! > {tmp_path}/draft; mv {tmp_path}/draft {tmp_path}/pid; wait"
    program = Program("p", ["/bin/sh", "-c", line], lambda _: None)

    def wait() -> None:
        with pytest.raises(KeyError):
            programs.join([program], None, None)

    thread = threading.Thread(target=wait)
    thread.start()
    while not (tmp_path / "pid").exists():
        time.sleep(0.01)
    programs.stop(KeyError("enough"))
    thread.join()
    limit = time.monotonic() + 5
    while _lives(int((tmp_path / "pid").read_text())):
        assert time.monotonic() < limit
        time.sleep(0.02)


def test_ctrl_c_amid_a_stop_leaves_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    started = strike_after(monkeypatch, subprocess, "Popen", 0)
    programs, said = Programs(), SimpleQueue[str]()
    pair = [Program("p", ["/bin/sh", "-c", "echo a >&2; exec sleep 100"], said.put)] * 2

    def wait() -> None:
        with pytest.raises(KeyError):
            programs.join(pair, None, None)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    assert [said.get(timeout=10) for _ in pair] == ["a", "a"]
    strike_after(monkeypatch, os, "killpg")
    with pytest.raises(KeyboardInterrupt):
        programs.stop(KeyError("enough"))
    thread.join(10)
    assert [child.returncode for child in started] == [-signal.SIGTERM] * 2


def _lives(pid: int) -> bool:
    """Whether a process is there, and no zombie that its adopter has not waited for."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, check=False)
    return state.stdout.strip()[:1] not in (b"", b"Z")


def test_nothing_starts_after_a_stop() -> None:
    programs = Programs()
    programs.stop(KeyError("enough"))
    with pytest.raises(KeyError, match="enough"):
        programs.join([Program("p", ["false"], lambda _: None)], None, None)


def test_no_descriptor_is_left_open() -> None:
    count = len([*Path("/dev/fd").iterdir()])
    joined("cat", "cat", data=b"a")
    with pytest.raises(ProgramError):
        joined("cat", "false", "cat", data=b"a" * 10**6)
    assert len([*Path("/dev/fd").iterdir()]) == count


def test_a_program_deaf_to_sigterm_is_killed() -> None:
    code = textwrap.dedent("""
        from bitextfilter.io import pipes
        pipes._MERCY = 0.2
        lines = "trap '' TERM; echo; sleep 60; sleep 60", "read x; exit 4"
        programs = [pipes.Program("p", ["/bin/sh", "-c", line], print) for line in lines]
        try:
            pipes.Programs().join(programs, None, None)
        except pipes.ProgramError as error:
            print(error.code)
    """)
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout == "4\n"
    assert time.monotonic() - started < 10
