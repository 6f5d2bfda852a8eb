"""Programs joined by pipes that succeed together: where one fails, all are ended.

The writing end of each pipe is also held here until its program has ended well. So no program takes
the end of one that failed for the end of the data, whatever program it is.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, BinaryIO

from bitextfilter.errors import BitextError
from bitextfilter.io.drafts import undisturbed

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
