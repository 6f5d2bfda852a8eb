"""Scores of pairs by any program: a pair a line in, a number a line out.

The program is asked ahead of its answers, which may come late and many at once; the rows wait in
``WaitingRows``. With a cache, only pairs that are not in it are asked, each once a window.
"""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np

from bitextfilter.arrays import Indices, Scores
from bitextfilter.io.cache import Cache
from bitextfilter.io.files import in_utf_8
from bitextfilter.io.program_pool import PoolSettings, ProgramError, ProgramPool
from bitextfilter.io.programs import question_line
from bitextfilter.io.rows import BadRow, Row, RowParser, number_of
from bitextfilter.io.waiting_rows import WaitingRows, Window
from bitextfilter.scoring.cached_scores import pair_keys
from bitextfilter.scoring.model import distinct

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
