"""Semantic textual similarity: correlation of sentence-pair scores with human ratings.

Pearson's correlation, and Spearman's, which is Pearson's of the ranks: values that tie have the
mean of their ranks. Either is undefined where a series has one value only.

Correlations are times 100, as the papers have them (Wieting et al. 2017; Wieting & Gimpel 2018):
first of each set, then unweighted means over the sets of a year, and over all. The mean score
of each grade, and whether neighbouring grades differ, is after Sjöblom et al. 2018.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import isfinite, isnan
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bitextfilter.arrays import Floats
from bitextfilter.errors import InputError, SettingsError, optional
from bitextfilter.evaluation.result import (
    Bootstrap,
    Estimate,
    Result,
    estimates,
    interval,
    signature,
)
from bitextfilter.io.files import open_input
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import REMEDY, Columns, Row, WantedColumn, is_blank, number_of, strict


class Paired:
    """Two numbers for each of ``n`` rows, and their correlations under any counts of the rows."""

    def __init__(self, one: ArrayLike, other: ArrayLike) -> None:
        """Take two series of finite numbers, each ``(n,)``.

        Raises ValueError for series of different lengths, or with a number that is not finite.
        """
        series = [np.asarray(numbers, dtype=np.float64) for numbers in (one, other)]
        for values in series:
            if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
                raise ValueError("a series is one or more finite numbers")
        if series[0].shape != series[1].shape:
            raise ValueError("series of different lengths")
        self._values = [values / (np.abs(values).max() or 1.0) for values in series]
        self._places = [np.unique(values, return_inverse=True)[1] for values in series]

    def __call__(self, counts: Floats) -> Floats:
        """Return Pearson's and Spearman's correlation, ``(2,)``, -1 to 1; NaN for undefined.

        *counts* ``(n,)`` are the weights of the rows: 1 each, or the counts of a resample.
        """
        ranks = []
        for places in self._places:
            copies = np.bincount(places, counts)
            ranks.append((np.cumsum(copies) - (copies - 1) / 2)[places])
        if not all(np.ptp(each[counts > 0]) > 0 for each in ranks):
            return np.full(2, np.nan)
        return np.array([_correlation(one, other, counts) for one, other in (self._values, ranks)])


def _correlation(one: Floats, other: Floats, counts: Floats) -> float:
    """Return Pearson's correlation of weighted rows; NaN without spread."""
    total = counts.sum()
    first, second = one - counts @ one / total, other - counts @ other / total
    spread = np.sqrt(counts @ first**2) * np.sqrt(counts @ second**2)
    if not spread > 0:
        return np.nan
    return float(np.clip((counts * first) @ second / spread, -1, 1))


def pearson(one: ArrayLike, other: ArrayLike) -> float | None:
    """Return Pearson's correlation of two series ``(n,)``, -1 to 1; None where it is undefined."""
    return _figure(one, other, 0)


def spearman(one: ArrayLike, other: ArrayLike) -> float | None:
    """Return Spearman's rank correlation of two series ``(n,)``; None where it is undefined."""
    return _figure(one, other, 1)


def _figure(one: ArrayLike, other: ArrayLike, place: int) -> float | None:
    figure = float(Paired(one, other)(np.ones(np.size(one)))[place])
    return None if np.isnan(figure) else figure


def scipy_statistics() -> ModuleType:
    """Return ``scipy.stats``. Raises DeviceError if that extra is not installed."""
    with optional("t-tests need SciPy:", "statistics"):
        from scipy import stats
    module: ModuleType = stats
    return module


def welch_test(one: Floats, other: Floats) -> float | None:
    """Return the two-sided p-value, 0 to 1, of equal means of two samples (Welch 1947).

    The samples may differ in size and variance. None where it is undefined: a sample of one, or
    two samples without any variance. Raises DeviceError without SciPy.
    """
    statistics = scipy_statistics()
    if min(len(one), len(other)) < 2:
        return None
    moments = [(each.mean(), each.std(ddof=1), len(each)) for each in (one, other)]
    with np.errstate(divide="ignore", invalid="ignore", under="ignore", over="ignore"):
        found = statistics.ttest_ind_from_stats(*moments[0], *moments[1], equal_var=False)
    p = float(found.pvalue)
    return p if max(np.ptp(one), np.ptp(other)) > 0 and np.isfinite(p) else None


SIGNIFICANCE = 0.01
"""Neighbouring grades differ if the p-value is below (Sjöblom et al. 2018)."""

FEW_GRADES = 10
"""Up to this many distinct ratings are grades as they are."""

STEP = 1.0
"""Default step to which more of them are rounded."""


