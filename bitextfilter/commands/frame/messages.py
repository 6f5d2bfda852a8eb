"""Messages and progress of a run, on stderr."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from tqdm import tqdm


class Messages:
    """Writes notes, warnings and a progress bar to stderr, unless *quiet*.

    ``notes`` keeps every message, written or not.
    """

    def __init__(self, command: str, quiet: bool) -> None:
        """Begin each line with the name of the *command*."""
        self.notes: list[str] = []
        self._command, self._quiet = command, quiet
        self._bar: tqdm[Any] | None = None

    @property
    def silent(self) -> bool:
        """Whether no progress bar is shown: with -q, and if stderr is no terminal."""
        return self._quiet or sys.stderr is None or not sys.stderr.isatty()

    def note(self, message: str) -> None:
        """Write a message; ignore a closed or full stderr."""
        self.notes.append(message)
        if self._quiet:
            return
        with suppress(OSError):
            if self._bar is not None:
                self._bar.clear()
            click.echo(f"{self._command}: {message}", err=True)

    def progress(self, total: int | None = None, unit: str = "rows") -> tqdm[Any]:
        """Return the progress bar; the first call says what it counts, and how many there are."""
        if self._bar is None:
            from tqdm import tqdm

            self._bar = tqdm(
                desc=self._command, total=total, unit=f" {unit}", disable=self.silent, leave=False
            )
        return self._bar

    def close(self) -> None:
        """Remove the progress bar."""
        if self._bar is not None:
            self._bar.close()
