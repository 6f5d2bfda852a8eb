"""Scores of pairs by any program: a pair a line in, a number a line out.

The program is asked ahead of its answers, which may come late and many at once; the rows wait in
``WaitingRows``: some in memory, the others in a temporary file. With a cache, only pairs that are
not in it are asked, each once a window.
"""

from __future__ import annotations

import hashlib
import io
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bitextfilter.arrays import Indices, Scores
from bitextfilter.io.files import in_utf_8
from bitextfilter.io.programs import PoolSettings, ProgramError, ProgramPool, question_line
from bitextfilter.io.rows import BadRow, RawLines, Row, RowParser, number_of
from bitextfilter.io.spill import Scratch
from bitextfilter.scoring.cached_scores import Cache, pair_keys
from bitextfilter.scoring.model import distinct

Window = list[Row | BadRow]

MOST_BYTES = 1 << 26
"""Memory of the windows that wait in it, about."""

_ROW_BYTES = 400
"""What a row takes beside its text, about."""


class _Place(NamedTuple):
    """A window on the disk."""

    first: int
    """The number of its first row."""
    start: int
    size: int


class WaitingRows(AbstractContextManager["WaitingRows"]):
    """Windows of consecutive rows, kept by number until they are taken."""

    def __init__(self, parser: RowParser, most_bytes: int = MOST_BYTES) -> None:
        """Keep windows of a reader with this *parser*; beyond *most_bytes*, on the disk."""
        self._parser, self._most = parser, most_bytes
        self._held = 0
        self._windows: dict[int, Window] = {}
        self._places: dict[int, _Place] = {}
        self._read: deque[tuple[int, Window]] = deque(maxlen=2)
        """The windows on the disk that were used last: one is asked, another is answered."""
        self._scratch: Scratch | None = None
        self._next = 0

    def __exit__(self, *_: object) -> None:
        self._clear()

    def add(self, window: Window) -> int:
        """Keep a window; return its number. Raises OutputError if the disk is full."""
        number, self._next = self._next, self._next + 1
        size = _memory(window)
        if self._held + size <= self._most:
            self._held += size
            self._windows[number] = window
            return number
        self._scratch = self._scratch or Scratch()
        data = b"".join(row.line + row.ending for row in window)
        self._places[number] = _Place(window[0].number, self._scratch.size, len(data))
        self._scratch.write(data)
        self._read.append((number, window))
        return number

    def get(self, number: int) -> Window:
        """Return a window."""
        if number in self._windows:
            return self._windows[number]
        for read, window in self._read:
            if read == number:
                return window
        first, start, size = self._places[number]
        assert self._scratch is not None, "a place is one in the file"
        data = self._scratch.read(start, size)
        window = RawLines(first, io.BytesIO(data).readlines()).rows(self._parser)
        self._read.append((number, window))
        return window

    def take(self, number: int) -> Window:
        """Return a window that is not needed any more."""
        window = self.get(number)
        if number in self._windows:
            self._held -= _memory(self._windows.pop(number))
        else:
            del self._places[number]
        if not self._places:
            self._clear()
        return window

    def _clear(self) -> None:
        """Remove the temporary file."""
        self._read.clear()
        if self._scratch is not None:
            self._scratch.__exit__()
        self._scratch = None


def _memory(window: Window) -> int:
    return sum(_ROW_BYTES + 2 * len(row.line) for row in window)


ASKED = "asked"
"""Name of the count of pairs that the program was asked."""

BLOCK = 64
"""Rows given to a process at once."""

_REMEDY = "print one for each line, and nothing else; --on-error reject leaves its score empty"


class ScoredWindow:
    """A window of rows whose answers come.

    ``scores`` has one of each good row, as far as it is known, and ``same`` the place of the equal
    row that is asked in its place.
    """

    def __init__(self, number: int, scores: Scores, same: Indices, asked: Indices) -> None:
        """Ask the good rows at the places *asked*."""
        self.number, self.scores, self._same, self.asked = number, scores, same, asked
        self.faults: dict[int, str] = {}
        """The reasons of answers that are no score, by the place of the row."""
        self.answered = 0

    @property
    def whole(self) -> bool:
        """Whether each answer has come."""
        return self.answered == len(self.asked)

    def take(self, answers: Sequence[bytes]) -> Indices:
        """Take the next answers; return the places of those that are scores."""
        places = self.asked[self.answered : self.answered + len(answers)]
        self.answered += len(answers)
        good = []
        for place, answer in zip(places.tolist(), answers, strict=True):
            value = number_of(answer)
            if abs(value) <= _LARGEST:
                self.scores[place] = value
                good.append(place)
            else:
                shown = answer.decode("utf-8", "replace").strip()[:80]
                self.faults[place] = f"the scorer's answer {shown!r} is not a finite number"
        return np.array(good, dtype=np.intp)

    def finish(self, window: Window, parser: RowParser) -> tuple[Window, Scores]:
        """Return the rows, those with a fault as bad ones, and the scores of the good ones."""
        if not self.faults:
            return window, self.scores[self._same]
        rows: Window = []
        kept, places = [], iter(self._same.tolist())
        for row in window:
            if isinstance(row, BadRow):
                rows.append(row)
            elif reason := self.faults.get(place := next(places)):
                rows.append(parser.refused(row, reason, _REMEDY))
            else:
                rows.append(row)
                kept.append(place)
        return rows, self.scores[kept]


