"""The pipeline: many rules over windows of rows, what each drops, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.errors import SettingsError
from bitextfilter.filters.pairs import Pairs
from bitextfilter.filters.rule import Rule
from bitextfilter.io.rows import BadRow, RawLines, Row, RowParser, number_of, reject_line

KEEP = "keep"
"""The verdict of a pair that passes every rule."""

_SEPARATOR = "; "
_CLEANED = str.maketrans("\t\n\r", "   ")


@dataclass
class Tally:
    """What became of pairs so far; tallies add up."""

    kept: int = 0
    words: NDArray[np.int64] = field(default_factory=lambda: np.zeros(2, dtype=np.int64))
    """Source and target words of all pairs, shape ``(2,)``."""
    kept_words: NDArray[np.int64] = field(default_factory=lambda: np.zeros(2, dtype=np.int64))
    """Source and target words of the pairs kept, shape ``(2,)``."""
    dropped: dict[str, int] = field(default_factory=dict)
    """How many pairs each rule drops, alone or with others."""
    unique: dict[str, int] = field(default_factory=dict)
    """How many pairs each rule drops that no other rule does."""

    def to_json(self) -> dict[str, Any]:
        """Return what ``from_json`` makes the same tally of."""
        words = {"words": self.words.tolist(), "kept_words": self.kept_words.tolist()}
        return {**vars(self), **words}

    @classmethod
    def from_json(cls, values: Any) -> Tally:
        """Return the tally that ``to_json`` was called on."""
        words = {name: np.array(values[name], dtype=np.int64) for name in ("words", "kept_words")}
        return cls(**{**values, **words})

    def add(self, other: Tally) -> None:
        """Add the counts of *other*."""
        self.kept += other.kept
        self.words = self.words + other.words
        self.kept_words = self.kept_words + other.kept_words
        for mine, more in ((self.dropped, other.dropped), (self.unique, other.unique)):
            for name, count in more.items():
                mine[name] = mine.get(name, 0) + count


@dataclass(frozen=True)
class _Judged:
    """The verdict on a batch of n pairs."""

    keep: NDArray[np.bool_]
    """Which pairs pass every rule, shape ``(n,)``."""
    verdict: Callable[[int], str]
    """Of the pair at an index: ``keep``, or the reasons of every rule it fails."""
    tally: Tally


class Pipeline:
    """Rules, cheapest first.

    Each pair is judged by every rule, so that each rule's total does not hang on the others. If
    *fast*, what rules of one cost drop is not judged by dearer ones: the same pairs are kept, but
    reasons, totals and unique drops tell only of the rules that saw a pair.
    """

    def __init__(self, rules: Sequence[Rule], fast: bool = False) -> None:
        """Apply *rules*. Raises SettingsError if one is given twice."""
        for place, rule in enumerate(rules):
            if rule in rules[:place]:
                raise SettingsError(f"rule {rule.name!r} is given twice")
        self.rules = sorted(rules, key=lambda rule: rule.cost)
        self.labels = _labels(self.rules)
        self._stages = [list(group) for _, group in groupby(self.rules, lambda rule: rule.cost)]
        if not fast:
            self._stages = [self.rules] if self.rules else []

    def judge(self, pairs: Pairs) -> _Judged:
        """Hold *pairs* against the rules."""
        count = len(pairs)
        fails = np.zeros((len(self.rules), count), dtype=bool)
        reasons: list[Callable[[int], str]] = []
        rest, row = np.arange(count), 0
        for stage in self._stages:
            some = pairs if len(rest) == count else pairs.at(rest)
            place = _inverse(rest, count)
            for rule in stage:
                keep, reason = rule.judge(some)
                fails[row, rest] = ~keep
                reasons.append(_through(place, reason))
                row += 1
            rest = np.flatnonzero(~fails.any(axis=0))

        def verdict(index: int) -> str:
            said = [reasons[place](index) for place in np.flatnonzero(fails[:, index])]
            whole = [reason.translate(_CLEANED).replace(_SEPARATOR, ", ") for reason in said]
            return _SEPARATOR.join(whole) if whole else KEEP

        kept: NDArray[np.bool_] = fails.sum(axis=0) == 0
        return _Judged(kept, verdict, self._tally(pairs, fails, kept))

    def _tally(self, pairs: Pairs, fails: NDArray[np.bool_], keep: NDArray[np.bool_]) -> Tally:
        words = np.stack([side.word_counts for side in pairs.sides], axis=1)
        alone = fails & (fails.sum(axis=0) == 1)
        return Tally(
            kept=int(keep.sum()),
            words=words.sum(axis=0),
            kept_words=words[keep].sum(axis=0),
            dropped=dict(zip(self.labels, fails.sum(axis=1).tolist(), strict=True)),
            unique=dict(zip(self.labels, alone.sum(axis=1).tolist(), strict=True)),
        )


def _labels(rules: Sequence[Rule]) -> list[str]:
    """Return a label for each rule: its name, numbered where there are several of it."""
    names = [rule.label for rule in rules]
    return [
        name if names.count(name) == 1 else f"{name}#{names[: place + 1].count(name)}"
        for place, name in enumerate(names)
    ]


def _inverse(rest: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return where in *rest* each index of ``range(count)`` stands."""
    place = np.zeros(count, dtype=np.int64)
    place[rest] = np.arange(len(rest))
    return place


