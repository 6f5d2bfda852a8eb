"""The pipeline: rules applied to windows of rows, with counts and reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

import numpy as np

from bitextfilter.arrays import Floats, Indices, Mask
from bitextfilter.errors import SettingsError, printable
from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.rule import Rule, SlowRuleError
from bitextfilter.io.rows import BadRow, RawLines, Row, RowParser, number_of, reject_line

PASSED = "keep"
"""Verdict on a pair that passes every rule."""

_SEPARATOR = "; "
_CLEANED = str.maketrans("\t\n\r", "   ")


@dataclass
class Tally:
    """Counts of filtered pairs, in JSON's types; tallies add up."""

    kept: int = 0
    words: list[int] = field(default_factory=lambda: [0, 0])
    """Source and target words of all pairs."""
    kept_words: list[int] = field(default_factory=lambda: [0, 0])
    """Source and target words of the pairs kept."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Pairs that each rule drops, alone or with others."""
    unique: Counter[str] = field(default_factory=Counter)
    """Pairs that each rule drops and no other rule does."""

    def add(self, other: Tally) -> None:
        """Add the counts of *other*."""
        self.kept += other.kept
        self.words = list(map(sum, zip(self.words, other.words, strict=True)))
        self.kept_words = list(map(sum, zip(self.kept_words, other.kept_words, strict=True)))
        self.dropped.update(other.dropped)
        self.unique.update(other.unique)


@dataclass(frozen=True)
class _Checked:
    """Result of the pipeline for a batch of n pairs."""

    keep: Mask
    """True for pairs that pass every rule, shape ``(n,)``."""
    verdict: Callable[[int], str]
    """Return ``keep`` for the pair at an index, or the reasons of every rule that it fails."""
    tally: Tally


class Pipeline:
    """Rules, the cheapest first.

    Every rule sees each pair, so that its counts do not depend on the others. If *fast*, a pair
    that a rule drops is not shown to rules of higher cost: the same pairs are kept, but reasons
    and counts are of the rules that saw a pair.
    """

    def __init__(self, rules: Sequence[Rule], fast: bool = False) -> None:
        """Take the *rules*. Raises SettingsError if one is given twice."""
        for place, rule in enumerate(rules):
            if rule in rules[:place]:
                raise SettingsError(f"rule {rule.name!r} is given twice")
        self.rules = sorted(rules, key=lambda rule: rule.cost)
        names = [rule.label for rule in self.rules]
        self.labels = [
            name if names.count(name) == 1 else f"{name}#{names[: place + 1].count(name)}"
            for place, name in enumerate(names)
        ]
        """The names of the rules, numbered where several rules share one."""
        self._stages = [list(group) for _, group in groupby(self.rules, lambda rule: rule.cost)]
        if not fast:
            self._stages = [self.rules] if self.rules else []

    def check(self, pairs: Pairs) -> _Checked:
        """Apply the rules to *pairs*."""
        count = len(pairs)
        fails = np.zeros((len(self.rules), count), dtype=bool)
        reasons: list[tuple[Indices, Callable[[int], str]]] = []
        rest = np.arange(count)
        for stage in self._stages:
            group = pairs if len(rest) == count else pairs.at(rest)
            for rule in stage:
                try:
                    keep, reason = rule.check(group)
                except SlowRuleError as slow:
                    slow.index = int(rest[slow.index])
                    raise
                fails[len(reasons), rest] = ~keep  # rules come in their order
                reasons.append((rest, reason))
            rest = np.flatnonzero(~fails.any(axis=0))

        def verdict(index: int) -> str:
            failed = [reasons[row] for row in np.flatnonzero(fails[:, index])]
            # A rule numbers the pairs that it has seen.
            texts = [reason(int(np.searchsorted(seen, index))) for seen, reason in failed]
            whole = [text.translate(_CLEANED).replace(_SEPARATOR, ", ") for text in texts]
            return _SEPARATOR.join(whole) if whole else PASSED

        passed: Mask = np.logical_not(fails.any(axis=0))
        return _Checked(passed, verdict, self._tally(pairs, passed, fails))

    def _tally(self, pairs: Pairs, keep: Mask, fails: Mask) -> Tally:
        words = np.stack([side.word_counts for side in pairs.sides], axis=1)
        alone = fails & (fails.sum(axis=0) == 1)
        return Tally(
            kept=int(keep.sum()),
            words=words.sum(axis=0).tolist(),
            kept_words=words[keep].sum(axis=0).tolist(),
            dropped=Counter(dict(zip(self.labels, fails.sum(axis=1).tolist(), strict=True))),
            unique=Counter(dict(zip(self.labels, alone.sum(axis=1).tolist(), strict=True))),
        )


