"""Yields of cuts, separation by scores, and agreement, from a labelled sample of a corpus.

Each labelled row stands for as many rows of the corpus as its weight says. Where a stratum is
labelled in part, the weights of its labels are raised so that they sum to its rows. Intervals are
of a bootstrap within strata (``result.py``), whose weights are raised likewise.

Agreement is that of annotators on the labels of the same rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from math import nan
from typing import Any

import numpy as np

from bitextfilter.arrays import Floats, Integers, Mask
from bitextfilter.errors import InputError, SettingsError
from bitextfilter.evaluation.filtering import Contrast, best_counts
from bitextfilter.evaluation.result import (
    Bootstrap,
    Estimate,
    Result,
    Statistic,
    estimates,
    interval,
    signature,
)
from bitextfilter.io.rows import number_of
from bitextfilter.judge.judgements import RULE, Judgements, Label, Scale

LADDER = (1.0, 0.95, *(np.arange(9, 0, -1) / 10), 0.05)
"""The shares of rows that the cuts of the ladder keep, about."""

_TIE = 1e-12
"""Figures this close are equal but for rounding: of cuts that tie, the lowest wins."""

FEWEST = 10
"""A cut of a wanted precision keeps at least this many labelled rows."""

FIGURES = ("rows", "precision", "recall", "f1")


@dataclass(frozen=True)
class Standard:
    """The labels that count as good: some words, or numbers from ``least`` up."""

    words: tuple[str, ...] = ()
    least: float | None = None

    def is_good(self, label: str) -> bool:
        """Return whether a label counts as good."""
        return label in self.words if self.least is None else float(label) >= self.least

    def __str__(self) -> str:
        return ",".join(self.words) if self.least is None else f">={self.least:g}"


def standard_of(scale: Scale, good: str | None) -> Standard:
    """Return the standard *good*: words with commas, or a number.

    By default the best label, or the middle of the scale. Raises SettingsError for others.
    """
    if scale.words:
        words = tuple((good or scale.words[0]).split(","))
        if unknown := [word for word in words if not scale.holds(word)]:
            raise SettingsError(scale.fault(unknown[0]))
        return Standard(words)
    if good is None:
        return Standard(least=(scale.low + scale.high) / 2)
    if not scale.holds(good):
        raise SettingsError(scale.fault(good))
    return Standard(least=number_of(good.encode()))


def grades_of(judgements: Judgements, standard: Standard) -> tuple[list[int], Floats]:
    """Return the places of the labelled rows, and their grades from 0 to 1.

    The grade of words is the share of the row's labels that are good; of numbers, their mean, from
    the lowest to the highest of the scale.
    """
    scale, grades = judgements.scale, []
    for place in judgements.judged:
        labels = [label.label for label in judgements.of(place).values()]
        if scale.words:
            values = [float(standard.is_good(label)) for label in labels]
        else:
            values = [(float(label) - scale.low) / (scale.high - scale.low) for label in labels]
        grades.append(float(np.mean(values)))
    return judgements.judged, np.array(grades)


@dataclass(frozen=True)
class JudgedRows:
    """``n`` labelled rows of a sample."""

    names: tuple[str, ...]
    """The names of the scores."""
    scores: Floats
    """``(n, len(names))``; minus infinity where there is none."""
    good: Floats
    """The share of the row's labels that are good, 0 to 1: ``(n,)``."""
    weights: Floats
    """Rows of the corpus that each stands for, ``(n,)``."""
    reasons: tuple[str, ...]
    """The strata."""
    stratum: Integers
    """The place of each row's stratum in ``reasons``, ``(n,)``, ascending."""
    unlabelled: dict[str, float] = field(default_factory=dict)
    """Strata without a label, and their rows."""

    @property
    def ruled(self) -> Mask:
        """The rows that a rule drops, ``(n,)``."""
        ruled: Mask = np.array([each.startswith(RULE) for each in self.reasons])[self.stratum]
        return ruled

    def strata(self) -> list[Floats]:
        """Return the number of labels in each cell of each stratum: one a row."""
        return [np.ones(int(n)) for n in np.bincount(self.stratum)]

    def drawn(self, strata: Sequence[Floats]) -> Floats:
        """Return the weights of rows drawn anew, raised to the rows of their strata: ``(n,)``."""
        weights = np.concatenate(strata) * self.weights
        before, after = (np.bincount(self.stratum, each) for each in (self.weights, weights))
        raised: Floats = weights * (before / after)[self.stratum]
        return raised


