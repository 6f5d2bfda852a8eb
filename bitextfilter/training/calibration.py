"""Calibrations of scores, fitted to people's labels of raw crawls.

A logistic regression on a basis of hats: the value of each curve at each of its points is a
parameter. Bends and slopes cost (Eilers & Marx 1996, Flexible smoothing with B-splines and
penalties, with hats in place of B-splines), and a curve that must rise or fall is held so by a
penalty that counts for its wrong steps alone (Eilers 2005, Unimodal smoothing). Each pair of
languages has the same weight, and an offset of its own that costs, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from bitextfilter.arrays import Floats, Mask
from bitextfilter.damage.noise import CLEAN, even_rates, noise_settings, noisy_pairs
from bitextfilter.errors import SettingsError
from bitextfilter.models.folders import CUTS
from bitextfilter.scoring.calibration import (
    CURVES,
    DECIMALS,
    INPUTS,
    Calibration,
    Curve,
    Expected,
    pair_key,
)
from bitextfilter.scoring.model import Model

_POINTS: Mapping[str, tuple[float, ...]] = {
    "classifier": (-17, -10, -7, -5, -3, -2, -1, 0, 1, 2, 3, 5, 7, 10, 17),
    "cosine": (0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1),
    "foreign": (0, 0.5, 1, 1.5, 2, 3, 4, 6, 9),
    "other": (0, 0.25, 0.5, 1, 1.5, 2, 3, 5, 8),
    "marks": (0, 0.01, 0.02, 0.04, 0.07, 0.1, 0.2, 0.4, 1),
    "length-ratio": (0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.5),
    "copied": (0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1),
    "figures": (0, 0.1, 0.25, 0.5, 0.75, 1),
}
_RISING = {"classifier": 1, "cosine": 1, "length-ratio": -1, "figures": -1}
"""1 for a curve that must not fall, -1 for one that must not rise."""
_BEND, _SLOPE, _WRONG_STEP, _LEVEL, _OFFSET = 5.0, 0.5, 1e4, 1e-3, 30.0
"""Penalties: of a bend, a step, a step in the wrong direction, the level of a curve, an offset."""
_ROWS = 800.0
"""The weight of all rows of a pair of languages."""
NOISE_PART = 0.2
"""Part of the weight of wrong rows that damaged right rows have."""
RIGHT_SHARE = 0.42
"""Share of right rows in the crawl that probabilities are of; chosen so that a probability of one
half keeps 85 % of the valid rows of labelled crawls."""
LENIENT, STRICT = 0.95, 0.05
"""Right rows that the lenient cut keeps; wrong rows that the strict one passes."""
_FOLDS = 5
_FEWEST = 20
"""Right rows, and wrong ones, of a pair of languages."""
_CERTAIN = 40.0
_SEED = 1
_WORDS = (6, 60)
"""Words of a side of a right row that is damaged."""


class LabelledRows(NamedTuple):
    """Rows that people labelled."""

    pairs: Sequence[tuple[str, str]]
    right: Mask
    """``(n,)``."""
    labels: Sequence[str] = ()
    """As they were given."""


@dataclass(frozen=True)
class LabelledInputs:
    """Labelled rows in two languages."""

    languages: tuple[str, str]
    inputs: Floats
    """``(n, len(INPUTS))``."""
    right: Mask
    """``(n,)``."""
    noise: Floats
    """The inputs of damaged right rows, ``(m, len(INPUTS))``; there may be none."""
    labels: Sequence[str] = ()
    """As they were given, if they are kept: no fit reads them."""

    def check(self) -> None:
        """Raise SettingsError for too few rows of a kind."""
        for kind, count in (("right", self.right.sum()), ("wrong", (~self.right).sum())):
            if count < _FEWEST:
                pair = ",".join(self.languages)
                raise SettingsError(f"{pair}: {count} {kind} rows, at least {_FEWEST} are needed")

    @classmethod
    def of(cls, model: Model, rows: LabelledRows, foreign: Sequence[str] = ()) -> LabelledInputs:
        """Read labelled rows by a model of their languages.

        Each right row is damaged twice, as crawls damage rows, with *foreign* sentences among the
        damage.
        """
        settings = noise_settings(model.languages, foreign, _WORDS, max(1, len(rows.right)), _SEED)
        right = [pair for pair, good in zip(rows.pairs, rows.right.tolist(), strict=True) if good]
        damaged = [
            (source, target)
            for seed in (_SEED, _SEED + 1)
            for source, target, label in noisy_pairs(right, even_rates(1, settings), seed, settings)
            if label != CLEAN
        ]
        read = [
            model.calibration_inputs([pair[0] for pair in pairs], [pair[1] for pair in pairs])
            for pairs in (rows.pairs, damaged)
        ]
        return cls(model.languages, read[0], rows.right, read[1], rows.labels)

    def only(self, rows: Mask) -> LabelledInputs:
        """Return some of the labelled rows, and all damaged ones."""
        return replace(self, inputs=self.inputs[rows], right=self.right[rows], labels=())


class _Weighted(NamedTuple):
    """The rows of some groups, with the number of the group of each."""

    inputs: Floats
    right: Floats
    weights: Floats
    groups: Floats


def _weighted(groups: Sequence[LabelledInputs], share: float) -> _Weighted:
    """Weigh right and wrong rows as in a crawl with this *share* of right ones."""
    parts: list[tuple[Floats, float, float, int]] = []
    for number, group in enumerate(groups):
        noise = NOISE_PART if len(group.noise) else 0.0
        wrong = (1 - share) * _ROWS
        parts.append((group.inputs[group.right], 1.0, share * _ROWS, number))
        parts.append((group.inputs[~group.right], 0.0, (1 - noise) * wrong, number))
        parts.append((group.noise, 0.0, noise * wrong, number))
    parts = [part for part in parts if len(part[0])]
    sizes = [len(part[0]) for part in parts]
    return _Weighted(
        np.concatenate([part[0] for part in parts]),
        np.repeat([part[1] for part in parts], sizes),
        np.repeat([part[2] / size for part, size in zip(parts, sizes, strict=True)], sizes),
        np.repeat([float(part[3]) for part in parts], sizes),
    )


def _hats(column: Floats, points: Floats) -> Floats:
    """Return the parts that each point has in each value, as ``np.interp`` gives them."""
    return np.column_stack([np.interp(column, points, row) for row in np.eye(len(points))])


def _basis(inputs: Floats) -> Floats:
    """Return the parts of all curves in each row, after a column of ones."""
    columns = [np.ones((len(inputs), 1))]
    for name, read in CURVES.items():
        points = np.array(_POINTS[name])
        hats = [_hats(inputs[:, INPUTS.index(each)], points) for each in read]
        columns.append(np.asarray(sum(hats[1:], hats[0])))
    return np.hstack(columns)


def _places() -> dict[str, slice]:
    """Return the columns of each curve in the basis."""
    ends = np.cumsum([1, *(len(_POINTS[name]) for name in CURVES)]).tolist()
    return {name: slice(*ends[n : n + 2]) for n, name in enumerate(CURVES)}


def _penalties(columns: int) -> tuple[Floats, Floats]:
    """Return the matrix of penalties, and the steps that must not be negative."""
    matrix, steps = np.zeros((columns, columns)), list[Floats]()
    for name, place in _places().items():
        points, count = np.array(_POINTS[name]), len(_POINTS[name])
        step = np.diff(np.eye(count), axis=0)
        slopes = step / np.diff(points)[:, None]
        middle = np.sqrt((points[-1] - points[0]) * (points[2:] - points[:-2]) / 2)
        bends = np.diff(slopes, axis=0) * middle[:, None]
        own = _BEND * bends.T @ bends + _SLOPE * step.T @ step
        matrix[place, place] = own + (_LEVEL * _LEVEL) * (1 + np.eye(count))
        if name in _RISING:
            wide = np.zeros((len(step), columns))
            wide[:, place] = _RISING[name] * step
            steps.append(wide)
    return matrix, np.vstack(steps)


def _probabilities(logits: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -_CERTAIN, _CERTAIN))))


def _fitted(basis: Floats, rows: _Weighted, matrix: Floats, steps: Floats) -> Floats:
    """Return the parameters of the highest penalised likelihood, by Newton's method."""
    found, wrong = np.zeros(basis.shape[1]), np.zeros(len(steps), dtype=bool)
    for _ in range(100):
        penalty = matrix + _WRONG_STEP * steps[wrong].T @ steps[wrong]
        probable = _probabilities(basis @ found)
        slope = basis.T @ (rows.weights * (rows.right - probable)) - penalty @ found
        bend = (basis * (rows.weights * probable * (1 - probable))[:, None]).T @ basis + penalty
        change = np.linalg.solve(bend, slope)
        found = found + change
        sizes = steps @ found
        now = (sizes < -1e-9) | (wrong & (sizes < 1e-4))
        if np.abs(change).max() < 1e-6 and np.array_equal(now, wrong):
            break
        wrong = now
    return found


