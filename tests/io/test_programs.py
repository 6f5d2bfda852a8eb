"""Programs that answer lines, one or several processes: well, badly, late and not at all."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from strikes import strike_after

from bitextfilter.errors import WorkerError
from bitextfilter.io.programs import Block, Lines, PoolSettings, Program, ProgramError, ProgramPool

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


def blocks(*sizes: int) -> list[Lines]:
    """Blocks of lines that count from 1 through all of them."""
    numbers = iter(range(1, sum(sizes) + 1))
    return [Lines(b"%d\n" % next(numbers) for _ in range(size)) for size in sizes]


def asked(pool: ProgramPool, given: list[Lines]) -> list[bytes]:
    """All answers; each block has come in its turn, whole and once."""
    found: list[tuple[Block, list[bytes]]] = []
    for block, news in pool.answers(given):
        if not found or found[-1][0] is not block:
            found.append((block, []))
        found[-1][1].extend(news)
    assert [block for block, _ in found] == given
    assert [len(news) for _, news in found] == list(map(len, given))
    return [answer for _, news in found for answer in news]


def pooled(command: str, given: list[Lines], **settings: float) -> list[bytes]:
    with ProgramPool(PoolSettings(command, **{"timeout": 20, **settings})) as pool:  # type: ignore[arg-type]
        return asked(pool, given)


def program(tmp_path: Path, body: str) -> str:
    path = tmp_path / "program.py"
    path.write_text(f"import os, sys, time\n{body}")
    return f"{sys.executable} {path}"


EXPECTED = [b"%d" % number for number in range(1, 701)]


@pytest.mark.parametrize("processes", [1, 3])
@pytest.mark.parametrize(
    "body",
    [
        "for line in sys.stdin: print(line.strip(), flush=True)",
        "for line in sys.stdin: print(line.strip())",
        "print(*map(str.strip, sys.stdin.readlines()), sep='\\n')",
        "for line in sys.stdin: time.sleep(0.001 * (os.getpid() % 3)); print(line.strip())",
    ],
)
def test_answers_are_in_order(tmp_path: Path, body: str, processes: int) -> None:
    sizes = random.Random(3).choices([0, 1, 2, 64], k=30)
    given = blocks(*sizes, 700 - sum(sizes))
    assert pooled(program(tmp_path, body), given, processes=processes) == EXPECTED


def test_processes_share_the_work(tmp_path: Path) -> None:
    body = "for line in sys.stdin: print(os.getpid(), flush=True)"
    found = pooled(program(tmp_path, body), blocks(*[8] * 40), processes=3)
    assert len(set(found)) == 3
    assert pooled("echo $$ > pid; cat", []) == [] and not Path("pid").exists()


def test_answers_come_while_there_is_more_to_ask() -> None:
    told: list[bytes] = []

    def source() -> Iterator[Lines]:
        yield from blocks(2)
        deadline = time.monotonic() + 20
        while not told and time.monotonic() < deadline:
            yield Lines()
        yield Lines([b"3\n"])

    with ProgramPool(PoolSettings("cat")) as pool:
        for _, news in pool.answers(source()):
            told += news
    assert told == [b"1", b"2", b"3"]


DIES = """
kept = open({path!r}, "a+")
for line in sys.stdin:
    print(line.strip(), flush=True)
    if int(line) % {every} == 0 and not os.path.exists({path!r} + line.strip()):
        open({path!r} + line.strip(), "w").close()
        sys.stdout.write("an answer cut sh"); sys.stdout.flush()
        os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("processes", [1, 2])
def test_a_death_is_mended(tmp_path: Path, processes: int) -> None:
    """Each multiple of 99 kills once, after its answer and a part of another."""
    command = program(tmp_path, DIES.format(path=str(tmp_path / "died"), every=99))
    with ProgramPool(PoolSettings(command, processes, 20, retries=1)) as pool:
        assert asked(pool, blocks(*[64] * 10, 60)) == EXPECTED
        assert pool.restarts == 7
    command = program(tmp_path, DIES.format(path=str(tmp_path / "again"), every=99))
    with pytest.raises(ProgramError, match="after 99 of 700 rows"):
        pooled(command, blocks(700))


