"""The messages and the progress of a command, on stderr."""

from __future__ import annotations

import io
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bitextfilter.commands.frame.exits import tell, turn

if TYPE_CHECKING:
    from tqdm import tqdm

LINE_SECONDS = 60.0
"""Where stderr is no terminal, the longest time of a run without a line."""

_ESTIMATED = "{l_bar}{bar}| {n_fmt}{unit} [{elapsed}<{remaining}, {rate_fmt}{postfix}]"
"""The form of a bar whose total is an estimate."""


class Messages:
    """Writes notes, warnings and the progress to stderr, unless *quiet*.

    The progress is a bar on a terminal, of one command at a time. Elsewhere it is a line, after
    each minute without one. ``notes`` keeps every message, written or not.
    """

    def __init__(self, command: str, quiet: bool) -> None:
        """Begin each line with the name of the *command*."""
        self.notes: list[str] = []
        self._command, self._quiet = command, quiet
        self._bar: tqdm[Any] | None = None
        self._unit = ""
        self._expected = 0
        """A total that is an estimate."""
        self._turn = turn() if self._has_bar else None
        self._begun = self._spoken = time.monotonic()
        self._idle = 0.0
        """Seconds that the progress stood at its beginning, as far as lines tell."""
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
        estimated = self._expected and bar.total == self._expected
        of = f" of {bar.total}" if bar.total and not estimated else ""
        parts = [f"{bar.n}{of} {self._unit}"]
        if estimated:
            parts.append(f"{bar.n / bar.total:.0%}")
        if bar.postfix:
            parts.append(bar.postfix)
        elapsed = bar.format_dict["elapsed"]
        if done := bar.n - bar.initial:
            speed = done / max(elapsed - self._idle, 1e-9)
            parts.append(f"{speed:.1f} {self._unit}/s")
        else:
            self._idle = elapsed
            parts.append(f"after {minutes:.0f} min")
        return ", ".join([*parts, *self.left()])

    def left(self) -> list[str]:
        """Return the time left in words; none if it is unknown."""
        bar = self._bar
        if bar is None or not bar.total or bar.n <= bar.initial:
            return []
        seconds = (bar.format_dict["elapsed"] - self._idle) / (bar.n - bar.initial)
        minutes = max(1, round((bar.total - bar.n) * seconds / 60))
        return [f"{minutes} min left" if minutes < 90 else f"{minutes / 60:.1f} h left"]

    def note(self, message: str, colour: str = "", always: bool = False) -> None:
        """Write a message; ignore a closed or full stderr. A *colour* is that of its label.

        One that is to be read *always* is written though quiet.
        """
        self.notes.append(message)
        self._spoken = time.monotonic()
        if self._quiet and not always:
            return
        with suppress(OSError):
            if self._bar is not None:
                self._bar.clear()
        tell(message, f"{self._command}:", colour)

    def progress(self, total: int | None = None, unit: str = "") -> tqdm[Any]:
        """Return the progress, to be moved on; a new *unit* (at first rows) begins another."""
        if self._bar is None or unit not in ("", self._unit):
            from tqdm import tqdm

            if self._bar is not None:
                self._bar.close()
            self._unit, self._idle, self._expected = unit or "rows", 0.0, 0
            tqdm.set_lock(threading.RLock())  # its own leaves a semaphore, when a worker is ended
            # elsewhere, an unseen bar, which only counts for _line
            file = self._turn or io.StringIO()
            delay = 0 if self._turn else float("inf")
            unit = f" {self._unit}"
            self._bar = tqdm(
                desc=self._command, total=total, unit=unit, leave=False, file=file, delay=delay
            )
        return self._bar

    def end_progress(self) -> None:
        """End the progress of a part of the run; the next has its own."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    @property
    def count(self) -> int:
        """The amount that is done."""
        return 0 if self._bar is None else int(self._bar.n)

    def advance(self, count: int, expected: float | None) -> None:
        """Move the progress on; *expected* is an estimate of the number of rows, if there is one.

        A total that is known stays.
        """
        bar = self.progress()
        if expected and self._unit == "rows" and (bar.total or 0) == self._expected:
            bar.total = self._expected = round(max(expected, bar.n + count))
            bar.bar_format = _ESTIMATED
        bar.update(count)

    def close(self) -> None:
        """End the progress."""
        self._ended.set()
        if self._bar is not None:
            self._bar.close()
        if self._turn is not None:
            self._turn.end()
