"""Subsets of corpora: the best rows by a score, rows that pass rules, random samples."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import compress
from math import inf, isnan, nan
from pathlib import Path
from urllib.parse import quote

import numpy as np

from bitextfilter.arrays import drawn
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.filters.pipeline import LineFilter, Pipeline
from bitextfilter.filters.registry import columns_of
from bitextfilter.filters.rule import Rule
from bitextfilter.io.files import open_input, open_output
from bitextfilter.io.ranking import Ranking, SelectionSettings
from bitextfilter.io.row_reader import RowReader, row_windows
from bitextfilter.io.rows import Columns, Row, WantedColumn, is_blank, number_of, strict
from bitextfilter.io.spill import Spill
from bitextfilter.text.segment import sample
from bitextfilter.text.words import count_words as words_of

WINDOW_ROWS = 8192
"""Rows read at a time."""
_REMEDY = "mend the row"


@dataclass(frozen=True)
class System:
    """A way to choose rows: by a score, a label, or chance."""

    name: str
    """The name in tables."""
    column: int | str | None = None
    """Of the scores (higher is better), or of the labels; None: rows are drawn by chance."""
    label: str | None = None
    """Rows with this label are drawn by chance."""

    def wanted(self) -> tuple[WantedColumn, ...]:
        """Return the column that is read besides the two sides, if any."""
        if self.column is None:
            return ()
        option = "--scores" if self.label is None else "--oracle"
        return (WantedColumn("score" if self.label is None else "label", option, self.column),)

    def folder(self, seed: int) -> str:
        """Return a folder's name, which no other system and no other seed has."""
        kind = "" if self.column is not None and self.label is None else f"@{self.name}"
        parts = [str(part) for part in (self.column, self.label) if part is not None]
        quoted = (quote(part, safe="").replace(".", "%2E") for part in parts)
        return ".".join([*([kind] if kind else []), *quoted, str(seed)])


@dataclass(frozen=True)
class ScoredFile:
    """A TSV of pairs and their scores. It is read once for each system."""

    path: str
    columns: Columns = field(default_factory=Columns)
    header: bool = False

    @contextmanager
    def reader(self, besides: Sequence[WantedColumn] = ()) -> Iterator[RowReader]:
        """Open the file. Raises NotFoundError, and InputError for an unknown column."""
        wanted = replace(self.columns, blank=True, last=tuple(besides))
        with open_input(self.path) as stream:
            yield RowReader(stream, self.path, wanted, self.header, _REMEDY)


@dataclass(frozen=True)
class Subset:
    """Chosen rows."""

    rows: int
    words: int
    """Of their target sides."""
    columns: Columns
    """Of both sides, by number."""
    everything: bool
    """True if no other row could be chosen."""


@dataclass(frozen=True)
class CorpusSample:
    """The size of a corpus, with a sample of its pairs."""

    pairs: list[tuple[str, str]]
    """All of them, or a sample."""
    rows: int
    words: int
    """Of its target sides."""


def digests(file: ScoredFile, systems: Sequence[System]) -> list[str]:
    """Digests of the pairs of *file*, then of each system's column.

    That of no column is empty. Raises InputError for an unknown column, and at the first bad row.
    """
    besides = [wanted for system in systems for wanted in system.wanted()]
    kept = [hashlib.sha256() for _ in range(2 + len(besides))]
    with file.reader(besides) as reader:
        for window in row_windows(_good(reader), WINDOW_ROWS):
            rows = [row.texts for row in window if isinstance(row, Row)]
            for digest, texts in zip(kept, zip(*rows, strict=True), strict=True):
                digest.update("".join(f"{text}\n" for text in texts).encode())
    source, target, *columns = (digest.hexdigest() for digest in kept)
    left = iter(columns)
    return [source[:16] + target[:16], *(next(left) if s.wanted() else "" for s in systems)]


def sample_corpus(file: ScoredFile, most: int, seed: int) -> CorpusSample:
    """Count the rows and target words of a corpus, and draw *most* of its pairs at most.

    Raises InputError at the first bad row, and for a file without rows.
    """
    rows = words = 0
    with file.reader() as reader:

        def pairs() -> Iterator[tuple[str, str]]:
            nonlocal rows, words
            for row in _good(reader):
                rows, words = rows + 1, words + len(row.target.split())
                yield row.source, row.target

        drawn = sample(pairs(), most, seed)
    if not rows:
        raise InputError("no rows", file=file.path)
    return CorpusSample(drawn, rows, words)


