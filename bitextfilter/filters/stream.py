"""Judge windows of lines: what goes on, what is set aside and why, in bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.pipeline import Judged, Pipeline, Tally
from bitextfilter.io.parser import BadRow, Row, RowParser, number_of, reject_line
from bitextfilter.io.rows import Lines

__all__ = ["LineJudge", "Outcome"]


class Outcome(NamedTuple):
    """What became of a window of lines."""

    rows: int
    rejected: int
    tally: Tally
    output: bytes
    """The lines that go on, as they came; or all of them with their verdicts."""
    rejects: bytes
    """A ``reject_line`` for each of the others, if they are wanted."""
    bad: BadRow | None
    """The first bad row."""


@dataclass(frozen=True)
class LineJudge:
    """Applies a pipeline to windows of lines; it can be sent to another process."""

    parser: RowParser
    pipeline: Pipeline
    languages: tuple[str, str] | None
    places: Mapping[str, int]
    """Where the columns are that rules read, by the name that the rules have for them."""
    explain: bool = False
    """Write every line, with its verdict as one more column."""
    reject: bool = False
    """Go on after a bad row."""
    keep_rejects: bool = False
    """Return what is dropped or rejected, too."""

    def __call__(self, lines: Lines) -> Outcome:
        """Judge a window."""
        rows = lines.rows(self.parser)
        good = [row for row in rows if isinstance(row, Row)]
        bad = next((row for row in rows if isinstance(row, BadRow)), None)
        if bad is not None and not self.reject:
            return Outcome(len(rows), 1, Tally(), b"", b"", bad)
        judged = self.pipeline.judge(self._pairs(good))
        output, rejects = self._written(rows, judged)
        return Outcome(len(rows), len(rows) - len(good), judged.tally, output, rejects, bad)

    def _pairs(self, rows: Sequence[Row]) -> Pairs:
        def column(name: str) -> NDArray[np.float64]:
            place = self.places[name]
            return np.array([_number(row.line, place) for row in rows], dtype=np.float64)

        sources, targets = [row.texts[0] for row in rows], [row.texts[1] for row in rows]
        return Pairs(sources, targets, self.languages, column)

    def _written(self, rows: Sequence[Row | BadRow], judged: Judged) -> tuple[bytes, bytes]:
        output: list[bytes] = []
        rejects: list[bytes] = []
        keep = iter(enumerate(judged.keep.tolist()))
        for row in rows:
            if isinstance(row, BadRow):
                index, kept = None, False
            else:
                index, kept = next(keep)
            if kept and not self.explain:
                output += (row.line, row.ending)
                continue
            if not (self.explain or self.keep_rejects):
                continue
            said = row.reason if isinstance(row, BadRow) else judged.verdict(index or 0)
            if self.explain:
                output += (row.line, b"\t", said.encode(), row.ending)
            if self.keep_rejects and not kept:
                rejects.append(reject_line(row.number, said, row.line))
        return b"".join(output), b"".join(rejects)


def _number(line: bytes, place: int) -> float:
    """Return the number in a column of *line*, NaN if there is none."""
    fields = line.split(b"\t")
    return number_of(fields[place]) if -len(fields) <= place < len(fields) else np.nan
