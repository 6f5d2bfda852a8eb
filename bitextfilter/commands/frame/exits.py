"""Exit codes, and one line on stderr for each error."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from contextlib import suppress
from types import FrameType, TracebackType
from typing import TextIO

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
)

EXIT_CODES: dict[type[BaseException], int] = {
    InputError: 65,
    ModelError: 65,
    NotFoundError: 66,
    DeviceError: 69,
    WorkerError: 69,
    OutputError: 74,
    SettingsError: 78,
    OSError: 74,
    KeyboardInterrupt: 130,
}
"""The exit code of each class of error; the first that matches is taken."""

BUG = 70
TERMINATED = 143

EXIT_HELP = """\b
Exit codes:
    0  done, or the reader of stdout has ended (| head)
    2  usage
   65  bad data or damaged model
   66  input or model not found
   69  device, optional package or cluster missing
   70  bug, with its traceback
   74  write failed
   78  bad settings
  130  Ctrl-C
  143  SIGTERM"""
"""The end of the help of every command."""


class Terminated(BaseException):
    """SIGTERM as an exception, so that files are closed and drafts removed."""


def _raise_terminated(_number: int, _frame: FrameType | None) -> None:
    raise Terminated


class Guard:
    """A context that turns errors into a line on stderr and an exit ``code``.

    A user's error is one line (and a traceback if *verbose*); a bug is a traceback; a closed pipe
    is silent. Inside, SIGTERM is raised as an exception. Errors of click pass through.
    """

    def __init__(self, name: str, verbose: bool) -> None:
        """Guard the command called *name*."""
        self.code = 0
        self._name = name
        self._verbose = verbose

    def __enter__(self) -> Guard:
        """Handle SIGTERM, in the main thread."""
        with suppress(ValueError):
            self._handler = signal.signal(signal.SIGTERM, _raise_terminated)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        """Turn *error* into a message and a code."""
        with suppress(ValueError, AttributeError):
            signal.signal(signal.SIGTERM, self._handler)
        if isinstance(error, (click.ClickException, click.exceptions.Exit, SystemExit)):
            return False
        if error is not None:
            self.code = self._report(error)
        _flush(sys.stdout)
        _flush(sys.stderr)
        return True

    def _report(self, error: BaseException) -> int:
        """Report an error on stderr, and return its exit code."""
        if isinstance(error, BrokenPipeError):
            return 0
        if isinstance(error, Terminated):
            return self._say("terminated", TERMINATED)
        if isinstance(error, KeyboardInterrupt):
            return self._say("interrupted", EXIT_CODES[KeyboardInterrupt])
        if isinstance(error, ModuleNotFoundError) and _is_foreign(error.name):
            message = f"the package {error.name} is not installed: pip install bitextfilter"
            return self._say(message, EXIT_CODES[DeviceError])
        known = isinstance(error, (BitextError, OSError))
        if self._verbose or not known:
            traceback.print_exception(error)
        if not known:
            return self._say("this is a bug: please report it with the lines above", BUG)
        return self._say(str(error), _code_of(error))

    def _say(self, message: str, code: int) -> int:
        with suppress(OSError):
            click.echo(f"{self._name}: {message}", err=True)
        return code


def _code_of(error: BaseException) -> int:
    return next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), BUG)


def _is_foreign(module: str | None) -> bool:
    return module is not None and module.partition(".")[0] != __name__.partition(".")[0]


def _flush(stream: TextIO | None) -> None:
    """Flush a stream; if it is closed, redirect it so that Python does not fail at exit."""
    if stream is None:
        return
    try:
        stream.flush()
    except OSError:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
