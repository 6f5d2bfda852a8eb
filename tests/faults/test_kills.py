"""Signals at the events of some commands, lost workers, races, and clocks."""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path
from random import Random

import click
import console
import kills
import pytest
from lines import LINES, UNWRITTEN
from runs import Blow, Run

import bitextfilter


@pytest.mark.gate("15-True", "9-True")
@pytest.mark.parametrize(
    ("number", "late"),
    [(signal.SIGTERM, False), (signal.SIGTERM, True), (signal.SIGKILL, True)],
)
def test_a_signal_at_any_event(number: int, late: bool, tmp_path: Path) -> None:
    """Also amid the making of a draft, of which only the file is there yet."""
    for event in range(1, kills.undisturbed("rank in order")[1] + 1):
        (home := tmp_path / str(event)).mkdir()
        blow = Blow(number, event, late=late, clock=-3600.0 * (event % 2))
        kills.strike("rank in order", kills.trial_folder(home), blow, old=event % 3 == 0)


@pytest.mark.gate(
    "score resumed-9-100", "dedup-1-6", "fix-9-8", "report-15-6", "align resumed-9-30"
)
@pytest.mark.parametrize(
    ("name", "number", "event"),
    [
        ("score resumed", signal.SIGKILL, 100),
        ("dedup", signal.SIGHUP, 6),
        ("filter by processes", signal.SIGTERM, 12),
        ("filter resumed", signal.SIGTERM, 40),
        ("fix", signal.SIGKILL, 8),
        ("report", signal.SIGTERM, 6),
        ("align resumed", signal.SIGKILL, 30),
    ],
)
def test_a_signal_to_all_processes(name: str, number: int, event: int, tmp_path: Path) -> None:
    kills.strike(name, kills.trial_folder(tmp_path), Blow(number, event, group=True))


@pytest.mark.parametrize(
    ("attack", "name"),
    [
        (kills.kill_a_worker, "fix by processes"),
        (kills.stop, "fix"),
        (kills.close_the_reader, "rank"),
        (kills.race, "score cached"),
        (kills.race, "score resumed"),
    ],
)
def test_other_attacks(attack: kills.Attack, name: str, tmp_path: Path) -> None:
    attack(name, Random(4), kills.trial_folder(tmp_path))


def test_workers_end_with_a_command_that_is_killed(tmp_path: Path) -> None:
    """Also one that waits for its first rows: the command is stopped before it has sent any."""
    run = Run(LINES["fix by processes"], kills.trial_folder(tmp_path))
    while run.begun() and not run.workers():
        time.sleep(0.01)
    run.send(signal.SIGSTOP)
    time.sleep(1)
    assert run.workers()
    run.send(signal.SIGKILL)
    assert run.end()[0] == -signal.SIGKILL


def test_every_command_that_writes_has_a_line() -> None:
    leaves = [
        " ".join(words)
        for name in console.scripts()
        for words, found in console.leaves(name)
        if not isinstance(found, click.Group)
    ]
    known = {line.split()[0] for line in LINES.values()}
    known |= {" ".join(line.split()[:2]) for line in LINES.values()}
    assert [leaf for leaf in leaves if leaf not in known | UNWRITTEN.keys()] == []
    assert [line for line in UNWRITTEN if line in known] == []


def test_no_result_depends_on_the_time_of_day() -> None:
    """Only ``time.monotonic`` is looked at, which no change of the clock moves."""
    clocks = re.compile(r"\btime\.time|\btime_ns|\bdatetime\b|date\.today|from time import")
    for path in Path(bitextfilter.__path__[0]).rglob("*.py"):
        assert not clocks.search(path.read_text("utf-8")), path