_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class _Block:
    """Rows of a window that a process is asked at once."""

    scores: CommandScores
    window: ScoredWindow
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    def lines(self) -> list[bytes]:
        """Return the lines of the rows."""
        places = self.window.asked[self.start : self.stop]
        return [question_line(*pair) for pair in self.scores.pairs(self.window, places)]


class CommandScores(AbstractContextManager["CommandScores"]):
    """Scores of a stream of windows by a program, which ends when the context is left."""

    def __init__(
        self,
        settings: PoolSettings,
        parser: RowParser,
        counts: Counter[str],
        cache: Cache | None = None,
        *,
        patient: bool = True,
    ) -> None:
        """Score rows of *parser*; ``counts[ASKED]`` counts the pairs that were asked.

        Unless *patient*, a window is yielded at its first bad row, for the caller to stop there.
        """
        self._digest = hashlib.blake2b(in_utf_8(settings.command), digest_size=32).digest()
        self._parser, self._counts, self._cache = parser, counts, cache
        self._patient = patient
        self._waiting = WaitingRows(parser)
        self._open: deque[ScoredWindow] = deque()
        self._good: tuple[int, list[Row]] = (-1, [])
        self._pool = ProgramPool(settings)
        self._counts.update({ASKED: 0})

    def __exit__(self, *_: object) -> None:
        self._pool.__exit__()
        self._waiting.__exit__()

    def scored(self, windows: Iterable[Window]) -> Iterator[tuple[Window, Scores]]:
        """Yield the windows with the scores of their good rows, float32 ``(n,)``, as they come.

        A row whose answer is no finite number becomes a bad one. Raises ProgramError of the pool,
        whose first open row ``row_of`` tells.
        """
        try:
            for block, answers in self._pool.answers(self._blocks(windows)):
                assert isinstance(block, _Block)
                self._take(block.window, answers)
                while self._open and self._is_due(self._open[0]):
                    window = self._open.popleft()
                    yield window.finish(self._waiting.take(window.number), self._parser)
        finally:
            if self._pool.restarts:
                self._counts["restarts"] += self._pool.restarts

    def _is_due(self, window: ScoredWindow) -> bool:
        return window.whole or (bool(window.faults) and not self._patient)

    def row_of(self, error: ProgramError) -> Row | None:
        """Return the first row that a failed process has not answered, if it is known."""
        if not isinstance(error.block, _Block):
            return None
        place: int = error.block.window.asked[error.block.start + error.place]
        return self._rows(error.block.window)[place]

    def pairs(self, window: ScoredWindow, places: Indices) -> list[tuple[str, str]]:
        """Return the pairs of good rows of a window that waits."""
        rows = self._rows(window)
        return [(rows[place].source, rows[place].target) for place in places.tolist()]

    def _rows(self, window: ScoredWindow) -> list[Row]:
        if self._good[0] != window.number:
            self._good = window.number, _good(self._waiting.get(window.number))
        return self._good[1]

    def _blocks(self, windows: Iterable[Window]) -> Iterator[_Block]:
        """Yield the blocks of each window, as they are to be asked; an empty one for none."""
        for rows in windows:
            window = self._looked_up(rows)
            self._open.append(window)
            self._counts[ASKED] += len(window.asked)
            for start in range(0, max(1, len(window.asked)), BLOCK):
                yield _Block(self, window, start, min(start + BLOCK, len(window.asked)))

    def _looked_up(self, rows: Window) -> ScoredWindow:
        """Let a window wait, with the scores of the cache."""
        number, good = self._waiting.add(rows), _good(rows)
        scores, same = np.zeros(len(good), np.float32), np.arange(len(good))
        if self._cache is None:
            return ScoredWindow(number, scores, same, same)
        pairs, places = distinct([(row.source, row.target) for row in good])
        _, first = np.unique(places, return_index=True)
        same = first[places]
        scores[first], known = self._cache.get(pair_keys(self._digest, pairs))
        return ScoredWindow(number, scores, same, first[~known])

    def _take(self, window: ScoredWindow, answers: Sequence[bytes]) -> None:
        """Take the next answers of a window, and keep them in the cache."""
        places = window.take(answers)
        if self._cache is not None and len(places):
            keys = pair_keys(self._digest, self.pairs(window, places))
            self._cache.put(keys, window.scores[places])


def _good(window: Window) -> list[Row]:
    return [row for row in window if isinstance(row, Row)]
