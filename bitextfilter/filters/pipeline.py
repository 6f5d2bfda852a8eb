"""The pipeline: rules applied to windows of rows, with counts and reasons."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Indices, Mask
from bitextfilter.errors import SettingsError, printable
from bitextfilter.filters.facts import FactReader, is_compiled
from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.rule import LanguagePair, Rule, SlowRuleError, sides_of
from bitextfilter.io.columns import LineFields
from bitextfilter.io.rows import BadRow, RawLines, RowParser, reject_line

PASSED = "keep"
"""Verdict on a pair that passes every rule."""

_DIGITS = 6
"""Significant digits of a value that is written."""
_SEPARATOR = "; "
_SAMPLE = 256
"""Pairs of the first batch that are checked before it, to learn which facts the rules ask for."""
_CLEANED = str.maketrans("\t\n\r", "   ")


@dataclass
class Tally:
    """Counts of filtered pairs, in JSON's types; tallies add up."""

    kept: int = 0
    words: list[int] = field(default_factory=lambda: [0, 0])
    """Words of all pairs, of each side."""
    kept_words: list[int] = field(default_factory=lambda: [0, 0])
    """Words of the pairs kept, of each side."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Pairs that each rule drops, alone or with others."""
    unique: Counter[str] = field(default_factory=Counter)
    """Pairs that each rule drops and no other rule does."""

    @classmethod
    def of_sides(cls, sides: int) -> Tally:
        """Return a tally of no pairs, with this number of sides."""
        return cls(words=[0] * sides, kept_words=[0] * sides)

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
    values: list[NDArray[Any]]
    """Values of each rule, as ``RuleResult`` has them; with *fast*, of the pairs that it saw."""


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
        self._reader = FactReader()
        self._has_read = False

    def check(self, pairs: Pairs, valued: bool = True) -> _Checked:
        """Apply the rules to *pairs*; not *valued*, in less time and without values."""
        for side in pairs.sides:
            side.reader = self._reader
        if not self._has_read and len(pairs) > _SAMPLE and is_compiled():
            self._has_read = True
            with suppress(SlowRuleError):  # it comes again
                self.check(pairs.at(np.arange(_SAMPLE)), valued)
        return self._checked(pairs, valued)

    def _checked(self, pairs: Pairs, valued: bool) -> _Checked:
        count = len(pairs)
        fails = np.zeros((len(self.rules), count), dtype=bool)
        reasons: list[tuple[Indices, Callable[[int], str]]] = []
        values: list[NDArray[Any]] = []
        rest = np.arange(count)
        for stage in self._stages:
            group = pairs if len(rest) == count else pairs.at(rest)
            for rule in stage:
                try:
                    keep, reason, numbers = (rule.check if valued else rule.decide)(group)
                except SlowRuleError as slow:
                    slow.index = int(rest[slow.index])
                    raise
                fails[len(reasons), rest] = ~keep  # rules come in their order
                reasons.append((rest, reason))
                values.append(numbers)
            rest = np.flatnonzero(~fails.any(axis=0))

        def verdict(index: int) -> str:
            failed = [reasons[row] for row in np.flatnonzero(fails[:, index])]
            # A rule numbers the pairs that it has seen.
            texts = [reason(int(np.searchsorted(seen, index))) for seen, reason in failed]
            whole = [text.translate(_CLEANED).replace(_SEPARATOR, ", ") for text in texts]
            return _SEPARATOR.join(whole) if whole else PASSED

        passed: Mask = np.logical_not(fails.any(axis=0))
        return _Checked(passed, verdict, self._tally(pairs, passed, fails), values)

    def value_names(self, languages: LanguagePair) -> list[str]:
        """Return the names of the ``value_columns`` of these sides."""
        empty = Pairs([], [] if sides_of(languages) > 1 else None, languages)
        names = []
        for label, rule in zip(self.labels, self.rules, strict=True):
            if not rule.in_row:
                apart = rule.check(empty).values.ndim > 1
                sides = empty.side_names if apart else ("",)
                names += [f"{label}.{side}" if side else label for side in sides]
        return names

    def value_columns(self, checked: _Checked) -> list[list[str]]:
        """Return the values as text, in columns, but for rules whose value is in the row."""
        shown = [v for v, rule in zip(checked.values, self.rules, strict=True) if not rule.in_row]
        columns = (v.T if v.ndim > 1 else [v] for v in shown)
        return [list(map(_cell, column.tolist())) for some in columns for column in some]

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


def _cell(value: float) -> str:
    """Return a value as text: nothing for NaN, and zero without a minus."""
    if isinstance(value, int):
        return str(value)
    return "" if value != value else f"{value + 0.0:.{_DIGITS}g}"


