"""``bitext-evaluate contrasts``: damaged pairs beside the same ones without damage."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.evaluate.options import bootstrap_options, check_measure, measurement
from bitextfilter.commands.frame.options import (
    ModelName,
    argument,
    as_column,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import InputError
from bitextfilter.io.files import stream_name
from bitextfilter.io.rows import Columns, WantedColumn

if TYPE_CHECKING:
    from bitextfilter.evaluation.result import Bootstrap, Result

_ALL = "all"


@dataclass(frozen=True)
class _Settings:
    """The rows, and the columns of the damaged pair."""

    file: str = argument(default="-")
    worse_source: int | str | None = option(
        "--worse-scol COLUMN", "Column of the damaged source  [default: that of --scol]", as_column
    )
    worse_target: int | str | None = option(
        "--worse-tcol COLUMN", "Column of the damaged target  [default: that of --tcol]", as_column
    )
    kinds: int | str | None = option(
        "--kinds COLUMN", "Column of the kind of damage  [default: one kind, all]", as_column
    )
    similarity: str | None = option(
        "--similarity NAME", "The measure of --model  [default: its default measure]"
    )


def _damaged(run: Run, columns: Columns, file: str) -> list[tuple[str, ...]]:
    """Read the rows with damage; raises InputError if there are none."""
    every = [row.texts for row in chain.from_iterable(run.good_windows(columns, file))]
    rows = [texts for texts in every if texts[:2] != texts[2:4]]
    run.counts["undamaged"] = len(every) - len(rows)
    if not rows:
        raise InputError("no pair is damaged", file=stream_name(file))
    return rows


@measurement(
    "contrasts",
    _Settings,
    bootstrap_options(),
    row_options("output texts errors"),
    ModelName,
)
def main(run: Run, settings: _Settings, bootstrap: Bootstrap) -> Result:
    """Measure how often a damaged pair scores lower than the same pair without the damage.

    FILE (default: stdin) has both in each row; rows without damage are left out, and counted.
    Writes a line for each kind of damage and for the unweighted mean of the kinds, tab-separated:
    kind, part of the pairs that score lower, 0 to 1, higher is better, with the ends of its 95 %
    interval, part that scores the same, pairs, signature. Memory holds FILE.

    Example:

        bitext-noise --rate mistakes=1 --original < clean.tsv > noisy.tsv
        bitext-evaluate contrasts --scol 5 --tcol 6 --worse-scol 1 --worse-tcol 2 < noisy.tsv
    """
    from bitextfilter.papers.contrasts import contrasts_result, measure_contrasts

    check_measure(settings.similarity)
    sides = run.row_settings.columns
    if settings.worse_source is None and settings.worse_target is None:
        raise click.UsageError("--worse-scol or --worse-tcol says where the damaged side is")
    worse = (
        WantedColumn("damaged source", "--worse-scol", settings.worse_source or sides.source),
        WantedColumn("damaged target", "--worse-tcol", settings.worse_target or sides.target),
    )
    kind = () if settings.kinds is None else (WantedColumn("kind", "--kinds", settings.kinds),)
    columns = replace(sides, last=(*worse, *kind))
    rows = _damaged(run, columns, settings.file)
    model = run.model()
    measure = settings.similarity or model.default_measure
    better, damaged = (
        model.score([row[at] for row in rows], [row[at + 1] for row in rows], measure)[measure]
        for at in (0, 2)
    )
    kinds = [row[4] if kind else _ALL for row in rows]
    found = measure_contrasts(better, damaged, kinds, bootstrap)
    facts: dict[str, str | float] = {"sim": measure, "model": model.digest}
    return contrasts_result(found, facts, bootstrap)