def write_subset(file: ScoredFile, system: System, words: int, seed: int, path: Path) -> Subset:
    """Write the rows that a system chooses to *path*, as they stand and in their order.

    The best rows, as long as their target sides have no more than *words* words together; of
    equal scores the first. A row without a score, or without the label, is never chosen. *seed*
    draws by chance. Rows wait on disk, with 24 bytes a row in memory.

    Raises:
        InputError: a bad row or score, by its line, or nothing to choose.
        OutputError: it cannot be written.
    """
    chance = np.random.default_rng(seed)
    eligible = 0
    with file.reader(system.wanted()) as reader, Spill() as spill:
        ranking = Ranking(spill, best_first=False)
        for window in row_windows(_good(reader), WINDOW_ROWS):
            rows = [row for row in window if isinstance(row, Row)]
            scores = _scores(rows, system, chance.random(len(rows)).tolist(), file.path)
            eligible += sum(not isnan(score) for score in scores)
            lines = [row.line + b"\n" for row in rows]
            ranking.add(lines, scores, words_of([row.target for row in rows]))
        ranked = ranking.finish()
        selection = ranked.select(SelectionSettings(size=words, min_score=-inf))
        if not selection.count and eligible:
            message = f"the first row that {system.name} chooses has more than {words} words"
            raise InputError(message, file=file.path, remedy="raise --words")
        if not selection.count:
            lacks = "score" if system.label is None else f"label {system.label!r}"
            raise InputError(f"no row has a {lacks}", file=file.path, remedy="name another column")
        with open_output(path) as output:
            for part in ranked.read(selection):
                output.write(b"".join(compress(part.lines, (part.decisions == 0).tolist())))
        source, target = (reader.place(wanted) for wanted in file.columns.wanted())
    columns = Columns(source + (source >= 0), target + (target >= 0))
    return Subset(selection.count, selection.size, columns, selection.count == eligible)


def _good(reader: RowReader) -> Iterator[Row]:
    """Yield the rows; raises InputError at the first with a missing or blank side."""
    for row in strict(reader):
        for name, text in zip(("source", "target"), row.texts, strict=False):
            if is_blank(text):
                raise InputError(
                    f"the {name} is empty", file=reader.name, line=row.number, remedy=_REMEDY
                )
        yield row


def _scores(rows: Sequence[Row], system: System, chances: list[float], name: str) -> list[float]:
    """Return the score of each row, NaN where it has none; InputError for anything else."""
    if system.column is None:
        return chances
    found = [row.texts[2] for row in rows]
    if system.label is not None:
        pairs = zip(found, chances, strict=True)
        return [chance if text == system.label else nan for text, chance in pairs]
    scores = [number_of(text.encode()) for text in found]
    for score, text, row in zip(scores, found, rows, strict=True):
        if isnan(score) and not is_blank(text):
            message = f"the score {text[:40]!r} is not a number"
            raise InputError(message, file=name, line=row.number, remedy=_REMEDY)
    return scores


_NUMBER = re.compile(r"[-+]?0*[1-9][0-9]*")


def select_pairs(
    path: str, columns: Columns, rules: Sequence[Rule], languages: tuple[str, str]
) -> Iterator[bytes]:
    """Yield the lines of a file that pass the rules, each with its end.

    Raises NotFoundError, and InputError at the first bad row.
    """
    with open_input(path) as stream:
        reader = RowReader(stream, path, columns, remedy=_REMEDY)
        pipeline = Pipeline(rules, fast=True)
        line_filter = LineFilter(reader.parser, pipeline, languages, rule_columns(rules))
        for window in reader.lines(WINDOW_ROWS):
            filtered = line_filter(window)
            if filtered.bad is not None:
                raise filtered.bad.error()
            yield from (line + b"\n" for line in filtered.output.split(b"\n") if line)


def rule_columns(rules: Sequence[Rule]) -> dict[str, int]:
    """Return the index of each column that rules read, negative from the end.

    Raises SettingsError for a name: the files have no header.
    """
    names = columns_of(rules)
    for name in names:
        if not _NUMBER.fullmatch(name):
            raise SettingsError(f"column {name!r} is no number, and there is no header")
    return {name: int(name) - (int(name) > 0) for name in names}


def sample_lines(lines: list[bytes], count: int | None, seed: int) -> list[bytes]:
    """Draw *count* lines, in their order; all if there are fewer."""
    return lines if count is None else [lines[row] for row in drawn(len(lines), count, seed)]
