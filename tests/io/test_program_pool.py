"""Several processes of a program: answers in order, deaths mended, and what cannot be mended."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from strikes import strike_after

from bitextfilter.io.programs import Block, Lines, PoolSettings, Program, ProgramError, ProgramPool


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


def answers(command: str, given: list[Lines], **settings: float) -> list[bytes]:
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
    assert answers(program(tmp_path, body), given, processes=processes) == EXPECTED


def test_processes_share_the_work(tmp_path: Path) -> None:
    body = "for line in sys.stdin: print(os.getpid(), flush=True)"
    found = answers(program(tmp_path, body), blocks(*[8] * 40), processes=3)
    assert len(set(found)) == 3
    assert answers("echo $$ > pid; cat", []) == [] and not Path("pid").exists()


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
        answers(command, blocks(700))


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
        answers(command, blocks(3), retries=1)  # the last leaves nothing to mend
    assert count.read_text() == "x\n" * 3
    count.unlink()
    with pytest.raises(ProgramError, match="ended with exit code 6 after 0 of 3 rows"):
        answers(f"echo x >> {count}; exit 6", blocks(3), retries=2)
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
        answers(command, given, timeout=0.5)
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
            next(pool.answers(blocks(1)))
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
        answers(command, blocks(1, 1, 1), processes=processes, retries=1)
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
