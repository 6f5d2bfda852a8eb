"""Pairs of several files, read with the row options of one command."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from bitextfilter.commands.frame import Run
from bitextfilter.io.rows import BadRow

__all__ = ["NoisyCorpus", "pairs_of"]

Pair = tuple[str, str]


class NoisyCorpus:
    """Gives the windows of a file from its beginning at each call; its rows are counted once."""

    def __init__(self, run: Run, path: str) -> None:
        self._run, self._path, self._again = run, path, False

    def __call__(self) -> Iterator[list[Pair]]:
        """Return the pairs, many at a time."""
        again, self._again = self._again, True
        return _windows(self._run, self._path, again)


def pairs_of(run: Run, path: str) -> list[Pair]:
    """Return the pairs of the file *path*, rejected rows aside."""
    return [pair for window in _windows(run, path) for pair in window]


def _windows(run: Run, path: str, again: bool = False) -> Iterator[list[Pair]]:
    """Yield the pairs of the file *path*, many at a time, rejected rows aside."""
    run.row_settings = dataclasses.replace(run.row_settings, input=path)
    for window in run.windows(run.rows(), again):
        yield [(row.source, row.target) for row in window if not isinstance(row, BadRow)]
