"""``bitext-dedup``: each pair once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from bitextfilter.commands.deduplication import Deduplication
from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import (
    amount,
    column,
    files_argument,
    needs_own_file,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.corpus.duplicate_keys import (
    BY,
    IGNORABLE,
    KEEP,
    MATCH,
    DedupSettings,
)
from bitextfilter.io.rows import ColumnPlace, Columns


@dataclass(frozen=True)
class _ComparedColumns(Columns):
    """The columns of the sides that are compared, then that of the score, if there is one."""

    by: str = "pair"
    score: int | str | None = None

    def wanted(self) -> tuple[ColumnPlace, ...]:
        sides = [side for side in super().wanted() if self.by in (side.name, "pair", "either")]
        scores = [] if self.score is None else [ColumnPlace("score", "--column", self.score)]
        return (*sides, *scores)


def _ignorable(value: str | tuple[str, ...]) -> tuple[str, ...]:
    """Read what to ignore: names with commas between them."""
    names = tuple(value.split(",")) if isinstance(value, str) else value
    if unknown := [name for name in names if name not in IGNORABLE]:
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(IGNORABLE)}")
    return names


def _bytes(value: str) -> int:
    """Read an amount of memory, above 0."""
    if not (number := amount(value)):
        raise click.BadParameter("no memory is too little")
    return number


def _chosen(options: dict[str, Any]) -> DedupSettings:
    """Return the settings. Raises UsageError for options that would do nothing."""
    near = ("near",)
    for name, matches in {"ignore": MATCH[1:], "similarity": near, "shingle": near}.items():
        if options[name] is not None and options["match"] not in matches:
            raise click.UsageError(f"--{name} is for --match {' or '.join(matches)}")
    return DedupSettings(**{name: value for name, value in options.items() if value is not None})


@command("bitext-dedup", row_options(drops=True), files_argument(), uses="rows")
@click.option(
    "--match",
    type=click.Choice(MATCH),
    default="exact",
    show_default=True,
    help="Which texts are duplicates: see above.",
)
@click.option(
    "--by",
    type=click.Choice(BY),
    default="pair",
    show_default=True,
    help="Compare both sides together, one, or either: then no text comes twice.",
)
@click.option(
    "--keep",
    type=click.Choice(KEEP),
    default="first",
    show_default=True,
    help="Which of them to keep: best by the score in --column.",
)
@click.option(
    "--column",
    type=column,
    metavar="COLUMN",
    help="Column of the score, of which higher is better  [default: -1, the last]",
)
@click.option(
    "--ignore",
    type=_ignorable,
    metavar="NAME[,NAME...]",
    help=f"What normalised and near leave out  [default: {','.join(IGNORABLE)}]",
)
@click.option(
    "--similarity",
    type=click.FloatRange(0, 1, min_open=True),
    help="Jaccard similarity from which texts are near, above 0, up to 1  [default: 0.8]",
)
@click.option(
    "--shingle",
    type=click.IntRange(min=1),
    help="Characters of the n-grams that near compares  [default: 4]",
)
@click.option(
    "--memory",
    type=_bytes,
    default="1G",
    show_default=True,
    metavar="BYTES",
    help="About how much memory to use: 500M, 4G. No result depends on it.",
)
@click.option(
    "--groups",
    metavar="FILE",
    help="Write the groups of duplicates: number, line, kept or dropped, the row.",
)
def main(run: Run, groups: str | None, column: int | str | None, **options: Any) -> None:
    """Keep one of the pairs that are duplicates of each other, in input order.

    A row is dropped if it matches one that is kept, and --rejects FILE says which. Rows match

        exact        if the texts are the same, byte for byte
        normalised   if they are but for case, punctuation, digits and white space (--ignore)
        near         if their character n-grams, normalised, have a Jaccard similarity of
                     --similarity or more, in each side; needs bitextfilter[near]

    Kept are the first rows, or, with --keep best, those with the highest scores, the first of
    equals. A row without a score comes last.

    The first rows are kept as they come, in one pass, while their keys fit in half of --memory:
    some 9 million kept rows in 1G (by either, 4). What comes after that, and everything with
    --keep best, --match near or --groups, waits in temporary files (in TMPDIR: the text and some
    40 bytes a row, by either 100; near, the text twice and some 400), and memory stays near
    --memory however many rows there are, mapped files aside.

    Keys have 128 bits: that two of 100 million different texts share one has odds of 1 to 10^22.
    Near duplicates are found by MinHash with a probability of 99 % at the least, and each is
    checked by its real similarity.

    Example:

        bitext-dedup < pairs.tsv > unique.tsv
        bitext-score < pairs.tsv | bitext-dedup --match normalised --keep best > best.tsv
        bitext-dedup corpus/*.tsv.gz > unique.tsv
        bitext-dedup --match near --by source --groups groups.tsv --rejects gone.tsv < pairs.tsv
    """
    settings = _chosen(options)
    if column is not None and settings.keep == "first":
        raise click.UsageError("--column is for --keep best")
    score = column if column is not None or settings.keep == "first" else -1
    files = run.row_settings
    needs_own_file("--groups", groups, (*files.inputs, files.output, files.rejects))
    sides = files.columns
    compared = _ComparedColumns(sides.source, sides.target, score is not None, settings.by, score)
    Deduplication(run, settings, run.rows(compared), groups).run()
