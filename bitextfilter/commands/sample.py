"""``bitext-sample``: good rows about everything that a corpus is about."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.frame.command import command
from bitextfilter.commands.frame.cuts import Budget, write_kept
from bitextfilter.commands.frame.given import VectorFiles
from bitextfilter.commands.frame.options import (
    COUNT,
    NATURAL,
    ModelOptions,
    NumberRange,
    as_column,
    option,
    row_options,
)
from bitextfilter.commands.frame.run import Run
from bitextfilter.io.rows import SIDES, Row, WantedColumn, number_of

if TYPE_CHECKING:
    from bitextfilter.arrays import Vectors
    from bitextfilter.corpus.selection import DiverseOrder, SampleSettings
    from bitextfilter.io.ranking import Ranked
    from bitextfilter.scoring.model import Model


@dataclass(frozen=True)
class _Settings:
    """The score, and the clusters."""

    column: int | str = option(
        "--column COLUMN", "Column of the score: a number (-1 the last) or a name.", as_column, -1
    )
    clusters: int | None = option(
        "--clusters N",
        "Number of clusters  [default: three times the square root of the rows, at most 4096]",
        COUNT,
    )
    drop_similar: float | None = option(
        "--drop-similar COSINE",
        "Drop a row with this cosine or more to a better one that is kept, in its cluster.",
        NumberRange(-1, 1),
    )
    seed: int = option("--seed", "Seed of the clusters.", NATURAL, 1)

    def check(self, budget: Budget) -> None:
        """Raise UsageError where nothing would be left out."""
        if {budget.top_lines, budget.top_words, budget.top_fraction, self.drop_similar} == {None}:
            needed = "--top-lines, --top-words, --top-fraction or --drop-similar"
            raise click.UsageError(f"nothing says how much to keep: {needed}")

    def sampling(self, threads: int) -> SampleSettings:
        """Return the settings of the order."""
        from bitextfilter.corpus.selection import SampleSettings

        return SampleSettings(self.clusters, self.drop_similar, self.seed, threads)


@command(
    "bitext-sample",
    _Settings,
    Budget,
    row_options("pairs files", drops=True),
    ModelOptions,
    VectorFiles,
)
def main(run: Run, settings: _Settings, budget: Budget, given: VectorFiles) -> None:
    """Keep a sample of the rows that is good and diverse, in input order.

    Rows of similar meaning form clusters. The sample takes the row of the highest score of each,
    then the second best of each, and so on, within all of --top-lines, --top-words and
    --top-fraction. So cut bad rows before: it takes some of every kind. Equal scores are drawn by
    --seed: scores of one decimal give a more diverse sample than those of four. --clusters 1 takes
    the highest scores of all.

    --drop-similar leaves out semantic duplicates: of rows with this cosine or more, within a
    cluster, the best stays. Without a budget, this is all it does.

    Meaning is by the vectors of --model, or --source-vectors and --target-vectors. The vector of a
    row is the mean of those of its sides. Rows without a score come last in their cluster. Several
    files are one corpus. The result depends on the rows, the model and --seed alone.

    --rejects gets the other rows, with the line that they are like, or their rank. Rows and vectors
    wait in temporary files (in TMPDIR: the text, and 1 KB a row with en-de); some 100 bytes a row
    are in memory.

    Example:

        bitext-score --digits 1 < pairs.tsv | bitext-sample --top-words 10M > sample.tsv
        bitext-rank --min-score balanced < scored.tsv | bitext-sample --top-lines 10k > some.tsv
        bitext-sample --drop-similar 0.9 --rejects gone.tsv < scored.tsv > distinct.tsv
    """
    from bitextfilter.corpus.selection import diverse_order

    settings.check(budget)
    run.facts["seed"] = settings.seed
    output = run.output()
    incoming = _Incoming(run, settings, given)
    ranked = incoming.read(budget)
    order = diverse_order(incoming.vectors, ranked.scores(), settings.sampling(run.common.threads))
    _tell(run, settings, ranked, order)
    ranked = ranked.in_order(order.places)
    selection = ranked.select(budget.choice(-math.inf))
    budget.tell(run, ranked, selection)
    output.write(incoming.reader.first_line())

    def dropped(index: int, rank: int) -> tuple[int, str]:
        like = int(order.like[index])
        reason = f"like line {incoming.numbers[like]}" if like >= 0 else selection.reason(rank, 0.0)
        return incoming.numbers[index], reason

    write_kept(run, output, ranked.read(selection), dropped)


class _Incoming:
    """Reads the rows into a ranking, and their vectors."""

    def __init__(self, run: Run, settings: _Settings, given: VectorFiles) -> None:
        """Open the input, and load the model or the given vectors."""
        from bitextfilter.search.kmeans import PairVectors

        score = WantedColumn("score", "--column", settings.column)
        columns = replace(run.row_settings.columns, blank=True, first=(score,))
        if given:
            given.check(("device",))
        self._run, self._model = run, None if given else run.model()
        self.reader = run.rows(columns)
        self._given = given.rows(run, self.reader) if given else None
        self._windows = run.windows(self._given or self.reader, fault=columns.blank_fault(*SIDES))
        dim = self._given.files[0].dim if self._given else self._encoder().encoder.dim
        self.vectors = run.enter(PairVectors(dim))
        self.numbers = array("Q")
        """Of the good rows read so far."""

    def _encoder(self) -> Model:
        """Return the model, which is loaded once."""
        self._model = self._model or self._run.model()
        return self._model

    def _encoded(self, good: Sequence[Row]) -> tuple[Vectors, Vectors]:
        if self._given is not None:
            return self._given.vectors(good, 0), self._given.vectors(good, 1)
        model = self._encoder()
        first, second = ([row.texts[side] for row in good] for side in (1, 2))
        return model.encode(first, model.languages[0]), model.encode(second, model.languages[1])

    def read(self, budget: Budget) -> Ranked:
        """Read everything: lines, scores and sizes into a ranking, and the vectors."""
        from bitextfilter.io.ranking import Ranking
        from bitextfilter.io.spill import Spill

        ranking = Ranking(self._run.enter(Spill()), best_first=False)
        sizes = budget.sizes(self._encoder)
        for window in self._windows:
            good = [row for row in window if isinstance(row, Row)]
            if not good:
                continue
            self.vectors.add(*self._encoded(good))
            self.numbers.extend(row.number for row in good)
            texts = [[row.texts[1 + SIDES.index(side)] for row in good] for side in budget.sides]
            scores = [number_of(row.texts[0].encode()) for row in good]
            lines = [row.line + row.ending for row in good]
            ranking.add(lines, scores, sizes(texts) if sizes else ())
        return ranking.finish()


def _tell(run: Run, settings: _Settings, ranked: Ranked, order: DiverseOrder) -> None:
    """Add the clusters to summary and manifest; warn if no row has a score."""
    unscored = ranked.unscored()
    if 0 < len(ranked) == unscored:
        run.warn(f"no row has a number in column {settings.column}: all are drawn")
    run.counts.update(unscored=unscored, clusters=len(set(order.clusters.tolist())))
    if settings.drop_similar is not None:
        run.counts["similar"] = int((order.like >= 0).sum())
