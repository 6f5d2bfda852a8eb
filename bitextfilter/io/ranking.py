"""Rank scored rows in bounded memory, and select the best.

Lines, scores and sizes wait on disk until all rows are there. Then at most 24 bytes a row are in
memory: its score, its size, its place in the order, and room for sorting. Lines are spilled in
runs, each written best first, so that reading all rows in their order goes forwards in every run.
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

from bitextfilter.arrays import Floats
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import BadRow, Columns, RawLines, RowParser, number_of
from bitextfilter.io.spill import Spill

RUN_ROWS = 1 << 16
RUN_BYTES = 1 << 24
"""A run ends at this number of rows or bytes, which are held until it is written."""

_READ_ROWS = 1 << 8
"""Rows read back at once (few, because one row may be very long)."""

_BLOCK = 1 << 13
"""Rows parsed, or ranks processed, at once."""

_Order = npt.NDArray[np.unsignedinteger[Any]]
"""Row numbers from 0, in the narrowest type."""

_Sizes = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class ScoredRows:
    """Consecutive rows: lines with endings, scores and texts of the good ones, and the bad ones."""

    lines: list[bytes]
    scores: list[float]
    """NaN where there is none."""
    texts: list[list[str]]
    """The texts of all rows for each side; they may be white space or end in it."""
    bad: list[tuple[int, BadRow]]
    """Each bad row, and the number of ``lines`` before it."""

    def __len__(self) -> int:
        return len(self.lines) + len(self.bad)


def scored_windows(reader: RowReader, columns: Columns) -> Iterator[ScoredRows]:
    """Yield the rows of a reader of *columns*, some thousands at a time: first the score."""
    place, *sides = (reader.place(wanted) for wanted in columns.wanted())
    for window in reader.lines(_BLOCK):
        rows = _parse_good_rows(window, reader.parser, place, sides)
        yield _parse_rows(window, reader.parser, len(sides)) if rows is None else rows


def _parse_good_rows(
    window: RawLines, parser: RowParser, place: int, sides: Sequence[int]
) -> ScoredRows | None:
    """Parse a window at once; None unless every row is good.

    A row is good if its score is a number and its sides are UTF-8 without NUL; without a number,
    *parser* decides.
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
    """Apply ``number_of`` to each field."""
    if b"_" not in b"".join(fields):
        with suppress(ValueError):
            return list(map(float, fields))
    return list(map(number_of, fields))


def _parse_rows(window: RawLines, parser: RowParser, sides: int) -> ScoredRows:
    """Parse a window that holds bad rows."""
    found = ScoredRows([], [], [[] for _ in range(sides)], [])
    for row, raw in zip(window.rows(parser), window.raw, strict=True):
        if isinstance(row, BadRow):
            found.bad.append((len(found.lines), row))
            continue
        score, *texts = row.texts
        found.lines.append(raw)
        found.scores.append(number_of(score.encode()))
        for side, text in zip(found.texts, texts, strict=True):
            side.append(text)
    return found


@dataclass(frozen=True)
class SelectionSettings:
    """Limits of a selection.

    First *fold* ``(i, k)`` takes the i-th of k equal parts (1: the worst); then
    *min_score* drops lower scores, and *sample* draws this number of rows (*seed*). Of those, the
    best are kept: at most *rows*, with a sum of sizes of at most *size*, and at most *fraction* of
    the fold or sample.
    """

    rows: int | None = None
    size: int | None = None
    fraction: Fraction | None = None
    min_score: float | None = None
    fold: tuple[int, int] | None = None
    sample: int | None = None
    seed: int = 1

    def most(self, count: int) -> int:
        """Return the largest number of rows to keep of *count*, sizes aside."""
        share = count if self.fraction is None else floor(self.fraction * count)
        return share if self.rows is None else min(share, self.rows)


class Decision(IntEnum):
    """The decision on a row: kept, or left out by its fold, its score, the sample, or its rank."""

    KEPT = 0
    FOLD = 1
    SCORE = 2
    SAMPLE = 3
    RANK = 4


