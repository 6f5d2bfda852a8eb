"""Lines with a score in one of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import isnan

from bitextfilter.io.columns import Columns, Wanted
from bitextfilter.io.parser import RowParser
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


@dataclass(frozen=True)
class Scored:
    """Consecutive rows: of the good ones, lines with endings, scores and texts."""

    lines: list[bytes]
    scores: list[float]
    """NaN where there is none."""
    texts: list[list[str]]
    """For each side those of all rows, which may be white space or end in it."""
    bad: list[tuple[int, BadRow]]
    """Each bad row, and how many of ``lines`` stand before it."""

    def __len__(self) -> int:
        """Return the number of rows, good and bad."""
        return len(self.lines) + len(self.bad)


def scored_windows(reader: RowReader, columns: ScoredColumns) -> Iterator[Scored]:
    """Yield the rows of a reader of *columns*, some thousands at a time."""
    place, *sides = (reader.place(wanted) for wanted in columns.wanted())
    for window in reader.lines(WINDOW):
        scored = _all_good(window, reader.parser, place, sides)
        yield _row_by_row(window, reader.parser, len(sides)) if scored is None else scored


def _all_good(window: Lines, parser: RowParser, place: int, sides: Sequence[int]) -> Scored | None:
    """Parse a window at once; None unless every row is good.

    A score that is a number, and sides that are UTF-8 without NUL, make a row good; only where
    there is no number has *parser* to say whether the row is.
    """
    rows = [raw.split(b"\t") for raw in window.raw]
    try:
        scores = _numbers([fields[place] for fields in rows])
        texts = [[fields[side].decode() for fields in rows] for side in sides]
    except (IndexError, UnicodeDecodeError):
        return None
    unclear = [index for index, score in enumerate(scores) if isnan(score)]
    if any(isinstance(parser.row(0, window.raw[index]), BadRow) for index in unclear):
        return None
    if sides and b"\0" in b"".join(window.raw):
        return None
    return Scored(window.raw, scores, texts, [])


def _numbers(fields: list[bytes]) -> list[float]:
    """Return what ``number_of`` returns of each."""
    if b"_" not in b"".join(fields):
        with suppress(ValueError):
            return list(map(float, fields))
    return list(map(number_of, fields))


def _row_by_row(window: Lines, parser: RowParser, sides: int) -> Scored:
    """Parse a window that holds bad rows."""
    scored = Scored([], [], [[] for _ in range(sides)], [])
    for row, raw in zip(window.rows(parser), window.raw, strict=True):
        if isinstance(row, BadRow):
            scored.bad.append((len(scored.lines), row))
            continue
        score, *texts = row.texts
        scored.lines.append(raw)
        scored.scores.append(number_of(score.encode()))
        for side, text in zip(scored.texts, texts, strict=True):
            side.append(text)
    return scored
