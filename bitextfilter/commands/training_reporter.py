"""Show how a training goes on."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bitextfilter.commands.frame import Run

if TYPE_CHECKING:
    from bitextfilter.training.state import Progress

__all__ = ["TrainingReporter"]

LINE_SECONDS = 60.0
"""Where there is no progress bar, a line after this time tells how far a run is."""


class TrainingReporter:
    """Shows how a training goes on."""

    def __init__(self, run: Run, error: str = "recovery error {:.2f} %") -> None:
        """``error``: how a validation's error is said."""
        self._run = run
        self._error = error
        self._updates: int | None = None
        self._validations = 0
        self._first = self._spoken = 0.0
        self._begun = 0

    def __call__(self, progress: Progress, updates: int) -> None:
        """Move the progress bar, and tell of a new validation."""
        if self._updates is None:
            self._validations = sum(row["update"] < progress.update for row in progress.history)
            self._updates = 0
            self._begun = progress.update - 1
            self._first = self._spoken = time.monotonic()
        self._run.progress(updates, "updates").update(progress.update - self._updates)
        self._updates = progress.update
        if len(progress.history) > self._validations:
            self._validations = len(progress.history)
            self._run.note(_described(progress.history[-1], self._error))
        elif self._run.silent and time.monotonic() - self._spoken >= LINE_SECONDS:
            self._run.note(self._course(progress, updates))
        else:
            return
        self._spoken = time.monotonic()

    def _course(self, progress: Progress, updates: int) -> str:
        """How far the run is, its losses, its speed and the time left, in words."""
        speed = (progress.update - self._begun) / max(time.monotonic() - self._first, 1e-9)
        left = (updates - progress.update) / speed
        losses = "".join(f", {name} {loss:.3f}" for name, loss in progress.losses().items())
        return (
            f"{progress.update} of {updates} updates{losses}, {speed:.1f} updates/s,"
            f" {max(1, round(left / 60))} min left"
        )


def _described(row: Mapping[str, float], error: str) -> str:
    """A validation in words."""
    losses = (f", {name} {row[name]:.3f}" for name in row if name not in ("update", "error"))
    return f"update {row['update']}: {error.format(row['error'])}{''.join(losses)}"
