"""A stratified sample of a scored corpus, for a person or a program to label.

Each row belongs to one stratum: that of the first rule that drops it, ``disagreement`` (its ranks
by the scores differ most), ``near-cut`` (its rank is nearest to the cut), or its tenth of the
corpus by the first score. Rows of a stratum are drawn at random. A row drawn whose text is like
that of a row already taken from the stratum is passed over, and its share is added to that row's
weight; the weights of a stratum sum to its number of rows (Horvitz & Thompson 1952, with each
cluster of like rows labelled by the first drawn).
"""

from __future__ import annotations

import hashlib
import re
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite, nan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Indices, Integers, Keys, Scores
from bitextfilter.errors import InputError
from bitextfilter.io.files import in_utf_8, open_input, without_ending
from bitextfilter.io.lines import lines_of
from bitextfilter.io.rows import Row, RowParser, number_of
from bitextfilter.judge.judgements import RULE, SampleSettings
from bitextfilter.reports.survey import LARGEST
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
    sizes = np.bincount(of, minlength=len(every)).tolist()
    filled = _filled([*wanted, apart, near, *even], sizes, settings.count, len(names))
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


Texts = tuple[str, str]
"""Source and target of a row."""


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


class RejectedRow(NamedTuple):
    """A row of a rejects file: its 1-based number in the file it came from, and its bytes."""

    number: int
    reasons: str
    """Of all rules that it fails: ``length-ratio=4.2>3; score=0.1<0.5``."""
    line: bytes

    @property
    def rule(self) -> str:
        """The name of the first rule."""
        found = re.match(r"[^\s=<>(;]+", self.reasons)
        return found[0] if found else "unknown"


_REMEDY = "bitext-filter --rejects FILE writes such a file"


def rejected_rows(stream: Iterable[bytes], name: str) -> Iterator[RejectedRow]:
    """Yield the rows of a rejects file; raises InputError at a line that is none."""
    for line, raw in enumerate(lines_of(stream, name), 1):
        number, *rest = without_ending(raw).split(b"\t", 2)
        if len(rest) != 2 or not number.isdigit():
            message = "not a rejected row: number, reason, row"
            raise InputError(message, file=name, line=line, remedy=_REMEDY)
        yield RejectedRow(int(number), rest[0].decode("utf-8", "replace"), rest[1])


def _key(number: int, line: bytes) -> int:
    """Return 64 bits of a hash of a row and its number."""
    data = b"%d\t" % number + line
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


class RuleTable:
    """The rule of each rejected row: 18 bytes a row, and as much while it is made."""

    def __init__(self) -> None:
        """Start without rows."""
        self._keys, self._rules = array("Q"), array("H")
        self._names: dict[str, int] = {}
        self._order: Indices | None = None
        self._met = bytearray()

    @property
    def names(self) -> list[str]:
        """The names of the rules; the first has the number 1."""
        return list(self._names)

    def add(self, row: RejectedRow, usable: bool = True) -> None:
        """Add the next row; an *unusable* one, without two texts, has no rule."""
        rule = self._names.setdefault(row.rule, len(self._names) + 1) if usable else 0
        self._keys.append(_key(row.number, row.line))
        self._rules.append(rule)
        self._met.append(not usable)

    def rules(self, rows: Sequence[tuple[int, bytes]]) -> list[int]:
        """Return the rules of the corpus' *rows*, each a number and its bytes; 0 for none."""
        keys: Keys = np.frombuffer(self._keys, np.uint64)
        if not len(keys):
            return [0] * len(rows)
        if self._order is None:
            self._order = np.argsort(keys, kind="stable")
        wanted = np.array([_key(*row) for row in rows], np.uint64)
        places = np.searchsorted(keys, wanted, sorter=self._order)
        found = self._order[np.minimum(places, len(keys) - 1)]
        rules = np.where(keys[found] == wanted, np.frombuffer(self._rules, np.uint16)[found], 0)
        for place in found[rules > 0].tolist():
            self._met[place] = True
        numbers: list[int] = rules.tolist()
        return numbers

    def others(self) -> Iterator[tuple[int, int]]:
        """Yield the place and the rule of each usable row that is not among the corpus' rows."""
        for place, (met, rule) in enumerate(zip(self._met, self._rules, strict=True)):
            if not met:
                yield place, rule


_MOST_RULES = 1000


@dataclass(frozen=True)
class Corpus:
    """The rows to draw from."""

    windows: Iterable[Sequence[Row]]
    """The good rows; their texts are source, target, and the scores."""
    again: Callable[[Collection[int]], Iterable[Row]]
    """Reads the rows at some lines once more."""
    rejects: Sequence[str]
    """Rejects files of bitext-filter."""
    parser: RowParser
    """Parses source and target of the rows in ``rejects``."""
    places: Sequence[int]
    """The indices of the scores in these rows, which may lack them."""


