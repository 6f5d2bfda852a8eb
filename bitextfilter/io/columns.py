"""Columns of many rows: places of texts in the bytes of a window, and columns of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isinf, isnan, nan
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Indices, Integers, Mask
from bitextfilter.io.rows import (
    REMEDY,
    BadRow,
    Columns,
    RawLines,
    Row,
    RowParser,
    WantedColumn,
    is_blank,
    number_of,
)

_TAB, _LINE_END, _RETURN = b"\t\n\r"


class Utf8(NamedTuple):
    """Texts as UTF-8, surrogates included: n pieces of some bytes."""

    data: bytes
    starts: Integers
    ends: Integers
    """Where each text begins and ends, ``(n,)``; ascending, and none within another."""


class Utf8Texts(Sequence[str]):
    """Texts that are read from their bytes when they are looked at."""

    def __init__(self, utf8: Utf8) -> None:
        self.utf8 = utf8

    def __len__(self) -> int:
        return len(self.utf8.starts)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Utf8Texts: ...
    def __getitem__(self, index: int | slice) -> str | Utf8Texts:
        data, starts, ends = self.utf8
        if isinstance(index, slice):
            return Utf8Texts(Utf8(data, starts[index], ends[index]))
        return data[starts[index] : ends[index]].decode()

    def __iter__(self) -> Iterator[str]:
        data, starts, ends = self.utf8
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            yield data[start:end].decode()

    def at(self, places: Indices) -> Utf8Texts:
        """Return the texts at these places, ascending, ``(m,)``."""
        data, starts, ends = self.utf8
        return Utf8Texts(Utf8(data, starts[places], ends[places]))


def utf8_of(texts: Sequence[str]) -> Utf8:
    """Return texts as UTF-8, with surrogates and a line end after each."""
    if isinstance(texts, Utf8Texts):
        return texts.utf8
    pieces = [text.encode("utf-8", "surrogatepass") for text in texts]
    sizes = np.fromiter(map(len, pieces), dtype=np.int64, count=len(pieces))
    ends = np.cumsum(sizes + 1) - 1
    return Utf8(b"\n".join([*pieces, b""]), ends - sizes, ends)


class LineFields:
    """The lines of a window with the bounds of their columns; n lines."""

    def __init__(self, window: RawLines, parser: RowParser) -> None:
        """Find the columns that *parser* reads in the lines, and the bad rows."""
        self.data = b"".join(window.raw)
        sizes = np.fromiter(map(len, window.raw), dtype=np.int64, count=len(window.raw))
        self._parser, self.first = parser, window.first
        self.stops = np.cumsum(sizes)
        """End of each line with its ending, ``(n,)``."""
        self.starts = self.stops - sizes
        """Start of each line, ``(n,)``."""
        self._codes = np.frombuffer(self.data, dtype=np.uint8)
        self.ends = self._ends()
        """End of each line without its ending, ``(n,)``."""
        self._tabs = np.flatnonzero(self._codes == _TAB)
        self._before = np.searchsorted(self._tabs, self.starts)
        self.columns = np.searchsorted(self._tabs, self.ends) - self._before + 1
        """Columns of each line, ``(n,)``."""
        self.bad: dict[int, BadRow] = {}
        """The bad rows by their indices."""
        for index in np.flatnonzero(self._unclear()).tolist():
            row = self.row(index)
            if isinstance(row, BadRow):
                self.bad[index] = row

    def __len__(self) -> int:
        """Return n."""
        return len(self.starts)

    def row(self, index: int) -> Row | BadRow:
        """Parse one line."""
        raw = self.data[self.starts[index] : self.stops[index]]
        return self._parser.row(self.first + index, raw)

    def refuse(self, index: int, reason: str) -> None:
        """Make a row bad, unless it is."""
        self.bad.setdefault(index, self.refused(index, reason, REMEDY))

    def refused(self, index: int, reason: str, remedy: str) -> BadRow:
        """Return a row as one that cannot be used."""
        row = self.row(index)
        return self._parser.refused(row, reason, remedy) if isinstance(row, Row) else row

    def first_bad(self) -> BadRow | None:
        """Return the bad row that comes first."""
        return self.bad[min(self.bad)] if self.bad else None

    def line(self, index: int) -> bytes:
        """Return one line without its ending."""
        bad = self.bad.get(index)
        return self.data[self.starts[index] : self.ends[index]] if bad is None else bad.line

    def ending(self, index: int) -> bytes:
        """Return the ending of one line."""
        return self.data[self.ends[index] : self.stops[index]]

    def good(self) -> Indices:
        """Return the lines without a bad row, ascending, ``(m,)``."""
        good = np.ones(len(self), dtype=bool)
        good[list(self.bad)] = False
        return np.flatnonzero(good)

    def texts(self, place: int | None, rows: Indices) -> Utf8Texts:
        """Return the texts of a column of good *rows*, ``(m,)``; None: the whole lines."""
        starts, ends, _ = self._bounds(place)
        return Utf8Texts(Utf8(self.data, starts[rows], ends[rows]))

    def numbers(self, place: int, rows: Indices) -> NDArray[np.float64]:
        """Return the numbers of a column of good *rows*, ``(m,)``; NaN: no number, no column."""
        starts, ends, there = (some[rows].tolist() for some in self._bounds(place))
        fields = (
            number_of(self.data[start:end]) if known else np.nan
            for start, end, known in zip(starts, ends, there, strict=True)
        )
        return np.fromiter(fields, dtype=np.float64, count=len(rows))

    def kept(self, keep: Mask) -> bytes:
        """Return the lines of a mask ``(n,)`` with their endings."""
        edges = np.flatnonzero(np.diff(keep, prepend=False, append=False))
        runs = zip(
            self.starts[edges[::2]].tolist(), self.stops[edges[1::2] - 1].tolist(), strict=True
        )
        view = memoryview(self.data)
        return b"".join([view[start:stop] for start, stop in runs])

    def _ends(self) -> Integers:
        ended = np.flatnonzero(self._codes[self.stops - 1] == _LINE_END)
        ends = self.stops.copy()
        ends[ended] -= 1
        before = np.maximum(ends[ended] - 1, 0)
        returned = (self._codes[before] == _RETURN) & (ends[ended] > self.starts[ended])
        ends[ended[returned]] -= 1
        return np.asarray(ends)

    def _bounds(self, place: int | None) -> tuple[Integers, Integers, Mask]:
        """Return starts and ends of a column, and the lines that have it, ``(n,)`` each."""
        if place is None:
            return self.starts, self.ends, np.ones(len(self), dtype=bool)
        index = np.full(len(self), place) if place >= 0 else self.columns + place
        there = (index >= 0) & (index < self.columns)
        starts, ends = self.starts.copy(), self.ends.copy()
        later = np.flatnonzero(there & (index > 0))
        starts[later] = self._tabs[self._before[later] + index[later] - 1] + 1
        sooner = np.flatnonzero(there & (index < self.columns - 1))
        ends[sooner] = self._tabs[self._before[sooner] + index[sooner]]
        return starts, ends, there

    def _unclear(self) -> Mask:
        """Return the lines that may be bad rows, ``(n,)``; none where everything is plain."""
        unclear = np.full(len(self), not self._parser.blank)  # else looked at one by one
        for place in self._parser.places:
            unclear |= ~self._bounds(place)[2]
        places = [*self._undecodable()]
        if b"\0" in self.data:
            places += np.flatnonzero(self._codes == 0).tolist()
        unclear[np.searchsorted(self.stops, places, side="right")] = True
        return unclear

    def _undecodable(self) -> Iterator[int]:
        """Yield a place in each line that is not UTF-8."""
        start, view = 0, memoryview(self.data)
        while start < len(self.data):
            try:
                str(view[start:], "utf-8")
            except UnicodeDecodeError as error:
                start += error.start
                yield start
                start = int(self.stops[np.searchsorted(self.stops, start, side="right")])
            else:
                return


_MOST_SHOWN = 40
_MISSING = "nan"


@dataclass(frozen=True)
class NumberColumns(Columns):
    """Columns of numbers, perhaps after one of labels. An empty number, or NaN, is missing."""

    blank: bool = True
    numbers: tuple[int | str, ...] = ()
    label: int | str | None = None

    def wanted(self) -> tuple[WantedColumn, ...]:
        """Return the columns, that of the labels first."""
        label = () if self.label is None else (WantedColumn("label", "--labels", self.label),)
        return (*label, *(WantedColumn(f"{at} score", "--column", at) for at in self.numbers))

    def fault(self, row: Row) -> tuple[str, str] | None:
        """Return the fault of a row and its remedy, or None."""
        for wanted, text in zip(self.wanted(), row.texts, strict=True):
            if wanted.name == "label" and self.label is not None:
                if is_blank(text):
                    return "the label is empty", REMEDY
            elif not is_blank(text) and text.strip().lower() != _MISSING and isnan(_number(text)):
                reason = f"{text[:_MOST_SHOWN]!r} in column {wanted.where} is not a finite number"
                return reason, f"an empty field says that it is missing; {REMEDY}"
        return None

    def values(self, rows: Sequence[Row]) -> Floats:
        """Return the numbers of ``n`` rows without a fault, ``(n, m)``; NaN for a missing one."""
        count = len(self.numbers)
        found = [list(map(_number, row.texts[-count:])) for row in rows]
        return np.array(found, np.float64).reshape(len(rows), count)


def _number(text: str) -> float:
    """Return a finite number, or NaN."""
    number = number_of(text.encode())
    return nan if isinf(number) else number
