"""The run of a plan: pipes side by side, records of what is done, and counts of rows.

The programs of a pipe succeed together: where one fails, all are ended. The writing end of each
pipe is also held here until its program has ended well. So no program takes the end of one that
failed for the end of the data, whatever program it is.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

from bitextfilter.errors import BitextError, OutputError
from bitextfilter.io.drafts import undisturbed
from bitextfilter.io.files import locked_if_free, naming_output, open_input, open_output
from bitextfilter.io.records import parse_json
from bitextfilter.recipes.plan import (
    Line,
    Pipe,
    Plan,
    changed,
    folders,
    key_of,
    known_steps,
    write_pipe_record,
)

_MERCY = 10.0
"""Seconds between SIGTERM and SIGKILL."""

_WELL = {0, -signal.SIGPIPE, 128 + signal.SIGPIPE}
"""Exit codes of success; SIGPIPE: the program that reads wanted no more, as ``head``."""

Say = Callable[[str], None]
"""Takes a line that a program writes to stderr."""


class ProgramError(BitextError):
    """A program that failed, with its exit ``code``, 128 more than the number of a signal."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Program:
    """A program, its name in messages, and the function that takes its messages."""

    name: str
    words: Sequence[str]
    say: Say


class Programs:
    """All programs of a run, which any thread may start, and which end together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: list[subprocess.Popen[bytes]] = []
        self._stopped = False
        self._error: BaseException | None = None

    def join(
        self, programs: Sequence[Program], source: BinaryIO | None, sink: BinaryIO | None
    ) -> None:
        """Run programs, each reading what the one before it writes, until all have ended.

        To be called in another thread than the main one, whose work a signal may break off.

        Args:
            programs: in their order.
            source: read by the first; None for nothing.
            sink: takes what the last writes; None where nobody reads it.

        Raises ProgramError for the first that fails, and the error of source or sink.
        """
        threads: list[threading.Thread] = []
        try:
            reading = self._chained(programs, source, sink is not None, threads)
            with open(reading, "rb") as stream:
                if sink is not None:
                    shutil.copyfileobj(stream, sink)
        except BaseException as error:  # noqa: BLE001 - raised below
            self.stop(error)
        for thread in threads:
            thread.join()
        if self._error is not None:
            raise self._error

    def stop(self, error: BaseException) -> None:
        """End all programs, and start no more, because of *error*; only the first counts."""
        with undisturbed():
            with self._lock:
                if self._stopped:
                    return
                self._stopped, self._error = True, error
            self._signal(signal.SIGTERM)
            timer = threading.Timer(_MERCY, self._signal, [signal.SIGKILL])
            timer.daemon = True
            timer.start()

    def _signal(self, number: signal.Signals) -> None:
        with self._lock:  # under which a program is waited for, so its number is its own
            for process in self._running:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, number)

    def _chained(
        self,
        programs: Sequence[Program],
        source: BinaryIO | None,
        read: bool,
        threads: list[threading.Thread],
    ) -> int:
        """Start all programs, and return the end of the last one's pipe."""
        reading = self._fed(source, threads)
        for index, program in enumerate(programs):
            before, (reading, writing) = reading, _pipe(read or index + 1 < len(programs))
            try:
                threads.append(self._start(program, before, writing))
            except BaseException:
                os.close(reading)
                raise
        return reading

    def _fed(self, source: BinaryIO | None, threads: list[threading.Thread]) -> int:
        """Return the end of a pipe with what *source* has."""
        if source is None:
            return os.open(os.devnull, os.O_RDONLY)
        reading, writing = os.pipe()
        threads.append(threading.Thread(target=self._feed, args=(source, writing)))
        threads[-1].start()
        return reading

    def _feed(self, source: BinaryIO, writing: int) -> None:
        try:
            with suppress(BrokenPipeError), open(writing, "wb") as stream:
                shutil.copyfileobj(source, stream)
        except BaseException as error:  # noqa: BLE001 - raised by join
            self.stop(error)

    def _start(self, program: Program, reading: int, writing: int) -> threading.Thread:
        """Start a program, and return the thread that waits for it and closes *writing*."""
        try:
            with self._lock:
                if self._stopped:
                    raise ProgramError("stopped", 1)
                process = subprocess.Popen(
                    program.words,
                    stdin=reading,
                    stdout=writing,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
                self._running.append(process)
        except BaseException:
            os.close(writing)
            raise
        finally:
            os.close(reading)
        thread = threading.Thread(target=self._attend, args=(program, process, writing))
        thread.start()
        return thread

    def _attend(self, program: Program, process: subprocess.Popen[bytes], writing: int) -> None:
        """Pass on the messages of a program until its end."""
        assert process.stderr is not None
        try:
            with process.stderr as stream:
                self._listen(program.say, stream)
            while (code := self._ended(process)) is None:
                time.sleep(0.01)
            if code not in _WELL:
                how = f"exit code {code}" if code > 0 else f"signal {-code}"
                code = code if code > 0 else 128 - code
                self.stop(ProgramError(f"{program.name} failed ({how})", code))
        except BaseException as error:  # noqa: BLE001 (told by the caller)
            self.stop(error)
        finally:
            with suppress(OSError):
                os.close(writing)

    def _listen(self, say: Say, stream: IO[bytes]) -> None:
        for line in stream:
            if not self._stopped:
                say(line.decode("utf-8", "replace").rstrip())

    def _ended(self, process: subprocess.Popen[bytes]) -> int | None:
        with self._lock:
            code = process.poll()
            if code is not None:
                self._running.remove(process)
        return code


def _pipe(read: bool) -> tuple[int, int]:
    """Return both ends of a pipe; of one that is not *read*, what is written is lost."""
    if read:
        return os.pipe()
    return os.open(os.devnull, os.O_RDONLY), os.open(os.devnull, os.O_WRONLY)


Call = Callable[[Sequence[str]], list[str]]
"""Returns the words that start a command of ours, given its name and perhaps a subcommand."""

_ONE_FOR_ONE = {"bitext-fix", "bitext-score", "bitext-translate"}
"""Commands that write a row for each row that they read."""
_WRITTEN = ("kept", "pairs", "links")
"""Counts of rows that are written."""


class Outcome(NamedTuple):
    """A pipe that is done."""

    pipe: Pipe
    reason: str
    """Why it ran; empty if it was up to date."""
    steps: list[dict[str, Any]]
    """Facts about its steps, such as their manifests."""

    def rows(self) -> Iterator[tuple[object, ...]]:
        """Yield the rows of the table: data set, step, state, rows in and out, and seconds."""
        for line, facts in zip(self.pipe.lines, self.steps, strict=True):
            state = "done" if self.reason else "up to date"
            counts = (facts[name] for name in ("rows in", "rows out", "seconds"))
            yield self.pipe.data, line.step.name, state, *counts


@dataclass(frozen=True)
class Runner:
    """Runs pipes; ``call`` starts commands of ours, ``say`` takes messages."""

    plan: Plan
    call: Call
    say: Say
    programs: Programs

    def outcomes(self, jobs: int) -> Iterator[Outcome]:
        """Run the plan, *jobs* pipes at a time, and yield each that is done.

        Raises ProgramError for the first step that fails, after all others were ended.
        """
        order = TopologicalSorter(self.plan.before)
        order.prepare()
        running: dict[Future[Outcome], int] = {}
        with ThreadPoolExecutor(jobs) as pool:
            try:
                while order.is_active():
                    for number in order.get_ready():
                        running[pool.submit(self.made, self.plan.pipes[number])] = number
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        outcome = future.result()
                        order.done(running.pop(future))
                        yield outcome
            except BaseException as error:
                self.programs.stop(error)
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def made(self, pipe: Pipe) -> Outcome:
        """Run a pipe, unless it is up to date."""
        for folder in folders([pipe]):
            with naming_output(folder):
                Path(folder).mkdir(parents=True, exist_ok=True)
        with locked_if_free(pipe.record) as free:
            if not free:
                raise OutputError(f"{pipe.writes[-1]}: another run is writing it")
            key = key_of(pipe)
            reason = changed(pipe, key)
            if not reason:
                return Outcome(pipe, "", known_steps(pipe))
            steps = self._run(pipe)
            for path in pipe.writes:
                if not Path(path).exists():
                    raise OutputError(f"{self.plan.file}: {pipe.title} has not written {path}")
            write_pipe_record(pipe, key, steps)
            return Outcome(pipe, reason, steps)

    def _run(self, pipe: Pipe) -> list[dict[str, Any]]:
        """Run a pipe, and return the facts about its steps."""
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            manifests = [folder / f"{place}.json" for place in range(len(pipe.lines))]
            programs = [self._program(*one) for one in zip(pipe.lines, manifests, strict=True)]
            stdin, stdout = pipe.lines[0].stdin, pipe.lines[-1].stdout
            source = stack.enter_context(open_input(stdin)) if stdin else None
            sink = stack.enter_context(open_output(stdout)) if stdout else None
            self.programs.join(programs, source, sink)
            return facts_of(pipe.lines, manifests)

    def _program(self, line: Line, manifest: Path) -> Program:
        """Return the program of a step, which writes a manifest for the table too."""
        step = line.step
        words = ["/bin/sh", "-c", step.shell]
        if step.command:
            own = [] if "manifest" in step.options else ["--manifest", str(manifest)]
            words = [*self.call(step.command), *own, *line.words]
        before = f"{step.data}: " if step.data else ""
        return Program(step.title, words, lambda message: self.say(before + message))


def facts_of(lines: Sequence[Line], manifests: Sequence[Path]) -> list[dict[str, Any]]:
    """Return the facts about each step: command line, manifest, rows in and out, seconds.

    A step's rows out are the next one's rows in; the last one's are the rows kept or written.
    """
    facts: list[dict[str, Any]] = []
    for line, path in zip(lines, manifests, strict=True):
        own = line.step.options.get("manifest")
        manifest: dict[str, Any] = {}
        with suppress(OSError, ValueError, BitextError):
            manifest = parse_json(Path(str(own) if own else path).read_bytes())
        counts = manifest.get("counts", {})
        names = ("rows",) if {*line.step.command} & _ONE_FOR_ONE else _WRITTEN
        written = next((counts[name] for name in names if name in counts), None)
        facts.append(
            {
                "step": line.step.name,
                "command": shlex.join(line.whole) if line.step.command else line.step.shell,
                "rows in": counts.get("rows"),
                "rows out": written,
                "seconds": manifest.get("seconds"),
                "manifest": {name: manifest[name] for name in manifest if name != "command"},
            }
        )
    for one, following in pairwise(facts):
        if following["rows in"] is not None:
            one["rows out"] = following["rows in"]
    return facts
