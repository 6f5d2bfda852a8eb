"""Two commands of the frame, made for tests: as programs they start without pytest."""

from __future__ import annotations

import signal
import sys
import time
from dataclasses import dataclass

import click

from bitextfilter import errors
from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import ModelOptions, flag, option, row_options
from bitextfilter.commands.frame.run import Run
from bitextfilter.io.rows import Row


@dataclass(frozen=True)
class Settings:
    fail: str | None = option("--fail", "Raise the error of this name.")
    slow: bool = flag("--slow", "Take a minute at each window.")


@command("bitext-count", Settings, row_options(), ModelOptions, batch_size=3)
def count(run: Run, settings: Settings) -> None:
    """Append the number of characters of the source.

    More text that
    may be wrapped.

    Example:

        bitext-count   <   pairs.tsv
    """
    reader, output, fail = run.rows(), run.output(), settings.fail
    output.write(reader.first_line(["count"]))
    if fail is not None:
        raise getattr(errors, fail, getattr(click, fail, ValueError))("it went wrong")
    for window in run.windows(reader):
        for row in window:
            value = str(len(row.source)) if isinstance(row, Row) else ""
            output.write(row.line + b"\t" + value.encode() + row.ending)
        if settings.slow:
            run.note("waiting")
            time.sleep(60)


@command("bitext-read", row_options("pairs files"), batch_size=10_000, uses="batch_size")
def read(run: Run) -> None:
    """Read all rows, slowly enough to be seen."""
    for _ in run.windows(run.rows()):
        time.sleep(0.3)  # three times as long as a bar stays as it is


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs may ignore it
    {"count": count, "read": read}[sys.argv[1]](sys.argv[2:])
