"""``bitext-rank``: rows by score, and the best of them."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import isfinite, isnan
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.cuts import Budget, CutCheck, CutMeasure, write_kept
from bitextfilter.commands.frame.first_rows import CHECKED_ROWS, languages_of_columns, rows_of
from bitextfilter.commands.frame.options import (
    NATURAL,
    MinScore,
    ModelOptions,
    as_amount,
    as_column,
    as_min_score,
    as_part,
    is_given,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import SettingsError
from bitextfilter.io.rows import WantedColumn, number_of
from bitextfilter.models.folders import LENIENT, STRICT, naming_pair

if TYPE_CHECKING:
    from bitextfilter.io.ranking import Ranked, ScoredRows, Selection, SelectionSettings
    from bitextfilter.scoring.shared_scores import SharedScores


_EVEN = 0.5
"""The balanced cut of probabilities, whatever the share of right rows."""
_FEW = 50
"""Scored rows below which an estimated share gets a warning."""


def _as_right_share(value: str) -> float | str:
    """Read a share between 0 and 1, or ``estimate``."""
    if value == "estimate":
        return value
    share = number_of(value.encode())
    if not 0 < share < 1:
        raise click.BadParameter(f"{value!r} is neither a share between 0 and 1 nor estimate")
    return share


@dataclass(frozen=True)
class _Settings:
    """The order, and the limits of the selection."""

    column: int | str = option(
        "--column COLUMN", "Column of the score: a number (-1 the last) or a name.", as_column, -1
    )
    scores: tuple[str, ...] = option(
        "--scores FILE.parquet",
        "Take the scores from FILE, of bitext-score --share, and append them; may be repeated.",
        multiple=True,
    )
    order: str = option(
        "--order", "Write the best first, or keep the input's order.", ["ranked", "input"], "ranked"
    )
    min_score: MinScore | None = option(
        "--min-score S",
        "Keep rows of S or more: a number, or a cut of --model: lenient, balanced, strict.",
        as_min_score,
    )
    right_share: float | str | None = option(
        "--right-share SHARE|estimate",
        "Part of the rows that is right: --min-score is a probability in such a corpus.",
        _as_right_share,
    )
    fold: tuple[int, int] | None = option(
        "--fold I/K", "Take the I-th of K parts; 1 is the worst.", as_part
    )
    sample: int | None = option("--sample N", "Take a random sample of N rows.", as_amount)
    seed: int | None = option("--seed", "Seed of --sample  [default: 1]", NATURAL)

    def __post_init__(self) -> None:
        """Refuse options that would do nothing."""
        if self.sample is None and self.seed is not None:
            raise click.UsageError("--seed is for --sample")
        if self.scores and isinstance(self.column, int) and is_given("column"):
            raise click.UsageError("with --scores, --column is the name of a measure")
        if self.right_share is not None and self.min_score in (None, LENIENT, STRICT):
            raise click.UsageError("--right-share needs a --min-score: a number, or balanced")
        number = isinstance(self.min_score, float | int)
        if self.right_share is not None and number and not 0 <= float(str(self.min_score)) <= 1:
            raise click.UsageError("--right-share goes with a --min-score from 0 to 1")

    @property
    def by_name(self) -> bool:
        """Whether the cut depends on the measure of the scores."""
        return isinstance(self.min_score, str) or self.right_share is not None

    def choice(self, budget: Budget, least: float | None) -> SelectionSettings:
        """Return the choice of rows, with the lowest score to keep."""
        choice = replace(budget.choice(least), fold=self.fold, sample=self.sample)
        return choice if self.seed is None else replace(choice, seed=self.seed)


@command(
    "bitext-rank",
    _Settings,
    Budget,
    CutMeasure,
    row_options("pairs files", drops=True),
    ModelOptions,
    uses="",
)
def main(run: Run, settings: _Settings, budget: Budget, cut: CutMeasure) -> None:
    """Order rows by a score, the highest first, and keep the best.

    Several files are ranked as one. Equal scores stay in input order. Rows without a score (no
    number, NaN) come last. Rows within all of --top-lines, --top-words, --top-fraction and
    --min-score are kept. --fold and --sample come first: the fold is of all rows, the sample of
    the rows of the fold that pass --min-score.

    --min-score balanced takes the cut that --model has for --similarity; without --similarity, for
    the measure that the header names, or for the default of bitext-score. Of probabilities it is
    0.5; lenient keeps 95 % of the right rows of labelled crawls, strict passes 5 % of the wrong
    ones. A line on stderr says what is to be expected of the languages at hand. Some rows are
    scored again: scores of another model than --model are refused.

    Probabilities are of a crawl in which 42 % of the rows are right. --right-share takes another
    share, or estimates it from the scores of all rows, and moves the cut; it says what it found.

    --scores appends the score of the pair in a file of bitext-score --share, without a model; if
    it has several measures, --column names one. Cuts by name are those of the file.

    --top-words counts words between white space; for languages without spaces, --count characters
    (without white space) or subwords. Only this, --scores and a cut by name read --scol and
    --tcol.

    --rejects gets the other rows, with their rank or score as the reason. All rows wait in a
    temporary file (in TMPDIR) as large as the input, with at most 24 bytes a row in memory, and 12
    a pair of --scores.

    Example:

        bitext-score < pairs.tsv | bitext-rank --top-words 10M > best.tsv
        bitext-rank --column probability --header --min-score strict --order input < scored.tsv
        bitext-rank --min-score 0.5 --right-share estimate < scored.tsv > right.tsv
        bitext-rank --scores corpus.parquet --min-score balanced < corpus.tsv > kept.tsv
        bitext-rank --fold 3/10 --sample 20 --seed 7 -i scored.tsv.gz
    """
    if cut.similarity is not None and (settings.scores or not settings.by_name):
        wanted = "a --min-score by name, as balanced; --column names the measure of --scores"
        raise click.UsageError(f"--similarity is for {wanted}")
    for name in ("model", "languages") if settings.scores and budget.unit != "subwords" else ():
        if is_given(name):
            raise click.UsageError(f"with --scores, --{name} is for --count subwords")
    shared = _read_scores(run, settings) if settings.scores else None
    incoming = _Incoming(run, settings, budget, shared)
    output = run.output()
    least = incoming.least(cut.similarity)
    ranked = incoming.read()
    if settings.right_share is not None:
        least = _moved(run, incoming.before, settings.right_share, least, ranked)
    selection = ranked.select(settings.choice(budget, least))
    _tell(run, settings, ranked, selection)
    budget.tell(run, ranked, selection)
    output.write(incoming.reader.first_line([shared.measure] if shared else []))
    write_kept(
        *(run, output, ranked.read(selection, everything=run.rejects is not None)),
        lambda index, rank: (incoming.number(index), selection.reason(rank, ranked.score(rank))),
    )


def _read_scores(run: Run, settings: _Settings) -> SharedScores:
    """Return the scores of --scores by the measure of --column."""
    from bitextfilter.scoring.shared_scores import SharedScores

    column = settings.column
    shared = SharedScores(settings.scores, column if isinstance(column, str) else None)
    if shared.facts.model:
        run.facts |= {"model": shared.facts.model, "digest": shared.facts.digest}
    return shared


class _Incoming:
    """Reads the input into a ranking."""

    def __init__(
        self, run: Run, settings: _Settings, budget: Budget, shared: SharedScores | None
    ) -> None:
        """Open the input, whose scores are in a column or *shared*."""
        from bitextfilter.io.ranking import Ranking
        from bitextfilter.io.spill import Spill

        self._run, self._settings, self._shared = run, settings, shared
        self._sides, self._columns = budget.sides, run.row_settings.columns
        self._sizes = budget.sizes(run.model)
        if shared is None:
            score = WantedColumn("score", "--column", settings.column)
            self._columns = replace(self._columns, blank=True, sides=budget.sides, first=(score,))
        self.reader = run.rows(self._columns)
        self._place = -1 if shared else self.reader.place(self._columns.wanted()[0])
        self._best_first = settings.order == "ranked"
        self._ranking = Ranking(run.enter(Spill()), self._best_first)
        self._gaps = array("Q")
        self._newline: bytes | None = None
        self.before: float | None = None
        """The share of right rows in the crawl that probabilities are of, for --right-share."""

    def _windows(self) -> Iterator[ScoredRows]:
        from bitextfilter.io.ranking import scored_windows

        if self._shared is None:
            yield from scored_windows(self.reader, self._columns)
            return
        yield from self._shared.windows(self.reader, self._sides)
        if warning := self._shared.warning():
            self._run.warn(warning)

    def least(self, similarity: str | None) -> float | None:
        """Return the number of --min-score, for the measure of --similarity if it is given."""
        from bitextfilter.models.folders import find_model
        from bitextfilter.scoring.calibration import load_calibration

        wanted, run, shared = self._settings.min_score, self._run, self._shared
        if wanted is None or not self._settings.by_name:
            return None if wanted is None else float(wanted)
        lines = self.reader.ahead(CHECKED_ROWS)
        model, measure = ("", shared.measure) if shared else self._scorer(lines, similarity)
        if self._settings.right_share is None:
            if shared:
                return run.take_cut(shared.facts.cut(measure, str(wanted), shared.name))
            cut = run.named_cut(model, measure, str(wanted))
        elif measure != "probability":
            raise click.UsageError(f"--right-share is for probabilities, and these are {measure}")
        else:
            calibration = shared.facts if shared else load_calibration(find_model(model))
            self.before = calibration.right_share if calibration else None
            cut = _EVEN if isinstance(wanted, str) else float(wanted)
        if not shared:
            CutCheck(model, measure, self._settings.column)(run, self.reader, lines)
        return cut

    def _scorer(self, lines: list[bytes], similarity: str | None) -> tuple[str, str]:
        """Return the model and the measure of the scores of the first lines."""
        from bitextfilter.scoring.thresholds import measure_of

        run, reader, model = self._run, self.reader, str(self._run.model_name)
        if run.languages_open:
            model = naming_pair(model, languages_of_columns(run, rows_of(run, reader, lines)))
        column = None if reader.header is None else reader.column_name(self._place)
        return model, measure_of(model, similarity, column)

    def read(self) -> Ranked:
        """Read everything, and rank it."""
        for window in self._windows():
            for before, row in window.bad:
                self._run.reject(row)
                self._gaps.append(len(self._ranking) + before)
            self._run.counts["rows"] += len(window)
            if window.lines:
                self._look_at(window)
            sizes = self._sizes(window.texts) if self._sizes else ()
            self._ranking.add(window.lines, window.scores, sizes)
            self._run.advance(len(window))
        return self._ranking.finish()

    def _look_at(self, window: ScoredRows) -> None:
        """Warn of a first row that looks like a header; add a missing last line ending."""
        first, last = window.lines[0], window.lines[-1]
        if self._newline is None:
            self._newline = b"\r\n" if first.endswith(b"\r\n") else b"\n"
            text = first.split(b"\t")[self._place].strip()
            if self.reader.header is None and isnan(window.scores[0]) and text:
                shown = text[:40].decode(errors="replace")
                self._run.warn(f"the first row has no score but {shown!r}: is it a --header?")
        if self._best_first and not last.endswith(b"\n"):
            window.lines[-1] = last + self._newline

    def number(self, index: int) -> int:
        """Return the line number of a good row by its index."""
        first = 1 if self.reader.header is None else 2
        return first + index + bisect_right(self._gaps, index)


def _moved(
    run: Run, before: float | None, share: float | str, least: float | None, ranked: Ranked
) -> float:
    """Return the least score that is a probability *least* in a corpus with the right *share*.

    *before*: the share in the crawl that the scores are of. Raises SettingsError for None.
    """
    from bitextfilter.scoring.calibration import corpus_cut

    if before is None or least is None:
        raise SettingsError("the file of --scores has no right_share, which --right-share needs")
    scores = ranked.scores()
    cut = corpus_cut(before, scores, least, share)
    if isinstance(share, str) and (count := len(ranked) - ranked.unscored()) < _FEW:
        run.warn(f"{count} rows have a score: too few to estimate the share of right ones")
    run.facts["right share"] = cut.right_share
    run.note(cut.note(least, isinstance(share, str)))
    return cut.least


def _tell(run: Run, settings: _Settings, ranked: Ranked, selection: Selection) -> None:
    """Add the kept rows to summary and manifest; warn if no row has a score."""
    unscored, threshold = ranked.unscored(), selection.threshold
    if 0 < len(ranked) == unscored and settings.sample is None and not settings.scores:
        run.warn(f"no row has a number in column {settings.column}")
    run.counts.update(unscored=unscored)
    run.facts["order"] = settings.order
    if settings.sample is not None:
        run.facts["seed"] = selection.settings.seed
    if threshold is not None:
        run.facts["threshold"] = threshold if isfinite(threshold) else str(threshold)
        if selection.count < len(ranked):
            run.note(f"the last row kept has rank {selection.end} and score {threshold}")