def _through(place: NDArray[np.int64], reason: Callable[[int], str]) -> Callable[[int], str]:
    return lambda index: reason(int(place[index]))


class _Outcome(NamedTuple):
    """What became of a window of lines."""

    rows: int
    rejected: int
    tally: Tally
    output: bytes
    """The lines that go on, as they came; or all of them with their verdicts."""
    rejects: bytes
    """A ``reject_line`` for each of the others, if they are wanted."""
    bad: BadRow | None
    """The first bad row."""


@dataclass(frozen=True)
class LineJudge:
    """Applies a pipeline to windows of lines; it can be sent to another process."""

    parser: RowParser
    pipeline: Pipeline
    languages: tuple[str, str] | None
    places: Mapping[str, int]
    """Where the columns are that rules read, by the name that the rules have for them."""
    explain: bool = False
    """Write every line, with its verdict as one more column."""
    reject: bool = False
    """Go on after a bad row."""
    keep_rejects: bool = False
    """Return what is dropped or rejected, too."""

    def __call__(self, lines: RawLines) -> _Outcome:
        """Judge a window."""
        rows = lines.rows(self.parser)
        good = [row for row in rows if isinstance(row, Row)]
        bad = next((row for row in rows if isinstance(row, BadRow)), None)
        if bad is not None and not self.reject:
            return _Outcome(len(rows), 1, Tally(), b"", b"", bad)
        judged = self.pipeline.judge(self._pairs(good))
        output, rejects = self._written(rows, judged)
        return _Outcome(len(rows), len(rows) - len(good), judged.tally, output, rejects, bad)

    def _pairs(self, rows: Sequence[Row]) -> Pairs:
        def column(name: str) -> NDArray[np.float64]:
            place = self.places[name]
            return np.array([_number(row.line, place) for row in rows], dtype=np.float64)

        sources, targets = [row.texts[0] for row in rows], [row.texts[1] for row in rows]
        return Pairs(sources, targets, self.languages, column)

    def _written(self, rows: Sequence[Row | BadRow], judged: _Judged) -> tuple[bytes, bytes]:
        output: list[bytes] = []
        rejects: list[bytes] = []
        keep = iter(enumerate(judged.keep.tolist()))
        for row in rows:
            if isinstance(row, BadRow):
                index, kept = None, False
            else:
                index, kept = next(keep)
            if kept and not self.explain:
                output += (row.line, row.ending)
                continue
            if not (self.explain or self.keep_rejects):
                continue
            said = row.reason if isinstance(row, BadRow) else judged.verdict(index or 0)
            if self.explain:
                output += (row.line, b"\t", said.encode(), row.ending)
            if self.keep_rejects and not kept:
                rejects.append(reject_line(row.number, said, row.line))
        return b"".join(output), b"".join(rejects)


def _number(line: bytes, place: int) -> float:
    """Return the number in a column of *line*, NaN if there is none."""
    fields = line.split(b"\t")
    return number_of(fields[place]) if -len(fields) <= place < len(fields) else np.nan