class FilteredLines(NamedTuple):
    """Result of filtering a window of lines."""

    rows: int
    rejected: int
    tally: Tally
    output: bytes
    """The lines kept, as they came; or all lines with their values and verdicts."""
    rejects: bytes
    """A ``reject_line`` for each other line, if they are asked for."""
    bad: BadRow | None
    """The first bad row."""
    stopped: bool = False
    """Whether the run ends at that row, even if bad rows are rejected."""
    values: Sequence[NDArray[Any]] = ()
    """The values of each rule, if they are asked for."""


@dataclass(frozen=True)
class LineFilter:
    """Applies a pipeline to windows of lines; can be sent to another process."""

    parser: RowParser
    pipeline: Pipeline
    languages: LanguagePair
    """Codes of the sides; a single one is that of texts, which are the first text of each row."""
    places: Mapping[str, int]
    """Indices of the columns that rules read, by their names in the rules."""
    explain: bool = False
    """Write every line, with its verdict as one more column."""
    emit: bool = False
    """Write every line, with its values as more columns, before the verdict."""
    width: int | None = None
    """Number of columns that a row must have to be good, if any number will not do."""
    measure: bool = False
    """Return the values, and drop no row."""
    reject: bool = False
    """Continue after a bad row."""
    keep_rejects: bool = False
    """Return the lines dropped or rejected, too."""

    def __call__(self, window: RawLines) -> FilteredLines:
        """Filter a window."""
        lines = LineFields(window, self.parser)
        if self.width is not None:
            for index in np.flatnonzero(lines.columns != self.width).tolist():
                count = int(lines.columns[index])
                columns = "1 column" if count == 1 else f"{count} columns"
                lines.refuse(index, f"{columns}, but the header has {self.width}")
        bad = lines.first_bad()
        if bad is not None and not self.reject:
            return FilteredLines(len(lines), 1, Tally(), b"", b"", bad)
        good = lines.good()
        try:
            checked = self.pipeline.check(self._pairs(lines, good), self.emit or self.measure)
        except SlowRuleError as slow:
            index = int(good[slow.index])
            bad = lines.refused(index, slow.message, slow.remedy or "")
            return FilteredLines(len(lines), 1, Tally(), b"", b"", bad, stopped=True)
        output, rejects = self._written(lines, good, checked)
        values = checked.values if self.measure else ()
        found = len(lines), len(lines.bad), checked.tally, output, rejects, bad
        return FilteredLines(*found, values=values)

    def _pairs(self, lines: LineFields, good: Indices) -> Pairs:
        def column(name: str) -> Floats:
            """Read the numbers of a column, for the rules that need it."""
            return lines.numbers(self.places[name], good)

        places = self.parser.places or (None,)
        texts = [lines.texts(place, good) for place in places[: sides_of(self.languages)]]
        return Pairs(texts[0], texts[1] if len(texts) > 1 else None, self.languages, column)

    def _written(self, lines: LineFields, good: Indices, checked: _Checked) -> tuple[bytes, bytes]:
        """Return the output and the rejects."""
        keep = np.zeros(len(lines), dtype=bool)
        keep[good] = checked.keep
        place = np.searchsorted(good, np.arange(len(lines)))  # among the good ones

        @functools.cache
        def verdict(index: int) -> str:
            bad = lines.bad.get(index)
            return checked.verdict(int(place[index])) if bad is None else bad.reason

        rejected: list[int] = []
        if self.keep_rejects:
            rejected = sorted(lines.bad) if self.measure else np.flatnonzero(~keep).tolist()
        first = lines.first
        rejects = [reject_line(first + i, verdict(i), lines.line(i)) for i in rejected]
        output = b""
        if self.explain or self.emit:
            output = self._everything(lines, place.tolist(), checked, verdict)
        elif not self.measure:
            output = lines.kept(keep)
        return output, b"".join(rejects)

    def _everything(
        self,
        lines: LineFields,
        place: Sequence[int],
        checked: _Checked,
        verdict: Callable[[int], str],
    ) -> bytes:
        """Return all lines, with their values and verdicts; *place* is theirs among the good."""
        columns = self.pipeline.value_columns(checked) if self.emit else []
        cells, blank = list(zip(*columns, strict=True)), [""] * len(columns)
        output: list[bytes] = []
        for index, at in enumerate(place):
            added = blank if index in lines.bad or not self.emit else cells[at]
            text = "\t".join([*added, *([printable(verdict(index))] if self.explain else [])])
            output += (lines.line(index), b"\t", text.encode(), lines.ending(index))
        return b"".join(output)
