"""Sizes of networks."""

from __future__ import annotations

from bitextfilter.errors import SettingsError

__all__ = ["check_sizes"]


def check_sizes(**sizes: int) -> None:
    """Raise SettingsError for a size that is no whole number of at least 1."""
    for name, size in sizes.items():
        if type(size) is not int or size < 1:
            raise SettingsError(f"{name} must be a whole number of at least 1, not {size!r}")
