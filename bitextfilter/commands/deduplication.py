"""What bitext-dedup does, row by row."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from math import isnan
from typing import TYPE_CHECKING, BinaryIO

from bitextfilter.commands.frame.run import Run
from bitextfilter.corpus.duplicate_keys import DedupSettings
from bitextfilter.io.files import without_ending
from bitextfilter.io.rows import REMEDY, BadRow, Row, RowReader, is_blank, number_of, row_windows

if TYPE_CHECKING:
    from bitextfilter.corpus.external_sort import ExternalSort


_SIDES = ("source", "target")


class Deduplication:
    """Reads rows and writes those that stay, at once or when all are read."""

    def __init__(
        self, run: Run, settings: DedupSettings, rows: RowReader, groups: str | None
    ) -> None:
        """Open what is written, and make what decides."""
        from bitextfilter.corpus.dedup import Deduplicator
        from bitextfilter.io.spill import Records

        self._run, self._settings, self._rows = run, settings, rows
        self._output = run.output()
        self._groups = None if groups is None else run.output(groups)
        self._deduplicator = run.enter(Deduplicator(settings, wait=groups is not None))
        self._waiting = run.enter(Records())
        self._first = 0
        run.counts.update(kept=0, dropped=0)
        run.facts.update(_facts(settings))

    def run(self) -> None:
        """Read and write everything."""
        self._output.write(self._rows.first_line())
        for window in self._run.windows(self._rows, again=True):
            self._run.counts["rows"] += len(window)
            self._take(self._checked(window))
        if self._first:
            self._write_waiting()
        self._warn_without_scores()

    def _take(self, window: list[Row | BadRow]) -> None:
        """Write a window, or let it wait."""
        good = [row for row in window if isinstance(row, Row)]
        keepers: list[int] | None = None if self._first else []
        if good:
            keepers = self._deduplicator.add(
                [row.number for row in good],
                [row.texts[: self._settings.sides] for row in good],
                self._scores(good),
            )
        if keepers is not None:
            self._write(window, dict(zip((row.number for row in good), keepers, strict=True)))
            return
        if not self._first:
            self._first = window[0].number
            self._run.note(f"rows wait in {tempfile.gettempdir()} until all are read")
        for row in window:
            if isinstance(row, BadRow) and not self._run.row_settings.reject:
                self._run.reject(row)
        self._waiting.extend([row.line + row.ending for row in window])

    def _checked(self, window: list[Row | BadRow]) -> list[Row | BadRow]:
        """Make rows with a blank side bad, which a reader of scores lets through."""
        if self._settings.keep == "first":
            return window
        return [self._with_sides(row) if isinstance(row, Row) else row for row in window]

    def _with_sides(self, row: Row) -> Row | BadRow:
        names = {"pair": _SIDES, "either": _SIDES}.get(self._settings.by, (self._settings.by,))
        for name, text in zip(names, row.texts, strict=False):
            if is_blank(text):
                reason = f"the {name} is empty"
                return BadRow(row.number, row.line, row.ending, reason, REMEDY, self._rows.name)
        return row

    def _scores(self, rows: Sequence[Row]) -> list[float] | None:
        if self._settings.keep == "first":
            return None
        scores = [number_of(row.texts[-1].encode()) for row in rows]
        self._run.counts["unscored"] += sum(map(isnan, scores))
        return scores

    def _warn_without_scores(self) -> None:
        counts = self._run.counts
        if not counts["unscored"]:
            del counts["unscored"]
        elif counts["unscored"] == counts["rows"] - counts["rejected"]:
            self._run.warn("no row has a score: --column names theirs")

    def _write(self, window: Iterable[Row | BadRow], keepers: Mapping[int, int]) -> None:
        """Write what is kept of rows, by the line that each good one duplicates, or 0."""
        kept = []
        for row in window:
            if isinstance(row, BadRow):
                self._run.reject(row)
            elif keeper := keepers.get(row.number, 0):
                self._run.drop(row, f"duplicate of line {keeper}")
            else:
                kept.append(row.line + row.ending)
        self._output.write(b"".join(kept))
        self._run.counts["kept"] += len(kept)

    def _write_waiting(self) -> None:
        """Write what waited, and the groups."""
        gone = self._deduplicator.finish()
        parse = self._rows.parser.row
        lines = enumerate(self._waiting.lines(), self._first)
        rows = (parse(number, line) for number, line in lines)
        keepers = _Keepers(gone)
        self._run.progress().reset(total=len(self._waiting))
        for window in row_windows(rows, self._run.common.batch_size):
            self._write(self._checked(window), keepers.upto(window[-1].number))
            self._run.advance(len(window))
        if self._groups is not None:
            self._write_groups(self._groups)

    def _write_groups(self, output: BinaryIO) -> None:
        for group, line, kept in self._deduplicator.groups():
            row = without_ending(self._waiting[line - self._first])
            fate = "kept" if kept else "dropped"
            output.write(f"{group}\t{line}\t{fate}\t".encode() + row + b"\n")
            self._run.counts["groups"] = group


class _Keepers:
    """The lines that go and those that they duplicate, read in step with the rows."""

    def __init__(self, gone: ExternalSort) -> None:
        """Read *gone*, of two columns: lines, ascending, and those that they duplicate."""
        self._parts = gone.parts()
        self._part = next(self._parts, None)

    def upto(self, line: int) -> dict[int, int]:
        """Return those from where the last call ended up to *line*."""
        found: dict[int, int] = {}
        while self._part is not None:
            lines, keepers = self._part
            place = int(lines.searchsorted(line, "right"))
            found.update(zip(lines[:place].tolist(), keepers[:place].tolist(), strict=True))
            if place < len(lines):
                self._part = [lines[place:], keepers[place:]]
                break
            self._part = next(self._parts, None)
        return found


def _facts(settings: DedupSettings) -> dict[str, str | int | float]:
    """What the manifest keeps of the settings; others do not matter."""
    facts: dict[str, str | int | float] = {
        "match": settings.match,
        "by": settings.by,
        "keep": settings.keep,
    }
    if settings.match != "exact":
        facts["ignore"] = ",".join(settings.ignore)
    if settings.match == "near":
        facts["similarity"], facts["shingle"] = settings.similarity, settings.shingle
        facts["rensa"] = version("rensa")
    return facts
