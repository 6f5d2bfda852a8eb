"""``bitext-models recommend``: keep thresholds in a model; and how they are shown."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.frame import Run, command
from bitextfilter.errors import InputError
from bitextfilter.io.files import stream_name

if TYPE_CHECKING:
    from bitextfilter.scoring.thresholds import Threshold

__all__ = ["lines", "own_thresholds", "recommend", "threshold_line"]

_REMEDY = "bitext-evaluate filtering --suggest-threshold --json writes such"


@command("recommend", batch_size=None)
@click.argument("name", metavar="MODEL")
@click.argument("results", metavar="RESULT...", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    "folder",
    required=True,
    metavar="FOLDER",
    help="Folder of the model with the thresholds; it may be MODEL's own.",
)
def recommend(run: Run, name: str, results: tuple[str, ...], folder: str) -> None:
    """Keep thresholds that bitext-evaluate suggests in a model, for bitext-models show.

    Each RESULT (- is stdin) is JSON of bitext-evaluate, of the scores of just this MODEL. A
    threshold takes the place of one of the same use, measure and goal. The folder is written
    whole or not at all; neither a score nor the digest changes. Writes all thresholds that the
    model then has, as bitext-models show does.

    Example:

        bitext-evaluate filtering --suggest-threshold --json --model my-model clean.tsv > cut.json
        bitext-models recommend my-model cut.json -o my-model
    """
    from bitextfilter.models.checkpoint import check_replaceable, writing_folder
    from bitextfilter.models.folders import digest, find, read_config
    from bitextfilter.scoring.thresholds import merged, write_thresholds

    check_replaceable(Path(folder))
    source = find(name)
    read_config(source)
    own, output = digest(source), run.output("-")
    new = [threshold for path in results for threshold in _suggested(run, path, own)]
    thresholds = merged(own_thresholds(run, source, own), new)
    with writing_folder(Path(folder)) as draft:
        shutil.copytree(source, draft, dirs_exist_ok=True)
        write_thresholds(draft, thresholds)
    output.write(lines(map(threshold_line, thresholds)))
    run.counts.update(new=len(new), thresholds=len(thresholds))


def _suggested(run: Run, path: str, digest: str) -> list[Threshold]:
    """Read the thresholds that a result suggests. Raises InputError for what is no such result."""
    from bitextfilter.scoring.thresholds import Threshold

    file = stream_name(path)
    try:
        whole = json.loads(run.input(path).read())
        found = [Threshold.of(record) for record in whole["recommended"]]
    except (KeyError, TypeError):
        raise InputError("no result with thresholds", file=file, remedy=_REMEDY) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"unreadable result: {error}", file=file, remedy=_REMEDY) from error
    if not found:
        raise InputError("no threshold was suggested", file=file, remedy=_REMEDY)
    for threshold in found:
        if threshold.model != digest:
            message = f"of scores of the model {threshold.model}, not of {digest}"
            raise InputError(message, file=file, remedy="estimate it with this model")
    return found


def own_thresholds(run: Run, folder: Path, digest: str) -> list[Threshold]:
    """Return the thresholds in a model folder, but for those of other models' scores."""
    from bitextfilter.scoring.thresholds import read_thresholds

    found = read_thresholds(folder)
    own = [threshold for threshold in found if threshold.model == digest]
    if len(own) < len(found):
        run.warn(
            f"{folder}: {len(found) - len(own)} thresholds left out: they were estimated with"
            " other weights; bitext-models recommend keeps new ones"
        )
    return own


def threshold_line(threshold: Threshold) -> list[str]:
    """Return the name of a threshold, its value, and what it was chosen by."""
    parts = ("precision", "recall", "f1")
    figures = [f"{name}={getattr(threshold, name):.4f}" for name in parts]
    facts = [f"{name}={getattr(threshold, name)}" for name in ("noise_share", "rows", "file")]
    return [
        ".".join(("threshold", *threshold.key)),
        repr(threshold.threshold),
        " ".join([*figures, *facts]),
    ]


def lines(rows: Iterable[Sequence[str]]) -> bytes:
    """Return rows of cells as lines, tab-separated."""
    return "".join("\t".join(row) + "\n" for row in rows).encode()
