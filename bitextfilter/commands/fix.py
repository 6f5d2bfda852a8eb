"""``bitext-fix``: repair the text of sentence pairs, or of one language."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

import click

from bitextfilter.commands.frame.command import command, fill_lists, first_lines
from bitextfilter.commands.frame.options import (
    as_column,
    flag,
    is_given,
    languages_option,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.words import Words, as_tag
from bitextfilter.corpus.repair import DEFAULTS, REPAIRS, Repairer
from bitextfilter.io.rows import BadRow, Columns, RawLines, Row, RowParser, TextColumn, with_texts
from bitextfilter.io.workers import map_as_it_pays

_NAME = Words(list(REPAIRS))


@dataclass(frozen=True)
class _Settings:
    """The repairs, the column that names them, and the languages."""

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
    languages: tuple[str, str] | None = languages_option(
        "The languages, as en,de: more mojibake is certain then.", tags=True
    )
    one: str | None = option("--one LANG", "Rows are texts of this language, not pairs.", as_tag)
    where: int | str | None = option(
        "--column COLUMN", "Column of the text, with --one  [default: the whole line]", as_column
    )

    def __post_init__(self) -> None:
        """Refuse options that contradict each other."""
        if self.one is None and self.where is not None:
            raise click.UsageError("--column is for --one; pairs have --scol and --tcol")
        if self.one is not None and self.languages is not None:
            raise click.UsageError("--languages is for pairs: --one names the language")

    @property
    def sides(self) -> tuple[str | None, ...]:
        """The language of each side, or of the text; None if it is unknown."""
        return self.languages or ((None, None) if self.one is None else (self.one,))


@command("bitext-fix", _Settings, row_options("pairs files"), uses="batch_size threads")
@fill_lists(REPAIRS=first_lines(REPAIRS))
def main(run: Run, settings: _Settings) -> None:
    """Repair text where the right text is certain: a line for each input line, in order.

    Only damaged text of the two columns changes; all else stays, byte for byte. A second run
    changes nothing. A rejected row is written unchanged.

    Mojibake is undone where all of a side's is certain. A side with more damage than that is left
    as it is, so that the rule bad-encoding of bitext-filter drops it.

    Repairs, in their order; the first six are the default:

        REPAIRS

    --explain appends, for instance, mojibake(source) spaces(target). The summary counts the
    rows that each repair changed. Memory: --batch-size rows for each of --threads processes.

    Example:

        bitext-fix < crawl.tsv > repaired.tsv
        bitext-fix --with quotes --without nfc --explain < crawl.tsv
        bitext-fix --only mojibake -i crawl.tsv.gz -o repaired.tsv.gz
        bitext-fix --languages pt-BR,de < crawl.tsv
        bitext-fix --one uk < ukrainian.txt
    """
    names = _names(settings)
    repairers = [Repairer(names, language) for language in settings.sides]
    columns = _columns(run, settings)
    reader, output = run.rows(columns), run.output()
    places = [reader.place(wanted) for wanted in columns.wanted()]
    worker = _Worker(reader.parser, places, repairers, settings.explain)
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


def _columns(run: Run, settings: _Settings) -> Columns | TextColumn:
    """Return the columns of the texts. Raises UsageError for a contradiction."""
    if settings.one is None:
        return replace(run.row_settings.columns, blank=True)
    if is_given("scol") or is_given("tcol"):
        raise click.UsageError("--scol and --tcol are for pairs: --one has --column")
    return TextColumn(settings.where, blank=True)


class _Fixed(NamedTuple):
    """The output of a window of rows, its bad rows, and counts of repairs."""

    lines: bytes
    bad: list[BadRow]
    counts: Counter[str]


@dataclass(frozen=True)
class _Worker:
    """Repairs windows of lines; can be sent to another process."""

    parser: RowParser
    places: list[int]
    """Indices of the columns of the texts; none for whole lines."""
    repairers: list[Repairer]
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
        if self.places:
            each = zip(self.repairers, row.texts, strict=True)
            texts, repairs = zip(*(repair(text) for repair, text in each), strict=True)
        else:
            fields = [self.repairers[0](field) for field in row.text.split("\t")]  # tabs stay
            texts = ("\t".join(text for text, _ in fields),)
            done = {name for _, names in fields for name in names}
            repairs = (tuple(name for name in REPAIRS if name in done),)
        line = row.line
        if any(repairs):
            line = with_texts(line, self.places, texts) if self.places else texts[0].encode()
            counts.update({"changed", *chain(*repairs)})
        return line + self._column(repairs) * self.explain + row.ending

    def _column(self, repairs: tuple[tuple[str, ...], ...]) -> bytes:
        """Return the column that names the repairs of each side, or of the text."""
        if len(repairs) == 1:
            return b"\t" + " ".join(repairs[0]).encode()
        sides = zip(("source", "target"), repairs, strict=True)
        return b"\t" + " ".join(f"{name}({side})" for side, done in sides for name in done).encode()
