"""Agreement of annotators on the labels of the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from math import nan

from bitextfilter.judge.judgements import Judgements, Label


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
    """``agreement`` (the share of rows with equal labels), ``kappa`` or ``alpha``."""
    annotators: tuple[str, ...]
    rows: int
    """Rows that at least two of them have labelled."""
    value: float


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


def disagreements(judgements: Judgements) -> list[int]:
    """Return the places of rows whose labels differ, in order; numbers by a fourth of the scale."""
    scale = judgements.scale
    least = 1.0 if scale.words else (scale.high - scale.low) / _APART
    return [
        place
        for place, unit in zip(judgements.judged, _units(judgements), strict=True)
        if max(unit) - min(unit) >= least
    ]


def disagreements_table(judgements: Judgements) -> list[list[str]]:
    """Return a header, and for each row of disagreement its texts and everybody's label."""
    names, rows = judgements.annotators, judgements.sample.rows
    table = [["row", "source", "target", *names]]
    for place in disagreements(judgements):
        row, labels = rows[place], judgements.of(place)
        cells = (labels[name].label if name in labels else "" for name in names)
        table.append([str(row.row), row.source, row.target, *cells])
    return table
