"""The first steps of cleaning, window by window: rows parsed, repaired, and held against rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bitextfilter.corpus.repair import Repairer
from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.pipeline import Pipeline
from bitextfilter.filters.rule import LanguagePair, SlowRuleError
from bitextfilter.io.rows import BadRow, RawLines, Row, RowParser, with_texts


class Texts(NamedTuple):
    """A row that no step has dropped so far."""

    number: int
    """Of its line."""
    line: bytes
    """With its repairs, without its ending."""
    ending: bytes
    source: str
    target: str
    raw: bytes
    """The line as it was read, without its ending."""


class Dropped(NamedTuple):
    """A row that a step drops."""

    number: int
    step: str
    """One of ``cleaner.STEPS``."""
    reason: str
    line: bytes
    """As it was read, without its ending."""
    source: str = ""
    target: str = ""
    score: float = float("nan")


@dataclass
class Window:
    """Consecutive rows: those left, those dropped, and the bad ones."""

    left: list[Texts]
    dropped: list[Dropped]
    bad: list[BadRow]
    counts: Counter[str]
    """``rows``, ``repaired``, and the rows that each rule drops as ``rule NAME``."""


@dataclass(frozen=True)
class Preparer:
    """Repairs windows of lines, and applies rules to them; can be sent to another process."""

    parser: RowParser
    repairers: Sequence[Repairer]
    """Of both sides."""
    pipeline: Pipeline
    languages: LanguagePair

    def __call__(self, lines: RawLines) -> Window:
        """Prepare a window. Raises InputError for a row that a rule takes too long for."""
        parsed = lines.rows(self.parser)
        bad = [row for row in parsed if isinstance(row, BadRow)]
        counts = Counter(rows=len(parsed), repaired=0)
        good = [row for row in parsed if isinstance(row, Row)]
        rows = [self._repaired(row, counts) for row in good]
        pairs = Pairs([row.source for row in rows], [row.target for row in rows], self.languages)
        try:
            checked = self.pipeline.check(pairs, valued=False)
        except SlowRuleError as slow:
            row = good[slow.index]
            raise self.parser.refused(row, slow.message, slow.remedy or "").error() from None
        keep = checked.keep.tolist()
        dropped = [
            Dropped(row.number, "rules", checked.verdict(place), row.raw, row.source, row.target)
            for place, row in enumerate(rows)
            if not keep[place]
        ]
        counts.update({f"rule {name}": count for name, count in checked.tally.dropped.items()})
        left = [row for row, stays in zip(rows, keep, strict=True) if stays]
        return Window(left, dropped, bad, counts)

    def _repaired(self, row: Row, counts: Counter[str]) -> Texts:
        source, target = row.texts[:2]
        each = [repair(text) for repair, text in zip(self.repairers, (source, target), strict=True)]
        if any(done for _, done in each):
            counts["repaired"] += 1
            source, target = (text for text, _ in each)
            line = with_texts(row.line, self.parser.places, (source, target))
            return Texts(row.number, line, row.ending, source, target, row.line)
        return Texts(row.number, row.line, row.ending, source, target, row.line)