@dataclass
class Drawing:
    """The sample: the lines of its file, and counts."""

    lines: list[bytes] = field(default_factory=list)
    strata: dict[str, tuple[int, int]] = field(default_factory=dict)
    """For each stratum with rows, their number and the number drawn."""
    unscored: int = 0
    """Rows without a score, which are left out."""


class _Content(NamedTuple):
    """The columns of a row that the sample has."""

    texts: Texts
    scores: Sequence[str]
    line: int


def draw_sample(corpus: Corpus, settings: SampleSettings) -> Drawing:
    """Draw a sample; no lines if no row of the corpus can be drawn."""
    drawing, rules = Drawing(), RuleTable()
    for rejected, row in _rejected(corpus):
        rules.add(rejected, row is not None)
        if len(rules.names) > _MOST_RULES:
            message = f"more than {_MOST_RULES} rules, such as {', '.join(rules.names[:3])}"
            remedy = "the second column of a rejects file has the rules"
            raise InputError(message, file=", ".join(corpus.rejects), remedy=remedy)
    columns = len(corpus.places)
    scores = CorpusScores(columns)
    for window in corpus.windows:
        drawing.unscored += _add(scores, window, rules)
    own = len(scores)
    for place, rule in rules.others():
        scores.add(place, [nan] * columns, rule)
    if not len(scores):
        return drawing
    strata = stratify(scores.scores, scores.rules, rules.names, settings)
    drawn = draw(strata, settings.seed)
    content = _contents(corpus, scores, own, np.concatenate(drawn).tolist())
    chooser = Chooser({index: each.texts for index, each in content.items()})
    chosen = list(chooser.choose(strata, drawn))
    drawing.strata = _counts(strata, chosen)
    order = np.random.default_rng(settings.seed).permutation(len(chosen)).tolist()
    drawing.lines = [_line(chosen[n], content[chosen[n].place]) for n in order]
    return drawing


def _rejected(corpus: Corpus) -> Iterator[tuple[RejectedRow, Row | None]]:
    """Yield the rows of the rejects files, each with its row of the corpus if it has two texts."""
    for path in corpus.rejects:
        with open_input(path) as stream:
            for row in rejected_rows(stream, path):
                found = corpus.parser.row(row.number, row.line)
                yield row, found if isinstance(found, Row) else None


def _add(scores: CorpusScores, window: Sequence[Row], rules: RuleTable) -> int:
    """Add the rows of a window; return the number of those left out for want of a score."""
    left = 0
    found = rules.rules([(row.number, row.line) for row in window])
    for row, rule in zip(window, found, strict=True):
        values = [number_of(text.encode()) for text in row.texts[2:]]
        if all(abs(value) <= LARGEST for value in values):
            scores.add(row.number, values, rule)
        elif rule:
            scores.add(row.number, [nan] * len(values), rule)
        else:
            left += 1
    return left


def _contents(
    corpus: Corpus, scores: CorpusScores, own: int, drawn: Sequence[int]
) -> dict[int, _Content]:
    """Read the rows *drawn*, by index; those from *own* on are in the rejects files."""
    lines = scores.lines
    wanted = {int(lines[index]): index for index in drawn if index < own}
    others = {int(lines[index]): index for index in drawn if index >= own}
    found = {}
    for row in corpus.again(wanted.keys()):
        texts = row.source, row.target
        found[wanted[row.number]] = _Content(texts, row.texts[2:], row.number)
    for place, (rejected, parsed) in enumerate(_rejected(corpus) if others else ()):
        if place in others and parsed is not None:
            texts = parsed.source, parsed.target
            fields = rejected.line.split(b"\t")
            known = (fields[p] if -len(fields) <= p < len(fields) else b"" for p in corpus.places)
            values = [text.decode() if isfinite(number_of(text)) else "" for text in known]
            found[others[place]] = _Content(texts, values, rejected.number)
    return found


def _counts(strata: Stratification, chosen: Sequence[Chosen]) -> dict[str, tuple[int, int]]:
    drawn = Counter(each.stratum for each in chosen)
    sizes = zip(strata.names, strata.sizes.tolist(), strict=True)
    return {name: (size, drawn[name]) for name, size in sizes if size}


def _line(chosen: Chosen, content: _Content) -> bytes:
    """Return the line of a row of the sample."""
    facts = (str(content.line), chosen.stratum, repr(round(chosen.weight, 6)).removesuffix(".0"))
    return in_utf_8("\t".join((*content.texts, *content.scores, *facts)) + "\n")
