"""Which pairs to train on: those of a file that pass rules, or a random sample of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from bitextfilter.errors import SettingsError
from bitextfilter.filters.pipeline import Pipeline
from bitextfilter.filters.rule import Rule
from bitextfilter.filters.stream import LineJudge
from bitextfilter.io.columns import Columns
from bitextfilter.io.files import open_input
from bitextfilter.io.rows import RowReader

__all__ = ["rule_columns", "sample_lines", "select_pairs"]

WINDOW_ROWS = 8192
"""Rows that the rules judge at a time."""

_NUMBER = re.compile(r"[-+]?0*[1-9][0-9]*")


def select_pairs(
    path: str, columns: Columns, rules: Sequence[Rule], languages: tuple[str, str]
) -> Iterator[bytes]:
    """Yield the lines of a file that pass the rules, each with its end.

    Raises NotFoundError, and InputError at the first bad row.
    """
    with open_input(path) as stream:
        reader = RowReader(stream, path, columns, remedy="mend the row")
        pipeline = Pipeline(rules, fast=True)
        judge = LineJudge(reader.parser, pipeline, languages, rule_columns(rules))
        for window in reader.lines(WINDOW_ROWS):
            outcome = judge(window)
            if outcome.bad is not None:
                raise outcome.bad.error()
            yield from (line + b"\n" for line in outcome.output.split(b"\n") if line)


def rule_columns(rules: Sequence[Rule]) -> dict[str, int]:
    """Return the index of each column that rules read, negative from the end.

    Raises SettingsError for a name: the files have no header.
    """
    names = [str(rule.column) for rule in rules if hasattr(rule, "column")]
    for name in names:
        if not _NUMBER.fullmatch(name):
            raise SettingsError(f"column {name!r} is no number, and there is no header")
    return {name: int(name) - (int(name) > 0) for name in names}


def sample_lines(lines: list[bytes], count: int | None, seed: int) -> list[bytes]:
    """Draw so many lines, in their order; all where there are no more."""
    if count is None or count >= len(lines):
        return lines
    chosen = np.random.default_rng(seed).choice(len(lines), count, replace=False)
    return [lines[place] for place in sorted(chosen.tolist())]