def _fit(groups: Sequence[LabelledInputs], share: float) -> Calibration:
    """Fit curves, and an offset for each group."""
    rows, count = _weighted(groups, share), len(groups)
    basis = _basis(rows.inputs)
    matrix, steps = _penalties(basis.shape[1])
    width = len(matrix) + count
    penalties = _OFFSET * np.eye(width)
    penalties[:-count, :-count] = matrix
    wide = np.pad(steps, ((0, 0), (0, count)))
    offsets = rows.groups[:, None] == np.arange(count)
    found = _fitted(np.hstack([basis, offsets]), rows, penalties, wide)
    curves = {name: _curve(name, found[place]) for name, place in _places().items()}
    pairs = (pair_key(group.languages) for group in groups)
    by_pair = dict(zip(pairs, found[-count:].round(DECIMALS).tolist(), strict=True))
    return Calibration(curves, round(float(found[0]), DECIMALS), share, by_pair)


def _curve(name: str, values: Floats) -> Curve:
    """Return a curve whose steps are none in the wrong direction, to the last bit."""
    if sign := _RISING.get(name):
        values = sign * np.maximum.accumulate(sign * values)
    return Curve([float(point) for point in _POINTS[name]], values.round(DECIMALS).tolist())


def _moved(start: Calibration, groups: Sequence[LabelledInputs], share: float) -> Calibration:
    """Fit an offset for each group, and leave the curves as they are."""
    offsets = {}
    for group in groups:
        rows = _weighted([group], share)
        logits, offset = start.general().logits(rows.inputs, group.languages), 0.0
        for _ in range(100):
            probable = _probabilities(logits + offset)
            slope = np.sum(rows.weights * (rows.right - probable)) - _OFFSET * offset
            bend = np.sum(rows.weights * probable * (1 - probable)) + _OFFSET
            offset += float(slope / bend)
        offsets[pair_key(group.languages)] = round(offset, DECIMALS)
    return replace(start.general(), offsets=offsets)


