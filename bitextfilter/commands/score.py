"""``bitext-score``: a score for each sentence pair."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from bitextfilter.commands.frame.command import command, lists
from bitextfilter.commands.frame.options import (
    model_options,
    needs_own_file,
    row_options,
    scaling_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.shards import over_shards
from bitextfilter.commands.frame.translators import (
    check_model_scorer_options,
    load_model_scorers,
    model_scorer_options,
)
from bitextfilter.io.rows import BadRow, Row, RowReader
from bitextfilter.scoring.measures import MEASURES, TRANSLATION_MEASURES

if TYPE_CHECKING:
    from bitextfilter.scoring.cached_scores import CachedScores
    from bitextfilter.scoring.score_columns import ScoreColumns, VectorColumns
    from bitextfilter.text.processor import TextProcessor


CHECKED_ROWS = 1000
"""How many good rows the languages of the columns are judged by."""


def with_column_check(
    run: Run, processor: TextProcessor, windows: Iterator[list[Row | BadRow]]
) -> Iterator[list[Row | BadRow]]:
    """Pass windows on; warn, before much is scored, where the columns do not fit the languages."""
    from bitextfilter.text.language import check_columns

    sample: list[Row] = []
    checked = False

    def check() -> None:
        sources, targets = [row.source for row in sample], [row.target for row in sample]
        if warning := check_columns(sources, targets, processor):
            run.warn(f"{warning} (--scol and --tcol choose columns)")

    for window in windows:
        if not checked:
            sample += [row for row in window if isinstance(row, Row)][: CHECKED_ROWS - len(sample)]
            checked = len(sample) == CHECKED_ROWS or len(window) < run.common.batch_size
            if checked:
                check()
        yield window
    if not checked:
        check()


class ScoredLines:
    """Turns windows of rows into lines with scores."""

    def __init__(self, columns: ScoreColumns, digits: int, score_only: bool) -> None:
        """Write so many decimals, and with *score_only* nothing but the scores."""
        self._columns, self._measures = columns, columns.measures
        self._digits, self._score_only = digits, score_only

    def first_line(self, rows: RowReader) -> bytes:
        """Return what stands before the rows: the BOM and the header."""
        if not self._score_only:
            return rows.first_line(self._measures)
        return (
            b""
            if rows.header is None or not rows.starts
            else "\t".join(self._measures).encode() + b"\n"
        )

    def lines(self, window: list[Row | BadRow]) -> bytes:
        """Return one line for each row of the window."""
        good = [row for row in window if isinstance(row, Row)]
        scores = self._columns([row.source for row in good], [row.target for row in good])
        values = iter(scores.tolist())
        return b"".join(
            self._line(row, next(values) if isinstance(row, Row) else None) for row in window
        )

    def _line(self, row: Row | BadRow, scores: list[float] | None) -> bytes:
        texts = [""] * len(self._measures) if scores is None else map(self._text, scores)
        columns = "\t".join(texts).encode()
        return columns + b"\n" if self._score_only else row.line + b"\t" + columns + row.ending

    def _text(self, score: float) -> str:
        text = f"{score:.{self._digits}f}"
        return text.removeprefix("-") if not text.strip("-0.") else text


@dataclass(frozen=True)
class _Settings:
    """What to score by, and how to write it."""

    similarity: str | None
    neighbours: str | None
    digits: int
    score_only: bool
    column_check: bool
    cache: str | None = None
    scorers: dict[str, Any] = field(default_factory=dict)
    """What --translator, --language-models and --weights say."""


@command(
    "bitext-score",
    row_options(),
    model_scorer_options(),
    scaling_options(),
    model_options(),
    batch_size=12288,
)
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
@lists(
    MEASURES={name: (one.range, one.text) for name, one in MEASURES.items()},
    TRANSLATION_MEASURES={
        name: (one.range, one.text) for name, one in TRANSLATION_MEASURES.items()
    },
)
def main(run: Run, **options: Any) -> None:
    """Score sentence pairs: the more probably translations, the higher.

    Writes each row as it came with its scores appended as the last columns: one line for each
    line of the input, in the same order. A rejected row has empty scores.

    Measures of --model. Higher is better; bitext-models show lists thresholds:

        MEASURES

    Measures of --translator and --language-models (natural logarithms):

        TRANSLATION_MEASURES

    A score depends on the pair and the model alone: not on --batch-size, --threads, the order
    or the other rows. Memory is bounded by --batch-size. Only --neighbours input is different:
    it measures against the input itself, reads it twice, and keeps it and its vectors in
    temporary files (in TMPDIR) and about 200 bytes a pair in memory. --cache takes 34 bytes of
    disk a score and no memory to speak of; what is written is the same with it and without.

    Example:

        bitext-score < pairs.tsv > scored.tsv
        bitext-score --cache scores < pairs.tsv > scored.tsv
        bitext-score --similarity mlp,csls --header -i pairs.tsv.gz -o scored.tsv.gz
        bitext-score corpus/*.tsv --engine ray --resume parts -o scored.tsv
        bitext-score --similarity dual --translator de-en,en-de --scol 2 --tcol 1 < pairs.tsv
        bitext-score --score-only --on-error reject --rejects bad.tsv < pairs.tsv
    """
    scorers = {name: options.pop(name) for name in ("translator", "language_models", "weights")}
    settings = _Settings(scorers=scorers, **options)
    measures = _measures(settings)
    _check(run, settings)
    over_shards(run, partial(_score, settings=settings, measures=measures), run.output())


def _check(run: Run, settings: _Settings) -> None:
    """Raise UsageError for options that do not go together."""
    if settings.neighbours == "input" and (run.scaling.by_shards or run.scaling.shard):
        raise click.UsageError("--neighbours input reads the whole input: it cannot be cut")
    if settings.cache is not None and run.scaling.engine == "ray":
        raise click.UsageError("--cache is for one machine: it does not go with --engine ray")
    files = run.row_settings
    others = (*files.inputs, files.output, files.rejects, run.common.manifest)
    needs_own_file("--cache", settings.cache, others)


def _score(run: Run, output: BinaryIO, settings: _Settings, measures: tuple[str, ...]) -> None:
    """Score the rows of a run."""
    rows = run.rows()
    columns, processor = _columns(run, measures, settings)
    windows = run.windows(rows)
    if settings.column_check and rows.starts and processor is not None:
        windows = with_column_check(run, processor, windows)
    if settings.neighbours == "input" and columns.vectors is not None:
        windows = _read_twice(run, columns.vectors, rows, windows)
    lines = ScoredLines(columns, settings.digits, settings.score_only)
    output.write(lines.first_line(rows))
    for window in windows:
        output.write(lines.lines(window))


def _measures(settings: _Settings) -> tuple[str, ...]:
    """Return the measures asked for. Raises UsageError for any that make no sense."""

    names = settings.similarity.split(",") if settings.similarity is not None else []
    for name in names:
        if name not in MEASURES and name not in TRANSLATION_MEASURES:
            known = ", ".join((*MEASURES, *TRANSLATION_MEASURES))
            raise click.UsageError(f"similarity {name!r} is none of {known}")
        if names.count(name) > 1:
            raise click.UsageError(f"similarity {name!r} is asked for twice")
    needed = [MEASURES[name].needs for name in names if name in MEASURES]
    if settings.neighbours and "neighbours" not in needed:
        raise click.UsageError("--neighbours is for --similarity csls, ratio or distance")
    check_model_scorer_options(settings.scorers, names)
    return tuple(names)


def _columns(
    run: Run, measures: tuple[str, ...], settings: _Settings
) -> tuple[ScoreColumns, TextProcessor | None]:
    """Load what the measures need; also returns what knows the languages of the columns."""
    from bitextfilter.scoring.score_columns import (
        ColumnGroup,
        ModelScorerColumns,
        ScoreColumns,
        VectorColumns,
    )

    cached = _cached(run, settings.cache)
    own = tuple(name for name in measures if name not in TRANSLATION_MEASURES)
    others = tuple(name for name in measures if name in TRANSLATION_MEASURES)
    groups: list[ColumnGroup] = []
    processor = None
    if own or not others:
        model = run.model()
        own = own or (model.default_measure,)
        groups.append(VectorColumns(model, own, settings.neighbours))
        processor = model.processor
    if others:
        languages = processor.languages if processor else None
        scorers, first = load_model_scorers(run, settings.scorers, others, languages)
        groups.append(ModelScorerColumns(scorers, others))
        processor = processor or first
    columns = ScoreColumns(measures or own, groups, run.counts, cached)
    run.facts["similarity"] = ",".join(columns.measures)
    return columns, processor


def _cached(run: Run, folder: str | None) -> CachedScores | None:
    """Open the cache, if there is one; its answers are counted."""
    if folder is None:
        return None
    from bitextfilter.io.cache import Cache
    from bitextfilter.scoring.cached_scores import CachedScores

    return CachedScores(run.enter(Cache(folder)), run.counts)


def _read_twice(
    run: Run, columns: VectorColumns, rows: RowReader, windows: Iterator[list[Row | BadRow]]
) -> Iterator[list[Row | BadRow]]:
    """Read all windows, make the background sample of them, and return them once more."""
    from bitextfilter.io.spill import Scratch
    from bitextfilter.scoring.background import InputBackground

    run.note(f"--neighbours input reads everything twice; it waits in {tempfile.gettempdir()}")
    spool, source, target = (run.enter(Scratch()) for _ in range(3))
    background = InputBackground(columns.model, source, target)
    spool.write(rows.first_line())
    for window in windows:
        good = [row for row in window if isinstance(row, Row)]
        background.add([row.source for row in good], [row.target for row in good])
        spool.write(b"".join(row.line + row.ending for row in window))
    columns.background = background.sample()
    run.progress().reset(total=run.counts["rows"])
    settings = run.row_settings
    again = RowReader(spool.stream(), rows.name, settings.columns, settings.header)
    return run.windows(again, again=True)
