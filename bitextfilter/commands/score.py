"""``bitext-score``: a score for each sentence pair."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, BinaryIO

import click

from bitextfilter.commands.frame.command import command, fill_lists, needs_none_of
from bitextfilter.commands.frame.first_rows import (
    CHECKED_ROWS,
    languages_of_columns,
    rows_of,
    watch_languages,
)
from bitextfilter.commands.frame.given import VectorFiles
from bitextfilter.commands.frame.options import (
    COUNT,
    DIGITS,
    NATURAL,
    ModelOptions,
    NumberRange,
    Scaling,
    as_score,
    flag,
    needs_own_file,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.commands.frame.shards import over_shards
from bitextfilter.commands.frame.sharing import sharing
from bitextfilter.commands.frame.translators import ScorerOptions, load_scorers
from bitextfilter.errors import SettingsError, WorkerError
from bitextfilter.io.row_reader import RowReader, row_windows
from bitextfilter.io.rows import BadRow, Row
from bitextfilter.scoring.measures import INPUT, MEASURES, TRANSLATION_MEASURES
from bitextfilter.settings import none_of

if TYPE_CHECKING:
    from bitextfilter.arrays import Scores
    from bitextfilter.filters.explanations import Explainer
    from bitextfilter.scoring.cached_scores import Cache
    from bitextfilter.scoring.model import Model
    from bitextfilter.scoring.score_columns import GivenColumns, Recheck, ScoreColumns

_Window = list[Row | BadRow]


def _as_interval(value: str) -> tuple[float, float]:
    """Read two scores, the lower one first."""
    try:
        low, high = map(as_score, value.split(","))
    except ValueError:
        raise click.BadParameter(f"{value!r} is not two scores, such as 0.01,0.9") from None
    if not -inf < low < high < inf:
        raise click.BadParameter(f"{value}: the lower score is first, and they differ")
    return low, high


@dataclass(frozen=True)
class ScorerCommand:
    """A program that scores."""

    scorer_command: str | None = option(
        "--scorer-command CMD",
        "Score by a program, which reads source<TAB>target lines and prints a number for each; "
        "with --similarity, beside those measures.",
    )
    scorer_name: str = option(
        "--scorer-name NAME", "Name of its column, also for --similarity.", default="command"
    )
    scorer_processes: int = option(
        "--scorer-processes N", "Processes of it. No result depends on it.", COUNT, 1
    )
    scorer_timeout: float = option(
        "--scorer-timeout SECONDS",
        "End one that neither reads nor answers for so long.",
        NumberRange(min=0, min_open=True),
        600.0,
    )
    scorer_retries: int = option(
        "--scorer-retries N",
        "Start one that died anew, at most N times without an answer between.",
        NATURAL,
        0,
    )

    def check(self) -> None:
        """Raise UsageError for an option that needs the program, and for a name that is taken."""
        names = ("scorer_name", "scorer_processes", "scorer_timeout", "scorer_retries")
        if self.scorer_command is None:
            needs_none_of(names, "is for --scorer-command")
        name = self.scorer_name
        if name in (*MEASURES, *TRANSLATION_MEASURES, "reasons"):
            raise click.UsageError(f"--scorer-name {name} is the name of another column")
        if not name.strip() or "," in name or not name.isprintable():
            raise click.UsageError(f"--scorer-name {name!r} is no name of a column")

    def measures(self, asked: tuple[str, ...]) -> tuple[str, ...]:
        """Return the measures *asked*, with the program's column last where it is not among them.

        None are asked without a program for the default of the model.
        """
        if self.scorer_command is None or self.scorer_name in asked:
            return asked
        return (*asked, self.scorer_name)

    def scored(
        self, run: Run, rows: RowReader, windows: Iterable[_Window], cache: Cache | None
    ) -> Iterator[tuple[_Window, dict[str, Scores]]]:
        """Yield the *windows* of raw rows as ``Run.windows`` does, with scores by the name.

        Rows are read ahead of the answers. Raises WorkerError, with a row that has no answer.
        """
        from bitextfilter.io.programs import PoolSettings, ProgramError
        from bitextfilter.scoring.command_scores import CommandScores

        assert self.scorer_command is not None, "there is no program"
        settings = PoolSettings(
            self.scorer_command, self.scorer_processes, self.scorer_timeout, self.scorer_retries
        )
        run.facts["scorer"] = settings.command
        patient = run.row_settings.reject
        scorer = CommandScores(settings, rows.parser, run.counts, cache, patient=patient)
        scores = run.enter(scorer)
        try:
            for window, found in scores.scored(_stopping(run, windows)):
                run.admit(window)
                yield window, {self.scorer_name: found}
                run.advance(len(window))
        except ProgramError as error:
            row = scores.row_of(error)
            if row is None:
                raise
            bad = rows.parser.refused(row, str(error), "")
            raise WorkerError(str(run.error(bad))) from error


def _stopping(run: Run, windows: Iterable[_Window]) -> Iterator[_Window]:
    """Yield windows; a bad row that is not rejected stops the run before it is asked of."""
    for window in windows:
        for row in window:
            if isinstance(row, BadRow) and not run.row_settings.reject:
                raise run.error(row)
        yield window


_OF_TEXTS = ("explain", "recheck", "cache", "column_check", "device", "share")
_OF_A_MODEL = ("model", "languages", "column_check", "device", "recheck")


@dataclass(frozen=True)
class _Settings:
    """The command's own options."""

    similarity: str | None = option(
        "--similarity NAME[,NAME...]",
        "Measures, one column each.  [default: probability; mlp or cosine if the model lacks it]",
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
    recheck: str | None = option(
        "--recheck NAME|DIR",
        "Score the pairs of the first measure's scores in --between by this slower model, too.",
    )
    between: tuple[float, float] | None = option(
        "--between LOW,HIGH", "The scores that --recheck doubts.", _as_interval
    )
    cache: str | None = option(
        "--cache DIR", "Reuse the scores of earlier runs in this folder, and add new ones."
    )
    share: str | None = option(
        "--share FILE.parquet",
        "Write the scores without texts, too, for others and their bitext-rank --scores.",
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

    def columns(self, program: ScorerCommand) -> slice:
        """Return the columns of the scores in the output, from the end."""
        after = 1 if self.explain else 0
        count = max(1, len(program.measures(self.measures)))
        return slice(-count - after, -after or None)

    def check_recheck(self) -> None:
        """Raise UsageError for one of --recheck and --between alone, or without a measure."""
        if (self.recheck is None) != (self.between is None):
            raise click.UsageError("--recheck and --between go together")
        if self.recheck is not None and self.measures and not set(MEASURES) & set(self.measures):
            raise click.UsageError("--recheck is for the measures of --model")

    def check(self, run: Run, program: ScorerCommand) -> None:
        """Raise UsageError for options that contradict each other."""
        self.check_recheck()
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
        if self.neighbours == INPUT and (run.scaling.by_shards or run.scaling.shard):
            raise click.UsageError("--neighbours input reads the whole input: it cannot be cut")
        if self.neighbours == INPUT and program.scorer_command is not None:
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
    ModelOptions,
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

    Measures of --model, or of --source-vectors and --target-vectors (by default cosine; neither mlp
    nor probability). Higher is better; bitext-models show lists cuts:

        MEASURES

    Measures of --translator and --language-models (natural logarithms):

        TRANSLATION_MEASURES

    --scorer-command scores by any program, which reads source<TAB>target lines and prints a number
    for each, at once or later. Rows are read ahead of it, and wait (in TMPDIR) if they are many.

    --explain appends one more column, reasons: words without which the score by the first measure
    is higher (source-words=7 red(+1.2): its logit by 1.2), a negation on one side alone, a
    fragment, and rules of bitext-filter that the pair fails. It scores a pair once for each word.

    --recheck scores again the pairs whose score by the first measure is in --between, by a slower
    model's default measure. Their new score is in the interval, too: its lower end, and its length
    times the mean of the first score's place there, 0 to 1, and of the second score (at least 0).

    A score depends on the pair and the models alone, not on --batch-size, --threads or the other
    rows. Memory is bounded by --batch-size. Only --neighbours input measures against the input
    itself, which it reads twice and keeps in temporary files (in TMPDIR).

    Example:

        bitext-score < pairs.tsv > scored.tsv
        bitext-score --explain < pairs.tsv | bitext-rank --column 3 > explained.tsv
        bitext-score --similarity mlp,csls --header -i pairs.tsv.gz -o scored.tsv.gz
        bitext-score --recheck en-de-autoencoder --between 0.01,0.99 < pairs.tsv > scored.tsv
        bitext-score corpus/*.tsv --engine ray --resume parts -o scored.tsv
        bitext-score --share corpus.en-de.parquet < corpus.tsv > scored.tsv
        bitext-score --source-vectors en.npy --target-vectors de.npy < pairs.tsv
        bitext-score --similarity dual --translator de-en,en-de --scol 2 --tcol 1 < pairs.tsv
        bitext-score --scorer-command 'python qe.py' --scorer-name qe --cache scores < pairs.tsv
    """
    asked.check()
    settings.check(run, asked)
    scorers.check(settings.measures)
    if given:
        given.check((*_OF_TEXTS, "scorer_command"))
    with sharing(run, settings.share, settings.columns(asked)) as output:
        last = over_shards(run, _Scoring(settings, scorers, asked, given), output)
    if settings.recheck is not None:
        share = run.counts["rechecked"] / max(run.counts["rows"] - run.counts["rejected"], 1)
        run.note(f"{share:.1%} of the good rows were rechecked by {settings.recheck}")
    if given:
        given.check_count(run, last)


@dataclass(frozen=True)
class _Scoring:
    """How the rows of a run are scored, or of one of its shards."""

    settings: _Settings
    scorers: ScorerOptions
    program: ScorerCommand
    given: VectorFiles

    def __call__(self, run: Run, output: BinaryIO) -> int:
        """Write all rows with scores; returns the number of the last one in the text, from 1."""
        from bitextfilter.scoring.score_columns import ScoreLines

        settings = self.settings
        run.row_checks.columns = settings.column_check
        reader, cache = run.rows(), run.cache(settings.cache)
        columns = self._of_given(run) if self.given else self._of_models(run, reader, cache)
        run.facts["similarity"] = ",".join(columns.measures)
        explainer = _explainer(columns) if settings.explain else None
        lines = ScoreLines(settings.digits, settings.score_only, explainer)
        output.write(lines.head(reader, columns.measures))
        for window, known in self._windows(run, reader, columns, cache):
            good = [row for row in window if isinstance(row, Row)]
            output.write(lines.lines(window, good, columns.score(good, known)))
        return reader.next - (1 if reader.header is None else 2)

    def _of_given(self, run: Run) -> GivenColumns:
        """Return the scores of rows by given vectors."""
        from bitextfilter.scoring.background import named_background
        from bitextfilter.scoring.score_columns import GivenColumns

        files, named = self.given.open(run), self.settings.neighbours
        background = None if named is None else named_background(named, files[0].dim)
        measures = self.settings.measures or ("cosine",)
        whole = run.shard is None
        return GivenColumns(files, measures, background, run.common.threads, whole)

    def _of_models(self, run: Run, reader: RowReader, cache: Cache | None) -> ScoreColumns:
        """Return the scores of rows by models of the languages of the columns.

        The first rows name the two languages of a model of more. Raises SettingsError where the
        text does not tell.
        """
        from bitextfilter.scoring.score_columns import ScoreColumns

        names = self.program.measures(self.settings.measures)
        others = tuple(name for name in names if name in TRANSLATION_MEASURES)
        model = scorers = processor = None
        if not names or set(names) & set(MEASURES):
            model = self._model(run, reader)
            names, processor = names or (model.default_measure,), model.processor
            model.check(name for name in names if name in MEASURES)
        if others:
            languages = processor.languages if processor else None
            loaded = load_scorers(run, self.scorers, others, languages)
            scorers, processor = loaded.scorers, processor or loaded.processor
        if self.settings.column_check and reader.starts and processor is not None:
            watch_languages(run, reader, processor)
        columns = ScoreColumns(names, model, scorers, run.counts, cache)
        if self.settings.recheck is not None and model is not None:
            columns.recheck = self._recheck(run, model.languages, cache)
        return columns

    def _recheck(self, run: Run, languages: tuple[str, str], cache: Cache | None) -> Recheck:
        """Load the slower model of these languages; the manifest gets its digest."""
        from bitextfilter.scoring.score_columns import Recheck, ScoreColumns, slow_name

        assert self.settings.recheck is not None and self.settings.between is not None
        name = slow_name(self.settings.recheck, languages)
        try:
            model = run.load(name, run.common.device, run.common.threads)
        except SettingsError as error:
            raise SettingsError(f"--recheck {name}: {error}") from error
        measure = model.default_measure
        run.facts["recheck"] = f"{model.name} {model.digest} {measure}"
        slow = ScoreColumns((measure,), model, None, Counter(), cache)
        return Recheck(
            lambda *sides: slow.by_models(*sides)[measure], self.settings.between, run.counts
        )

    def _model(self, run: Run, reader: RowReader) -> Model:
        """Load the model of vectors, with the neighbours that are asked for."""
        languages = None
        if run.shard is None and run.languages_open:
            languages = languages_of_columns(run, rows_of(run, reader, reader.ahead(CHECKED_ROWS)))
        model, named = run.model(languages), self.settings.neighbours
        if named is None:
            return model
        from bitextfilter.scoring.background import named_background

        return replace(model, background=named_background(named, model.encoder.dim))

    def _windows(
        self,
        run: Run,
        reader: RowReader,
        columns: GivenColumns | ScoreColumns,
        cache: Cache | None,
    ) -> Iterator[tuple[_Window, dict[str, Scores]]]:
        """Yield windows of rows, with the scores of the program, if there is one."""
        if self.program.scorer_command is not None:
            raw = row_windows(reader, run.common.batch_size)
            yield from self.program.scored(run, reader, raw, cache)
            return
        windows = run.windows(columns.rows(reader))
        if self.settings.neighbours == INPUT:
            windows = _read_twice(run, columns, reader, windows)
        yield from ((window, {}) for window in windows)


def _explainer(columns: GivenColumns | ScoreColumns) -> Explainer:
    """Return the explainer of the first measure of vectors; UsageError if there is none."""
    from bitextfilter.filters.explanations import Explainer
    from bitextfilter.scoring.score_columns import ScoreColumns

    if not isinstance(columns, ScoreColumns) or columns.model is None:
        raise click.UsageError("--explain is for the measures of --model")
    model, name = columns.model, columns.of_model[0]

    def score(sources: Sequence[str], targets: Sequence[str]) -> Scores:
        return model.score(sources, targets, name)[name]

    return Explainer(score, name, model.languages)


def _read_twice(
    run: Run, columns: GivenColumns | ScoreColumns, reader: RowReader, windows: Iterator[_Window]
) -> Iterator[_Window]:
    """Read all windows, make the background sample of them, and return them again."""
    from bitextfilter.io.spill import Scratch
    from bitextfilter.scoring.background import InputBackground

    run.note(f"--neighbours input reads everything twice; it waits in {tempfile.gettempdir()}")
    spool, *files = (run.enter(Scratch()) for _ in range(3))
    background = InputBackground(columns.vectors, columns.dim, files)
    spool.write(reader.first_line())
    for window in windows:
        background.add([row for row in window if isinstance(row, Row)])
        spool.write(b"".join(row.line + row.ending for row in window))
    columns.measure_against(background.sample())
    run.progress().reset(total=run.counts["rows"])
    pair = run.row_settings.columns
    again = RowReader(spool.stream(), reader.name, pair, reader.header is not None)
    return run.windows(columns.rows(again), again=True)