@dataclass(frozen=True)
class RatedSet:
    """A set of ``n`` sentence pairs, two or more, with human ratings and scores."""

    name: str
    """Such as ``sts2012.OnWN``; the part up to the first dot names the year."""
    human: Floats
    """``(n,)``, finite; higher is more similar, or better."""
    scores: Floats
    """``(n,)``, finite; likewise."""
    skipped: int = 0
    """Pairs left out for want of a rating or score."""
    file: str = ""
    """The path of its file."""

    def __post_init__(self) -> None:
        """Raise ValueError for numbers that differ, are fewer than two, or not finite."""
        if self.human.shape != self.scores.shape or self.human.ndim != 1 or len(self.human) < 2:
            raise ValueError(f"{self.human.shape} human scores and {self.scores.shape} scores")
        if not np.isfinite(self.human).all() or not np.isfinite(self.scores).all():
            raise ValueError("a score is not finite")

    @property
    def constant(self) -> str | None:
        """The series with a single value, so that nothing correlates with it; None if neither."""
        named = {"human scores": self.human, "scores": self.scores}
        return next((name for name, values in named.items() if np.ptp(values) == 0), None)


@dataclass(frozen=True)
class Correlations:
    """The correlations of a set, or their mean over several."""

    name: str
    """The set's; ``mean sts2012`` over the sets of a year, ``mean`` over all."""
    sets: tuple[str, ...]
    """The names of the sets."""
    pairs: int
    skipped: int
    pearson: Estimate | None
    """-100 to 100; None where it is undefined, for the set or one of several."""
    spearman: Estimate | None
    """As ``pearson``."""

    @property
    def figure(self) -> str:
        """The head of the signature: ``pearson = 71.20 spearman = 70.04``, ``-`` for undefined."""
        pair = (("pearson", self.pearson), ("spearman", self.spearman))
        return " ".join(f"{name} = {f'{each.value:.2f}' if each else '-'}" for name, each in pair)

    @property
    def facts(self) -> dict[str, str | int]:
        """Pairs, and the set or the number of sets, as facts of the signature."""
        one = {"set": self.name} if len(self.sets) == 1 else {"sets": len(self.sets)}
        return {"n": self.pairs, "skipped": self.skipped, **one}


@dataclass(frozen=True)
class Grade:
    """The scores of the pairs with one human grade."""

    grade: float
    pairs: int
    mean: float
    deviation: float | None
    """The standard deviation of the scores, over ``n - 1``; None of one pair."""
    p: float | None
    """Welch's p-value of equal means of this grade and the one below; None if undefined."""

    @property
    def differs(self) -> bool | None:
        """Whether the grade differs from the one below; None without a p-value."""
        return None if self.p is None else self.p < SIGNIFICANCE


def measure_correlations(sets: Sequence[RatedSet], bootstrap: Bootstrap) -> list[Correlations]:
    """Return the correlations of each set, then the means of each year, then of all.

    A year is the part of a name before its first dot; two sets or more have a mean. Rows are drawn
    anew from each set separately. An interval leaves out the resamples in which its correlation is
    undefined; where all are, it is the whole range.

    Raises ValueError without a set.
    """
    groups = _groups([each.name for each in sets])
    paired = [Paired(each.human, each.scores) for each in sets]

    def figures(strata: Sequence[Floats]) -> Floats:
        each = np.stack([pair(counts) for pair, counts in zip(paired, strata, strict=True)])
        return np.stack([each[places].mean(axis=0) for places in groups.values()])

    found = estimates([np.ones(len(each.human)) for each in sets], figures, bootstrap)
    return [
        Correlations(
            name,
            tuple(sets[place].name for place in places),
            sum(len(sets[place].human) for place in places),
            sum(sets[place].skipped for place in places),
            *(_estimate(*(100 * found[:, row, kind]).tolist()) for kind in range(2)),
        )
        for row, ((_, name), places) in enumerate(groups.items())
    ]


def _groups(names: Sequence[str]) -> dict[tuple[int, str], list[int]]:
    """Return the places of the sets behind each line: each set, each year, and all."""
    lines = {(place, name): [place] for place, name in enumerate(names)}
    years: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        years.setdefault(name.partition(".")[0], []).append(place)
    means = {f"mean {year}": places for year, places in years.items()}
    means["mean"] = list(range(len(names)))
    several = {(-1, name): places for name, places in means.items() if len(places) > 1}
    return lines | several


def _estimate(value: float, low: float, high: float) -> Estimate | None:
    """Return a correlation and its interval, which is the whole range where it is undefined."""
    if isnan(value):
        return None
    return Estimate(value, -100.0, 100.0) if isnan(low) else Estimate(value, low, high)


def grade_means(rated: RatedSet, step: float | None = None) -> list[Grade]:
    """Return the mean score of each human grade, ascending, each compared with the one below.

    Args:
        rated: the set.
        step: grades are ratings rounded to multiples of it, halves up; None for ratings as they
            are, or a step of 1 if more than ``FEW_GRADES`` are distinct.

    Raises:
        SettingsError: the step is too small to count in.
        DeviceError: SciPy is not installed.
    """
    grades, places = np.unique(_rounded(rated.human, step), return_inverse=True)
    found: list[Grade] = []
    below: Floats | None = None
    for place, grade in enumerate(grades.tolist()):
        scores = rated.scores[places == place]
        p = None if below is None else welch_test(below, scores)
        deviation = float(scores.std(ddof=1)) if len(scores) > 1 else None
        found.append(Grade(grade, len(scores), float(scores.mean()), deviation, p))
        below = scores
    return found


