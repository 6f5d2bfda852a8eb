"""The run of a command: its options, files, rows, counts and messages."""

from __future__ import annotations

import gc
import re
import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import click

from bitextfilter import __version__
from bitextfilter.commands.frame.exits import SUMMARY, WARNING, open_stdin
from bitextfilter.commands.frame.first_rows import RowChecks, refuse_table, remedy_of
from bitextfilter.commands.frame.messages import Messages
from bitextfilter.commands.frame.options import Common, RowSettings, Scaling
from bitextfilter.errors import InputError, OutputError
from bitextfilter.io.files import bytes_read, open_input, open_output, open_rows
from bitextfilter.io.row_reader import RowReader, row_windows
from bitextfilter.io.rows import BadRow, Columns, Fault, Row, TextColumn, reject_line
from bitextfilter.io.work_folder import JoinedFiles, Shard
from bitextfilter.models.folders import BALANCED

if TYPE_CHECKING:
    from tqdm import tqdm

    from bitextfilter.io.work_folder import Fact
    from bitextfilter.scoring.cached_scores import Cache
    from bitextfilter.scoring.model import Model
    from bitextfilter.scoring.thresholds import NamedCut

T = TypeVar("T")

_OF_REJECT = re.compile("(; (or )?)?--on-error reject .*")
"""The end of a remedy that is of no use where it was given."""
_FEWEST = 1000
"""A share of bad rows is checked from this number of rows on, and at the end."""


def load_model(name: str, device: str, threads: int) -> Model:
    """Load a model as ``scoring.model.load`` does."""
    from bitextfilter.scoring.model import load

    return load(name, device, threads)


