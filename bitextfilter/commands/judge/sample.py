"""``bitext-judge sample``: the rows of a scored corpus that are worth a label."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import (
    COUNT,
    NATURAL,
    as_column,
    as_fraction,
    as_score,
    needs_own_file,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import InputError
from bitextfilter.io.rows import SIDES, Columns, Row, RowParser, RowReader, WantedColumn

if TYPE_CHECKING:
    from bitextfilter.judge.sample import SampleSettings
    from bitextfilter.judge.sampling import Drawing


_WINDOW = 8192


@dataclass(frozen=True)
class _Settings:
    """The scores, and the rows to draw."""

    columns: tuple[int | str, ...] = option(
        "--column COLUMN",
        "Column of a score: a number, -1 the last, or a name of the header; repeat it for "
        "several scores, the first is the one to cut  [default: -1]",
        as_column,
        ["-1"],
        multiple=True,
    )
    cut: float | None = option(
        "--cut C", "The cut to examine; half of the rows are near.", as_score
    )
    count: int = option("--count", "Rows to draw.", COUNT, 300)
    near: Fraction = option(
        "--near-cut SHARE", "The share of rows near the cut, 0 to 1.", as_fraction, "0.5"
    )
    dropped: tuple[str, ...] = option(
        "--dropped FILE",
        "Also draw from the --rejects FILE of bitext-filter; repeat it for more.",
        multiple=True,
    )
    per_rule: int = option("--per-rule", "The most rows of each rule in --dropped.", COUNT, 5)
    seed: int = option("--seed", "Seed of the draw.", NATURAL, 1)

    def __post_init__(self) -> None:
        """Refuse a column that stands twice."""
        if len(set(self.columns)) < len(self.columns):
            raise click.UsageError("a column is named twice")

    def settings(self) -> SampleSettings:
        """Return the settings of the sample."""
        from bitextfilter.judge.sample import SampleSettings

        near = float(self.near)
        return SampleSettings(self.count, self.cut, near, self.per_rule, self.seed)


@command("sample", _Settings, row_options(), uses="")
def main(run: Run, settings: _Settings) -> None:
    """Draw the rows of a scored corpus that are worth a person's time.

    Each row belongs to the first of these strata that applies:

        rule:NAME       it is in a file of --dropped, and NAME is its first reason
        disagreement    its ranks by several --column differ most
        near-cut        its rank is nearest to that of --cut
        below:N above:N its tenth of the corpus by the first score (1: the worst), and the
                        side of --cut; tenth:N without a cut

    A fifth of the rows goes to rules, a fifth to disagreement, --near-cut to the cut, and the
    rest evenly to the tenths. Rows are drawn at random, of texts that differ in more than case,
    punctuation, digits and spaces. They are written in random order, with a header: source,
    target, the scores, row (the line in the input), reason (the stratum) and weight (the number
    of rows of the corpus that the row stands for; in each stratum they sum to its rows).

    Rows without all scores (no number, or infinite) are counted and left out. The input is read
    twice; stdin waits in a temporary file (in TMPDIR). Memory holds scores as float32: about 50
    bytes a row with one score, and 20 for each further one; and the texts of the rows drawn.

    Example:

        bitext-judge sample -i scored.tsv --header --column mlp --cut 0.37 -o sample.tsv
        bitext-judge sample -i kept.tsv --dropped rejects.tsv --count 200 -o sample.tsv
    """
    from bitextfilter.judge.judgements import sample_header

    output = run.output()
    if run.row_settings.output != "-":
        needs_own_file("--output", run.row_settings.output, settings.dropped)
    names, drawing = _drawn(run, settings)
    if not drawing.lines:
        reason = "no row has a score" if run.counts["rows"] else "no rows"
        file = run.row_settings.names[0]
        raise InputError(reason, file=file, remedy="--column names the column of the score")
    output.write(sample_header(names) + b"".join(drawing.lines))
    _report(run, settings, drawing)


def _drawn(run: Run, settings: _Settings) -> tuple[list[str], Drawing]:
    """Read the input twice; return the names of the scores, and the sample."""
    from bitextfilter.judge.sampling import Corpus, draw_sample

    wanted = tuple(WantedColumn("score", "--column", where) for where in settings.columns)
    columns = replace(run.row_settings.columns, blank=True, last=wanted)
    spool = _spool(run)
    first = run.rows(columns)
    places = [first.place(each) for each in wanted]
    sides = columns.wanted()[:2]
    parser = RowParser("", sides, [first.place(side) for side in sides])

    def again(numbers: Collection[int]) -> Iterator[Row]:
        if spool is not None:
            spool.seek(0)
        reader = RowReader(run.input(), first.name, columns, run.row_settings.header)
        return _rows_at(reader, numbers)

    windows = _windows(run, columns, first)
    corpus = Corpus(windows, again, len(wanted), settings.dropped, parser, places)
    return first.score_names(settings.columns), draw_sample(corpus, settings.settings())


def _spool(run: Run) -> BinaryIO | None:
    """Copy the input to a temporary file that takes its place, unless it can be read twice."""
    from bitextfilter.io.spill import Scratch

    path = run.row_settings.input
    if path != "-" and Path(path).is_file():
        return None
    spool = run.enter(Scratch())
    shutil.copyfileobj(run.input(), spool, 1 << 20)
    run.row_settings = replace(run.row_settings, input="-")
    run.stdin = cast(BinaryIO, spool.stream())
    return run.stdin


def _rows_at(reader: RowReader, numbers: Collection[int]) -> Iterator[Row]:
    """Yield the rows of some lines, which are good."""
    for window in reader.lines(_WINDOW):
        for number, raw in enumerate(window.raw, window.first):
            if number in numbers:
                row = reader.parser.row(number, raw)
                assert isinstance(row, Row)
                yield row


def _windows(run: Run, columns: Columns, reader: RowReader) -> Iterator[Sequence[Row]]:
    """Yield the rows with two texts; the others stop the run or are rejected."""
    for window in run.windows(reader, fault=columns.blank_fault(*SIDES)):
        yield [row for row in window if isinstance(row, Row)]


def _report(run: Run, settings: _Settings, drawing: Drawing) -> None:
    """Put the counts into the manifest and the summary."""
    run.counts.update(unscored=drawing.unscored, drawn=len(drawing.lines))
    run.facts["seed"] = settings.seed
    run.facts["strata"] = {name: list(counts) for name, counts in drawing.strata.items()}
    width = max(map(len, drawing.strata))
    run.note(f"{'reason':{width}}     rows  drawn")
    for name, (size, count) in drawing.strata.items():
        run.note(f"{name:{width}} {size:8d} {count:6d}")
    for name, (size, count) in drawing.strata.items():
        if not count:
            run.warn(f"no row of {name} is drawn: no estimate counts its {size} rows")
    if len(drawing.lines) < settings.count:
        run.warn(f"only {len(drawing.lines)} rows of distinct text are drawn")