def _rounded(human: Floats, step: float | None) -> Floats:
    """Return the grade of each rating."""
    if step is None:
        if len(np.unique(human)) <= FEW_GRADES:
            return human
        step = STEP
    with np.errstate(over="ignore"):
        multiples = np.floor(human / step + 0.5)
    if not np.isfinite(multiples).all():
        raise SettingsError(f"a step of {step:g} is too small for these grades")
    return np.round(multiples * step, 12)


def sts_result(
    sets: Sequence[RatedSet],
    bootstrap: Bootstrap,
    facts: Mapping[str, str | int],
    grades: Sequence[Sequence[Grade]] = (),
) -> Result:
    """Return a record for each set and mean.

    Args:
        sets: at least one.
        bootstrap: resamples and seed.
        facts: further facts of the signatures.
        grades: of each set, if asked for.
    """
    records: list[dict[str, Any]] = []
    facts = {**facts, **bootstrap.facts}
    for each, rated in zip_longest(measure_correlations(sets, bootstrap), sets):
        line = signature(each.figure, **each.facts, **facts)
        values = vars(each).copy()
        of = {"set": values.pop("name"), **({"file": rated.file} if rated else {})}
        records.append({**of, **values, "signature": line})
    for made, found in zip(records, grades, strict=False):
        made["grades"] = [{**vars(grade), "differs": grade.differs} for grade in found]
    counts = dict.fromkeys(("set", "sets", "pairs", "skipped"), "")
    columns = counts | interval("pearson", "spearman", form=".2f") | {"signature": ""}
    return Result("sts", columns, {"results": records[: len(sets)], "means": records[len(sets) :]})


def grades_table(result: Result) -> Result:
    """Return the table of the grades in a result of :func:`sts_result`."""
    columns = dict.fromkeys(("set", "grade", "pairs", "mean", "deviation", "p", "differs"), ".4f")
    columns |= {"grade": ".10g", "p": ".3g", "signature": ""}
    records = [
        {"set": of["set"], **grade, "signature": of["signature"]}
        for of in result.groups["results"]
        for grade in of["grades"]
    ]
    return Result("sts", columns, {"results": records})


_MOST_SHOWN = 40


@dataclass(frozen=True)
class RatedColumns(Columns):
    """First columns of numbers, the human rating before others, and last the texts, if any."""

    blank: bool = True
    sides: tuple[str, ...] = ()

    def fault(self, row: Row) -> tuple[str, str] | None:
        """Return the fault of a row and its remedy, or None: a blank number is no fault."""
        for (name, option, _), text in zip(self.first, row.texts, strict=False):
            if not is_blank(text) and not isfinite(number_of(text.encode())):
                reason = f"the {name} {text[:_MOST_SHOWN]!r} is no number"
                return reason, f"{option} says where it is; {REMEDY}"
        for (name, *_), text in zip(self.last, row.texts[len(self.first) :], strict=True):
            if is_blank(text):
                return f"the {name} is empty", REMEDY
        return None

    def complete(self, row: Row) -> bool:
        """Whether a row has all numbers."""
        return not any(map(is_blank, row.texts[: len(self.first)]))


def check_enough(count: int, skipped: int, file: str, remedy: str) -> None:
    """Raise InputError where a *file* has fewer than two pairs, which no correlation allows."""
    if count < 2:
        message = f"too few pairs to correlate: {count}, and {skipped} skipped"
        raise InputError(message, file=file, remedy=remedy)


class RatedPairs(NamedTuple):
    """Sentence pairs with human ratings, ``n`` of each."""

    ratings: list[float]
    sources: list[str]
    targets: list[str]
    skipped: int
    """Rows left out because their rating is blank."""


def read_rated_pairs(path: str) -> RatedPairs:
    """Read a TSV of human rating, sentence and sentence.

    Raises NotFoundError, and InputError at the first bad row, or for fewer than two rated pairs.
    """
    columns = RatedColumns(
        first=(WantedColumn("human score", "column", 1),),
        last=(WantedColumn("source", "column", 2), WantedColumn("target", "column", 3)),
    )
    expected, found, skipped = "score, sentence and sentence are expected", [], 0
    with open_input(path) as stream:
        for row in strict(RowReader(stream, path, columns, remedy="mend the row")):
            if fault := columns.fault(row):
                remedy = f"{expected}; mend the row"
                raise InputError(fault[0], file=path, line=row.number, remedy=remedy)
            if columns.complete(row):
                found.append(row.texts)
            else:
                skipped += 1
    check_enough(len(found), skipped, path, expected)
    ratings, sources, targets = map(list, zip(*found, strict=True))
    return RatedPairs([number_of(text.encode()) for text in ratings], sources, targets, skipped)
