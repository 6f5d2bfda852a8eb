"""All steps of cleaning: windows of lines in, rows kept and dropped out.

The rows are those that the pipe bitext-fix, bitext-filter, bitext-dedup, bitext-score and
bitext-rank keeps, in the order of the input.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

from bitextfilter.arrays import Scores
from bitextfilter.cleaning.rows import Dropped, Texts, Window
from bitextfilter.corpus.dedup import Decisions, Deduplicator
from bitextfilter.corpus.other_texts import OtherTexts
from bitextfilter.io.files import without_ending
from bitextfilter.io.rows import BadRow, Row, RowParser
from bitextfilter.io.spill import Records

STEPS = ("rules", "other files", "duplicates", "score")
"""The steps that drop rows, in their order."""

_READ = 1024
"""Rows that waited, and are read together."""

Score = Callable[[Sequence[str], Sequence[str]], Scores]
"""Returns the scores of pairs, by sources and targets: ``(n,)``."""


class Kept(NamedTuple):
    """A row that all steps keep."""

    row: Texts
    score: str
    """As it is written."""


@dataclass
class Cleaned:
    """The rows of a window, in order, once all is known about them."""

    kept: list[Kept]
    dropped: list[Dropped]
    bad: list[BadRow]
    counts: Counter[str]
    """Of the window's first steps: see ``Window``; and the rows that each of ``STEPS`` drops."""


@dataclass(frozen=True)
class Cut:
    """The lowest score of a row that is kept."""

    measure: str
    least: float
    digits: int = 4
    """Decimals of scores; the rounded score is compared."""

    def reason(self, score: str) -> str:
        """Return why a row with this score is dropped."""
        return f"{self.measure} {score} < {self.least:g}"


class Cleaner(AbstractContextManager["Cleaner"]):
    """Drops duplicates of rows, and rows that score low. A context: it has temporary files."""

    def __init__(
        self,
        duplicates: tuple[Deduplicator | None, OtherTexts | None],
        score: Score,
        cut: Cut,
        parser: RowParser,
        aside: bool = False,
    ) -> None:
        """Take the steps.

        Args:
            duplicates: the first finds them, and the texts of the second; None keeps them. The
                second has texts of other files, whose rows are dropped.
            score: of pairs.
            cut: of the scores.
            parser: of the rows, for those that wait on the disk.
            aside: rows are scored in a thread while the next ones are read.
        """
        self._aside = aside
        self._deduplicator, self._others = duplicates
        self._score = score
        self._cut, self._parser = cut, parser

    def __exit__(self, *_: object) -> None:
        if self._deduplicator is not None:
            self._deduplicator.close()

    def cleaned(self, windows: Iterable[Window], records: Records) -> Iterator[Cleaned]:
        """Yield the windows, cleaned; rows wait in *records* once the duplicates need it."""
        parts = self._parts(windows, records)
        if not self._aside:
            yield from (self._scored(*part) for part in parts)
            return
        with ThreadPoolExecutor(1) as thread:
            ahead: Future[Cleaned] | None = None
            for part in parts:
                done, ahead = ahead, thread.submit(self._scored, *part)
                if done is not None:
                    yield done.result()
            if ahead is not None:
                yield ahead.result()

    def _parts(
        self, windows: Iterable[Window], records: Records
    ) -> Iterator[tuple[Window, dict[int, int]]]:
        """Yield windows, with the line that each row duplicates."""
        found: list[int] | None = []
        for window in windows:
            if window.left:
                found = self._found(window.left)
            if found is None:
                records.extend([_record(row) for row in window.left])
                window = replace(window, left=[])
            yield window, dict(zip(_numbers(window.left), found or [], strict=False))
        if found is None and self._deduplicator is not None:
            decisions = Decisions(self._deduplicator)
            for rows in self._waiting(records):
                window = Window(rows, [], [], Counter())
                yield window, decisions.up_to(rows[-1].number)

    def _found(self, rows: Sequence[Texts]) -> list[int] | None:
        """Return the line that each row duplicates, 0 for none; None: rows wait from now on."""
        texts = [(row.source, row.target) for row in rows]
        if self._deduplicator is not None:
            return self._deduplicator.add(_numbers(rows), texts)
        if self._others is None:
            return []
        found: list[int] = (-self._others.find(texts)).tolist()
        return found

    def _waiting(self, records: Records) -> Iterator[list[Texts]]:
        """Yield the rows that waited, some at a time."""
        lines = records.lines()
        while some := list(islice(lines, _READ)):
            rows = []
            for line in some:
                number, size, both = line.split(b"\t", 2)
                repaired, rest = both[: int(size)], both[int(size) :]
                row = self._parser.row(int(number), repaired)
                raw = without_ending(rest)
                assert isinstance(row, Row), "it was good before"
                source, target = row.texts[:2]
                ending = rest[len(raw) :]
                rows.append(Texts(row.number, repaired, ending, source, target, raw))
            yield rows

    def _scored(self, window: Window, keepers: Mapping[int, int]) -> Cleaned:
        """Score the rows that duplicate no other, and cut them."""
        dropped = [*window.dropped, *self._duplicates(window.left, keepers)]
        rows = [row for row in window.left if not keepers.get(row.number, 0)]
        scores = self._score([row.source for row in rows], [row.target for row in rows]).tolist()
        kept = []
        for row, score in zip(rows, scores, strict=True):
            text = f"{score:.{self._cut.digits}f}"
            if float(text) >= self._cut.least:
                kept.append(Kept(row, text))
            else:
                reason = self._cut.reason(text)
                texts = row.raw, row.source, row.target, float(text)
                dropped.append(Dropped(row.number, "score", reason, *texts))
        dropped.sort(key=lambda row: row.number)
        counts = window.counts + Counter(row.step for row in dropped)
        return Cleaned(kept, dropped, window.bad, counts)

    def _duplicates(self, rows: Sequence[Texts], keepers: Mapping[int, int]) -> Iterator[Dropped]:
        for row in rows:
            if keeper := keepers.get(row.number, 0):
                step, reason = "duplicates", f"duplicate of line {keeper}"
                if keeper < 0 and self._others is not None:
                    step, reason = "other files", self._others.reason(-keeper)
                yield Dropped(row.number, step, reason, row.raw, row.source, row.target)


def _numbers(rows: Sequence[Texts]) -> list[int]:
    return [row.number for row in rows]


def _record(row: Texts) -> bytes:
    """Return a row as it waits on the disk: numbers, the line repaired, the line as it was."""
    ending = row.ending or b"\n"
    return b"%d\t%d\t%b%b%b" % (row.number, len(row.line), row.line, row.raw, ending)
