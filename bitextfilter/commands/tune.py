"""``bitext-tune``: train and measure an encoder at every point of a grid."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.options import (
    COUNT,
    FILE,
    FOLDER,
    argument,
    cores,
    flag,
    languages_option,
    needs_own_file,
    option,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.training import PairColumns, embeddings_option
from bitextfilter.errors import InputError
from bitextfilter.io.drafts import temporary_folder

if TYPE_CHECKING:
    from bitextfilter.tuning.trials import Point, ResultTable, TuningTask

    Points = dict[str, Point]


@dataclass(frozen=True)
class _Settings:
    """The grid, the files that all points share, and the table."""

    grid: Path = argument(type=FILE)
    table: Path = option(
        "-o --output FILE", "The table; points in it are not trained again.", FILE, required=True
    )
    languages: tuple[str, str] = languages_option("Such as en,de.", required=True)
    pairs: tuple[str, ...] = option(
        "--pairs FILE",
        "Training pairs, a TSV; may be repeated. Or the grid names files, to be tried one by one.",
        multiple=True,
    )
    development: str = option("--development FILE", "Pairs to validate on, a TSV.", required=True)
    sts: tuple[str, ...] = option(
        "--sts FILE", "Measure by TSVs of score, sentence, sentence; repeatable.", multiple=True
    )
    sts_language: str | None = option(
        "--sts-language LANGUAGE", "The language of both their sentences."
    )
    embeddings: Path | None = embeddings_option()
    models: Path | None = option("--models DIR", "Keep each model as DIR/POINT.", FOLDER)
    processes: int = option(
        "--processes",
        "Points to train side by side, each on one thread. No figure depends on it.  "
        "[default: all cores]",
        COUNT,
        cores,
    )
    dry_run: bool = flag("--dry-run", "Write the points to stdout, and train nothing.")

    def __post_init__(self) -> None:
        """Refuse the language of no file, and stdin."""
        if self.sts_language and not self.sts:
            raise click.UsageError("--sts-language needs --sts")
        if "-" in (*self.pairs, *self.sts, self.development):
            raise click.UsageError(
                "files are read more than once, which stdin cannot be: name a file"
            )


@command("bitext-tune", _Settings, PairColumns, uses="device")
def main(run: Run, settings: _Settings, columns: PairColumns) -> None:
    r"""Train and measure an encoder at every point of a grid, and write one table, best first.

    GRID is a TOML file: the settings of bitext-train-encoder in tables, rules of bitext-filter
    that training pairs must pass, and the number of pairs to draw from these. The values of a
    list are tried one by one, several lists in all combinations. The figure of a point is the
    recovery error
    on --development (%, 0 to 100, lower is better), or with --sts the unweighted mean over files
    of Pearson's correlation of cosine and score (times 100, -100 to 100, higher is better).

    The table is rewritten, whole, whenever a point is finished. The same command goes on with
    the points without a figure. A figure holds for its settings, the content of all files and
    models, and the version of this program.

    Each process holds the text of its point in memory.

    Example:

        bitext-tune grid.toml --languages en,de --pairs train.tsv.gz --development dev.tsv \
            -o tuning.tsv
    """
    from bitextfilter.tuning.trials import ResultTable, read_grid

    needs_own_file("--output", str(settings.table), (run.common.manifest, *settings.pairs))
    grid = read_grid(settings.grid)
    task = _task(run, settings, columns)
    points: Points = {}
    for point in grid.points():
        task.check(point)
        points[task.key(point)] = point
    table = ResultTable(settings.table, task.figure, grid.names)
    left = {key: point for key, point in points.items() if not table.finished(key)}
    run.facts["figure"] = task.figure
    if settings.dry_run:
        run.output("-").write(_listing(points, left, grid.names).encode())
        run.counts.update({"points": len(points), "to train": len(left)})
        return
    run.counts["points"] = len(points)
    work = _Work(table, grid.varied, settings.processes)
    _train(run, task, left, work)
    _conclude(run, points, work)


class _Work(NamedTuple):
    """The table, and the settings of the run."""

    table: ResultTable
    varied: list[str]
    """Names whose values are reported for a point."""
    processes: int


def _task(run: Run, settings: _Settings, columns: PairColumns) -> TuningTask:
    """Return the settings and files that all points share."""
    from bitextfilter.training.data import PairFile
    from bitextfilter.tuning.trials import TuningTask

    language = settings.sts_language
    return TuningTask(
        languages=settings.languages,
        pairs=settings.pairs,
        columns=columns.training,
        development=PairFile(settings.development, columns=columns.development),
        work=run.enter(temporary_folder()),
        sts=settings.sts,
        sts_languages=(language, language) if language else None,
        vectors=settings.embeddings,
        models=settings.models,
        device=run.common.device,
    )


def _train(run: Run, task: TuningTask, points: Points, work: _Work) -> None:
    """Train and measure at the points, and add each to the table as it is finished."""
    from bitextfilter.io.workers import map_as_done

    work.table.try_folder()
    skipped = task.prepare()
    run.counts.update({"trained": 0, "failed": 0})
    if task.sts:
        run.counts["without a score"] = skipped
    figure = work.table.figure
    bar = run.progress(len(points), "points")
    for outcome in map_as_done(task, points.items(), min(work.processes, len(points))):
        point = points[outcome.key]
        work.table.add(point, outcome)
        run.counts["failed" if outcome.figure is None else "trained"] += 1
        bar.update(1)
        found = f"no {figure}: {outcome.note}"
        if outcome.figure is not None:
            found = f"{figure} {outcome.figure:.2f} in {outcome.seconds:.1f} s"
        run.note(f"{found}: {point.described(work.varied)}")


def _conclude(run: Run, points: Points, work: _Work) -> None:
    """Name the best point of this grid. Raises InputError where none has a figure."""
    figure = work.table.figure
    best = next((row for row in work.table.best_first() if row["point"] in points), None)
    if best is None or not best[figure]:
        name, remedy = str(work.table.path), "the notes in the table have the reasons"
        raise InputError("no point has a figure", file=name, remedy=remedy)
    run.facts |= {"best": best["point"], figure: float(best[figure])}
    said = points[best["point"]].described(work.varied)
    run.note(f"best: {figure} {best[figure]}, point {best['point']}: {said}")


def _listing(points: Points, left: Points, names: list[str]) -> str:
    """The points as a TSV with a header, each with its state."""
    lines = [["point", "state", *names]]
    for key, point in points.items():
        cells = point.cells()
        state = "to train" if key in left else "finished"
        lines.append([key, state, *(cells.get(name, "") for name in names)])
    return "".join("\t".join(line) + "\n" for line in lines)
