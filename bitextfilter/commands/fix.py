"""``bitext-fix``: repair the text of sentence pairs."""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import click

from bitextfilter.commands.frame.command import command, fill_lists, first_lines
from bitextfilter.commands.frame.options import flag, option, row_options
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.words import Words
from bitextfilter.corpus.repair import DEFAULTS, REPAIRS, Repairer
from bitextfilter.io.rows import BadRow, RawLines, Row, RowParser, with_texts
from bitextfilter.io.workers import map_as_it_pays

_NAME = Words(list(REPAIRS))


@dataclass(frozen=True)
class _Settings:
    """The repairs, and the column that names them."""

    only: tuple[str, ...] = option(
        "--only NAME", "Do this repair alone; repeatable.", _NAME, multiple=True
    )
    more: tuple[str, ...] = option(
        "--with NAME", "Do this one too; repeatable.", _NAME, multiple=True
    )
    without: tuple[str, ...] = option(
        "--without NAME", "Leave this one out; repeatable.", _NAME, multiple=True
    )
    explain: bool = flag("--explain", "Append a column that names the repairs done.")


@command("bitext-fix", _Settings, row_options(), uses="batch_size threads")
@fill_lists(REPAIRS=first_lines(REPAIRS))
def main(run: Run, settings: _Settings) -> None:
    """Repair text where the right text is certain: a line for each input line, in order.

    Only damaged text of the two columns changes; all else stays, byte for byte. A second run
    changes nothing. A rejected row is written unchanged.

    Repairs, in their order; the first six are the default:

        REPAIRS

    --explain appends, for instance, mojibake(source) spaces(target). The summary counts the
    rows that each repair changed. Memory: --batch-size rows for each of --threads processes.

    Example:

        bitext-fix < crawl.tsv > repaired.tsv
        bitext-fix --with quotes --without nfc --explain < crawl.tsv
        bitext-fix --only mojibake -i crawl.tsv.gz -o repaired.tsv.gz
    """
    names = _names(settings)
    columns = dataclasses.replace(run.row_settings.columns, blank=True)
    reader, output = run.rows(columns), run.output()
    places = [reader.place(wanted) for wanted in columns.wanted()]
    worker = _Worker(reader.parser, places, Repairer(names), settings.explain)
    output.write(reader.first_line(["repairs"] * settings.explain))
    run.counts.update(changed=0, **dict.fromkeys(names, 0))
    windows = reader.lines(run.common.batch_size)
    for fixed in map_as_it_pays(worker, windows, run.common.threads, run.share_read):
        for row in fixed.bad:
            run.reject(row)
        run.counts.update(fixed.counts)
        output.write(fixed.lines)
        run.advance(fixed.counts["rows"])


def _names(settings: _Settings) -> list[str]:
    """Return the repairs chosen, in their order. Raises UsageError for a contradiction."""
    if settings.only and (settings.more or settings.without):
        raise click.UsageError("--only cannot be combined with --with and --without")
    chosen = set(settings.only or {*DEFAULTS, *settings.more} - set(settings.without))
    return [name for name in REPAIRS if name in chosen]


class _Fixed(NamedTuple):
    """The output of a window of rows, its bad rows, and counts of repairs."""

    lines: bytes
    bad: list[BadRow]
    counts: Counter[str]


@dataclasses.dataclass(frozen=True)
class _Worker:
    """Repairs windows of lines; can be sent to another process."""

    parser: RowParser
    places: list[int]
    repairer: Repairer
    explain: bool

    def __call__(self, window: RawLines) -> _Fixed:
        """Parse and repair the lines."""
        rows = window.rows(self.parser)
        bad = [row for row in rows if isinstance(row, BadRow)]
        counts = Counter(rows=len(rows))
        return _Fixed(b"".join(self._line(row, counts) for row in rows), bad, counts)

    def _line(self, row: Row | BadRow, counts: Counter[str]) -> bytes:
        """Return the output of a row, and count its repairs."""
        if isinstance(row, BadRow):
            return row.line + b"\t" * self.explain + row.ending
        texts, repairs = zip(*map(self.repairer, row.texts), strict=True)
        line = row.line
        if any(repairs):
            line = with_texts(line, self.places, texts)
            counts.update({"changed", *chain(*repairs)})
        return line + self._column(repairs) * self.explain + row.ending

    def _column(self, repairs: tuple[tuple[str, ...], ...]) -> bytes:
        """Return the column that names the repairs of each side."""
        sides = zip(("source", "target"), repairs, strict=True)
        return b"\t" + " ".join(f"{name}({side})" for side, done in sides for name in done).encode()
