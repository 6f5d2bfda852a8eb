"""Lines with a score in one of their columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isnan

from bitextfilter.io.columns import Columns, Wanted
from bitextfilter.io.rows import BadRow, Lines, RowReader, number_of

__all__ = ["Scored", "ScoredColumns", "scored_windows"]

WINDOW = 1 << 13


@dataclass(frozen=True)
class ScoredColumns(Columns):
    """The column of the score, which may be empty, and those of the *sides* that are read."""

    score: int | str = -1
    sides: tuple[str, ...] = ()

    def wanted(self) -> tuple[Wanted, ...]:
        """Return the score, then the sides."""
        sides = (side for side in super().wanted() if side.name in self.sides)
        return (Wanted("score", "--column", self.score), *sides)


@dataclass
class Scored:
    """Consecutive rows: of the good ones, lines with endings, scores and texts."""

    lines: list[bytes] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    """NaN where there is none."""
    texts: list[list[str]] = field(default_factory=list)
    """Those of the sides of each row, which may be white space or end in it."""
    bad: list[tuple[int, BadRow]] = field(default_factory=list)
    """Each bad row, and how many of ``lines`` stand before it."""

    def __len__(self) -> int:
        """Return the number of rows, good and bad."""
        return len(self.lines) + len(self.bad)


def scored_windows(reader: RowReader, columns: ScoredColumns) -> Iterator[Scored]:
    """Yield the rows of a reader of *columns*, some thousands at a time."""
    place, *sides = (reader.place(wanted) for wanted in columns.wanted())
    for window in reader.lines(WINDOW):
        yield _parsed(window, reader, place, sides)


def _parsed(window: Lines, reader: RowReader, place: int, sides: list[int]) -> Scored:
    """Parse a window.

    A line whose score is a number, and whose sides are UTF-8 without NUL, is good: only the
    others need the reader's parser to say what they are.
    """
    scored = Scored()
    for number, raw in enumerate(window.raw, window.first):
        fields = raw.split(b"\t")
        try:
            score = number_of(fields[place])
            texts = [fields[side].decode() for side in sides]
        except (IndexError, UnicodeDecodeError):
            score, texts = float("nan"), []
        if isnan(score) or (sides and b"\0" in raw):
            row = reader.parser.row(number, raw)
            if isinstance(row, BadRow):
                scored.bad.append((len(scored.lines), row))
                continue
            texts = list(row.texts[1:])
        scored.lines.append(raw)
        scored.scores.append(score)
        scored.texts.append(texts)
    return scored
