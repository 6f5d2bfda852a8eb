"""One run of a command: its streams, settings, counts and messages.

A pipe does not tell its reader how its writer ended. A command of ours marks the pipe that it
writes to, in the permission bits of the pipe itself, which both ends see and nothing else uses:
with the sticky bit while it works, with the execute bit once it has ended well. So its reader
knows at the end, even where the writer was killed. Only Linux has such bits; elsewhere, and after
the commands of others, a reader only knows that an empty pipe is suspicious.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import stat
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, suppress
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Protocol, TypeVar, cast

import click

from bitextfilter import __version__
from bitextfilter.commands.frame.options import Common, RowSettings, Scaling, check_number, remedy
from bitextfilter.errors import InputError, NotFoundError, OutputError
from bitextfilter.io.files import open_input, open_output
from bitextfilter.io.manifest import Fact, Manifest
from bitextfilter.io.rows import (
    BadRow,
    Columns,
    Row,
    RowReader,
    TextColumn,
    reject_line,
    row_windows,
)
from bitextfilter.io.shards import JoinedFiles, Shard

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from bitextfilter.scoring.model import Model


class Progress(Protocol):
    """A progress bar."""

    def update(self, n: int) -> object:
        """Move on by *n*."""

    def reset(self, total: float | None = None) -> object:
        """Start again from 0."""

    def clear(self) -> object:
        """Make room for a line of text."""

    def close(self) -> object:
        """Take it off the screen."""


class NoProgress:
    """A progress bar that nobody sees."""

    def update(self, n: int) -> None:
        """Do nothing."""

    def reset(self, total: float | None = None) -> None:
        """Do nothing."""

    def clear(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def summary(
    counts: Mapping[str, int], facts: Mapping[str, Fact], seconds: float, speed: float
) -> str:
    """Return the closing line of a run: counts, seconds, rows a second, model."""
    parts = [f"{count} {name}" for name, count in counts.items()]
    parts.append(f"{seconds:.1f} s")
    if "rows" in counts:
        parts.append(f"{speed:.0f} rows/s")
    if "model" in facts:
        parts.append(f"model {facts['model']} {facts['digest']}")
    return ", ".join(parts)


_AT_WORK, _WHOLE = stat.S_ISVTX, stat.S_IXUSR


class StdoutPipe:
    """The pipe that stdout is, marked from now until ``end``; nothing where it is none."""

    def __init__(self) -> None:
        """Mark it, unless another command has: one that failed before, or is still at work."""
        self._descriptor: int | None = None
        with suppress(OSError, ValueError, AttributeError):  # no stdout, no descriptor, no /proc
            descriptor = sys.stdout.fileno()
            nameless = Path(f"/proc/self/fd/{descriptor}").readlink().name.startswith("pipe:")
            if nameless and not os.fstat(descriptor).st_mode & _AT_WORK:
                _mark(descriptor, _AT_WORK, _WHOLE)
                self._descriptor = descriptor

    def end(self) -> None:
        """Say that everything was written."""
        if self._descriptor is not None:
            with suppress(OSError):
                _mark(self._descriptor, _WHOLE, _AT_WORK)


def _mark(descriptor: int, added: int, removed: int) -> None:
    mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
    os.fchmod(descriptor, (mode | added) & ~removed)


def open_stdin() -> BinaryIO:
    """Return stdin in bytes; where it is a pipe, its end raises InputError if it is not whole."""
    if sys.stdin is None:
        raise NotFoundError("stdin is closed")
    stream = sys.stdin.buffer
    with suppress(OSError, ValueError):
        if stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode):
            return cast(BinaryIO, io.BufferedReader(_Pipe(stream), 1 << 16))
    return stream


class _Pipe(io.RawIOBase):
    """Reads a pipe, and looks at its end how its writer ended."""

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


T = TypeVar("T")


class Run:
    """What a command's function gets: everything that is not its own business.

    ``common`` holds -q -v --manifest --threads --device --batch-size; ``row_settings`` the row
    options; ``counts`` what the summary and the manifest tell, in the order first counted
    (``rows`` gives the rows/s); ``facts`` what else the manifest keeps (model, digest, seed...).
    Everything opened through it is closed when the command ends: outputs are then renamed into
    place, or removed if it failed.
    """

    def __init__(self, name: str, arguments: list[str], common: Common) -> None:
        """Start the clock of the command called *name*."""
        self.name = name
        self.common = common
        self.row_settings = RowSettings()
        self.model_name: str | None = None
        self.scaling = Scaling()
        self.shard: Shard | None = None
        """What part of the input is read, if not all of it."""
        self.counts: Counter[str] = Counter()
        self.facts: dict[str, Fact] = {}
        self._arguments = arguments
        self._started = time.monotonic()
        self._stack = ExitStack()
        self._flushed: BinaryIO | None = None
        self.rejects: BinaryIO | None = None
        """Takes what is set aside, one ``reject_line`` each; there is none before ``rows()``."""
        self.first_bad: BadRow | None = None
        self._bar: Progress | None = None
        self._place: Callable[[int], tuple[str, int]] | None = None
        self._afterwards: list[Callable[[], None]] = []

    def __enter__(self) -> Run:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close what was opened; if all went well, write the manifest and the summary."""
        self._stack.__exit__(kind, error, trace)
        if error is None:
            for last in self._afterwards:
                last()
            self._finish()

    @property
    def command_line(self) -> str:
        """The command line, of paths only the last part: what a result may carry elsewhere."""
        return shlex.join(re.sub(r"[^=]*/", "", word.rstrip("/")) for word in self._arguments)

    @cached_property
    def stdin(self) -> BinaryIO:
        """The standard input, in bytes."""
        return open_stdin()

    @property
    def stdout(self) -> BinaryIO:
        """The standard output, in bytes: data only."""
        if sys.stdout is None:
            raise OutputError("stdout is closed")
        return sys.stdout.buffer

    def enter(self, context: AbstractContextManager[T]) -> T:
        """Enter *context*, to be left when the command ends; returns what it yields."""
        return self._stack.enter_context(context)

    def afterwards(self, function: Callable[[], None]) -> None:
        """Call *function* when all outputs are in their places; not if anything fails."""
        self._afterwards.append(function)

    def input(self, path: str | None = None) -> BinaryIO:
        """Open *path* (that of -i if None) for reading bytes."""
        path = self.row_settings.input if path is None else path
        if path == "-" and self.stdin.isatty():
            self.note("reading from the terminal: end with Ctrl-D")
        return self.enter(open_input(path, self.stdin if path == "-" else None))

    def output(self, path: str | None = None) -> BinaryIO:
        """Open *path* (that of -o if None) for writing bytes, whole or not at all."""
        path = self.row_settings.output if path is None else path
        stream = self.enter(open_output(path, self.stdout if path == "-" else None))
        if path == "-":
            self._flushed = stream
        return stream

    def rows(self, columns: Columns | TextColumn | None = None) -> RowReader:
        """Open the input of the row options and return its reader, of *columns* if given."""
        settings = self.row_settings
        columns = columns or settings.columns
        if not settings.header and any(isinstance(c.where, str) for c in columns.wanted()):
            raise click.UsageError("a column can only be named with --header")
        if settings.rejects is not None and self.rejects is None:
            self.rejects = self.output(settings.rejects)
        self.counts.update(rows=0, rejected=0)
        if self.shard is None and not settings.files:
            return RowReader(self.input(), settings.names[0], columns, settings.header)
        source = self.shard or JoinedFiles(settings.files, settings.header)
        self._place = source.place
        lines = self.enter(closing(source.lines()))
        reader = RowReader(lines, source.name, columns, settings.header)
        if self.shard is not None and self.shard.index > 0:
            reader.start_at(self.shard.number)
        return reader

    def windows(self, rows: RowReader, again: bool = False) -> Iterator[list[Row | BadRow]]:
        """Yield windows of --batch-size rows, counted, with stdout flushed after each.

        A bad row stops the run (InputError), or, with --on-error reject, goes to the rejects
        file, and stands in its place in the window. Rows read *again* are neither counted nor
        rejected.
        """
        for window in row_windows(rows, self.common.batch_size):
            if not again:
                for row in window:
                    if isinstance(row, BadRow):
                        self.reject(row)
                self.counts["rows"] += len(window)
                self.check_bad()
            yield window
            self.advance(len(window))

    def advance(self, count: int) -> None:
        """Move the progress bar on by *count* rows, and flush stdout; see ``check_bad``."""
        self.check_bad()
        self.progress().update(count)
        if self._flushed is not None:
            self._flushed.flush()

    def reject(self, row: BadRow) -> None:
        """Do with a bad row what --on-error says: raise its error, or count and keep it."""
        if not self.row_settings.reject:
            raise self.error(row)
        self.counts["rejected"] += 1
        self.first_bad = self.first_bad or row
        self._set_aside(row, row.reason)

    def check_bad(self, last: bool = False) -> None:
        """Raise InputError for more bad rows than --max-bad; at the *last*, warn if all are bad."""
        if (most := self.row_settings.max_bad) is not None:
            check_number(most, self.counts, ", ".join(self.row_settings.names), last)
        if last and self.first_bad and self.counts["rejected"] == self.counts["rows"]:
            self.warn(f"every row is bad: {self.error(self.first_bad)}")

    def error(self, row: BadRow) -> InputError:
        """Return the error of a bad row, which names the line in its own file."""
        file, line = self._place(row.number) if self._place else (row.file, row.number)
        instead = remedy(row, self.row_settings.inputs, self.name)
        return InputError(row.reason, file=file, line=line, remedy=instead)

    def drop(self, row: Row | BadRow, reason: str) -> None:
        """Count a row that is left out for *reason*, and keep it in the --rejects file."""
        self.counts["dropped"] += 1
        self._set_aside(row, reason)

    def _set_aside(self, row: Row | BadRow, reason: str) -> None:
        if self.rejects is not None:
            self.rejects.write(reject_line(row.number, reason, row.line))

    def model(self) -> Model:
        """Load the model of --model; summary and manifest carry its name and digest."""
        from bitextfilter.scoring.model import load

        assert self.model_name is not None, "the command lacks model_options()"
        model = load(self.model_name, device=self.common.device, threads=self.common.threads)
        self.facts["model"], self.facts["digest"] = model.name, model.digest
        return model

    def progress(self, total: int | None = None, unit: str = "rows") -> Progress:
        """Return the progress bar of this run: shown on a terminal only, and not with -q."""
        if self._bar is None:
            from tqdm import tqdm

            self._bar = tqdm(
                desc=self.name, total=total, unit=f" {unit}", disable=self.silent, leave=False
            )
            self._stack.callback(self._bar.close)
        return self._bar

    @property
    def silent(self) -> bool:
        """Whether a progress bar would not be seen: stderr is no terminal, or -q."""
        return self.common.quiet or sys.stderr is None or not sys.stderr.isatty()

    def note(self, message: str) -> None:
        """Say something on stderr, unless -q; that nobody can hear it is no reason to stop."""
        if self.common.quiet:
            return
        with suppress(OSError):
            if self._bar is not None:
                self._bar.clear()
            click.echo(f"{self.name}: {message}", err=True)

    def warn(self, message: str) -> None:
        """Say on stderr that something may be wrong, unless -q."""
        self.note(f"warning: {message}")

    def _finish(self) -> None:
        seconds = time.monotonic() - self._started
        speed = self.counts.get("rows", 0) / max(seconds, 1e-9)
        if self.common.manifest is not None:
            manifest = Manifest(
                version=__version__,
                command=self._arguments,
                counts=dict(self.counts),
                seconds=round(seconds, 3),
                rows_per_second=round(speed, 1),
                facts=self.facts,
            )
            manifest.write(self.common.manifest)
        if self.counts:
            self.note(summary(self.counts, self.facts, seconds, speed))
