"""Scores of a run that are written to a file for others, too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import click

from bitextfilter.commands.frame.command import needs_none_of
from bitextfilter.commands.frame.options import needs_own_file
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.shards import identity
from bitextfilter.models.folders import ModelName
from bitextfilter.scoring.measures import INPUT

if TYPE_CHECKING:
    from bitextfilter.scoring.shared_scores import ScoreFacts

_OPTIONS = ("neighbours", "between", "weights")
"""Options that scores depend on, and that are no facts of a run."""
_FOLDERS = re.compile(r"[^\s=,]*/")


@contextmanager
def sharing(run: Run, path: str | None, scores: slice) -> Iterator[BinaryIO]:
    """Open the output of a run, and write the scores of its rows to the file at *path*, if any.

    *scores* are the columns, from the end, that they are printed in. The file is written when all
    rows are. Raises UsageError for options that do not go with it, DeviceError without pyarrow.
    """
    if path is None:
        yield run.output()
        return
    from bitextfilter.io.arrow_file import arrow
    from bitextfilter.scoring.shared_scores import RowsToShare

    _check(run, path)
    arrow()
    stream, files = run.output(path, table=True), run.row_settings
    places = [n if isinstance(n, str) else n - (n > 0) for n in (files.scol, files.tcol)]
    header = files.header and not _is_later(run)
    with RowsToShare(run.output(), places, header, scores) as rows:
        yield cast(BinaryIO, rows)
        rows.end(stream, _facts(run))


def _check(run: Run, path: str) -> None:
    from bitextfilter.scoring.shared_scores import PAIR

    files, given = run.row_settings, click.get_current_context().params
    if Path(path).suffix.lower() != ".parquet":
        raise click.UsageError(f"--share {path}: the name must end in .parquet")
    others = (*files.inputs, files.output, files.rejects, run.common.manifest)
    needs_own_file("--share", path, others)
    needs_none_of(("score_only",), "leaves out the texts, which --share needs")
    if given["neighbours"] == INPUT:
        raise click.UsageError("--share is for scores that do not depend on --neighbours input")
    if given["scorer_name"] == PAIR:
        raise click.UsageError(f"--share has a column {PAIR}: --scorer-name takes another name")
    if _is_later(run) and any(isinstance(place, str) for place in (files.scol, files.tcol)):
        raise click.UsageError("--share with --shard needs the numbers of the columns")


def _is_later(run: Run) -> bool:
    """Whether the output is that of a later part, which has no header."""
    return run.scaling.shard is not None and run.scaling.shard[0] > 1


def _facts(run: Run) -> ScoreFacts:
    """Return how the scores of a run were made; files and folders by their names alone."""
    from bitextfilter.scoring.shared_scores import ScoreFacts, model_facts
    from bitextfilter.similarity.vectors import MARGINS

    given = click.get_current_context().params
    known = {name: str(fact) for name, fact in run.facts.items()}
    measures, model = tuple(known.pop("similarity").split(",")), known.pop("model", "")
    digest, folder = known.pop("digest", ""), ModelName.parse(model).base
    known |= {name: identity(name, given[name]) for name in _OPTIONS if given[name] is not None}
    others = MARGINS if given["neighbours"] else ()
    return ScoreFacts(
        measures,
        digits=given["digits"],
        model=model.replace(folder, Path(folder).name, 1),
        digest=digest,
        settings={name: _FOLDERS.sub("", text) for name, text in known.items()},
        **model_facts(model, [name for name in measures if name not in others]),
    )
