"""Rows with a score and a label, read from a TSV."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from math import inf, isnan
from typing import TYPE_CHECKING

from bitextfilter.commands.evaluations.settings import Labelling
from bitextfilter.commands.frame import Run
from bitextfilter.errors import InputError
from bitextfilter.io.columns import Columns, Wanted
from bitextfilter.io.files import stream_name
from bitextfilter.io.parser import REMEDY
from bitextfilter.io.rows import BadRow, Row, is_blank, number_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bitextfilter.evaluation.filtering import Labelled

__all__ = [
    "Collected",
    "EvaluatedColumns",
    "filled_rows",
    "known_score",
    "read_labelled",
    "words_of",
]

KEEP = "keep"
"""The verdict on a row that no rule drops."""

MOST_KINDS = 1000
"""With more kinds of noise, the column is none of labels."""


@dataclass(frozen=True)
class EvaluatedColumns(Columns):
    """Columns to evaluate, which may be empty, and after them some of the *sides* of the pair."""

    blank: bool = True
    first: tuple[Wanted, ...] = ()
    sides: tuple[str, ...] = ()

    def wanted(self) -> tuple[Wanted, ...]:
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
            score = score if texts[0] == KEEP else -inf
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
    wanted = tuple(Wanted(name, option, place) for name, option, place in first if place)
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