class _FilteredLines(NamedTuple):
    """Result of filtering a window of lines."""

    rows: int
    rejected: int
    tally: Tally
    output: bytes
    """The lines kept, as they came; or all lines with their verdicts."""
    rejects: bytes
    """A ``reject_line`` for each other line, if they are asked for."""
    bad: BadRow | None
    """The first bad row."""
    stopped: bool = False
    """Whether the run ends at that row, even if bad rows are rejected."""


@dataclass(frozen=True)
class LineFilter:
    """Applies a pipeline to windows of lines; can be sent to another process."""

    parser: RowParser
    pipeline: Pipeline
    languages: tuple[str, str] | None
    places: Mapping[str, int]
    """Indices of the columns that rules read, by their names in the rules."""
    explain: bool = False
    """Write every line, with its verdict as one more column."""
    reject: bool = False
    """Continue after a bad row."""
    keep_rejects: bool = False
    """Return the lines dropped or rejected, too."""

    def __call__(self, lines: RawLines) -> _FilteredLines:
        """Filter a window."""
        rows = lines.rows(self.parser)
        good = [row for row in rows if isinstance(row, Row)]
        bad = next((row for row in rows if isinstance(row, BadRow)), None)
        if bad is not None and not self.reject:
            return _FilteredLines(len(rows), 1, Tally(), b"", b"", bad)
        try:
            checked = self.pipeline.check(self._pairs(good))
        except SlowRuleError as slow:
            bad = self.parser.refused(good[slow.index], slow.message, slow.remedy or "")
            return _FilteredLines(len(rows), 1, Tally(), b"", b"", bad, stopped=True)
        output, rejects = self._written(rows, checked)
        rejected = len(rows) - len(good)
        return _FilteredLines(len(rows), rejected, checked.tally, output, rejects, bad)

    def _pairs(self, rows: Sequence[Row]) -> Pairs:
        def column(name: str) -> Floats:
            """Read the numbers of a column, for the rules that need it."""
            place = self.places[name]
            fields = (row.line.split(b"\t") for row in rows)
            numbers = (number_of(f[place]) if -len(f) <= place < len(f) else np.nan for f in fields)
            return np.fromiter(numbers, dtype=np.float64, count=len(rows))

        sources, targets = [row.texts[0] for row in rows], [row.texts[1] for row in rows]
        return Pairs(sources, targets, self.languages, column)

    def _written(self, rows: Sequence[Row | BadRow], checked: _Checked) -> tuple[bytes, bytes]:
        """Return the output and the rejects."""
        output: list[bytes] = []
        rejects: list[bytes] = []
        keep = iter(enumerate(checked.keep.tolist()))
        for row in rows:
            index, kept = (0, False) if isinstance(row, BadRow) else next(keep)
            if kept and not self.explain:
                output += (row.line, row.ending)
                continue
            if not (self.explain or self.keep_rejects):
                continue
            verdict = row.reason if isinstance(row, BadRow) else checked.verdict(index)
            if self.explain:
                output += (row.line, b"\t", printable(verdict).encode(), row.ending)
            if self.keep_rejects and not kept:
                rejects.append(reject_line(row.number, verdict, row.line))
        return b"".join(output), b"".join(rejects)
