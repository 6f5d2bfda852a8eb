"""``bitext-fix``: repair the text of sentence pairs."""

from __future__ import annotations

import dataclasses
from collections import Counter
from itertools import chain
from typing import NamedTuple

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import row_options
from bitextfilter.commands.frame.run import Run
from bitextfilter.corpus.repair import DEFAULTS, REPAIRS, Repairer
from bitextfilter.io.rows import BadRow, RawLines, Row, RowParser
from bitextfilter.io.workers import map_in_order

_NAME = click.Choice(list(REPAIRS))


@command("bitext-fix", row_options(), uses="threads")
@click.option(
    "--only", type=_NAME, multiple=True, metavar="NAME", help="Do this repair alone; repeatable."
)
@click.option(
    "--with", "more", type=_NAME, multiple=True, metavar="NAME", help="Do this one too; repeatable."
)
@click.option(
    "--without", type=_NAME, multiple=True, metavar="NAME", help="Leave this one out; repeatable."
)
@click.option("--explain", is_flag=True, help="Append a column that names the repairs done.")
def main(run: Run, explain: bool, **choices: tuple[str, ...]) -> None:
    """Repair what needs no guessing: one line for each line, in the same order.

    Only the two text columns change, and only where something is wrong: all else stays as it
    is, byte for byte. Repairing what has been repaired changes nothing. A rejected row is
    written as it came.

    Repairs, in their order; the first six are the default:

        entities         &eacute; and &#233;, also escaped twice; not in text that has a <
        mojibake         UTF-8 read as Latin-1, Windows-1252, ...: as far as ftfy is sure
        control          control characters, colours of terminals
        invisible        zero-width spaces, soft hyphens in words, byte-order marks
        spaces           runs of spaces, line breaks inside, odd spaces, spaces at the ends
        nfc              the composed form of Unicode
        ligatures        those of printers, U+FB00 to U+FB06
        width            full-width Latin, half-width kana and hangul
        quotes           typographic quotation marks and apostrophes made plain
        no-break-spaces  made plain

    --explain appends, for instance, mojibake(source) spaces(target). The summary counts the
    rows that each repair changed. Memory: --batch-size rows for each of --threads processes.

    Example:

        bitext-fix < crawl.tsv > repaired.tsv
        bitext-fix --with quotes --without nfc --explain < crawl.tsv
        bitext-fix --only mojibake -i crawl.tsv.gz -o repaired.tsv.gz
    """
    names = _names(**choices)
    columns = dataclasses.replace(run.row_settings.columns, blank=True)
    rows, output = run.rows(columns), run.output()
    places = [rows.place(wanted) for wanted in columns.wanted()]
    worker = _Worker(rows.parser, places, Repairer(names), explain)
    output.write(rows.first_line(["repairs"] * explain))
    run.counts.update(changed=0, **dict.fromkeys(names, 0))
    for fixed in map_in_order(worker, rows.lines(run.common.batch_size), run.common.threads):
        _account(run, fixed)
        output.write(fixed.lines)
        run.advance(fixed.counts["rows"])


def _names(only: tuple[str, ...], more: tuple[str, ...], without: tuple[str, ...]) -> list[str]:
    """Return the repairs to do, in their order. Raises UsageError for a contradiction."""
    if only and (more or without):
        raise click.UsageError("--only cannot be combined with --with and --without")
    chosen = set(only or {*DEFAULTS, *more} - set(without))
    return [name for name in REPAIRS if name in chosen]


class _Fixed(NamedTuple):
    """A window of rows as they are written, those of them that are bad, and what was done."""

    lines: bytes
    bad: list[BadRow]
    counts: Counter[str]


def _account(run: Run, fixed: _Fixed) -> None:
    """Reject what is bad in a window, or stop there; count what was done."""
    for row in fixed.bad:
        run.reject(row)
    run.counts.update(fixed.counts)


@dataclasses.dataclass(frozen=True)
class _Worker:
    """Repairs windows of lines, perhaps in another process."""

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
        """Return the row as it is written, and count what was done to it."""
        if isinstance(row, BadRow):
            return row.line + b"\t" * self.explain + row.ending
        texts, repairs = zip(*map(self.repairer, row.texts), strict=True)
        line = row.line
        if any(repairs):
            line = self._replaced(line, texts)
            counts.update({"changed", *chain(*repairs)})
        return line + self._column(repairs) * self.explain + row.ending

    def _replaced(self, line: bytes, texts: tuple[str, ...]) -> bytes:
        """Return *line* with *texts* in its text columns."""
        fields = line.split(b"\t")
        for place, text in zip(self.places, texts, strict=True):
            fields[place] = text.encode()
        return b"\t".join(fields)

    def _column(self, repairs: tuple[tuple[str, ...], ...]) -> bytes:
        """Return the column that names the repairs of each side."""
        sides = zip(("source", "target"), repairs, strict=True)
        return b"\t" + " ".join(f"{name}({side})" for side, done in sides for name in done).encode()
