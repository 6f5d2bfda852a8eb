"""``bitext-score``: a score for each sentence pair."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from bitextfilter.commands.column_check import with_column_check
from bitextfilter.commands.frame import Run, command, model_options, row_options
from bitextfilter.commands.options import needs_own_file
from bitextfilter.commands.scaling import scaling_options
from bitextfilter.commands.sharding import over_shards
from bitextfilter.io.rows import BadRow, Row, RowReader

if TYPE_CHECKING:
    from bitextfilter.scoring.model import Model
    from bitextfilter.scoring.reference import Reference
    from bitextfilter.similarity.vectors import Scores

__all__ = ["main"]


@dataclass(frozen=True)
class Settings:
    """What to score by, and how to write it."""

    similarity: str | None
    neighbours: str | None
    digits: int
    score_only: bool
    column_check: bool
    cache: str | None = None


@command("bitext-score", row_options(), scaling_options(), model_options(), batch_size=12288)
@click.option(
    "--similarity",
    metavar="NAME[,NAME...]",
    help="Measures, one column each  [default: mlp if the model has a classifier, else cosine]",
)
@click.option(
    "--neighbours",
    metavar="FILE|input",
    help="For csls, ratio and distance: a neighbours.npz, or the input itself  "
    "[default: those of the model]",
)
@click.option("--digits", type=click.IntRange(0, 9), default=4, show_default=True, help="Decimals.")
@click.option("--score-only", is_flag=True, help="Write the scores without the rows.")
@click.option(
    "--cache",
    metavar="DIR",
    help="Take scores of earlier runs from this folder, and add those that are new.",
)
@click.option(
    "--no-column-check",
    "column_check",
    flag_value=False,
    default=True,
    help="Do not warn of swapped columns or other languages.",
)
def main(run: Run, **options: Any) -> None:
    """Score sentence pairs: the more probably translations, the higher.

    Writes each row as it came with its scores appended as the last columns: one line for each
    line of the input, in the same order. A rejected row has empty scores.

    Measures, of all of which higher is better; bitext-models show says where to cut:

        mlp        0 to 1        how surely good translations, by the model's classifier
        cosine     -1 to 1       cosine of the two vectors
        euclidean  -inf to 0     negative Euclidean distance, in the vectors' own unit
        csls       -4 to 4       2 cosine - the mean cosines of both sides to their neighbours
        ratio      -100 to 100   cosine / the mean of those two; 1 is nothing special
        distance   -2 to 2       cosine - the mean of those two: half of csls

    A score depends on the pair and the model alone: not on --batch-size, --threads, the order
    or the other rows. Memory is bounded by --batch-size. Only --neighbours input is different:
    it measures against the input itself, reads it twice, and keeps it and its vectors in
    temporary files (in TMPDIR) and about 200 bytes a pair in memory. --cache takes 24 bytes of
    disk a score and no memory to speak of; what is written is the same with it and without.

    Example:

        bitext-score < pairs.tsv > scored.tsv
        bitext-score --cache scores < pairs.tsv > scored.tsv
        bitext-score --similarity mlp,csls --header -i pairs.tsv.gz -o scored.tsv.gz
        bitext-score corpus/*.tsv --engine ray --resume parts -o scored.tsv
        bitext-score --score-only --on-error reject --rejects bad.tsv < pairs.tsv
    """
    settings = Settings(**options)
    measures = _measures(settings)
    if settings.neighbours == "input" and (run.scaling.by_shards or run.scaling.shard):
        raise click.UsageError("--neighbours input reads the whole input: it cannot be cut")
    if settings.cache is not None and run.scaling.engine == "ray":
        raise click.UsageError("--cache is for one machine: it does not go with --engine ray")
    files = run.row_settings
    others = (*files.inputs, files.output, files.rejects, run.common.manifest)
    needs_own_file("--cache", settings.cache, others)
    over_shards(run, partial(_score, settings=settings, measures=measures), run.output())


def _score(run: Run, output: BinaryIO, settings: Settings, measures: tuple[str, ...]) -> None:
    """Score the rows of a run."""
    rows = run.rows()
    scorer = _scorer(run, measures, settings)
    windows = run.windows(rows)
    if settings.column_check and rows.starts:
        windows = with_column_check(run, scorer.model, windows)
    if settings.neighbours == "input":
        windows = _read_twice(run, scorer, rows, windows)
    output.write(scorer.first_line(rows))
    for window in windows:
        output.write(scorer.lines(window))


def _measures(settings: Settings) -> tuple[str, ...]:
    """Return the measures asked for. Raises UsageError for any that make no sense."""
    from bitextfilter.scoring.scorers import MEASURES

    names = settings.similarity.split(",") if settings.similarity is not None else []
    for name in names:
        if name not in MEASURES:
            raise click.UsageError(f"similarity {name!r} is none of {', '.join(MEASURES)}")
        if names.count(name) > 1:
            raise click.UsageError(f"similarity {name!r} is asked for twice")
    if settings.neighbours and not any(MEASURES[name].needs == "neighbours" for name in names):
        raise click.UsageError("--neighbours is for --similarity csls, ratio or distance")
    return tuple(names)


def _scorer(run: Run, measures: tuple[str, ...], settings: Settings) -> _Scorer:
    """Load the model and open the cache, if there is one; its answers are counted."""
    cached = None
    if settings.cache is not None:
        from bitextfilter.io.cache import Cache
        from bitextfilter.scoring.cached import CachedScores

        cached = CachedScores(run.enter(Cache(settings.cache)), run.counts)
    model = run.model()
    scorer = _Scorer(model, measures or (model.default_measure,), settings)
    scorer.score = cached or scorer.score
    run.facts["similarity"] = ",".join(scorer.measures)
    return scorer


class _Scorer:
    """Turns windows of rows into lines with scores."""

    def __init__(self, model: Model, measures: tuple[str, ...], settings: Settings) -> None:
        """Check that model and neighbours have what the measures need.

        With --neighbours input, ``reference`` has nothing in it until the input has been read.
        """
        import numpy as np

        from bitextfilter.scoring.reference import Reference
        from bitextfilter.scoring.scorers import check_measures, score_pairs

        self.score: Callable[..., Scores] = score_pairs
        self.model, self.measures = model, measures
        self.reference: Reference | None = model.reference
        self._digits, self._score_only = settings.digits, settings.score_only
        if settings.neighbours == "input":
            nothing = np.zeros((0, model.encoder.dim), dtype=np.float32)
            self.reference = Reference(nothing, nothing)
        elif settings.neighbours is not None:
            self.reference = Reference.load(Path(settings.neighbours), model.encoder.dim)
        check_measures(model, measures, self.reference)

    def first_line(self, rows: RowReader) -> bytes:
        """Return what stands before the rows: the BOM and the header."""
        if not self._score_only:
            return rows.first_line(self.measures)
        return (
            b""
            if rows.header is None or not rows.starts
            else "\t".join(self.measures).encode() + b"\n"
        )

    def lines(self, window: list[Row | BadRow]) -> bytes:
        """Return one line for each row of the window."""
        good = [row for row in window if isinstance(row, Row)]
        sources, targets = [row.source for row in good], [row.target for row in good]
        scores = self.score(self.model, sources, targets, self.measures, self.reference)
        values = iter(scores.tolist())
        return b"".join(
            self._line(row, next(values) if isinstance(row, Row) else None) for row in window
        )

    def _line(self, row: Row | BadRow, scores: list[float] | None) -> bytes:
        texts = [""] * len(self.measures) if scores is None else map(self._text, scores)
        columns = "\t".join(texts).encode()
        return columns + b"\n" if self._score_only else row.line + b"\t" + columns + row.ending

    def _text(self, score: float) -> str:
        text = f"{score:.{self._digits}f}"
        return text.removeprefix("-") if not text.strip("-0.") else text


def _read_twice(
    run: Run, scorer: _Scorer, rows: RowReader, windows: Iterator[list[Row | BadRow]]
) -> Iterator[list[Row | BadRow]]:
    """Read all windows, make the scorer's reference of them, and return them once more."""
    from bitextfilter.scoring.spool import InputNeighbours

    run.note(f"--neighbours input reads everything twice; it waits in {tempfile.gettempdir()}")
    spool, source, target = (run.enter(tempfile.TemporaryFile()) for _ in range(3))
    neighbours = InputNeighbours(scorer.model, source, target)
    spool.write(rows.first_line())
    for window in windows:
        good = [row for row in window if isinstance(row, Row)]
        neighbours.add([row.source for row in good], [row.target for row in good])
        spool.writelines(row.line + row.ending for row in window)
    scorer.reference = neighbours.reference()
    spool.seek(0)
    run.progress().reset(total=run.counts["rows"])
    settings = run.row_settings
    again = RowReader(spool, rows.name, settings.columns, settings.header)
    return run.windows(again, again=True)