def judged_rows(judgements: Judgements, standard: Standard, file: str) -> JudgedRows:
    """Return the labelled rows of a sample; InputError naming *file* for labels of one kind."""
    sample = judgements.sample
    every = dict.fromkeys(sorted({row.reason for row in sample.rows}), 0.0)
    for row in sample.rows:
        every[row.reason] += row.weight
    places = sorted(judgements.judged, key=lambda place: sample.rows[place].reason)
    rows = [sample.rows[place] for place in places]
    reasons = tuple(dict.fromkeys(row.reason for row in rows))
    stratum = np.array([reasons.index(row.reason) for row in rows])
    weights = np.array([row.weight for row in rows])
    labelled = np.bincount(stratum, weights)
    raised = np.array([every[reason] for reason in reasons]) / labelled
    good = []
    for place in places:
        labels = judgements.of(place).values()
        good.append(sum(standard.is_good(each.label) for each in labels) / len(labels))
    if min(good) == max(good) and good[0] in (0, 1):
        kind = "good" if good[0] else "bad"
        remedy = f"label rows of the other kind too, or see --good ({standard})"
        raise InputError(f"every label is {kind}", file=file, remedy=remedy)
    scores = np.array([row.scores for row in rows], np.float64).reshape(len(rows), -1)
    return JudgedRows(
        sample.scores,
        np.where(np.isnan(scores), -np.inf, scores),
        np.array(good),
        weights * raised[stratum],
        reasons,
        stratum,
        {reason: rows for reason, rows in every.items() if reason not in reasons},
    )


@dataclass(frozen=True)
class JudgedCut:
    """The figures of keeping the rows that score at least ``cut``."""

    column: str
    cut: float
    labels: int
    """Labelled rows that it keeps."""
    figures: dict[str, Estimate]
    """By the names in ``FIGURES``: rows of the corpus kept, and shares from 0 to 1."""
    mark: str
    """``best f1``, ``asked``, or such as ``precision>=0.95``; several with commas."""


@dataclass(frozen=True)
class YieldSettings:
    """The cuts to show, and the resamples of the intervals."""

    columns: Sequence[str]
    cuts: Sequence[float] = ()
    """Cuts to show besides, of the first column."""
    precision: float | None = None
    """Seek the lowest cut of at least this precision, of ``FEWEST`` labels or more."""
    bootstrap: Bootstrap = field(default_factory=Bootstrap)


def cut_figures(rows: JudgedRows, kept: Mask, weights: Floats) -> Floats:
    """Return rows, precision, recall and F1 of keeping ``kept`` ``(n, cuts)``: ``(4, cuts)``.

    NaN for the precision of no rows, and for the recall and F1 without good rows.
    """
    right, every = (weights * rows.good) @ kept, weights @ kept
    good = float(weights @ rows.good)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.stack([every, right / every, right / good, 2 * right / (every + good)])


def yields(rows: JudgedRows, column: str, settings: YieldSettings) -> list[JudgedCut]:
    """Return a ladder of cuts of a column, ascending, with the best ones marked.

    A row that a rule drops is kept by no cut. Intervals are of fixed cuts: the figures of a cut
    that was chosen on these labels are slightly too good.
    """
    scores = rows.scores[:, rows.names.index(column)]
    free = ~rows.ruled & np.isfinite(scores)
    known = np.unique(scores[free])
    if not len(known):
        return []
    above = _kept(scores, free, known)
    every = cut_figures(rows, above, rows.weights)
    marks = _marks(known, every, above.sum(axis=0), settings, column)
    for share in LADDER:  # figures[0] falls from the lowest cut on
        marks.setdefault(float(known[np.argmin(np.abs(every[0] - share * every[0][0]))]), [])
    cuts = np.array(sorted(marks))
    kept = _kept(scores, free, cuts)

    def statistic(drawn: Sequence[Floats]) -> Floats:
        return cut_figures(rows, kept, rows.drawn(drawn))

    found = estimates(rows.strata(), statistic, settings.bootstrap)
    return [
        JudgedCut(
            column,
            float(cut),
            int(kept[:, i].sum()),
            {name: Estimate(*found[:, j, i].tolist()) for j, name in enumerate(FIGURES)},
            ", ".join(marks[float(cut)]),
        )
        for i, cut in enumerate(cuts)
    ]


def _kept(scores: Floats, free: Mask, cuts: Floats) -> Mask:
    kept: Mask = (scores[:, None] >= cuts) & free[:, None]
    return kept


