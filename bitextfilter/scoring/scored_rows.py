"""Rows with their scores, as lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from bitextfilter.arrays import Scores
from bitextfilter.io.rows import BadRow, Row

Explain = Callable[[Sequence[str], Sequence[str]], Iterable[Sequence[str]]]
"""Returns the reasons of each of ``n`` pairs."""


class _Sides(Protocol):
    @property
    def source(self) -> str: ...

    @property
    def target(self) -> str: ...


def sides(rows: Sequence[_Sides]) -> tuple[list[str], list[str]]:
    """Return the sources and the targets of rows."""
    return [row.source for row in rows], [row.target for row in rows]


@dataclass(frozen=True)
class ScoreLines:
    """The form of rows with scores."""

    digits: int = 4
    """Decimals of a score."""
    score_only: bool = False
    """The scores stand without the rows."""
    explain: Explain | None = None
    """Gives a last column of reasons."""

    def __call__(
        self, window: Sequence[Row | BadRow], score: Callable[[Sequence[Row]], Scores]
    ) -> bytes:
        """Return a line for each row of a window; *score* gives ``n`` good rows ``(n, m)`` scores.

        Scores stand last, and are empty for a bad row.
        """
        good = [row for row in window if isinstance(row, Row)]
        scores = score(good)
        cells = iter(["\t".join(cell(x, self.digits) for x in row) for row in scores.tolist()])
        empty = "\t" * (scores.shape[1] - 1)
        if self.explain is not None:
            reasons = map("; ".join, self.explain(*sides(good)))
            cells = map("\t".join, zip(cells, map(one_line, reasons), strict=True))
            empty += "\t"
        lines = []
        for row in window:
            found = (next(cells) if isinstance(row, Row) else empty).encode()
            whole = row.line + b"\t" + found + row.ending
            lines.append(found + b"\n" if self.score_only else whole)
        return b"".join(lines)


def one_line(text: str) -> str:
    """Return *text* without tabs and line ends."""
    return " ".join(text.split())


def cell(score: float, digits: int) -> str:
    """Return a score as text; zero has no minus."""
    text = f"{score:.{digits}f}"
    return text.removeprefix("-") if not text.strip("-0.") else text