Scored = Sequence[tuple[LabelledInputs, Floats]]
"""Groups of rows, with the probability of each labelled row."""


def _held_out(
    groups: Sequence[LabelledInputs], fit: Callable[[Sequence[LabelledInputs]], Calibration]
) -> Scored:
    """Return the probability of each row by a calibration that was fitted without its fold."""
    draw = np.random.default_rng(1)
    folds = [draw.permutation(len(group.right)) % _FOLDS for group in groups]
    found = [np.zeros(len(group.right)) for group in groups]
    for fold in range(_FOLDS):
        kept = [group.only(own != fold) for group, own in zip(groups, folds, strict=True)]
        calibration = fit(kept)
        for group, own, scores in zip(groups, folds, found, strict=True):
            some = own == fold
            scores[some] = _probabilities(calibration.logits(group.inputs[some], group.languages))
    return list(zip(groups, found, strict=True))


def _unseen(groups: Sequence[LabelledInputs], share: float) -> Scored:
    """Return the probabilities of the rows of each pair by the curves of all others."""
    found = []
    for number, group in enumerate(groups):
        others = _fit([*groups[:number], *groups[number + 1 :]], share)
        found.append((group, _probabilities(others.logits(group.inputs, group.languages))))
    return found


def _kept(scored: Scored, threshold: float) -> Expected:
    """Return the mean shares, over pairs of languages, that a cut keeps."""
    shares = [
        [float((scores[rows] >= threshold).mean()) for rows in (group.right, ~group.right)]
        for group, scores in scored
    ]
    right, wrong = np.mean(shares, axis=0)
    return Expected(round(float(right), 4), round(float(wrong), 4))