def _marks(
    cuts: Floats, figures: Floats, labels: Integers, settings: YieldSettings, column: str
) -> dict[float, list[str]]:
    """Return the marks of cuts to show: the best F1, those asked for, the wanted precision."""
    marks: dict[float, list[str]] = {}
    f1 = np.nan_to_num(figures[3])
    marks.setdefault(float(cuts[np.argmax(f1 >= f1.max() - _TIE)]), []).append("best f1")
    for cut in settings.cuts if column == settings.columns[0] else ():
        marks.setdefault(cut, []).append("asked")
    if settings.precision is not None:
        enough = labels >= FEWEST
        found = np.flatnonzero((figures[1] >= settings.precision - _TIE) & enough)
        if len(found):
            mark = f"precision>={settings.precision:g}"
            marks.setdefault(float(cuts[found[0]]), []).append(mark)
    return marks


def weighted_auc(scores: Floats, good: Floats) -> Statistic:
    """Return the function from weights to the AUC: how often a good row scores higher than a bad.

    The AUC is from 0 to 1, ties as half; NaN where either kind has no weight.

    Args:
        scores: ``(n,)``; rows of equal score share a cell.
        good: the share of each row that is good, 0 to 1: ``(n,)``.
    """
    distinct, cell = np.unique(-scores, return_inverse=True)
    contrast = Contrast(-distinct, -distinct)

    def statistic(weights: Sequence[Floats]) -> Floats:
        masses = (weights[0] * good, weights[0] * (1 - good))
        right, wrong = (np.bincount(cell, m, len(distinct)).astype(np.float64) for m in masses)
        if not right.any() or not wrong.any():
            return np.array(np.nan)
        return np.array(contrast.auc(best_counts(right), wrong))

    return statistic


def column_auc(rows: JudgedRows, column: str, bootstrap: Bootstrap) -> Estimate:
    """Return the weighted AUC of a score among the rows that no rule drops."""
    free = ~rows.ruled
    auc = weighted_auc(rows.scores[free, rows.names.index(column)], rows.good[free])
    found = estimates(rows.strata(), lambda drawn: auc([rows.drawn(drawn)[free]]), bootstrap)
    return Estimate(*found.tolist())


def good_shares(rows: JudgedRows, bootstrap: Bootstrap) -> Floats:
    """Return the share of good rows in each stratum, and its 95 % interval: ``(3, strata)``."""
    places = rows.stratum

    def statistic(drawn: Sequence[Floats]) -> Floats:
        weights = rows.drawn(drawn)
        return np.bincount(places, weights * rows.good) / np.bincount(places, weights)

    return estimates(rows.strata(), statistic, bootstrap)


_COLUMNS = {
    "kind": "",
    "name": "",
    "cut": "",
    "labels": "",
    **interval("rows", form=".0f"),
    **interval("precision", "recall", "f1", "value", form=".4f"),
    "mark": "",
    "signature": "",
}
_NOTHING: dict[str, Any] = dict.fromkeys((*FIGURES, "cut", "labels", "value"))
_NOTHING |= {"mark": "", "signature": ""}


def _record(kind: str, name: str, **known: Any) -> dict[str, Any]:
    """Return a record; the values that are not *known* are of records of another kind."""
    return {**_NOTHING, "kind": kind, "name": name, **known}


def judgement_result(
    judgements: Judgements,
    rows: JudgedRows,
    standard: Standard,
    settings: YieldSettings,
    more: Sequence[AgreementFigure] = (),
) -> Result:
    """Return the cuts of each column, its AUC, the strata, and the annotators' agreement.

    *more* figures of agreement stand last.
    """
    facts: dict[str, str | float] = {
        "n": len(rows.good),
        "good": str(standard),
        "annotators": len(judgements.annotators),
        **settings.bootstrap.facts,
    }
    cuts, scores = [], []
    for name in settings.columns:
        cuts += [_cut_record(cut, facts) for cut in yields(rows, name, settings)]
        auc = column_auc(rows, name, settings.bootstrap)
        line = signature(f"auc = {auc.value:.4f}", column=name, **facts)
        labels = int((~rows.ruled).sum())
        scores.append(_record("auc", name, labels=labels, value=auc, signature=line))
    strata = _reason_records(rows, settings.bootstrap)
    agreement = [
        _record(each.measure, ", ".join(each.annotators), labels=each.rows, value=each.value)
        for each in (*measure_agreement(judgements, standard.least), *more)
    ]
    groups = {"cuts": cuts, "scores": scores, "reasons": strata, "agreement": agreement}
    about = {"sample": judgements.sample.name, "scale": judgements.scale.name}
    return Result("judge", _COLUMNS, groups, {**about, "good": str(standard)})


def _reason_records(rows: JudgedRows, bootstrap: Bootstrap) -> list[dict[str, Any]]:
    shares = good_shares(rows, bootstrap).T.tolist()
    sizes = np.bincount(rows.stratum, rows.weights).tolist()
    labels = np.bincount(rows.stratum).tolist()
    return [
        _record("reason", name, labels=count, rows=size, precision=Estimate(*share))
        for name, count, size, share in zip(rows.reasons, labels, sizes, shares, strict=True)
    ]


