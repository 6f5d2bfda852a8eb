"""A progress bar, one that is not there, and the closing summary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from bitextfilter.io.manifest import Fact

__all__ = ["NoProgress", "Progress", "summary"]


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
