"""A stratified sample of a scored corpus, for a person or a program to label.

Each row belongs to one stratum: that of the first rule that drops it, ``disagreement`` (its ranks
by the scores differ most), ``near-cut`` (its rank is nearest to the cut), or its tenth of the
corpus by the first score. Rows of a stratum are drawn at random. A row drawn whose text is like
that of a row already taken from the stratum is passed over, and its share is added to that row's
weight; the weights of a stratum sum to its number of rows (Horvitz & Thompson 1952, with each
cluster of like rows labelled by the first drawn).
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Integers, Scores
from bitextfilter.judge.judgements import RULE
from bitextfilter.text.wording import IGNORABLE, normaliser

DISAGREEMENT, NEAR = "disagreement", "near-cut"

_PART = 5
"""A fifth of the sample is for rows of rules, and as much for disagreement."""

_POOL = 4
"""Disagreement and nearness are strata of at least this many times the rows drawn."""
_NEAR_PART, _APART_PART = 20, 50
"""Otherwise of one row in 20 (nearest to the cut), and in 50 (of the largest disagreement)."""
_MOST_NEAR, _MOST_APART = 2, 4
"""At most of one row in 2, and in 4."""

_SPARE, _FEWEST = 4, 20
"""Rows whose texts are read: this many times those to draw, and some more."""

TENTHS = 10

Strata = NDArray[np.uint16]


@dataclass(frozen=True)
class SampleSettings:
    """The number of rows to draw, and their shares."""

    count: int = 300
    cut: float | None = None
    """The cut of the first score; None: no rows are drawn for being near it."""
    near: float = 0.5
    """The share of rows near the cut, 0 to 1."""
    per_rule: int = 5
    """The most rows of a rule."""
    seed: int = 1


@dataclass(frozen=True)
class Stratification:
    """The strata of ``n`` rows."""

    names: list[str]
    of: Strata
    """The stratum of each row, ``(n,)``."""
    wanted: list[int]
    """Rows to draw from each."""

    @property
    def sizes(self) -> Integers:
        """The number of rows in each."""
        return np.bincount(self.of, minlength=len(self.names)).astype(np.int64)


def shares_below(scores: Scores) -> Scores:
    """Return the share of rows with a lower score, for each of ``n`` rows: ``(n,)``, 0 to 1."""
    ordered = np.sort(scores)
    return (np.searchsorted(ordered, scores) / max(len(scores), 1)).astype(np.float32)


def stratify(
    scores: Scores, rules: Strata, rule_names: Sequence[str], settings: SampleSettings
) -> Stratification:
    """Divide the rows of a corpus into strata.

    Args:
        scores: ``(n, m)`` of ``m`` columns; only rows that a rule drops may lack some (NaN).
        rules: for each row the rule that drops it, from 1, or 0: ``(n,)``.
        rule_names: the names of the rules.
        settings: the numbers of rows to draw.
    """
    rest = np.flatnonzero(rules == 0)
    names = [f"{RULE}{name}" for name in rule_names]
    wanted = _of_rules(np.bincount(rules, minlength=len(names) + 1)[1:], settings)
    of = (np.maximum(rules, 1) - 1).astype(np.uint16)  # of rows without a rule it is set below
    below = shares_below(scores[rest, 0])
    tenths, tenth_names = _tenths(scores[rest, 0], below, settings.cut)
    own = tenths + len(names) + 2
    free = max(0, settings.count - sum(wanted) - len(tenth_names))  # each tenth has a row at least
    near = 0 if settings.cut is None else min(free, round(settings.count * settings.near))
    apart = 0 if scores.shape[1] < 2 else min(free - near, settings.count // _PART)
    if near:
        assert settings.cut is not None
        share = float(np.mean(scores[rest, 0] < settings.cut)) if len(rest) else 0.0
        own[_first(np.abs(below - share), near, _NEAR_PART, _MOST_NEAR)] = len(names) + 1
    if apart:
        spread = _spread(scores[rest], below)
        own[_first(-spread, apart, _APART_PART, _MOST_APART)] = len(names)
    of[rest] = own
    every = [*names, DISAGREEMENT, NEAR, *tenth_names]
    even = _evenly(settings.count - sum(wanted) - near - apart, len(tenth_names))
    made = Stratification(every, of, [*wanted, apart, near, *even])
    filled = _filled(made.wanted, made.sizes.tolist(), settings.count, len(names))
    return Stratification(every, of, filled)


def _of_rules(sizes: Integers, settings: SampleSettings) -> list[int]:
    """Return the rows to draw of each rule: a fifth of the sample at most."""
    most = settings.count // _PART
    each = min(settings.per_rule, max(1, most // max(1, len(sizes))))
    wanted = np.minimum(sizes, each)
    left: list[int] = np.clip(most - (np.cumsum(wanted) - wanted), 0, wanted).tolist()
    return left


def _evenly(count: int, parts: int) -> list[int]:
    """Divide *count* into parts that differ by one at most."""
    return [(count * (part + 1)) // parts - (count * part) // parts for part in range(parts)]


def _tenths(scores: Scores, below: Scores, cut: float | None) -> tuple[Strata, list[str]]:
    """Return the stratum of each row by its score, and the names of these strata.

    The tenth with the cut is two strata.
    """
    tenth = np.minimum((below * TENTHS).astype(np.int64), TENTHS - 1)
    if cut is None:
        return tenth.astype(np.uint16), [f"tenth:{part + 1}" for part in range(TENTHS)]
    side = scores >= cut
    kinds = np.unique(2 * tenth + side)
    names = [f"{('below', 'above')[kind % 2]}:{kind // 2 + 1}" for kind in kinds.tolist()]
    return np.searchsorted(kinds, 2 * tenth + side).astype(np.uint16), names


def _first(order: Scores, wanted: int, part: int, most: int) -> Integers:
    """Return the rows of a stratum: those first by *order*, ties by their place."""
    size = min(max(_POOL * wanted, len(order) // part), len(order) // most)
    return np.argsort(order, kind="stable")[:size]


def _spread(scores: Scores, below: Scores) -> Scores:
    """Return the difference of each row's highest and lowest rank, as a share: ``(n,)``."""
    low, high = below.copy(), below.copy()
    for column in range(1, scores.shape[1]):
        other = shares_below(scores[:, column])
        np.minimum(low, other, out=low)
        np.maximum(high, other, out=high)
    spread: Scores = high - low
    return spread


