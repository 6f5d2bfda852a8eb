"""The end of a command: exit codes, one line on stderr for each error, and marks on its pipe.

The commands of a pipe share a terminal: one of them at a time may show its progress there.
"""

from __future__ import annotations

import errno
import fcntl
import functools
import io
import os
import re
import signal
import stat
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, cast

import click

from bitextfilter.errors import (
    BitextError,
    DeviceError,
    InputError,
    ModelError,
    NotFoundError,
    OutputError,
    SettingsError,
    WorkerError,
    printable,
)
from bitextfilter.io.drafts import interrupt

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class Turn:
    """A terminal on which one command at a time has a bar, of all that share it, as in a pipe.

    As the file of a bar it leaves out the text of all others. The turn is a lock on the terminal,
    so it ends with its holder. Where terminals have none, all have their turn.
    """

    def __init__(self, stream: TextIO) -> None:
        """Take part at the terminal *stream*."""
        self._stream = stream
        self._lock: int | None = None
        self._held = False
        with suppress(OSError):
            name = os.ttyname(stream.fileno())
            self._lock = os.open(name, os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a part of the bar, if this command has or now gets the turn."""
        self._held = self._held or self._take()
        return self._stream.write(text) if self._held else len(text)

    def _take(self) -> bool:
        """Take the turn; returns whether no other has it."""
        try:
            if self._lock is not None:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # it has no locks
            self._lock = None
        return True

    def make_room(self) -> None:
        """Make room for a message where another command has a bar, which draws it again."""
        if self._held:
            return
        if self._take():
            self.end()
        else:
            self._stream.write("\n" if os.environ.get("TERM") == "dumb" else "\r\x1b[K")

    def end(self) -> None:
        """Leave the turn to others."""
        self._held = False
        if self._lock is not None:
            fcntl.flock(self._lock, fcntl.LOCK_UN)


_turn_at = functools.cache(Turn)


def turn() -> Turn | None:
    """Return the turn of this process on stderr; None if that is no terminal."""
    terminal = sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()
    return _turn_at(sys.stderr) if terminal else None


EXIT_CODES: dict[type[BaseException], int] = {
    InputError: 65,
    ModelError: 65,
    NotFoundError: 66,
    DeviceError: 69,
    WorkerError: 69,
    OutputError: 74,
    SettingsError: 78,
    OSError: 74,
    MemoryError: 71,
    KeyboardInterrupt: 130,
}
"""The exit code of each class of error; the first that matches is taken."""

BUG = 70

_ENDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}
"""The signals that end a command, and the word for each; its exit code is 128 more."""

EXIT_HELP = """\b
Exit codes:
    0  done, or the reader of stdout has ended (| head)
    2  usage
   65  bad data or damaged model
   66  input or model not found
   69  device, optional package or cluster missing
   70  bug, with its traceback
   71  out of memory, threads or open files
   74  write failed
   78  bad settings
  129  SIGHUP: the terminal was closed
  130  Ctrl-C
  143  SIGTERM"""
"""The end of the help of ``bitext``."""

EXIT_LINE = (
    "Exit codes: 0 done, 2 usage, 65 bad data, 66 not found, 69 device or package missing, 70 bug,"
    " 71 out of memory, 74 write failed, 78 bad settings, 129, 130, 143 signals: bitext --help."
)
"""The end of the help of every other command."""


class Terminated(BaseException):
    """SIGTERM or SIGHUP as an exception, so that files are closed and drafts removed."""


class Guard:
    """A context that turns errors into a line on stderr and an exit ``code``.

    A user's error is one line (and a traceback if *verbose*); a bug is a traceback; a closed pipe
    is silent. Inside, the signals that end a command are raised as exceptions, unless they are
    ignored, as by nohup. Errors of click pass through.
    """

    def __init__(self, name: str, verbose: bool) -> None:
        """Guard the command called *name*."""
        self.code = 0
        self._name = name
        self._verbose = verbose
        self._handlers: dict[int, Any] = {}
        self._signal: int | None = None

    def __enter__(self) -> Guard:
        """Handle signals, in the main thread."""
        with suppress(ValueError):
            for number in _ENDS:
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._handlers[number] = signal.signal(number, self._end)
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        """Turn *error* into a message and a code."""
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        if isinstance(error, (click.ClickException, click.exceptions.Exit, SystemExit)):
            return False
        if error is not None:
            self.code = self._report(error)
        _flush(sys.stdout)
        _flush(sys.stderr)
        return True

    def _end(self, number: int, _frame: FrameType | None) -> None:
        """Raise a signal as an exception."""
        self._signal = number
        interrupt(KeyboardInterrupt() if number == signal.SIGINT else Terminated())

    def _report(self, error: BaseException) -> int:
        """Report an error on stderr, and return its exit code.

        After a signal any error is its consequence: libraries put others in its place.
        """
        if self._signal is not None:
            return self._say(_ENDS[signal.Signals(self._signal)], 128 + self._signal)
        if isinstance(error, BrokenPipeError):
            return 0
        if isinstance(error, KeyboardInterrupt):
            return self._say(_ENDS[signal.SIGINT], EXIT_CODES[KeyboardInterrupt])
        missing = isinstance(error, ModuleNotFoundError) and error.name
        if missing and missing.split(".")[0] != "bitextfilter":
            message = f"the package {missing} is not installed: pip install bitextfilter"
            return self._say(message, EXIT_CODES[DeviceError])
        message, code = _explained(error)
        if self._verbose or code == BUG:
            for line in "".join(traceback.format_exception(error)).splitlines():
                tell(line)
        return self._say(message, code)

    def _say(self, message: str, code: int) -> int:
        tell(message, f"{self._name}:", ERROR)
        return code


def _explained(error: BaseException) -> tuple[str, int]:
    """Return the message of an error and its exit code."""
    causes = list(_causes(error))
    starved = any(isinstance(one, OSError) and one.errno in _SHORTAGES for one in causes)
    if isinstance(error, (BitextError, OSError)):
        codes = (code for kind, code in EXIT_CODES.items() if isinstance(error, kind))
        return str(error), EXIT_CODES[MemoryError] if starved else next(codes, BUG)
    if starved or any(map(_is_shortage, causes)):
        return _SHORTAGE, EXIT_CODES[MemoryError]
    return "this is a bug: please report it with the lines above", BUG


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and those that led to it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


ERROR, WARNING, SUMMARY = "red", "yellow", "green"
"""The colours of what a command says, on a terminal."""


def tell(message: str, label: str = "", colour: str = "") -> None:
    """Write a message as one line of stderr, after its *label*; ignore a closed or full one.

    A *colour* is that of the label, where ``has_colours``.
    """
    shown = printable(f"{label} {message}" if label else message)
    with suppress(OSError, ValueError):
        if (shared := turn()) is not None:
            shared.make_room()
        if colour and shown.startswith(label) and has_colours():
            shown = click.style(label, fg=colour) + shown[len(label) :]
        click.echo(shown, err=True)


def has_colours() -> bool:
    """Return whether stderr is a terminal with colours, and NO_COLOR (no-color.org) is not set."""
    terminal = sys.stderr is not None and sys.stderr.isatty()
    return terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


_SHORTAGE = (
    "out of memory, threads or open files: the system allows no more; fewer --threads and a"
    " smaller --batch-size take less"
)
_SHORTAGES = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}
_SHORT = re.compile(
    "allocate memory|not enough memory|bad_alloc|failed to map segment|start new thread"
    "|Too many open files"
)
"""Words of the errors of C libraries and threads."""


def _is_shortage(error: BaseException) -> bool:
    library = isinstance(error, (RuntimeError, ImportError)) or type(error).__name__ == "ZstdError"
    return isinstance(error, MemoryError) or bool(library and _SHORT.search(str(error)))


def _flush(stream: TextIO | None) -> None:
    """Flush a stream; if it is closed, redirect it so that Python does not fail at exit."""
    if stream is None:
        return
    try:
        stream.flush()
    except OSError:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def open_closed_streams() -> None:
    """Open /dev/null as each standard stream that is closed.

    Else the next file would take its place, and the messages of libraries would go into it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number


_AT_WORK, _WHOLE = stat.S_ISVTX, stat.S_IXUSR
"""Marks on a pipe, in its permission bits, which both ends see and nothing else uses.

A pipe itself does not tell how its writer ended. So a command sets the sticky bit while it works,
and the execute bit once it has ended well; its reader checks them at the end, even if the writer
was killed. Only Linux has such bits; elsewhere, and after other programs, a reader only rejects an
empty pipe.
"""


class StdoutPipe:
    """Marks stdout from now until ``end``, if it is a pipe."""

    def __init__(self) -> None:
        """Mark the pipe, unless another command has: it failed before, or is still at work."""
        self._descriptor: int | None = None
        with suppress(OSError, ValueError, AttributeError):  # no stdout, no descriptor, no /proc
            descriptor = sys.stdout.fileno()
            nameless = Path(f"/proc/self/fd/{descriptor}").readlink().name.startswith("pipe:")
            if nameless and not os.fstat(descriptor).st_mode & _AT_WORK:
                _mark(descriptor, _AT_WORK, _WHOLE)
                self._descriptor = descriptor

    def end(self) -> None:
        """Mark that everything was written."""
        if self._descriptor is not None:
            with suppress(OSError):
                _mark(self._descriptor, _WHOLE, _AT_WORK)


def _mark(descriptor: int, added: int, removed: int) -> None:
    mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
    os.fchmod(descriptor, (mode | added) & ~removed)


def open_stdin() -> BinaryIO:
    """Return stdin as bytes; an incomplete pipe raises InputError at its end."""
    if sys.stdin is None:
        raise NotFoundError("stdin is closed")
    stream = sys.stdin.buffer
    with suppress(OSError, ValueError):
        if stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode):
            return cast(BinaryIO, io.BufferedReader(_CheckedPipe(stream), 1 << 16))
    return stream


class _CheckedPipe(io.RawIOBase):
    """A pipe that checks at its end how its writer ended."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = cast(io.BufferedReader, stream)
        self._empty = True

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._stream.fileno()

    def readinto(self, buffer: WriteableBuffer) -> int:
        count = self._stream.readinto1(buffer)
        if not count:
            self._check()
        self._empty = False
        return count

    def _check(self) -> None:
        mode = os.fstat(self.fileno()).st_mode
        if mode & _AT_WORK:
            raise InputError("the command that writes to it failed: rows are missing", file="stdin")
        if self._empty and not mode & _WHOLE:
            message = "empty: the command that writes to it may have failed"
            raise InputError(message, file="stdin", remedy="-i FILE takes an empty file")
