"""What a progress bar can do, and one that is not there."""

from __future__ import annotations

from typing import Protocol

__all__ = ["NoProgress", "Progress"]


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
