"""Commands of processes that start at once, and what is sent to them at their events of files."""

from __future__ import annotations

import faulthandler
import functools
import multiprocessing
import os
import runpy
import signal
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import forkserver
from pathlib import Path
from secrets import token_hex
from types import ModuleType
from typing import Any
from unittest.mock import patch

from console import BIN, ROOT
from lines import inputs

from bitextfilter.io import workers

PATIENCE = 120.0
"""Seconds that a run may take on a busy machine."""

EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.listdir", "sqlite3.connect"}
"""The events of Python that a run is ended at: what it does with files."""

HEAVY = ("scoring.model", "scoring.inspection", "training.encoder_training", "commands.frame.run")


@functools.cache
def processes() -> multiprocessing.context.ForkServerContext:
    """Processes that have imported what is heavy already; each is a child to wait for."""
    path = [str(ROOT), str(ROOT / "tests/support"), str(Path(__file__).parent)]
    new = {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(path)}
    context = multiprocessing.get_context("forkserver")
    heavy = [*(f"bitextfilter.{name}" for name in HEAVY), *os.environ.get("WARM", "").split()]
    context.set_forkserver_preload(["runs", *heavy])
    with patch.dict(os.environ, new):
        forkserver.ensure_running()
    return context


@dataclass(frozen=True)
class Blow:
    """The end of a run at one of its events of files, the first being 1; 0 for none."""

    number: int = 0
    event: int = 0
    group: bool = False
    """Sent to all processes of the run."""
    late: bool = False
    """Sent just after the event, not just before."""
    clock: float = 0.0
    """Seconds by which the clock jumps at every event."""


class Run:
    """A command at work in the trial's folder."""

    def __init__(
        self, line: str, folder: Path, blow: Blow | None = None, reader: Any = None
    ) -> None:
        """Start it; *reader* is a pipe for its stdout."""
        self._log = folder.with_name(f"{folder.name}-{token_hex(4)}")
        self.line = line
        words = [*line.replace("@", str(inputs())).split(), "-q"]
        self._process = processes().Process(
            target=_command, args=(words, folder, blow or Blow(), self._log, reader)
        )
        with patch.dict(sys.modules, {"__main__": ModuleType("__main__")}):
            self._process.start()
        self.pid = self._process.pid

    def begun(self) -> bool:
        """Wait for the first event of files; whether it came."""
        end = time.monotonic() + PATIENCE
        while self.events() == 0 and self._process.is_alive() and time.monotonic() < end:
            time.sleep(0.005)
        return self._process.is_alive()

    def events(self) -> int:
        """The events so far."""
        path = self._log.with_suffix(".events")
        return path.stat().st_size if path.exists() else 0

    def send(self, number: int, group: bool = False) -> None:
        """Send a signal."""
        with suppress(ProcessLookupError):
            (os.killpg if group else os.kill)(self.pid, number)

    def others(self) -> list[int]:
        """The other processes of its session that are alive."""
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                fields = stat.read_text().rpartition(")")[2].split()
                if int(fields[3]) == self.pid and fields[0] != "Z":
                    found.append(int(stat.parent.name))
        return [pid for pid in found if pid != self.pid]

    def workers(self) -> list[int]:
        """The worker processes."""
        found = []
        for pid in self.others():
            with suppress(OSError):
                if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(pid)
        return found

    def end(self) -> tuple[int, str]:
        """Wait for the end of all its processes; the exit code, and stderr."""
        self._process.join(PATIENCE)
        hung = self._process.is_alive()
        if hung:
            os.kill(self.pid, signal.SIGABRT)  # shows where
            self._process.join()
        errors = self._log.with_suffix(".err").read_text(errors="replace")
        assert not hung, f"{self.line}: hung\n{errors}"
        deadline = time.monotonic() + 20
        while self.others() and time.monotonic() < deadline:
            time.sleep(0.01)
        lives = self.others()
        for pid in lives:
            os.kill(pid, signal.SIGKILL)
        assert not lives, f"{self.line}: {len(lives)} of its processes live on\n{errors}"
        assert self._process.exitcode is not None
        return self._process.exitcode, errors


def _command(words: list[str], folder: Path, blow: Blow, log: Path, reader: Any) -> None:
    """Be a command, in a session of its own, as if its launcher had been called."""
    os.setsid()
    os.chdir(folder)
    for descriptor, name in enumerate((os.devnull, f"{log}.out", f"{log}.err")):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT, 0o666), descriptor)
    if reader is not None:
        os.dup2(reader.fileno(), 1)
        reader.close()
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")
    faulthandler.enable(sys.stderr)
    os.environ["TMPDIR"] = str(folder.with_name("tmp"))
    tempfile.tempdir = None
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    sys.argv = [str(BIN / words[0]), *words[1:]]
    events = os.open(f"{log}.events", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    seen = [0]

    def strike_now(*_: Any) -> None:
        sys.setprofile(None)
        (os.killpg if blow.group else os.kill)(os.getpid(), blow.number)

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if event in EVENTS and _ours(arguments[0], folder):
            seen[0] += 1
            os.write(events, b".")
            if seen[0] == blow.event and blow.late:
                sys.setprofile(strike_now)
            elif seen[0] == blow.event:
                strike_now()

    if blow.clock:
        clock = time.time
        time.time = lambda: clock() + blow.clock * seen[0]
    workers._here = lambda *_: iter(())  # they start for any number of rows
    sys.addaudithook(hear)
    runpy.run_path(sys.argv[0], run_name="__main__")


def _ours(path: Any, folder: Path) -> bool:
    """Whether this is a file of the trial."""
    if not isinstance(path, (str, Path)):
        return False
    return not str(path).startswith("/") or str(path).startswith(f"{folder}/")