def _cut_record(cut: JudgedCut, facts: dict[str, str | float]) -> dict[str, Any]:
    line = signature(f"cut = {cut.cut!r}", column=cut.column, **facts) if cut.mark else ""
    known = {"cut": cut.cut, "labels": cut.labels, **cut.figures}
    return _record("cut", cut.column, **known, mark=cut.mark, signature=line)


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """Return Cohen's kappa of two annotators' labels of ``n`` rows, -1 to 1.

    (p_o - p_e) / (1 - p_e), of the share of equal labels p_o, and that expected of labels given
    at random with each annotator's own frequencies (Cohen 1960). NaN where both give one label
    alone, or without rows.
    """
    n = len(first)
    equal = sum(one == other for one, other in zip(first, second, strict=True))
    ours, theirs = Counter(first), Counter(second)
    expected = sum(count * theirs[label] for label, count in ours.items())
    # All times n², in whole numbers.
    return (n * equal - expected) / (n * n - expected) if n * n > expected else nan


def krippendorff_alpha(units: Sequence[Sequence[float]], nominal: bool = False) -> float:
    """Return Krippendorff's alpha of the labels of each row, at most 1; 0 is chance.

    1 - D_o / D_e (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability"): the mean
    difference of two labels of a row, by that of any two labels. The difference is the square, or
    for *nominal* labels 0 if they are equal, else 1. Rows with one label are left out. NaN where
    all labels are equal.
    """
    paired = [unit for unit in units if len(unit) > 1]
    values = Counter(chain.from_iterable(paired))
    n = sum(values.values())

    def differences(counts: Counter[float]) -> float:
        pairs = combinations(counts.items(), 2)
        return 2 * sum(c * d * (1.0 if nominal else (v - w) ** 2) for (v, c), (w, d) in pairs)

    expected = differences(values)
    observed = sum(differences(Counter(unit)) / (len(unit) - 1) for unit in paired)
    return 1 - (n - 1) * observed / expected if expected else nan


@dataclass(frozen=True)
class AgreementFigure:
    """A measure of agreement."""

    measure: str
    """``agreement`` (the share of rows with equal labels), ``kappa``, ``alpha``, ``label-auc``."""
    annotators: tuple[str, ...]
    rows: int
    """Rows that at least two of them have labelled."""
    value: float | Estimate


def measure_agreement(judgements: Judgements, least: float | None) -> list[AgreementFigure]:
    """Measure the agreement of each two annotators, and of all.

    Two numbers count as equal, for agreement and kappa, if both are at least *least* or both
    below it; *least* is None for words. No figures without two annotators.
    """
    figures, names = [], judgements.annotators
    for pair in combinations(names, 2):
        one, other = (judgements.labels[name] for name in pair)
        both = sorted(one.keys() & other.keys())
        if not both:
            continue
        first, second = ([_verdict(of[place], least) for place in both] for of in (one, other))
        equal = sum(a == b for a, b in zip(first, second, strict=True)) / len(both)
        figures.append(AgreementFigure("agreement", pair, len(both), equal))
        figures.append(AgreementFigure("kappa", pair, len(both), cohen_kappa(first, second)))
    units = [unit for unit in _units(judgements) if len(unit) > 1]
    if units:
        alpha = krippendorff_alpha(units, nominal=bool(judgements.scale.words))
        figures.append(AgreementFigure("alpha", tuple(names), len(units), alpha))
    return figures


def _verdict(label: Label, least: float | None) -> str | bool:
    return label.label if least is None else float(label.label) >= least


def _units(judgements: Judgements) -> list[list[float]]:
    """Return the labels of each row as numbers: their value, or the word's place."""
    words = judgements.scale.words
    return [
        [
            float(words.index(each.label) if words else each.label)
            for each in judgements.of(place).values()
        ]
        for place in judgements.judged
    ]


_APART = 4
"""Numbers that differ by a fourth of the scale are a disagreement."""


def disagreements_table(judgements: Judgements) -> list[list[str]]:
    """Return a header, and for each row of disagreement its texts and everybody's label.

    Words disagree if they differ, numbers by a fourth of the scale.
    """
    names, scale = judgements.annotators, judgements.scale
    least = 1.0 if scale.words else (scale.high - scale.low) / _APART
    table = [["row", "source", "target", *names]]
    for place, unit in zip(judgements.judged, _units(judgements), strict=True):
        if max(unit) - min(unit) < least:
            continue
        row, labels = judgements.sample.rows[place], judgements.of(place)
        cells = (labels[name].label if name in labels else "" for name in names)
        table.append([str(row.row), row.source, row.target, *cells])
    return table
