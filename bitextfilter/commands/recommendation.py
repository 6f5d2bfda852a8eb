"""``bitext-models recommend``: keep thresholds in a model; and how they are shown."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bitextfilter.commands.frame import Run, command
from bitextfilter.errors import InputError
from bitextfilter.io.files import stream_name

if TYPE_CHECKING:
    from bitextfilter.scoring.thresholds import Threshold

__all__ = ["lines", "own_thresholds", "recommend", "threshold_line"]

_REMEDY = "see bitext-models recommend --help"


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
@click.option(
    "--similarity",
    metavar="NAME",
    help="What MODEL scored by where no RESULT says it: with --labels, and of mined pairs.",
)
def recommend(
    run: Run, name: str, results: tuple[str, ...], folder: str, similarity: str | None
) -> None:
    """Keep thresholds that bitext-evaluate suggests in a model, for bitext-models show.

    Each RESULT (- is stdin) is JSON of bitext-evaluate filtering --suggest-threshold or mining,
    of the scores of just this MODEL. A threshold takes the place of one of the same use, measure
    and goal. The folder is written whole or not at all; neither a score nor the digest changes.
    Writes all thresholds that the model then has, as bitext-models show does.

    Example:

        bitext-evaluate filtering --suggest-threshold --json --model my-model clean.tsv > cut.json
        bitext-models recommend my-model cut.json -o my-model
    """
    from bitextfilter.models.checkpoint import check_replaceable, writing_folder
    from bitextfilter.models.folders import digest, find, read_config
    from bitextfilter.scoring.thresholds import NAMES, merged, write_thresholds

    if similarity is not None and similarity not in NAMES:
        raise click.UsageError(f"similarity {similarity!r} is none of {', '.join(NAMES)}")
    check_replaceable(Path(folder))
    source = find(name)
    read_config(source)
    own, output = digest(source), run.output("-")
    new = [threshold for path in results for threshold in _suggested(run, path, own, similarity)]
    thresholds = merged(own_thresholds(run, source, own), new)
    with writing_folder(Path(folder)) as draft:
        shutil.copytree(source, draft, dirs_exist_ok=True)
        write_thresholds(draft, thresholds)
    output.write(lines(map(threshold_line, thresholds)))
    run.counts.update(new=len(new), thresholds=len(thresholds))


def _suggested(run: Run, path: str, digest: str, similarity: str | None) -> list[Threshold]:
    """Read the thresholds that a result suggests. Raises InputError for what is no such result."""
    file = stream_name(path)
    try:
        records = json.loads(run.input(path).read())["recommended"]
        found = [_filled({**record}, digest, similarity) for record in records]
    except (KeyError, TypeError):
        raise InputError("no result with thresholds", file=file, remedy=_REMEDY) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"unusable: {error}", file=file, remedy=_REMEDY) from error
    if not found:
        raise InputError("no threshold was suggested", file=file, remedy=_REMEDY)
    return found


def _filled(record: dict[str, Any], digest: str, similarity: str | None) -> Threshold:
    """Return the threshold of a record in which measure and model may be None."""
    from bitextfilter.scoring.thresholds import Threshold

    for name, value in (("measure", similarity), ("model", digest)):
        if record[name] is None and value is None:
            raise ValueError("it does not name the measure: --similarity NAME does")
        if value is not None and record[name] not in (None, value):
            raise ValueError(f"of scores of the {name} {record[name]!r}, not of {value!r}")
        record[name] = record[name] or value
    return Threshold.of(record)


def own_thresholds(run: Run, folder: Path, digest: str) -> list[Threshold]:
    """Return the thresholds in a model folder, but for those of other models' scores."""
    from bitextfilter.scoring import thresholds

    own, others = thresholds.own_thresholds(folder, digest)
    if others:
        run.warn(
            f"{folder}: {others} thresholds left out: they were estimated with"
            " other weights; bitext-models recommend keeps new ones"
        )
    return own


def threshold_line(threshold: Threshold) -> list[str]:
    """Return the name of a threshold, its value, and what it was chosen by."""
    parts = ("precision", "recall", "f1")
    figures = [f"{name}={getattr(threshold, name):.4f}" for name in parts]
    facts = {name: getattr(threshold, name) for name in ("noise_share", "rows", "file")}
    made = [f"{name}={value}" for name, value in facts.items() if value is not None]
    return [
        ".".join(("threshold", *threshold.key)),
        repr(threshold.threshold),
        " ".join([*figures, *made]),
    ]


def lines(rows: Iterable[Sequence[str]]) -> bytes:
    """Return rows of cells as lines, tab-separated."""
    return "".join("\t".join(row) + "\n" for row in rows).encode()
