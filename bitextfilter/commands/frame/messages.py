"""Messages and progress of a run, on stderr."""

from __future__ import annotations

import io
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from tqdm import tqdm

LINE_SECONDS = 60.0
"""Where stderr is no terminal, the longest time of a run without a line."""


class Messages:
    """Writes notes, warnings and the progress to stderr, unless *quiet*.

    The progress is a bar on a terminal. Elsewhere it is a line, after each minute without one.
    ``notes`` keeps every message, written or not.
    """

    def __init__(self, command: str, quiet: bool) -> None:
        """Begin each line with the name of the *command*."""
        self.notes: list[str] = []
        self._command, self._quiet = command, quiet
        self._bar: tqdm[Any] | None = None
        self._unit = ""
        self._begun = self._spoken = time.monotonic()
        self._ended = threading.Event()

    @property
    def _has_bar(self) -> bool:
        return not self._quiet and sys.stderr is not None and sys.stderr.isatty()

    def begin(self) -> None:
        """Begin to write lines of progress, unless there is a bar."""
        if not self._quiet and not self._has_bar:
            threading.Thread(target=self._write_lines, daemon=True).start()

    def _write_lines(self) -> None:
        while not self._ended.wait(max(0.0, self._spoken + LINE_SECONDS - time.monotonic())):
            self.tell()

    def tell(self) -> None:
        """Write a line of progress after a minute without any line."""
        if time.monotonic() - self._spoken >= LINE_SECONDS:
            self.note(self._line())

    def _line(self) -> str:
        """The amount that is done, the latest figures, the speed, and the time left."""
        bar, minutes = self._bar, (time.monotonic() - self._begun) / 60
        if bar is None:
            return f"at work for {minutes:.0f} min"
        parts = [f"{bar.n}{f' of {bar.total}' if bar.total else ''} {self._unit}"]
        if bar.postfix:
            parts.append(bar.postfix)
        if done := bar.n - bar.initial:
            speed = done / max(bar.format_dict["elapsed"], 1e-9)
            parts.append(f"{speed:.1f} {self._unit}/s")
            if bar.total:
                parts.append(f"{max(1, round((bar.total - bar.n) / speed / 60))} min left")
        else:
            parts.append(f"after {minutes:.0f} min")
        return ", ".join(parts)

    def note(self, message: str) -> None:
        """Write a message; ignore a closed or full stderr."""
        self.notes.append(message)
        self._spoken = time.monotonic()
        if self._quiet:
            return
        with suppress(OSError):
            if self._bar is not None:
                self._bar.clear()
            click.echo(f"{self._command}: {message}", err=True)

    def progress(self, total: int | None = None, unit: str = "") -> tqdm[Any]:
        """Return the progress, to be moved on; a new *unit* (at first rows) begins another."""
        if self._bar is None or unit not in ("", self._unit):
            from tqdm import tqdm

            if self._bar is not None:
                self._bar.close()
            self._unit = unit or "rows"
            shown: dict[str, Any] = {"file": sys.stderr}
            if not self._has_bar:
                shown = {"file": io.StringIO(), "delay": float("inf")}
            unit = f" {self._unit}"
            self._bar = tqdm(desc=self._command, total=total, unit=unit, leave=False, **shown)
        return self._bar

    def close(self) -> None:
        """End the progress."""
        self._ended.set()
        if self._bar is not None:
            self._bar.close()
