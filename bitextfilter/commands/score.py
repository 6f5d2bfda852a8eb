"""``bitext-score``: a score for each sentence pair."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import click

from bitextfilter.commands.frame.command import command, fill_lists, needs_none_of
from bitextfilter.commands.frame.cuts import name_languages
from bitextfilter.commands.frame.given import VectorFiles
from bitextfilter.commands.frame.options import (
    DIGITS,
    ModelName,
    Scaling,
    flag,
    needs_own_file,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.scorer_command import ScorerCommand
from bitextfilter.commands.frame.shards import over_shards
from bitextfilter.commands.frame.translators import ScorerOptions, load_scorers
from bitextfilter.io.rows import BadRow, Row, RowReader, row_windows
from bitextfilter.scoring.measures import MEASURES, TRANSLATION_MEASURES
from bitextfilter.settings import none_of

if TYPE_CHECKING:
    from bitextfilter.arrays import Scores
    from bitextfilter.filters.explanations import Explainer
    from bitextfilter.io.cache import Cache
    from bitextfilter.io.spill import Scratch
    from bitextfilter.scoring.background import BackgroundSample
    from bitextfilter.scoring.score_columns import (
        GivenColumns,
        Sampled,
        ScoreColumns,
        VectorColumns,
    )
    from bitextfilter.text.processor import TextProcessor


_OF_A_MODEL = ("model", "languages", "column_check", "device")


@dataclass(frozen=True)
class _Settings:
    """The command's own options."""

    similarity: str | None = option(
        "--similarity NAME[,NAME...]",
        "Measures, one column each.  [default: mlp if the model has a classifier, else cosine]",
    )
    neighbours: str | None = option(
        "--neighbours FILE|input",
        "For csls, ratio and distance: a neighbours.npz, or the input itself.  [default: those "
        "of the model]",
    )
    digits: int = option("--digits", "Decimals.", DIGITS, 4)
    score_only: bool = flag("--score-only", "Write the scores without the rows.")
    explain: bool = flag(
        "--explain", "Append what weighs against each pair: words, negations, failed rules."
    )
    cache: str | None = option(
        "--cache DIR", "Reuse the scores of earlier runs in this folder, and add new ones."
    )
    column_check: bool = option(
        "--no-column-check",
        "Do not warn of swapped columns or other languages.",
        default=True,
        flag_value=False,
        show_default=False,
    )

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures; none for the default of the model."""
        return tuple(self.similarity.split(",")) if self.similarity is not None else ()

    def check(self, run: Run, program: ScorerCommand) -> None:
        """Raise UsageError for options that contradict each other."""
        known = program.measures((*MEASURES, *TRANSLATION_MEASURES))
        for name in self.measures:
            if name not in known:
                raise click.UsageError(f"similarity {none_of(name, known)}")
            if self.measures.count(name) > 1:
                raise click.UsageError(f"similarity {name!r} is given twice")
        margins = [name for name, measure in MEASURES.items() if measure.needs == "neighbours"]
        if self.neighbours and not set(margins) & set(self.measures):
            *some, last = margins
            raise click.UsageError(f"--neighbours is for --similarity {', '.join(some)} or {last}")
        if self.neighbours == "input" and (run.scaling.by_shards or run.scaling.shard):
            raise click.UsageError("--neighbours input reads the whole input: it cannot be cut")
        if self.neighbours == "input" and program.scorer_command is not None:
            raise click.UsageError("--neighbours input goes without --scorer-command")
        if program.scorer_command is not None and not set(self.measures) - {program.scorer_name}:
            needs_none_of(_OF_A_MODEL, "has no effect with --scorer-command alone: name a measure")
        if self.cache is not None and run.scaling.engine == "ray":
            raise click.UsageError("--cache is for one machine: it does not go with --engine ray")
        files = run.row_settings
        others = (*files.inputs, files.output, files.rejects, run.common.manifest)
        needs_own_file("--cache", self.cache, others)


@command(
    "bitext-score",
    _Settings,
    row_options("pairs files"),
    ScorerOptions,
    ScorerCommand,
    Scaling,
    ModelName,
    VectorFiles,
    batch_size=12288,
)
@fill_lists(
    MEASURES={name: (one.range, one.text) for name, one in MEASURES.items()},
    TRANSLATION_MEASURES={
        name: (one.range, one.text) for name, one in TRANSLATION_MEASURES.items()
    },
)
def main(
    run: Run, settings: _Settings, scorers: ScorerOptions, asked: ScorerCommand, given: VectorFiles
) -> None:
    """Score sentence pairs: the higher, the more likely a translation.

    Appends the scores to each row, empty for a rejected one: a line for each line, in order.

    Measures of --model, or of --source-vectors and --target-vectors (by default cosine; not mlp).
    Higher is better; bitext-models show lists thresholds:

        MEASURES

    Measures of --translator and --language-models (natural logarithms):

        TRANSLATION_MEASURES

    --scorer-command scores by any program, which reads source<TAB>target lines and prints a number
    for each, at once or later. Rows are read ahead of it, and wait (in TMPDIR) if they are many.

    --explain appends one more column, reasons: words without which the score by the first measure
    is higher (source-words=7 red(+1.2): its logit by 1.2), a negation on one side alone, a
    fragment, and rules of bitext-filter that the pair fails. It scores a pair once for each word.

    A score depends on the pair and the model alone, not on --batch-size, --threads or the other
    rows. Memory is bounded by --batch-size. Only --neighbours input measures against the input
    itself, which it reads twice and keeps in temporary files (in TMPDIR).

    Example:

        bitext-score < pairs.tsv > scored.tsv
        bitext-score --explain < pairs.tsv | bitext-rank --column 3 > explained.tsv
        bitext-score --similarity mlp,csls --header -i pairs.tsv.gz -o scored.tsv.gz
        bitext-score corpus/*.tsv --engine ray --resume parts -o scored.tsv
        bitext-score --source-vectors en.npy --target-vectors de.npy < pairs.tsv
        bitext-score --similarity dual --translator de-en,en-de --scol 2 --tcol 1 < pairs.tsv
        bitext-score --scorer-command 'python qe.py' --scorer-name qe --cache scores < pairs.tsv
    """
    _run(run, settings, scorers, asked, given)


def _run(
    run: Run,
    settings: _Settings,
    scorers: ScorerOptions,
    program: ScorerCommand,
    given: VectorFiles,
) -> None:
    """Score all rows, by given vectors if there are any."""
    program.check()
    settings.check(run, program)
    scorers.check(settings.measures)
    if given:
        given.check(("explain", "cache", "column_check", "device", "scorer_command"))
        by_vectors = partial(_score_given, settings=settings, given=given)
        given.check_count(run, over_shards(run, by_vectors, run.output()))
        return
    work = partial(_score, settings=settings, scorers=scorers, program=program)
    over_shards(run, work, run.output())


def _score(
    run: Run, output: BinaryIO, settings: _Settings, scorers: ScorerOptions, program: ScorerCommand
) -> None:
    """Score the rows of a run."""
    from bitextfilter.scoring.column_languages import checked_windows
    from bitextfilter.scoring.score_columns import ScoreLines

    run.row_checks.columns = settings.column_check
    rows, by_program = run.rows(), program.scorer_command is not None
    names = program.measures(settings.measures)
    size = run.common.batch_size
    windows = row_windows(rows, size) if by_program else run.windows(rows)
    encoded = not names or set(names) & set(MEASURES)
    if run.shard is None and encoded and run.languages_open:
        windows = _with_languages(run, windows)
    cache = _cache(run, settings)
    columns, processor = _columns(run, names, settings, scorers, cache)
    if settings.column_check and rows.starts and processor is not None:
        windows = checked_windows(windows, processor, size, run.warn)
    if settings.neighbours == "input" and columns.vectors is not None:
        windows = _read_twice(run, columns.vectors, rows, windows)
    explainer = _explainer(columns) if settings.explain else None
    _write_names(output, rows, (*columns.measures, *(["reasons"] if explainer else ())), settings)
    lines = ScoreLines(settings.digits, settings.score_only, explainer)
    if not by_program:
        score = partial(_by_texts, columns.score)
        for window in windows:
            output.write(lines(window, score))
        return
    for window, found in program.scored(run, rows, windows, cache):
        scored = partial(columns.score, known={program.scorer_name: found})
        output.write(lines(window, partial(_by_texts, scored)))


def _by_texts(
    score: Callable[[Sequence[str], Sequence[str]], Scores], rows: Sequence[Row]
) -> Scores:
    """Return the scores of rows by their texts."""
    from bitextfilter.scoring.score_columns import sides

    return score(*sides(rows))


def _cache(run: Run, settings: _Settings) -> Cache | None:
    """Open the cache, if there is one."""
    if settings.cache is None:
        return None
    from bitextfilter.io.cache import Cache

    return run.enter(Cache(settings.cache))


def _write_names(
    output: BinaryIO, rows: RowReader, names: Sequence[str], settings: _Settings
) -> None:
    """Write the line above the rows, if there is one."""
    if not settings.score_only:
        output.write(rows.first_line(names))
    elif rows.header is not None and rows.starts:
        output.write("\t".join(names).encode() + b"\n")


def _score_given(run: Run, output: BinaryIO, settings: _Settings, given: VectorFiles) -> int:
    """Score the rows of a run by given vectors; returns the number of the last row."""
    from bitextfilter.io.given_vectors import GivenRows
    from bitextfilter.scoring.score_columns import GivenColumns, ScoreLines

    reader, files = run.rows(), given.open(run)
    measures = settings.measures or ("cosine",)
    columns = GivenColumns(files, measures, settings.neighbours, run.common.threads)
    run.facts["similarity"] = ",".join(measures)
    rows = GivenRows(reader, files, whole=run.shard is None)
    windows = run.windows(rows)
    if settings.neighbours == "input":
        windows = _given_twice(run, columns, reader, windows)
    _write_names(output, reader, measures, settings)
    lines = ScoreLines(settings.digits, settings.score_only)
    for window in windows:
        output.write(lines(window, lambda good: columns.score(rows.places(good))))
    return rows.last


def _given_twice(
    run: Run, columns: GivenColumns, rows: RowReader, windows: Iterator[list[Row | BadRow]]
) -> Iterator[list[Row | BadRow]]:
    """As :func:`_read_twice`, with given vectors."""
    from bitextfilter.io.given_vectors import GivenRows
    from bitextfilter.scoring.score_columns import sampled_vectors

    sampled = sampled_vectors(columns, rows, _scratches(run))
    again, columns.background = _read_first(run, rows, windows, sampled)
    return run.windows(GivenRows(again, columns.files), again=True)


def _explainer(columns: ScoreColumns) -> Explainer:
    """Return the explainer of the first measure of vectors; UsageError if there is none."""
    from bitextfilter.filters.explanations import Explainer

    if columns.vectors is None:
        raise click.UsageError("--explain is for the measures of --model")
    vectors, name = columns.vectors, columns.vectors.names[0]

    def score(sources: Sequence[str], targets: Sequence[str]) -> Scores:
        return vectors.score(sources, targets, [name])[name]

    return Explainer(score, name, vectors.model.languages)


def _columns(
    run: Run,
    names: tuple[str, ...],
    settings: _Settings,
    options: ScorerOptions,
    cache: Cache | None,
) -> tuple[ScoreColumns, TextProcessor | None]:
    """Load the models of the measures; also return a text processor of the columns' languages."""
    from bitextfilter.scoring.cached_scores import CachedScores
    from bitextfilter.scoring.score_columns import (
        ColumnGroup,
        ModelScorerColumns,
        ScoreColumns,
        VectorColumns,
    )

    of_vectors = tuple(name for name in names if name in MEASURES)
    of_translation = tuple(name for name in names if name in TRANSLATION_MEASURES)
    groups: list[ColumnGroup] = []
    processor = None
    if of_vectors or not names:
        model = run.model()
        of_vectors = of_vectors or (model.default_measure,)
        groups.append(VectorColumns(model, of_vectors, settings.neighbours))
        processor = model.processor
    if of_translation:
        languages = processor.languages if processor else None
        loaded = load_scorers(run, options, of_translation, languages)
        groups.append(ModelScorerColumns(loaded.scorers, of_translation))
        processor = processor or loaded.processor
    cached = CachedScores(cache, run.counts) if cache is not None and groups else None
    columns = ScoreColumns(names or of_vectors, groups, run.counts, cached)
    run.facts["similarity"] = ",".join(columns.measures)
    return columns, processor


def _with_languages(
    run: Run, windows: Iterator[list[Row | BadRow]]
) -> Iterator[list[Row | BadRow]]:
    """Return the same windows; their first rows name the two languages of a model of more.

    Raises SettingsError where the text does not tell.
    """
    from bitextfilter.scoring.column_languages import first_rows

    windows, first = first_rows(windows)
    name_languages(run, first)
    return windows


def _read_twice(
    run: Run, columns: VectorColumns, rows: RowReader, windows: Iterator[list[Row | BadRow]]
) -> Iterator[list[Row | BadRow]]:
    """Read all windows, make the background sample of them, and return them again."""
    from bitextfilter.scoring.score_columns import sampled_texts

    sampled = sampled_texts(columns, _scratches(run))
    again, columns.background = _read_first(run, rows, windows, sampled)
    return run.windows(again, again=True)


def _scratches(run: Run) -> tuple[Scratch, Scratch]:
    """Open temporary files for the vectors of either side."""
    from bitextfilter.io.spill import Scratch

    return run.enter(Scratch()), run.enter(Scratch())


def _read_first(
    run: Run, rows: RowReader, windows: Iterator[list[Row | BadRow]], sampled: Sampled
) -> tuple[RowReader, BackgroundSample]:
    """Read all windows; return a reader of the same rows, and the background sample of them."""
    from bitextfilter.io.spill import Scratch
    from bitextfilter.scoring.score_columns import read_first

    run.note(f"--neighbours input reads everything twice; it waits in {tempfile.gettempdir()}")
    spool = run.enter(Scratch())
    found = read_first(rows, windows, sampled, spool, run.row_settings.columns)
    run.progress().reset(total=run.counts["rows"])
    return found
