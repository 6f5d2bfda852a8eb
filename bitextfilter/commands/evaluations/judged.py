"""Sets of pairs with what people say of them, read from TSVs and scored by a model or a column."""

from __future__ import annotations

import dataclasses
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.evaluations.languages import Languages, foreign, languages_of
from bitextfilter.commands.frame import Run
from bitextfilter.errors import SettingsError
from bitextfilter.evaluation.judged import JudgedColumns, check_enough, complete_rows
from bitextfilter.io.columns import Columns, Wanted
from bitextfilter.io.files import COMPRESSIONS, stream_name
from bitextfilter.io.rows import Row, number_of

if TYPE_CHECKING:
    from bitextfilter.evaluation.sts import Judged
    from bitextfilter.scoring.model import Model
    from bitextfilter.similarity.vectors import Scores

__all__ = ["Judging", "ModelScorer", "read_judged", "set_name"]

_OF_ANY_LANGUAGES = ("cosine", "euclidean")
"""The measures that take sentences of any of the model's languages on either side."""


@dataclasses.dataclass(frozen=True)
class Judging:
    """Where the human score stands, and where the other comes from."""

    human: int | str
    column: int | str | None
    similarity: str | None
    language: Languages | None

    def __post_init__(self) -> None:
        """Refuse options that contradict each other. Raises UsageError."""
        for name in ("similarity", "language"):
            if self.column is not None and getattr(self, name) is not None:
                raise click.UsageError(f"--column and --{name} exclude each other")

    @property
    def measure(self) -> str:
        """What a model scores with."""
        return self.similarity or "cosine"

    def numbers(self) -> list[Wanted]:
        """Return the columns that hold a number: the human score, and the score if it is read."""
        human = Wanted("human score", "--human", self.human)
        return [human] if self.column is None else [human, Wanted("score", "--column", self.column)]

    def columns(self, chosen: Columns) -> JudgedColumns:
        """Return the columns to read: numbers, then, where there is a model to score, the sides."""
        sides = chosen.wanted() if self.column is None else ()
        return JudgedColumns(numbers=tuple(self.numbers()), sides=sides)


def set_name(file: str) -> str:
    """Return the name of the set in *file*: without folder, compression and ``.tsv``."""
    name = Path(stream_name(file)).name
    for ending in (*COMPRESSIONS, ".tsv"):
        name = name.removesuffix(ending)
    return name


class ModelScorer:
    """Scores pairs by a model: of its two languages, or of others of them."""

    def __init__(self, model: Model, where: Judging) -> None:
        """Raise SettingsError for a language or a measure that the model lacks."""
        from bitextfilter.scoring.scorers import check_measures

        self._model, self._measure = model, where.measure
        self._languages = languages_of(model, where.language)
        check_measures(model, [self._measure], model.reference)
        if not self._as_trained and self._measure not in _OF_ANY_LANGUAGES:
            known = " and ".join(_OF_ANY_LANGUAGES)
            raise SettingsError(f"--language goes with {known}, not with {self._measure}")

    @property
    def _as_trained(self) -> bool:
        """Whether the sides are in the languages of the model, in their order."""
        return self._languages == self._model.languages

    def __call__(self, sources: Sequence[str], targets: Sequence[str]) -> Scores:
        """Score ``n`` sources and targets → ``(n,)``."""
        from bitextfilter.similarity.vectors import cosine_pairs, euclidean_pairs

        if self._as_trained:
            return self._model.score(sources, targets, [self._measure])[self._measure]
        similarity = {"cosine": cosine_pairs, "euclidean": euclidean_pairs}[self._measure]
        return similarity(*map(self._model.encode, (sources, targets), self._languages))

    def doubt(self, sources: Sequence[str], targets: Sequence[str]) -> str | None:
        """Return a warning if sources and targets do not look like what they are scored as."""
        from bitextfilter.text.language import check_columns

        if self._as_trained:
            return check_columns(sources, targets, self._model.processor)
        for name, side, language in zip(
            ("source", "target"), (sources, targets), self._languages, strict=True
        ):
            if foreign(self._model, language, side):
                return f"the {name} column does not look like {language}"
        return None


def read_judged(run: Run, file: str, where: Judging, scorer: ModelScorer | None) -> Judged:
    """Read the set in *file*, with scores by the model, or without one those in their column.

    Pairs that lack a number are skipped and counted. Raises InputError where fewer than two are
    left.
    """
    import numpy as np

    from bitextfilter.evaluation.sts import Judged

    run.row_settings = dataclasses.replace(run.row_settings, input=file)
    human, scores, skipped = array("d"), array("d"), -run.counts["skipped"]
    for rows in _usable(run, where):
        if scorer is None:
            scores.extend(number_of(row.texts[1].encode()) for row in rows)
        else:
            _, sources, targets = zip(*(row.texts for row in rows), strict=True)
            if not human and (doubt := scorer.doubt(sources, targets)):
                run.warn(f"{stream_name(file)}: {doubt} (--scol, --tcol, --language)")
            scores.extend(scorer(sources, targets).tolist())
        human.extend(number_of(row.texts[0].encode()) for row in rows)
    skipped += run.counts["skipped"]
    remedy = " and ".join(
        f"{wanted.option} says where the {wanted.name} is" for wanted in where.numbers()
    )
    check_enough(len(human), skipped, stream_name(file), remedy)
    return Judged(set_name(file), np.array(human), np.array(scores), skipped)


def _usable(run: Run, where: Judging) -> Iterator[list[Row]]:
    """Yield windows of the rows that lack nothing; reject the bad, and count the others."""
    columns = where.columns(run.row_settings.columns)
    reader = run.rows(columns)
    for window in run.windows(reader):
        found = list(complete_rows(window, columns, reader.name, run.reject))
        run.counts["skipped"] += found.count(None)
        if usable := [row for row in found if row is not None]:
            yield usable