def test_a_new_process_is_given_a_block_at_a_time(tmp_path: Path) -> None:
    """The one before it was given all, and answered none: memory holds what the pipe does not."""
    died = tmp_path / "died"
    command = program(tmp_path, f"""
import time
every = [line for line in sys.stdin]
if not os.path.exists({str(died)!r}):
    open({str(died)!r}, "w").close()
    sys.exit(3)
sys.stdout.writelines(every)
""")  # fmt: skip
    long = [Lines([b"x" * 1000 + b"\n"] * 200) for _ in range(40)]
    largest, give = 0, Program.give

    def watched(self: Program, data: bytes) -> None:
        nonlocal largest
        give(self, data)
        largest = max(largest, len(self._unwritten))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Program, "give", watched)
        with ProgramPool(PoolSettings(command, 1, 20, retries=1)) as pool:
            told = sum(len(news) for _, news in pool.answers(long))
            assert (told, pool.restarts) == (8000, 1)
    assert largest <= 200 * 1001


def test_retries_are_deaths_without_an_answer_between(tmp_path: Path) -> None:
    count = tmp_path / "count"
    command = f"echo x >> {count}; read -r line; echo $line; read -r line; exit 5"
    with pytest.raises(ProgramError, match="ended with exit code 5 after 3 of 3 rows"):
        pooled(command, blocks(3), retries=1)  # the last leaves nothing to mend
    assert count.read_text() == "x\n" * 3
    count.unlink()
    with pytest.raises(ProgramError, match="ended with exit code 6 after 0 of 3 rows"):
        pooled(f"echo x >> {count}; exit 6", blocks(3), retries=2)
    assert count.read_text() == "x\n" * 3


@pytest.mark.parametrize(
    ("command", "message", "place"),
    [
        ("head -n 2", "answered 2 of 4 rows", 2),
        ("echo 1; sed -u s/1/2/", "more than 4 lines for 4 rows", None),
        ("head -n 3; sleep 100", "no answer for 0.5 s", 3),
        ("exec >&- <&-; sleep 100", "no answer for 0.5 s", 0),
        ("cat; sleep 100", "no answer for 0.5 s", None),
    ],
)
def test_the_first_open_line_is_told(command: str, message: str, place: int | None) -> None:
    given = blocks(4)
    with pytest.raises(ProgramError) as caught:
        pooled(command, given, timeout=0.5)
    assert message in str(caught.value)
    assert caught.value.block is (None if place is None else given[0])
    assert place is None or caught.value.place == place


def test_a_slow_source_is_not_the_fault_of_the_program() -> None:
    """A program that waits for two lines before it answers them."""

    def slow() -> Iterator[Lines]:
        for block in blocks(1, 1, 1, 1):
            time.sleep(0.3)
            yield block

    command = "while read -r a && read -r b; do echo $a; echo $b; done"
    with ProgramPool(PoolSettings(command, timeout=0.25)) as pool:
        assert [answer for _, news in pool.answers(slow()) for answer in news] == EXPECTED[:4]


def test_all_processes_end_with_the_pool(tmp_path: Path) -> None:
    command = f"echo $$ >> {tmp_path}/pids; trap '' TERM; cat; sleep 100"
    begun = time.monotonic()
    with ProgramPool(PoolSettings(command, processes=2)) as pool:
        next(pool.answers(blocks(1, 1, 1)))
        while len((tmp_path / "pids").read_text().split()) < 2:
            next(pool.answers(blocks(1, 1)))  # one for each
    for pid in (tmp_path / "pids").read_text().split():
        assert not Path(f"/proc/{pid}").exists()
    assert time.monotonic() - begun < 15


@pytest.mark.parametrize(
    ("start", "processes", "command"), [(1, 1, "cat"), (2, 2, "cat"), (2, 1, "read -r x; exit 1")]
)
def test_ctrl_c_as_a_process_starts_leaves_none(
    start: int, processes: int, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first, another at its side, or a new one after a death."""
    started = strike_after(monkeypatch, subprocess, "Popen", start)
    with pytest.raises(KeyboardInterrupt):
        pooled(command, blocks(1, 1, 1), processes=processes, retries=1)
    assert len(started) == start
    assert all(process.returncode is not None for process in started)


def test_ctrl_c_as_the_pool_ends_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    started = strike_after(monkeypatch, subprocess, "Popen", 0)
    pool = ProgramPool(PoolSettings("cat; sleep 100", processes=2))
    assert len([*islice(pool.answers(blocks(1, 1, 1)), 3)]) == 3
    strike_after(monkeypatch, os, "killpg")
    with pytest.raises(KeyboardInterrupt):
        pool.__exit__()
    assert len(started) == 2
    assert all(process.returncode is not None for process in started)