@dataclass
class Run:
    """The context passed to every command: shared options, files, counts and messages.

    All files opened through it are closed when it ends: outputs are then renamed into place, or
    removed after an error.
    """

    name: str
    """Of the command, for messages."""
    arguments: list[str]
    """The command line, in words."""
    common: Common
    row_settings: RowSettings = field(default_factory=RowSettings)
    scaling: Scaling = field(default_factory=Scaling)
    model_name: str | None = None
    shard: Shard | None = None
    """The part of the input that is read, if not all."""
    load: Callable[[str, str, int], Model] = load_model
    """Loads a model by name or folder, device and threads."""
    counts: Counter[str] = field(default_factory=Counter)
    """For the summary and the manifest, in order; ``rows`` gives the rows/s."""
    facts: dict[str, Fact] = field(default_factory=dict)
    """For the manifest: model, digest, seed..."""
    rejects: BinaryIO | None = None
    """The file of rejected rows (``reject_line``), if there is one, once ``rows()`` was called."""
    first_bad: BadRow | None = None
    row_checks: RowChecks = field(default_factory=RowChecks)

    def __post_init__(self) -> None:
        """Start the clock."""
        self.messages = Messages(self.name, self.common.quiet)
        self._started = time.monotonic()
        self._stack = ExitStack()
        self._stack.callback(self.messages.close)
        self._flushed: BinaryIO | None = None
        self._place: Callable[[int], tuple[str, int]] | None = None
        """Finds the file of a row by its number, and its line there; None for a single file."""
        self._afterwards: list[Callable[[], None]] = []
        self._read: Callable[[], tuple[int, int] | None] = lambda: None
        """Bytes of the rows' input that are read, and all; None if unknown."""
        self._reader: RowReader | None = None
        self._first, self._before = 0, 0
        """The number of its first row; the rows of earlier inputs."""

    def __enter__(self) -> Run:
        """Begin."""
        self.messages.begin()
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: Any) -> None:
        """Close all files, then, unless there was an error, call the functions for the end."""
        self._stack.__exit__(kind, *error)
        for function in self._afterwards if kind is None else ():
            function()

    def report(self) -> None:
        """Write the manifest, if one was asked for, and the summary."""
        seconds = time.monotonic() - self._started
        speed = self.counts.get("rows", 0) / max(seconds, 1e-9)
        if self.common.manifest is not None:
            from bitextfilter.io.compiled import opened
            from bitextfilter.io.work_folder import Manifest

            Manifest(
                version=__version__,
                command=self.arguments,
                counts=dict(self.counts),
                seconds=round(seconds, 3),
                rows_per_second=round(speed, 1),
                facts=self.facts,
                compiled=sorted(opened),
            ).write(self.common.manifest)
        if self.counts:
            parts = [f"{count} {name}" for name, count in self.counts.items()]
            parts.append(f"{seconds:.1f} s")
            if "rows" in self.counts:
                parts.append(f"{speed:.0f} rows/s")
            if "model" in self.facts:
                parts.append(f"model {self.facts['model']} {self.facts['digest']}")
            self.messages.note(", ".join(parts), SUMMARY)

    @property
    def command_line(self) -> str:
        """The command line with the names of files but not their folders, for results."""
        return shlex.join(re.sub(r"[^=]*/", "", word.rstrip("/")) for word in self.arguments)

    @cached_property
    def stdin(self) -> BinaryIO:
        """The standard input, in bytes."""
        return open_stdin()

    def enter(self, context: AbstractContextManager[T]) -> T:
        """Enter *context* until the command ends; returns its value."""
        return self._stack.enter_context(context)

    def afterwards(self, function: Callable[[], None]) -> None:
        """Call *function* when all outputs are in place; not after an error."""
        self._afterwards.append(function)

    def input(self, path: str | None = None) -> BinaryIO:
        """Open *path* for reading bytes (None: the file of -i, for reading rows)."""
        opened = open_rows if path is None else open_input
        path = self.row_settings.input if path is None else path
        if path == "-" and self.stdin.isatty():
            self.note("reading from the terminal: end with Ctrl-D")
        return self.enter(opened(path, self.stdin if path == "-" else None))

    def output(self, path: str | None = None, table: bool = False) -> BinaryIO:
        """Open *path* (None: the file of -o) for writing bytes, whole or not at all.

        Raises UsageError for the name of a *table*, if none is written.
        """
        path = self.row_settings.output if path is None else path
        if not table:
            refuse_table(path)
        if path != "-":
            return self.enter(open_output(path))
        if sys.stdout is None:
            raise OutputError("stdout is closed")
        self._flushed = self.enter(open_output(path, sys.stdout.buffer))
        return self._flushed

    def cache(self, folder: str | None) -> Cache | None:
        """Open the scores of earlier runs in a folder, until the command ends; None for none."""
        if folder is None:
            return None
        from bitextfilter.scoring.cached_scores import Cache

        return self.enter(Cache(folder))

    def begin_rows(self) -> None:
        """Open the file of --rejects, and begin to count."""
        rejects = self.row_settings.rejects
        if rejects is not None and self.rejects is None:
            self.rejects = self.output(rejects)
        # Counter: update adds; zeros fix the order in the summary
        self.counts.update(rows=0, rejected=0)

    def rows(
        self, columns: Columns | TextColumn | None = None, file: str | None = None
    ) -> RowReader:
        """Open the input, and the file of --rejects, and return the reader of the rows.

        *columns* and *file* override the options.
        """
        if file is not None:
            self.row_settings = replace(self.row_settings, input=file, row_files=())
        settings = self.row_settings
        columns = columns or settings.columns
        if not settings.header and any(isinstance(c.where, str) for c in columns.wanted()):
            raise click.UsageError("a column can only be named with --header")
        self.begin_rows()
        if self.shard is None and not settings.row_files:
            stream = self.input()
            reader = RowReader(stream, settings.names[0], columns, settings.header)
            self._read = partial(bytes_read, stream)
        else:
            source = self.shard or JoinedFiles(settings.row_files, settings.header)
            self._place = source.place
            lines = self.enter(closing(source.lines()))
            reader = RowReader(lines, source.name, columns, settings.header)
            self._read = source.bytes_read if isinstance(source, JoinedFiles) else lambda: None
        if self.shard is not None and self.shard.index > 0:
            reader.start_at(self.shard.number)
        else:
            self.row_checks.begin(self, reader)
        self._reader, self._first, self._before = reader, reader.next, self.messages.count
        return reader

    def windows(
        self, rows: Iterable[Row | BadRow], again: bool = False, fault: Fault | None = None
    ) -> Iterator[list[Row | BadRow]]:
        """Yield windows of --batch-size rows, counted, with stdout flushed after each.

        A row with a *fault* is bad, too. A bad row stops the run (InputError); with --on-error
        reject it is written to the rejects file and keeps its place in the window. Rows read
        *again* are neither counted nor rejected.
        """
        for window in row_windows(rows, self.common.batch_size):
            if fault is not None:
                window = [self._judged(row, fault) for row in window]
            if not again:
                self.admit(window)
            yield window
            self.advance(len(window))

    def _judged(self, row: Row | BadRow, fault: Fault) -> Row | BadRow:
        """Return a row with a fault as a bad one."""
        found = fault(row) if isinstance(row, Row) else None
        if found is None or isinstance(row, BadRow):
            return row
        assert self._reader is not None, "rows are read"
        return self._reader.parser.refused(row, *found)

    def admit(self, window: list[Row | BadRow]) -> None:
        """Count the rows of a window, and reject the bad ones."""
        for row in window:
            if isinstance(row, BadRow):
                self.reject(row)
        self.counts["rows"] += len(window)
        self.check_bad()  # before the window costs time; advance checks the faults found

    def good_windows(
        self,
        columns: Columns | TextColumn | None = None,
        file: str | None = None,
        fault: Fault | None = None,
        again: bool = False,
    ) -> Iterator[list[Row]]:
        """Open *file* (None: the input) and return windows of its good rows, none empty.

        A row with a *fault* is bad: it stops the run or is rejected. Rows read *again* are not
        counted.
        """
        windows = self.windows(self.rows(columns, file), again, fault)
        good = ([row for row in window if isinstance(row, Row)] for window in windows)
        return filter(None, good)

    def pairs(self, file: str) -> list[tuple[str, str]]:
        """Return the pairs of a file, rejected rows aside."""
        return [(row.source, row.target) for part in self.good_windows(file=file) for row in part]

    def advance(self, count: int) -> None:
        """Check --max-bad, move the progress bar on by *count* rows, and flush stdout."""
        self.check_bad()
        share, reader, expected = self.share_read(), self._reader, None
        if share and reader:  # the bytes read are a share of all
            expected = (reader.next - self._first) / share + self._before
        self.messages.advance(count, expected)
        if self._flushed is not None:
            self._flushed.flush()

    def share_read(self) -> float | None:
        """Return the share of the rows' input that is read; None if its size is unknown."""
        read, size = self._read() or (0, 0)
        return read / size if size else None

    def reject(self, row: BadRow) -> None:
        """Apply --on-error to a bad row: raise its error, or count and set it aside."""
        if not self.row_settings.reject:
            raise self.error(row)
        self.counts["rejected"] += 1
        self.first_bad = self.first_bad or row
        self._set_aside(row, row.reason)

    def drop(self, row: Row | BadRow, reason: str) -> None:
        """Count a row that the command leaves out for *reason*, and set it aside."""
        self.counts["dropped"] += 1
        self._set_aside(row, reason)

    def _set_aside(self, row: Row | BadRow, reason: str) -> None:
        if self.rejects is not None:
            self.rejects.write(reject_line(row.number, reason, row.line))

    def check_bad(self, last: bool = False) -> None:
        """Raise InputError for more bad rows than --max-bad; at the *last*, warn if all are bad."""
        rows, bad = self.counts["rows"], self.counts["rejected"]
        if (most := self.row_settings.max_bad) is not None:
            if isinstance(most, int):
                limit, exceeded = str(most), bad > most
            else:
                limit = f"{float(100 * most):g}%"
                exceeded = bad > most * rows and (last or rows >= _FEWEST)
            if exceeded:
                message = f"{bad} of {rows} rows are bad, more than --max-bad {limit}"
                name = ", ".join(self.row_settings.names)
                raise InputError(message, file=name, remedy="--on-error stop shows the first")
        if last and self.first_bad and bad == rows:
            self.warn(f"every row is bad: {self.error(self.first_bad)}")

    def place_of(self, number: int, file: str) -> tuple[str, int]:
        """Return the file of a row by its number, and its line there; *file* is the only one."""
        return self._place(number) if self._place else (file, number)

    def error(self, row: BadRow) -> InputError:
        """Return the error of a bad row, with the number of its line in its own file."""
        file, line = self.place_of(row.number, row.file)
        instead = remedy_of(row, self.row_settings.inputs, self.name)
        if self.row_settings.reject:
            instead = _OF_REJECT.sub("", instead)
        return InputError(row.reason, file=file, line=line, remedy=instead)

    def model(
        self, languages: tuple[str, str] | None = None, *, any_languages: bool = False
    ) -> Model:
        """Load the model of --model; summary and manifest carry its name and digest.

        *languages*: of a model with more than two, where the name has none; with *any_languages*
        its first two.
        """
        from bitextfilter.models.folders import naming_pair
        from bitextfilter.scoring.thresholds import read_grades

        assert self.model_name is not None, "the command lacks ModelOptions"
        name = self.model_name
        if languages is not None or any_languages:
            name = naming_pair(name, languages)
        model = self.load(name, self.common.device, self.common.threads)
        gc.freeze()  # it stays: the garbage collector need not look through it again and again
        self.facts["model"], self.facts["digest"] = model.name, model.digest
        for grade in read_grades(model.folder, () if any_languages else model.languages):
            if grade.weak:
                self.warn(grade.warning())
        return model

    @property
    def languages_open(self) -> bool:
        """Whether the model is of more than two languages, and none are named."""
        from bitextfilter.models.folders import languages_of

        assert self.model_name is not None, "the command lacks ModelOptions"
        return languages_of(self.model_name) is None

    def named_cut(
        self, model: str, measure: str, name: str = BALANCED, use: str | None = None
    ) -> float:
        """Return the cut of a model for a measure; stderr and manifest get it too.

        The arguments and errors are those of :func:`scoring.thresholds.named_cut`.
        """
        from bitextfilter.scoring.thresholds import named_cut

        return self.take_cut(named_cut(model, measure, name, use))

    def take_cut(self, cut: NamedCut) -> float:
        """Return the score of a cut by name; stderr and manifest get the cut, too."""
        self.facts[f"{cut.name} {cut.measure}"] = cut.note()
        self.note(cut.note())
        return cut.threshold

    def progress(self, total: int | None = None, unit: str = "") -> tqdm[Any]:
        """Return the progress: a bar on a terminal, elsewhere a line a minute; none with -q.

        A new *unit* (at first rows) begins another.
        """
        return self.messages.progress(total, unit)

    def note(self, message: str, always: bool = False) -> None:
        """Write a message to stderr, unless -q; *always*: -q does not hide it."""
        self.messages.note(message, always=always)

    def warn(self, message: str) -> None:
        """Write a warning to stderr, unless -q."""
        self.messages.note(f"warning: {message}", WARNING)