def _filled(wanted: Sequence[int], sizes: Sequence[int], count: int, rules: int) -> list[int]:
    """Return *wanted*, at most the sizes; strata with rows left share what others lack.

    The tenths come first, then the other strata, and the first strata, of *rules*, come last.
    """
    taken = [min(pair) for pair in zip(wanted, sizes, strict=True)]
    groups = (range(rules + 2, len(taken)), range(rules, rules + 2), range(rules))
    while (missing := min(count, sum(sizes)) - sum(taken)) > 0:
        spare = ([place for place in group if taken[place] < sizes[place]] for group in groups)
        chosen = next(filter(None, spare))
        for place, more in zip(chosen, _evenly(missing, len(chosen)), strict=True):
            taken[place] = min(sizes[place], taken[place] + more)
    return taken


def draw(strata: Stratification, seed: int) -> list[Integers]:
    """Return rows of each stratum in random order: all, or more than enough."""
    random = np.random.default_rng(seed)
    drawn = []
    for place, wanted in enumerate(strata.wanted):
        members = np.flatnonzero(strata.of == place) if wanted else np.empty(0, np.int64)
        size = min(len(members), _SPARE * wanted + _FEWEST)
        drawn.append(random.choice(members, size, replace=False))
    return drawn


class Texts(NamedTuple):
    """The two texts of a row."""

    source: str
    target: str


class Chosen(NamedTuple):
    """A row of the sample: its place in the corpus, its stratum, and its weight."""

    place: int
    stratum: str
    weight: float


class Chooser:
    """Takes rows of distinct texts from the rows drawn of each stratum.

    Two texts are alike if they differ in case, punctuation, digits and spaces alone.
    """

    def __init__(self, texts: dict[int, Texts]) -> None:
        """Take the *texts* of the rows drawn, by their index."""
        self._normalise = normaliser(IGNORABLE)
        self._texts = texts
        self._taken: dict[tuple[int, str], int] = {}
        """The row that has a text on a side (0 or 1)."""
        self._pairs: set[Texts] = set()

    def choose(self, strata: Stratification, drawn: Sequence[Integers]) -> Iterator[Chosen]:
        """Yield the rows taken, stratum by stratum."""
        for place, (name, size) in enumerate(zip(strata.names, strata.sizes.tolist(), strict=True)):
            hits = self._hits(drawn[place].tolist(), strata.wanted[place])
            every = sum(hits.values())
            yield from (Chosen(index, name, size * n / every) for index, n in hits.items())

    def _hits(self, drawn: Sequence[int], wanted: int) -> Counter[int]:
        """Return the rows taken of a stratum, with the number of rows drawn that are like each.

        Rows like one of another stratum do not count, unless the stratum has no other.
        """
        hits: Counter[int] = Counter()
        for index in drawn:
            if len(hits) == wanted:
                break
            like = self._like(index)
            if like is None:
                self._take(index)
                hits[index] = 1
            elif like in hits:
                hits[like] += 1
        if wanted and not hits:
            new = [index for index in drawn if self._texts[index] not in self._pairs][:1]
            for index in new:
                self._take(index)
            hits.update(new)
        return hits

    def _keys(self, index: int) -> list[tuple[int, str]]:
        return [(side, self._normalise(text)) for side, text in enumerate(self._texts[index])]

    def _like(self, index: int) -> int | None:
        """Return the row taken that is like another on one side; None if there is none."""
        return next((self._taken[key] for key in self._keys(index) if key in self._taken), None)

    def _take(self, index: int) -> None:
        self._pairs.add(self._texts[index])
        for key in self._keys(index):
            self._taken.setdefault(key, index)


class CorpusScores:
    """Collects the rows of a corpus: 4 bytes a score, 8 for the line and 2 for the rule."""

    def __init__(self, columns: int) -> None:
        """Start without rows; each has this number of scores."""
        self._columns = columns
        self._scores, self._lines, self._rules = array("f"), array("q"), array("H")

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._lines)

    def add(self, line: int, scores: Iterable[float], rule: int = 0) -> None:
        """Add a row: its *line*, its *scores*, and the *rule* that drops it, from 1."""
        self._lines.append(line)
        self._scores.extend(scores)
        self._rules.append(rule)

    @property
    def scores(self) -> Scores:
        """The scores, ``(n, columns)``."""
        return np.frombuffer(self._scores, np.float32).reshape(len(self), self._columns)

    @property
    def lines(self) -> Integers:
        """The line of each row, ``(n,)``."""
        return np.frombuffer(self._lines, np.int64)

    @property
    def rules(self) -> Strata:
        """The rule of each row, ``(n,)``."""
        return np.frombuffer(self._rules, np.uint16)
