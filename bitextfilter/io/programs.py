"""Programs of users that answer lines: one line of stdout for each line of stdin.

One process of a program answers, or several. They are started when there is something to ask, and
stay. Each may answer a line at once, or many together, or all at the end of its input: lines are
written while answers are read. A program is started in a shell, with all that it starts in a
process group of its own, which is ended with it.
"""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import IO, Protocol

from bitextfilter.errors import WorkerError
from bitextfilter.io.drafts import undisturbed
from bitextfilter.io.files import in_utf_8

_BYTES = 1 << 16
"""Bytes read or written at once."""

_KEPT_BYTES = 1 << 12
"""The end of stderr that is kept."""

_MERCY = 2.0
"""Seconds between SIGTERM and SIGKILL."""

_LINE_ENDS = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def question_line(source: str, target: str) -> bytes:
    """Return the line for a pair: source, tab, target; a line break in them becomes a space."""
    return in_utf_8("\t".join(_LINE_ENDS.sub(" ", text) for text in (source, target)) + "\n")


class Program(AbstractContextManager["Program"]):
    """A run of a program; ended, with all that it has started, when the context is left.

    Nothing of it waits: ``give`` keeps what the pipe does not take, and ``watch`` has a selector
    say when the program takes more, and when it has said something.
    """

    def __init__(self, command: str) -> None:
        """Start *command* in a shell; ``undisturbed`` until it is where somebody ends it."""
        self._command = command
        self._said = b""
        self._ended = False
        self._limit: float | None = None
        """When its time to end is over, once it is asked to."""
        self._unwritten = b""
        self._last = False
        """Whether nothing more will be given."""
        self.lines: list[bytes] = []
        """The lines of stdout, without their ends, that the caller has not taken yet."""
        self.rest = b""
        """The end of stdout after the last line end."""
        self.silent = False
        """Whether stdout has been closed."""
        self.active = True
        """Whether it has read or written since the caller set this to False."""
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
        for stream in self._streams():
            os.set_blocking(stream.fileno(), False)

    def __exit__(self, *_: object) -> None:
        with undisturbed():
            self._end()

    @property
    def hungry(self) -> bool:
        """Whether it has taken all that it was given, and may be given more."""
        return not (self._unwritten or self._last or self.silent)

    def give(self, data: bytes) -> None:
        """Write *data* to its stdin."""
        self._unwritten += data
        self._write()

    def close_input(self) -> None:
        """Close its stdin, once all that was given is written."""
        if not self._last:
            self._last = True
            self._write()

    def watch(self, selector: selectors.BaseSelector) -> None:
        """Register its streams; the data of each key is a function to call when it is ready."""
        stdin, stdout, stderr = self._streams()
        if self._unwritten:
            selector.register(stdin, selectors.EVENT_WRITE, self._write)
        if not self.silent:
            selector.register(stdout, selectors.EVENT_READ, self._read)
        if not stderr.closed:
            selector.register(stderr, selectors.EVENT_READ, self._hear)

    def code(self) -> int | None:
        """Return the exit code, None while it runs; negative for a signal."""
        if not hasattr(os, "waitid"):  # on macOS, before Python 3.13
            # From now on, its number is kept for its group alone, as long as that has members.
            return self._process.poll()
        flags = os.WEXITED | os.WNOWAIT | os.WNOHANG
        status = os.waitid(os.P_PID, self._process.pid, flags)
        if status is None:
            return None
        return status.si_status if status.si_code == os.CLD_EXITED else -status.si_status

    def report(self, reason: str) -> str:
        """Return the message of a failure, with the last line of stderr."""
        with suppress(OSError, ValueError):
            self._hear()
        last = self._said.decode("utf-8", "replace").strip().split("\n")[-1].strip()
        said = f"; its stderr ends: {last}" if last else ""
        return f"{self._command}: {reason}{said}"

    def terminate(self) -> None:
        """Ask it to end; leaving the context waits for it."""
        # As long as nobody has waited for the shell, its number belongs to no other process.
        if self._limit is None:
            self._limit = time.monotonic() + _MERCY
            self._signal(signal.SIGTERM)

    def _streams(self) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        process = self._process
        assert process.stdin and process.stdout and process.stderr
        return process.stdin, process.stdout, process.stderr

    def _write(self) -> None:
        """Write what the pipe takes."""
        stdin = self._streams()[0]
        try:
            if self._unwritten:
                written = stdin.write(self._unwritten[:_BYTES]) or 0
                self._unwritten = self._unwritten[written:]
                self.active |= written > 0
            if self._last and not self._unwritten:
                stdin.close()
        except BrokenPipeError:  # it reads no more, and its answers tell why
            self._unwritten, self._last = b"", True
            with suppress(BrokenPipeError):
                stdin.close()

    def _read(self) -> None:
        """Read lines of stdout."""
        more: bytes | None = self._streams()[1].read(_BYTES)
        if more is None:
            return
        self.active = True
        self.silent = not more
        *lines, self.rest = (self.rest + more).split(b"\n")
        self.lines += (line.removesuffix(b"\r") for line in lines)

    def _hear(self) -> None:
        """Keep the end of what stderr has now."""
        stderr = self._streams()[2]
        more: bytes | None = b""
        while more := stderr.read(_BYTES):
            self._said = (self._said + more)[-_KEPT_BYTES:]
        if more is not None:
            stderr.close()

    def _end(self) -> None:
        """End the program and what it has started, and wait for it."""
        if self._ended:
            return
        self._ended = True
        self.terminate()
        assert self._limit is not None
        while time.monotonic() < self._limit and self.code() is None:
            time.sleep(0.01)
        self._signal(signal.SIGKILL)
        self._process.wait()
        for stream in self._streams():
            with suppress(OSError):
                stream.close()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


