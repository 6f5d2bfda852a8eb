"""Rows ordered by score in bounded memory, and the best of them selected.

The lines wait on disk, and so do scores and sizes until all are there. Then at most 24 bytes a row
are in memory: its score, its size, its place in the order, and what sorting needs. Lines are
spilled in runs, each written best first: read in the order of all rows, every run then goes
forwards, so that the disk is never searched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from math import floor, isnan
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bitextfilter.io.rows import (
    BadRow,
    ColumnPlace,
    Columns,
    RawLines,
    RowParser,
    RowReader,
    number_of,
)
from bitextfilter.io.spill import Spill

_BLOCK = 1 << 13
"""Rows that arrays are walked through by, so that what is derived from them stays small."""

_Order = npt.NDArray[np.unsignedinteger[Any]]
"""Row numbers from 0, in as few bytes as they need."""


class Decision(IntEnum):
    """What became of a row: kept, or left out by its fold, its score, chance, or its rank."""

    KEPT = 0
    FOLD = 1
    SCORE = 2
    SAMPLE = 3
    RANK = 4


@dataclass(frozen=True)
class SelectionSettings:
    """Which rows to keep.

    First *fold* ``(i, k)`` takes the i-th of k equal parts, of which 1 is the worst; of that,
    *min_score* takes what has at least that score, *sample* as many rows by chance (*seed*), and
    the best of those are kept: as many as *rows*, the sum of their sizes *size*, and *fraction*
    (of the fold, or of the sample) allow together. None of these is ever exceeded.
    """

    rows: int | None = None
    size: int | None = None
    fraction: Fraction | None = None
    min_score: float | None = None
    fold: tuple[int, int] | None = None
    sample: int | None = None
    seed: int = 1

    def bounds(self, count: int) -> tuple[int, int]:
        """Return the first rank (from 0) and the end of the fold, of *count* rows."""
        part, parts = self.fold or (1, 1)
        return count * (parts - part) // parts, count * (parts - part + 1) // parts

    def most(self, count: int) -> int:
        """Return how many rows may be kept of *count*, sizes aside."""
        share = count if self.fraction is None else floor(self.fraction * count)
        return share if self.rows is None else min(share, self.rows)


@dataclass(frozen=True)
class Selection:
    """The rows that a choice kept."""

    choice: SelectionSettings
    verdicts: npt.NDArray[np.uint8]
    """The Verdict on each row, best first."""
    count: int
    size: int
    """The sum of the sizes of the kept rows."""
    end: int
    """The rank of the last row kept, from 1; where none is, how many rows rank above the fold."""
    threshold: float | None
    """The score of the last row kept, NaN if it has none; None if no row is kept."""

    def reason(self, rank: int, score: float) -> str:
        """Return why the row of this *rank*, from 0, and *score* was left out."""
        verdict, choice = self.verdicts[rank], self.choice
        if verdict == Decision.FOLD and choice.fold is not None:
            return "not in fold {}/{}".format(*choice.fold)
        if verdict == Decision.SCORE and choice.min_score is not None:
            least = _shortest(choice.min_score)
            return "no score" if isnan(score) else f"score {_shortest(score)} < {least}"
        if verdict == Decision.SAMPLE:
            return "not in the sample"
        return f"rank {rank + 1} > {self.end}"


def _shortest(score: float) -> str:
    """Return the shortest text that stands for exactly this number."""
    return repr(score).removesuffix(".0")


def select_rows(
    choice: SelectionSettings,
    keys: npt.NDArray[np.float64],
    sizes: npt.NDArray[np.uint32],
    order: _Order,
) -> Selection:
    """Return what *choice* keeps of ``n`` rows.

    Args:
        choice: what to keep.
        keys: negative scores ``(n,)``, NaN where there is none.
        sizes: ``(n,)``; only the choice's ``size`` asks what they mean.
        order: rows, best first ``(n,)``.
    """
    start, stop = choice.bounds(len(order))
    verdicts = np.full(len(order), Decision.FOLD, np.uint8)
    verdicts[start:stop] = Decision.KEPT
    base = stop - start
    if choice.min_score is not None:
        passing = int(np.count_nonzero(keys <= -choice.min_score))
        verdicts[max(start, passing) : stop] = Decision.SCORE
        stop = max(start, min(stop, passing))
    if choice.sample is not None:
        base = min(choice.sample, stop - start)
        taken = np.zeros(stop - start, np.bool_)
        taken[:base] = True
        np.random.default_rng(choice.seed).shuffle(taken)
        verdicts[start:stop][~taken] = Decision.SAMPLE
    count, size, end = _cut(choice, verdicts[:stop], (start, choice.most(base)), sizes, order)
    threshold = 0.0 - float(keys[order[end - 1]]) if count else None
    return Selection(choice, verdicts, count, size, end, threshold)


def _cut(
    choice: SelectionSettings,
    verdicts: npt.NDArray[np.uint8],
    bounds: tuple[int, int],
    sizes: npt.NDArray[np.uint32],
    order: _Order,
) -> tuple[int, int, int]:
    """Keep rows as long as they fit, and mark the rest.

    *bounds* are the first rank and how many rows may be kept. Returns how many rows were kept,
    the sum of their sizes, and the rank of the last from 1.
    """
    count = size = 0
    end, most = bounds
    for low in range(end, len(verdicts), _BLOCK):
        ranks = low + np.flatnonzero(verdicts[low : low + _BLOCK] == Decision.KEPT)
        totals = size + np.cumsum(sizes[order[ranks]], dtype=np.int64)
        fits = min(len(ranks), most - count)
        if choice.size is not None:
            fits = min(fits, int(np.searchsorted(totals, choice.size, "right")))
        if fits:
            count, size, end = count + fits, int(totals[fits - 1]), int(ranks[fits - 1]) + 1
        if fits < len(ranks):
            rest = verdicts[end:]
            rest[rest == Decision.KEPT] = Decision.RANK
            break
    return count, size, end


RUN_ROWS = 1 << 16
RUN_BYTES = 1 << 24
"""A run ends at this many rows or bytes: what is held before it is written."""

READ_ROWS = 1 << 8
"""Rows that come back from the disk at a time, in the hope that none is very long."""


class RankedRows(NamedTuple):
    """Some rows that are back from the disk, in the order in which they were to be read."""

    indices: npt.NDArray[np.integer[Any]]
    """Which row of the input each is, from 0."""
    ranks: npt.NDArray[np.integer[Any]]
    """From 0."""
    verdicts: npt.NDArray[np.uint8]
    lines: list[bytes]


class Ranking:
    """Collects rows, to be ranked by score; equal scores rank in input order."""

    def __init__(self, spill: Spill, best_first: bool = True, run_rows: int = RUN_ROWS) -> None:
        """Keep lines in *spill*, to be read back *best_first* or in input order."""
        self._spill = spill
        self._best_first = best_first
        self._run_rows = run_rows
        self._lines: list[bytes] = []
        self._scores: list[float] = []
        self._held = 0
        self._firsts: list[int] = []
        self._keys, self._sizes = spill.file(), spill.file()
        self._count = 0

    def __len__(self) -> int:
        """Return the number of rows so far."""
        return self._count + len(self._lines)

    def add(
        self, lines: Sequence[bytes], scores: Sequence[float], sizes: Sequence[int] = ()
    ) -> None:
        """Add rows: *lines* with their newlines, *scores* (NaN: none), and perhaps *sizes*.

        Infinite scores are scores. Either all rows have a size (below 2³²) or none has.
        Raises OutputError where the disk takes no more.
        """
        self._lines += lines
        self._scores += scores
        self._held += sum(map(len, lines))
        self._sizes.write(np.asarray(sizes, np.uint32).data)
        if len(self._lines) >= self._run_rows or self._held >= RUN_BYTES:
            self._write_run()

    def finish(self) -> Ranked:
        """Return the rows ranked; nothing can be added any more."""
        self._write_run()
        keys = self._keys.load(np.float64)
        order = keys.argsort(kind="stable").astype(np.min_scalar_type(len(keys)))
        firsts = self._firsts if self._best_first else None
        return Ranked(self._spill, keys, self._sizes.load(np.uint32), order, firsts)

    def _write_run(self) -> None:
        """Write the rows held, best first if they are to be read so."""
        keys = np.negative(np.array(self._scores, np.float64))
        lines: Sequence[bytes] | map[bytes] = self._lines
        if self._best_first:
            lines = map(self._lines.__getitem__, keys.argsort(kind="stable").tolist())
        if self._best_first or not self._firsts:
            self._spill.begin_run()
            self._firsts.append(self._count)
        self._spill.write(lines)
        self._keys.write(keys.data)
        self._count += len(keys)
        self._lines, self._scores, self._held = [], [], 0


class Ranked:
    """Rows in their order. Made by :meth:`Ranking.finish`."""

    def __init__(
        self,
        spill: Spill,
        keys: npt.NDArray[np.float64],
        sizes: npt.NDArray[np.uint32],
        order: _Order,
        firsts: list[int] | None,
    ) -> None:
        """Take the negated scores and the sizes by row, the rows by rank, the runs' first rows.

        ``firsts`` is None where the lines are in input order.
        """
        self._spill, self._keys, self._order, self._firsts = spill, keys, order, firsts
        self._sizes = sizes if len(sizes) else np.broadcast_to(np.uint32(0), len(keys))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._keys)

    def score(self, rank: int) -> float:
        """Return the score of the row of this rank from 0; NaN if it has none."""
        return 0.0 - float(self._keys[self._order[rank]])

    def unscored(self) -> int:
        """Return how many rows have no score."""
        return int(np.isnan(self._keys).sum())

    def size(self) -> int:
        """Return the sum of the sizes of all rows."""
        return int(self._sizes.sum(dtype=np.int64))

    def select(self, choice: SelectionSettings) -> Selection:
        """Return what *choice* keeps."""
        return select_rows(choice, self._keys, self._sizes, self._order)

    def read(self, selection: Selection, everything: bool = False) -> Iterator[RankedRows]:
        """Yield rows, a few at a time, best first or in input order, as the Ranking was made.

        All that is kept comes, and, if *everything* is asked for, all that is not. Can be done
        once.
        """
        if self._firsts is None:
            return self._in_input_order(selection.verdicts)
        return self._best_first(selection.verdicts, len(self) if everything else selection.end)

    def _best_first(self, verdicts: npt.NDArray[np.uint8], end: int) -> Iterator[RankedRows]:
        next_lines = self._spill.readers()
        firsts = np.array(self._firsts)
        for start in range(0, end, READ_ROWS):
            indices = self._order[start : min(start + READ_ROWS, end)]
            runs = np.searchsorted(firsts, indices, "right") - 1
            lines = [next_lines[run]() for run in runs.tolist()]
            ranks = np.arange(start, start + len(lines))
            yield RankedRows(indices, ranks, verdicts[start : start + len(lines)], lines)

    def _in_input_order(self, verdicts: npt.NDArray[np.uint8]) -> Iterator[RankedRows]:
        (next_line,) = self._spill.readers()
        ranks_of_all = self._ranks()
        for start in range(0, len(self), READ_ROWS):
            ranks = ranks_of_all[start : start + READ_ROWS]
            lines = [next_line() for _ in range(len(ranks))]
            indices = np.arange(start, start + len(lines))
            yield RankedRows(indices, ranks, verdicts[ranks], lines)

    def _ranks(self) -> _Order:
        """Return the rank of each row, in input order."""
        ranks = np.empty_like(self._order)
        for start in range(0, len(self), _BLOCK):
            part = self._order[start : start + _BLOCK]
            ranks[part] = np.arange(start, start + len(part))
        return ranks


_WINDOW = 1 << 13


@dataclass(frozen=True)
class ScoredColumns(Columns):
    """The column of the score, which may be empty, and those of the *sides* that are read."""

    score: int | str = -1
    sides: tuple[str, ...] = ()

    def wanted(self) -> tuple[ColumnPlace, ...]:
        """Return the score, then the sides."""
        sides = (side for side in super().wanted() if side.name in self.sides)
        return (ColumnPlace("score", "--column", self.score), *sides)


@dataclass(frozen=True)
class ScoredRows:
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


def scored_windows(reader: RowReader, columns: ScoredColumns) -> Iterator[ScoredRows]:
    """Yield the rows of a reader of *columns*, some thousands at a time."""
    place, *sides = (reader.place(wanted) for wanted in columns.wanted())
    for window in reader.lines(_WINDOW):
        scored = _all_good(window, reader.parser, place, sides)
        yield _row_by_row(window, reader.parser, len(sides)) if scored is None else scored


def _all_good(
    window: RawLines, parser: RowParser, place: int, sides: Sequence[int]
) -> ScoredRows | None:
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
    return ScoredRows(window.raw, scores, texts, [])


def _numbers(fields: list[bytes]) -> list[float]:
    """Return what ``number_of`` returns of each."""
    if b"_" not in b"".join(fields):
        with suppress(ValueError):
            return list(map(float, fields))
    return list(map(number_of, fields))


def _row_by_row(window: RawLines, parser: RowParser, sides: int) -> ScoredRows:
    """Parse a window that holds bad rows."""
    scored = ScoredRows([], [], [[] for _ in range(sides)], [])
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
