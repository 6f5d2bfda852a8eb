"""Show how a training goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bitextfilter.commands.frame import Run

if TYPE_CHECKING:
    from bitextfilter.training.state import Progress

__all__ = ["TrainingReporter"]


class TrainingReporter:
    """Shows how a training goes on."""

    def __init__(self, run: Run, error: str = "recovery error {:.2f} %") -> None:
        """``error``: how a validation's error is said."""
        self._run = run
        self._error = error
        self._updates: int | None = None
        self._validations = 0

    def __call__(self, progress: Progress, updates: int) -> None:
        """Move the progress bar, and tell of a new validation."""
        if self._updates is None:
            self._validations = sum(row["update"] < progress.update for row in progress.history)
            self._updates = 0
        self._run.progress(updates, "updates").update(progress.update - self._updates)
        self._updates = progress.update
        if len(progress.history) > self._validations:
            self._validations = len(progress.history)
            self._run.note(_described(progress.history[-1], self._error))


def _described(row: Mapping[str, float], error: str) -> str:
    """A validation in words."""
    losses = (f", {name} {row[name]:.3f}" for name in row if name not in ("update", "error"))
    return f"update {row['update']}: {error.format(row['error'])}{''.join(losses)}"