@dataclass(frozen=True)
class Selection:
    """The rows selected by some settings."""

    settings: SelectionSettings
    decisions: npt.NDArray[np.uint8]
    """The Decision on each row, best first."""
    count: int
    size: int
    """The sum of the sizes of the kept rows."""
    end: int
    """The rank of the last row kept, from 1; without one, the number of rows above the fold."""
    threshold: float | None
    """The score of the last row kept, NaN if it has none; None if no row is kept."""

    def reason(self, rank: int, score: float) -> str:
        """Return why the row of this *rank*, from 0, and *score* was left out."""
        decision, settings = self.decisions[rank], self.settings
        if decision == Decision.FOLD and settings.fold is not None:
            return "not in fold {}/{}".format(*settings.fold)
        if decision == Decision.SCORE and settings.min_score is not None:
            least = _shortest(settings.min_score)
            return "no score" if isnan(score) else f"score {_shortest(score)} < {least}"
        if decision == Decision.SAMPLE:
            return "not in the sample"
        return f"rank {rank + 1} > {self.end}"


def _shortest(score: float) -> str:
    """Return the shortest text of exactly this number."""
    return repr(score).removesuffix(".0")


def select_rows(
    settings: SelectionSettings, keys: Floats, sizes: _Sizes, order: _Order
) -> Selection:
    """Select from ``n`` rows, whose *order*, best first, is ``(n,)``.

    *keys* are negative scores ``(n,)``, NaN where there is none; *sizes* ``(n,)`` are in the unit
    of the settings' ``size``.
    """
    part, parts = settings.fold or (1, 1)
    start, stop = (len(order) * (parts - part + end) // parts for end in (0, 1))
    decisions = np.full(len(order), Decision.FOLD, np.uint8)
    decisions[start:stop] = Decision.KEPT
    base = stop - start
    if settings.min_score is not None:
        passing = int(np.count_nonzero(keys <= -settings.min_score))
        decisions[max(start, passing) : stop] = Decision.SCORE
        stop = max(start, min(stop, passing))
    if settings.sample is not None:
        base = min(settings.sample, stop - start)
        drawn = np.zeros(stop - start, np.bool_)
        drawn[:base] = True
        np.random.default_rng(settings.seed).shuffle(drawn)
        decisions[start:stop][~drawn] = Decision.SAMPLE
    count, size, end, most = 0, 0, start, settings.most(base)
    for low in range(start, stop, _BLOCK):
        ranks = low + np.flatnonzero(decisions[low : min(low + _BLOCK, stop)] == Decision.KEPT)
        totals = size + np.cumsum(sizes[order[ranks]], dtype=np.int64)
        fits = min(len(ranks), most - count)
        if settings.size is not None:
            fits = min(fits, int(np.searchsorted(totals, settings.size, "right")))
        if fits:
            count, size, end = count + fits, int(totals[fits - 1]), int(ranks[fits - 1]) + 1
        if fits < len(ranks):
            rest = decisions[end:stop]
            rest[rest == Decision.KEPT] = Decision.RANK
            break
    threshold = 0.0 - float(keys[order[end - 1]]) if count else None
    return Selection(settings, decisions, count, size, end, threshold)


class RankedRows(NamedTuple):
    """Some rows read back from the disk, in the order of reading."""

    indices: npt.NDArray[np.integer[Any]]
    """Their positions in the input, from 0."""
    ranks: npt.NDArray[np.integer[Any]]
    """From 0."""
    decisions: npt.NDArray[np.uint8]
    lines: list[bytes]


class Ranking:
    """Collects rows and ranks them by score; equal scores rank in input order."""

    def __init__(self, spill: Spill, best_first: bool = True, run_rows: int = RUN_ROWS) -> None:
        """Keep lines in *spill*, to be read back *best_first* or in input order."""
        self._spill, self._best_first, self._run_rows = spill, best_first, run_rows
        self._lines: list[bytes] = []
        self._scores: list[float] = []
        self._held = 0
        self._firsts: list[int] = []
        self._keys, self._sizes = spill.file(), spill.file()
        self._count = 0

    def __len__(self) -> int:
        return self._count + len(self._lines)

    def add(
        self, lines: Sequence[bytes], scores: Sequence[float], sizes: Sequence[int] = ()
    ) -> None:
        """Add rows: *lines* with their newlines, *scores* (NaN: none), and perhaps *sizes*.

        Either all rows have a size (below 2³²) or none has. Raises OutputError if the disk is full.
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
        keys, sizes = self._keys.load(np.float64), self._sizes.load(np.uint32)
        return Ranked(self._spill, keys, sizes, self._firsts if self._best_first else None)

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
    """Ranked rows. Made by :meth:`Ranking.finish`."""

    def __init__(self, spill: Spill, keys: Floats, sizes: _Sizes, firsts: list[int] | None) -> None:
        """Take negated scores and sizes by row, and the first row of each run.

        ``firsts`` is None if the lines are in input order.
        """
        self._spill, self._keys, self._firsts = spill, keys, firsts
        self._order: _Order = keys.argsort(kind="stable").astype(np.min_scalar_type(len(keys)))
        self._sizes = sizes if len(sizes) else np.broadcast_to(np.uint32(0), len(keys))

    def __len__(self) -> int:
        return len(self._keys)

    def score(self, rank: int) -> float:
        """Return the score of the row of this rank from 0; NaN if it has none."""
        return 0.0 - float(self._keys[self._order[rank]])

    def scores(self) -> Floats:
        """Return the scores in input order ``(n,)``, NaN for none."""
        return 0.0 - self._keys

    def in_order(self, places: Floats) -> Ranked:
        """Return rows that were to be read in input order, ranked by other numbers.

        *places*: ``(n,)``, the lowest first; NaN for a row that comes last, as one without a score.
        """
        assert self._firsts is None, "runs on the disk have the order of the scores"
        return Ranked(self._spill, places, self._sizes, None)

    def unscored(self) -> int:
        """Return the number of rows without a score."""
        return int(np.isnan(self._keys).sum())

    def size(self) -> int:
        """Return the sum of the sizes of all rows."""
        return int(self._sizes.sum(dtype=np.int64))

    def select(self, settings: SelectionSettings) -> Selection:
        """Select rows."""
        return select_rows(settings, self._keys, self._sizes, self._order)

    def read(self, selection: Selection, everything: bool = False) -> Iterator[RankedRows]:
        """Yield rows, a few at a time, best first or in input order, as the Ranking was made.

        All kept rows come; in input order or with *everything*, the others too. Can be done once.
        """
        if self._firsts is None:
            return self._in_input_order(selection.decisions)
        return self._best_first(selection.decisions, len(self) if everything else selection.end)

    def _best_first(self, decisions: npt.NDArray[np.uint8], end: int) -> Iterator[RankedRows]:
        next_lines = self._spill.readers()
        firsts = np.array(self._firsts)
        for start in range(0, end, _READ_ROWS):
            ranks = np.arange(start, min(start + _READ_ROWS, end))
            indices = self._order[ranks]
            runs = np.searchsorted(firsts, indices, "right") - 1
            lines = [next_lines[run]() for run in runs.tolist()]
            yield RankedRows(indices, ranks, decisions[ranks], lines)

    def _in_input_order(self, decisions: npt.NDArray[np.uint8]) -> Iterator[RankedRows]:
        (next_line,) = self._spill.readers()
        ranks_by_row = np.empty_like(self._order)
        for start in range(0, len(self), _BLOCK):
            part = self._order[start : start + _BLOCK]
            ranks_by_row[part] = np.arange(start, start + len(part))
        for start in range(0, len(self), _READ_ROWS):
            ranks = ranks_by_row[start : start + _READ_ROWS]
            indices = np.arange(start, start + len(ranks))
            yield RankedRows(indices, ranks, decisions[ranks], [next_line() for _ in ranks])