_ENDING = 0.01
"""Seconds between two looks at a process that has closed its stdout."""

_REST = 0.005
"""Seconds without a look at the processes, so that answers one by one are read some at a time."""

LONGEST_ANSWER = 1 << 20
"""Bytes of the longest line that is taken for an answer."""


class Block(Protocol):
    """Consecutive lines to be asked of one process."""

    def __len__(self) -> int:
        """Return the number of lines."""

    def lines(self) -> list[bytes]:
        """Return the lines, each with its ``\\n``; the same at each call."""


class Lines(list[bytes]):
    """A block of lines in memory."""

    def lines(self) -> list[bytes]:
        """Return the lines."""
        return self


@dataclass(frozen=True)
class PoolSettings:
    """The program, and how it is asked."""

    command: str
    """A command line of the shell."""
    processes: int = 1
    timeout: float | None = None
    """The most seconds in which a process with something to do neither reads nor answers."""
    retries: int = 0
    """How often in a row, without an answer between, a process that died is started anew."""


class ProgramError(WorkerError):
    """A program that failed; ``block`` and ``place`` are the first line that it left open."""

    block: Block | None = None
    place: int = 0


@dataclass
class _Asked:
    """A block that was given to a process, and its answers."""

    block: Block
    answers: list[bytes] = field(default_factory=list)
    told: int = 0
    """The answers that the caller has."""

    @property
    def whole(self) -> bool:
        return len(self.answers) == len(self.block)

    def news(self) -> list[bytes]:
        """Return the answers that the caller does not have."""
        told, self.told = self.told, len(self.answers)
        return self.answers[told:]


class _Worker:
    """A process, and the blocks that it has not answered; a new process after a death."""

    def __init__(self, settings: PoolSettings) -> None:
        self._settings = settings
        self.program = Program(settings.command)
        self.open: deque[_Asked] = deque()
        self.ended = False
        self.deaths = 0
        """All that were mended."""
        self._again: deque[_Asked] = deque()
        """Blocks that a new process is still to be given."""
        self._closed = False
        """Whether nothing more will be given."""
        self._deaths = 0
        """Those since the last answer."""
        self._given = self._answered = 0
        self._idle = 0.0

    def give(self, asked: _Asked) -> None:
        self.open.append(asked)
        self._given += len(asked.block)
        self.program.give(b"".join(asked.block.lines()))

    @property
    def hungry(self) -> bool:
        """Whether it has read all that it was given, and may be given more."""
        return self.program.hungry and not self._again

    def close_input(self) -> None:
        self._closed = True
        self._give_again()

    def _give_again(self) -> None:
        """Give a new process what the last one left open, as it reads it: memory holds a block."""
        while self._again and self.program.hungry:
            asked = self._again.popleft()
            self.program.give(b"".join(asked.block.lines()[len(asked.answers) :]))
        if self._closed and not self._again:
            self.program.close_input()

    @property
    def patience(self) -> float | None:
        """The most seconds to wait for it; None for any time."""
        if self.program.silent:
            return _ENDING
        timeout = self._settings.timeout
        return None if timeout is None else max(0.0, timeout - self._idle)

    def pass_time(self, seconds: float) -> None:
        """Take the answers that have come in *seconds*, and look whether the process has ended.

        Raises ProgramError where it has failed.
        """
        self._take(self.program.lines)
        self.program.lines = []
        self._give_again()
        if len(self.program.rest) > LONGEST_ANSWER:
            raise self._error(f"a line longer than {LONGEST_ANSWER >> 20} MiB")
        busy = bool(self.open) or self._closed
        self._idle = self._idle + seconds if busy and not self.program.active else 0.0
        self.program.active = False
        code = self.program.code() if self.program.silent else None
        if code is not None:
            self._bury(code)
        elif self._settings.timeout is not None and self._idle >= self._settings.timeout:
            self._die(f"no answer for {self._settings.timeout:g} s")

    def _take(self, lines: list[bytes]) -> None:
        for line in lines:
            if not self.open:
                raise self._error(f"more than {self._given} lines for {self._given} rows")
            self.open[0].answers.append(line)
            if self.open[0].whole:
                self.open.popleft()
        self._answered += len(lines)
        if lines:
            self._deaths = 0

    def _bury(self, code: int) -> None:
        """Accept the end of the process, or raise or mend its failure."""
        if code:
            ended = f"exit code {code}" if code > 0 else f"signal {-code}"
            self._die(f"ended with {ended} after {self._answered} of {self._given} rows")
            return
        if self.program.rest:
            self._take([self.program.rest])
        if self.open:
            raise self._error(f"answered {self._answered} of {self._given} rows")
        self.program.__exit__()
        self.ended = True

    def _die(self, reason: str) -> None:
        """Start another process for the lines left open, or raise the error."""
        done = self._closed and not self.open
        if done or self._deaths >= self._settings.retries:
            raise self._error(reason)
        self._deaths += 1
        self.deaths += 1
        self.program.__exit__()
        with undisturbed():
            self.program = Program(self._settings.command)
        self._idle = 0.0
        self._again = deque(self.open)
        self._give_again()

    def _error(self, reason: str) -> ProgramError:
        error = ProgramError(self.program.report(reason))
        if self.open:
            error.block, error.place = self.open[0].block, len(self.open[0].answers)
        return error


