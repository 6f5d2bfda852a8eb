"""Rows with scores, labels or human ratings, read from TSVs."""

from __future__ import annotations

import dataclasses
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf, isnan
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bitextfilter.commands.evaluate.options import Labelling, Languages, foreign, languages_of
from bitextfilter.commands.frame.run import Run
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.evaluation.judged import JudgedColumns, check_enough, complete_rows
from bitextfilter.io.files import COMPRESSIONS, stream_name
from bitextfilter.io.rows import (
    REMEDY,
    BadRow,
    ColumnPlace,
    Columns,
    Row,
    RowReader,
    is_blank,
    number_of,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bitextfilter.arrays import Scores
    from bitextfilter.evaluation.filtering import Labelled
    from bitextfilter.evaluation.sts import Judged
    from bitextfilter.scoring.model import Model


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

    def numbers(self) -> list[ColumnPlace]:
        """Return the columns that hold a number: the human score, and the score if it is read."""
        human = ColumnPlace("human score", "--human", self.human)
        return (
            [human]
            if self.column is None
            else [human, ColumnPlace("score", "--column", self.column)]
        )

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
        from bitextfilter.scoring.model import check_measures

        self._model, self._measure = model, where.measure
        self._languages = languages_of(model, where.language)
        check_measures(model, [self._measure], model.background)
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


_KEEP = "keep"
"""The verdict on a row that no rule drops."""

MOST_KINDS = 1000
"""With more kinds of noise, the column is none of labels."""


@dataclass(frozen=True)
class EvaluatedColumns(Columns):
    """Columns to evaluate, which may be empty, and after them some of the *sides* of the pair."""

    blank: bool = True
    first: tuple[ColumnPlace, ...] = ()
    sides: tuple[str, ...] = ()

    def wanted(self) -> tuple[ColumnPlace, ...]:
        """Return the sides after the others."""
        return (*self.first, *(side for side in super().wanted() if side.name in self.sides))


class Collected:
    """Scores, labels and words of rows: 24 bytes a row."""

    def __init__(self, clean_label: str) -> None:
        """Start with no rows; those labelled *clean_label* will be clean."""
        self._names = {clean_label: 0}
        self._scores, self._labels, self._words = array("d"), array("q"), array("q")

    def add(self, score: float, label: str, words: int) -> None:
        """Add a row; minus infinity is no score."""
        self._scores.append(score)
        self._labels.append(self._names.setdefault(label, len(self._names)))
        self._words.append(words)

    @property
    def words(self) -> NDArray[np.int64]:
        """The words of each row, ``(n,)``."""
        import numpy as np

        return np.array(self._words, dtype=np.int64)

    def labelled(self, file: str) -> Labelled:
        """Return the rows of *file*, kinds in the order of their names; InputError if unusable."""
        import numpy as np

        from bitextfilter.evaluation.filtering import Labelled

        clean, *kinds = self._names
        kinds.sort()
        if problem := self._problem(clean, kinds):
            message, remedy = problem
            raise InputError(message, file=stream_name(file), remedy=remedy)
        places = {name: place for place, name in enumerate([clean, *kinds])}
        sorted_places = np.array([places[name] for name in self._names])
        return Labelled(np.array(self._scores), sorted_places[np.array(self._labels)], kinds)

    def _problem(self, clean: str, kinds: list[str]) -> list[str] | None:
        """Return what is wrong with the rows, and what to do about it."""
        from bitextfilter.evaluation.filtering import ALL

        shown = ", ".join(kinds[:5]) + ", ..." * (len(kinds) > 5)
        many = f"{len(kinds)} different labels, such as {shown}"
        problems = (
            (not self._scores, "no rows", ""),
            (len(kinds) > MOST_KINDS, many, "--labels says where they are"),
            (0 not in self._labels, f"no {clean!r} among the labels: {shown}", "see --clean-label"),
            (not kinds, f"no noise: every label is {clean!r}", "--clean-label names another"),
            (ALL in kinds, f"the label {ALL!r} would stand for all noise", "call it otherwise"),
            (max(self._scores, default=0) == -inf, "no row has a score", "--column says where"),
        )
        return next((problem for wrong, *problem in problems if wrong), None)


def read_labelled(run: Run, where: Labelling, sides: tuple[str, ...] = ()) -> Collected:
    """Read the labelled rows of the input, and count the words of their *sides*.

    A row without a score is the lowest, as is one that the verdict drops; or it is left out.
    """
    collected = Collected(where.clean_label)
    for row in _rows(run, where, sides):
        score = number_of(row.texts[0].encode())
        texts = row.texts[2:]
        if where.verdict is not None:
            score = score if texts[0] == _KEEP else -inf
            texts = texts[1:]
        known = known_score(run, row, score, where.missing)
        if known is not None:
            collected.add(known, row.texts[1], words_of(texts))
    return collected


def known_score(run: Run, row: Row, score: float, missing: str) -> float | None:
    """Return the score of a row; where it is NaN, minus infinity, or None to *skip* the row."""
    if not isnan(score):
        return score
    run.counts["without a score"] += 1
    if missing == "skip":
        run.drop(row, "no score")
        return None
    return -inf


def _rows(run: Run, where: Labelling, sides: tuple[str, ...]) -> Iterable[Row]:
    """Yield the good rows: score, label, verdict if there is one, and the sides."""
    first = [("score", "--column", where.column), ("label", "--labels", where.labels)]
    first += [("verdict", "--verdict", where.verdict)] if where.verdict is not None else []
    chosen = run.row_settings.columns
    wanted = tuple(ColumnPlace(name, option, place) for name, option, place in first if place)
    columns = EvaluatedColumns(chosen.source, chosen.target, first=wanted, sides=sides)
    return filled_rows(run, columns, ("label",))


def filled_rows(run: Run, columns: EvaluatedColumns, needed: Collection[str]) -> Iterator[Row]:
    """Yield the good rows of the input; one of which a *needed* column is blank is bad."""
    reader, names = run.rows(columns), [wanted.name for wanted in columns.wanted()]
    run.counts["without a score"] = 0
    for window in run.windows(reader):
        for row in window:
            if isinstance(row, BadRow):
                continue
            for name, text in zip(names, row.texts, strict=True):
                if name in needed and is_blank(text):
                    run.reject(BadRow(*row[:3], f"the {name} is empty", REMEDY, reader.name))
                    break
            else:
                yield row


def words_of(texts: Iterable[str]) -> int:
    """Count the words between white space."""
    return sum(len(text.split()) for text in texts)


def full_windows(run: Run, rows: RowReader, sides: Sequence[ColumnPlace]) -> Iterator[list[Row]]:
    """Yield windows of the good rows of which none of *sides*, their first texts, is empty.

    What is empty is bad: it stops the run or is rejected.
    """
    for window in run.windows(rows):
        good = []
        for row in window:
            if isinstance(row, BadRow):
                continue
            for side, text in zip(sides, row.texts, strict=False):
                if is_blank(text):
                    problem = f"the {side.name} is empty"
                    run.reject(BadRow(row.number, row.line, row.ending, problem, REMEDY, rows.name))
                    break
            else:
                good.append(row)
        if good:
            yield good
