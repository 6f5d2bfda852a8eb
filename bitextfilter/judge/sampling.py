"""A sample of a scored corpus for labelling: two passes over the rows and over rejects files.

Rows that bitext-filter drops, and the rule that drops each first: its --rejects files.
"""

from __future__ import annotations

import hashlib
import re
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite, nan
from typing import NamedTuple

import numpy as np

from bitextfilter.arrays import Indices, Keys
from bitextfilter.errors import InputError
from bitextfilter.io.files import in_utf_8, lines_of, open_input, without_ending
from bitextfilter.io.rows import Row, RowParser, number_of
from bitextfilter.judge.sample import (
    Chooser,
    Chosen,
    CorpusScores,
    SampleSettings,
    Stratification,
    Texts,
    draw,
    stratify,
)


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


_LARGEST = 3.4e38
"""The highest score: scores are kept as float32."""

_MOST_RULES = 1000

Again = Callable[[Collection[int]], Iterable[Row]]
"""Reads the rows at some lines once more."""


@dataclass(frozen=True)
class Corpus:
    """The rows to draw from."""

    windows: Iterable[Sequence[Row]]
    """The good rows; their texts are source, target, and the scores."""
    again: Again
    columns: int
    """The number of scores."""
    rejects: Sequence[str] = ()
    """Rejects files of bitext-filter."""
    parser: RowParser | None = None
    """Parses source and target of the rows in ``rejects``."""
    places: Sequence[int] = ()
    """The indices of the scores in these rows, which may lack them."""


@dataclass
class Drawing:
    """The sample: the lines of its file, and counts."""

    lines: list[bytes] = field(default_factory=list)
    strata: dict[str, tuple[int, int]] = field(default_factory=dict)
    """For each stratum with rows, their number and the number drawn."""
    unscored: int = 0
    """Rows without a score, which are left out."""


@dataclass(frozen=True)
class _Content:
    """The columns of a row that the sample has."""

    texts: Texts
    scores: Sequence[str]
    line: int


def draw_sample(corpus: Corpus, settings: SampleSettings) -> Drawing:
    """Draw a sample; no lines if no row of the corpus can be drawn."""
    drawing, rules = Drawing(), RuleTable()
    for row, usable in _rejected(corpus):
        rules.add(row, usable)
        if len(rules.names) > _MOST_RULES:
            message = f"more than {_MOST_RULES} rules, such as {', '.join(rules.names[:3])}"
            remedy = "the second column of a rejects file has the rules"
            raise InputError(message, file=", ".join(corpus.rejects), remedy=remedy)
    scores = CorpusScores(corpus.columns)
    for window in corpus.windows:
        drawing.unscored += _add(scores, window, rules)
    own = len(scores)
    for place, rule in rules.others():
        scores.add(place, [nan] * corpus.columns, rule)
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


def _rejected(corpus: Corpus) -> Iterator[tuple[RejectedRow, bool]]:
    """Yield the rows of the rejects files, and whether each has two texts."""
    for path in corpus.rejects:
        assert corpus.parser is not None
        with open_input(path) as stream:
            for row in rejected_rows(stream, path):
                yield row, isinstance(corpus.parser.row(row.number, row.line), Row)


def _add(scores: CorpusScores, window: Sequence[Row], rules: RuleTable) -> int:
    """Add the rows of a window; return the number of those left out for want of a score."""
    left = 0
    found = rules.rules([(row.number, row.line) for row in window])
    for row, rule in zip(window, found, strict=True):
        values = [number_of(text.encode()) for text in row.texts[2:]]
        if all(abs(value) <= _LARGEST for value in values):
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
        texts = Texts(row.source, row.target)
        found[wanted[row.number]] = _Content(texts, row.texts[2:], row.number)
    for place, (rejected, _) in enumerate(_rejected(corpus) if others else ()):
        if place in others:
            assert corpus.parser is not None
            parsed = corpus.parser.row(rejected.number, rejected.line)
            assert isinstance(parsed, Row)
            texts = Texts(parsed.source, parsed.target)
            values = _score_texts(rejected.line, corpus.places)
            found[others[place]] = _Content(texts, values, rejected.number)
    return found


def _score_texts(line: bytes, places: Sequence[int]) -> list[str]:
    """Return the scores of a rejected row, empty where it has none."""
    fields = line.split(b"\t")
    known = (fields[p] if -len(fields) <= p < len(fields) else b"" for p in places)
    return [text.decode() if isfinite(number_of(text)) else "" for text in known]


def _counts(strata: Stratification, chosen: Sequence[Chosen]) -> dict[str, tuple[int, int]]:
    names = [each.stratum for each in chosen]
    sizes = zip(strata.names, strata.sizes.tolist(), strict=True)
    return {name: (size, names.count(name)) for name, size in sizes if size}


def _line(chosen: Chosen, content: _Content) -> bytes:
    """Return the line of a row of the sample."""
    facts = (str(content.line), chosen.stratum, repr(round(chosen.weight, 6)).removesuffix(".0"))
    return in_utf_8("\t".join((*content.texts, *content.scores, *facts)) + "\n")