class ProgramPool(AbstractContextManager["ProgramPool"]):
    """Processes of a program; ended, with all that they have started, when the context is left."""

    def __init__(self, settings: PoolSettings) -> None:
        """Start nothing yet."""
        self._settings = settings
        self._workers: list[_Worker] = []
        self._order: deque[_Asked] = deque()
        self._failure: ProgramError | None = None
        self.restarts = 0
        """How often a process was started anew."""

    def __exit__(self, *_: object) -> None:
        with undisturbed():
            for worker in self._workers:
                worker.program.terminate()
            for worker in self._workers:
                worker.program.__exit__()

    def answers(self, blocks: Iterable[Block]) -> Iterator[tuple[Block, list[bytes]]]:
        """Yield each of the *blocks* with its next answers, in their order, as they come.

        A block is taken when a process has read all that it was given; one without lines is
        yielded with no answers. Raises ProgramError where a process answers too few or too many
        lines, is idle for the timeout, or ends with another exit code than 0; deaths are mended
        first, as often as the settings say.
        """
        source, more = iter(blocks), True
        while True:
            yield from self._news()
            if self._failure is not None:
                raise self._failure
            if not (more or self._workers):
                return
            more = more and self._deal(source)
            if self._workers:
                self._wait(at_once=more and bool(self._takers()))

    def _news(self) -> Iterator[tuple[Block, list[bytes]]]:
        """Yield the answers that are next."""
        while self._order:
            asked = self._order[0]
            news = asked.news()
            if news or asked.whole:
                yield asked.block, news
            if not asked.whole:
                return
            self._order.popleft()

    def _takers(self) -> list[_Worker | None]:
        """Return the processes that take more; None stands for one that is not started yet."""
        found: list[_Worker | None] = [each for each in self._workers if each.hungry]
        return found + [None] * (len(self._workers) < self._settings.processes)

    def _deal(self, source: Iterator[Block]) -> bool:
        """Give a block to each process that takes one; return whether there may be more."""
        for taker in self._takers():
            block = next(source, None)
            if block is None:
                for worker in self._workers:
                    worker.close_input()
                return False
            asked = _Asked(block)
            self._order.append(asked)
            if len(block):
                if taker is None:
                    with undisturbed():
                        taker = _Worker(self._settings)
                        self._workers.append(taker)
                taker.give(asked)
        return True

    def _wait(self, at_once: bool) -> None:
        """Read and write what is ready; wait for it, unless *at_once*."""
        limits = [each.patience for each in self._workers]
        most = 0.0 if at_once else min((one for one in limits if one is not None), default=None)
        began = time.monotonic()
        if not at_once:
            time.sleep(_REST)
        with selectors.PollSelector() as selector:
            for worker in self._workers:
                worker.program.watch(selector)
            for key, _ in selector.select(most):
                key.data()
        seconds = time.monotonic() - began
        for worker in self._workers:
            before = worker.deaths
            try:
                worker.pass_time(seconds)
            except ProgramError as error:
                self._failure = self._failure or error
            self.restarts += worker.deaths - before
        self._workers = [each for each in self._workers if not each.ended]