def _cuts(scored: Scored) -> dict[str, float]:
    """Choose the cuts, of two decimals."""
    every = (np.arange(1, 100) / 100).tolist()
    lenient = max((cut for cut in every if _kept(scored, cut).right >= LENIENT), default=every[0])
    strict = min((cut for cut in every if _kept(scored, cut).wrong <= STRICT), default=every[-1])
    return dict(zip(CUTS, (lenient, 0.5, strict), strict=True))


def _expected(scored: Scored, cuts: Mapping[str, float]) -> dict[str, Expected]:
    return {name: _kept(scored, cut) for name, cut in cuts.items()}


_FEWEST_PAIRS = 3
"""Pairs of languages whose curves are tried on one more."""


class Fitted(NamedTuple):
    """A calibration, and how it does on rows that it was fitted without."""

    calibration: Calibration
    held_out: Scored
    """Rows of pairs whose other rows it was fitted to."""
    unseen: Scored
    """Rows of pairs that it was not fitted to at all; none where there are too few."""


def fit_calibration(
    groups: Sequence[LabelledInputs],
    start: Calibration | None = None,
    share: float = RIGHT_SHARE,
    facts: Mapping[str, Any] | None = None,
) -> Fitted:
    """Fit a calibration to labelled rows, each group of another pair of languages.

    Args:
        groups: the rows.
        start: a calibration whose curves and cuts are kept; only offsets are fitted.
        share: of right rows in the crawl that probabilities will be of; that of *start*, if any.
        facts: how the rows were made, for the file.

    Raises SettingsError for too few rows, or for one pair of languages alone without a *start*.
    """
    for group in groups:
        group.check()
    pairs = [pair_key(group.languages) for group in groups]
    if double := next((pair for pair in pairs if pairs.count(pair) > 1), None):
        raise SettingsError(f"{double} stands twice: give all its rows in one file")
    if start is None and len(groups) <= _FEWEST_PAIRS:
        raise SettingsError(
            f"curves take labels in more than {_FEWEST_PAIRS} pairs of languages; with fewer, start"
            " from another calibration"
        )
    share = share if start is None else start.right_share

    def fit(some: Sequence[LabelledInputs]) -> Calibration:
        return _fit(some, share) if start is None else _moved(start, some, share)

    found, held_out = fit(groups), _held_out(groups, fit)
    unseen = _unseen(groups, share) if start is None else []
    cuts = dict(start.cuts) if start else _cuts(held_out)
    expected = {pair_key(one[0].languages): _expected([one], cuts) for one in held_out}
    expected[""] = start.expected[""] if start else _expected(unseen, cuts)  # type: ignore[assignment]
    made = replace(found, cuts=cuts, expected=expected, facts=facts or {})
    return Fitted(made, held_out, unseen)
