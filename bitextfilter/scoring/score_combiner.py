"""One score of several: a combiner of score columns, kept as JSON and applied by numpy alone.

Two kinds give the probability that a row is good:

- ``logistic``: the sigmoid of a weighted sum of the scores, each less its mean and divided by its
  standard deviation; a missing score counts as the mean, and has a weight of its own.
- ``monotone``: the sigmoid of a sum of small decision trees that never decrease (or increase) in
  a score. A missing score goes the way that each split says.

A third, ``isolation-forest``, tells how usual a row is, from 0 to 1, by trees that split the rows
at random: an unusual row is soon alone (Liu, Ting & Zhou 2008). A missing score counts as the
median.

``bitext-train-combiner`` fits them; ``training/combiner.py`` says how.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, get_args

import numpy as np

from bitextfilter.arrays import Floats, Indices, Mask
from bitextfilter.errors import ModelError
from bitextfilter.io.records import json_bytes, parse_json

FORMAT = 1
"""Of the JSON file."""

_LARGEST_LOGIT = 700.0


@dataclass(frozen=True)
class CombinedColumn:
    """A column of scores."""

    name: int | str
    """Its name in the header, or its number."""
    direction: int
    """1: higher is better, or -1: lower is; 0: it is not used."""
    missing: bool
    """Whether the training had rows without this score."""


@dataclass(frozen=True)
class LogisticPart:
    """A weighted sum; all arrays have one number a column."""

    kind: ClassVar[str] = "logistic"
    intercept: float
    weights: list[float]
    """Of a standard deviation."""
    means: list[float]
    deviations: list[float]
    missing_weights: list[float]
    """What a missing score adds."""

    def combined(self, scores: Floats) -> Floats:
        """Combine the scores of rows ``(n, m)``, NaN for a missing one, to 0 to 1: ``(n,)``."""
        missing = np.isnan(scores)
        standard = (scores - np.array(self.means)) / np.array(self.deviations)
        terms = np.where(missing, self.missing_weights, standard * np.array(self.weights))
        return sigmoid(self.intercept + terms.sum(axis=1))  # no product, which may block rows

    def check(self, columns: int) -> None:
        """Raise ValueError unless the numbers suit so many *columns*."""
        for numbers in (self.weights, self.means, self.deviations, self.missing_weights):
            _check_numbers(numbers, columns)
        _check_numbers([self.intercept], 1)
        if min(self.deviations) <= 0:
            raise ValueError("a deviation is not over 0")


@dataclass(frozen=True)
class Tree:
    """A decision tree: arrays over its nodes, the root first."""

    columns: list[int]
    """The place of the column that a node looks at; -1 for a leaf."""
    thresholds: list[float]
    """A row goes left if its score is at most this."""
    left: list[int]
    right: list[int]
    missing_left: list[bool]
    """Whether a row without the score goes left."""
    values: list[float]
    """What a leaf adds."""

    def leaves(self, scores: Floats) -> Indices:
        """Return the leaf of each row ``(n,)``."""
        columns, left, right = map(np.array, (self.columns, self.left, self.right))
        thresholds, missing_left = np.array(self.thresholds), np.array(self.missing_left)
        nodes = np.zeros(len(scores), np.int64)
        rows = np.arange(len(scores))
        while len(rows := rows[columns[nodes[rows]] >= 0]):
            at = nodes[rows]
            values = scores[rows, columns[at]]
            goes_left = np.where(np.isnan(values), missing_left[at], values <= thresholds[at])
            nodes[rows] = np.where(goes_left, left[at], right[at])
        return nodes

    def check(self, columns: int) -> None:
        """Raise ValueError unless each path ends, and looks at one of so many *columns*."""
        size = len(self.columns)
        for numbers in (self.thresholds, self.values):
            _check_numbers(numbers, size)
        if not size or {len(self.left), len(self.right), len(self.missing_left)} != {size}:
            raise ValueError("a tree has arrays of different lengths")
        if not all(isinstance(one, bool) for one in self.missing_left):
            raise ValueError("a tree has a direction that is neither true nor false")
        for node, (column, *below) in enumerate(zip(self.columns, self.left, self.right)):  # noqa: B905
            if not all(type(one) is int for one in (column, *below)) or column >= columns:
                raise ValueError("a tree has a place that is none")
            if column >= 0 and not all(node < one < size for one in below):
                raise ValueError("a tree has a node that leads nowhere")


@dataclass(frozen=True)
class MonotonePart:
    """A sum of decision trees."""

    kind: ClassVar[str] = "monotone"
    intercept: float
    trees: list[Tree]

    def combined(self, scores: Floats) -> Floats:
        """See :meth:`LogisticPart.combined`."""
        total = np.full(len(scores), self.intercept)
        for tree in self.trees:
            total += np.array(tree.values)[tree.leaves(scores)]
        return sigmoid(total)

    def check(self, columns: int) -> None:
        """See :meth:`LogisticPart.check`."""
        _check_numbers([self.intercept], 1)
        for tree in self.trees:
            tree.check(columns)


@dataclass(frozen=True)
class ForestPart:
    """An isolation forest.

    The columns of its trees are those of the scores, then one for each that is 1 where the score is
    missing. The value of a leaf is the number of splits that isolate a row there.
    """

    kind: ClassVar[str] = "isolation-forest"
    usual: float
    """The mean number of splits that isolate one of the rows that a tree was made of."""
    medians: list[float]
    """In place of missing scores."""
    trees: list[Tree]

    def combined(self, scores: Floats) -> Floats:
        """See :meth:`LogisticPart.combined`. 1 - 2^(-splits / usual): higher is more usual."""
        features = forest_features(scores, np.array(self.medians))
        total = np.zeros(len(scores))
        for tree in self.trees:
            total += np.array(tree.values)[tree.leaves(features)]
        return np.asarray(1 - 2 ** (-total / (len(self.trees) * self.usual)))

    def check(self, columns: int) -> None:
        """See :meth:`LogisticPart.check`."""
        _check_numbers(self.medians, columns)
        _check_numbers([self.usual], 1)
        if self.usual <= 0 or not self.trees:
            raise ValueError("a forest has no trees")
        for tree in self.trees:
            tree.check(2 * columns)
            if min(tree.values) < 0:
                raise ValueError("a leaf has fewer splits than none")


def forest_features(scores: Floats, medians: Floats) -> Floats:
    """Return the features of an isolation forest ``(n, 2 m)``, for *medians* ``(m,)``.

    They are rounded to float32, as scikit-learn compares them.
    """
    missing = np.isnan(scores)
    most = float(np.finfo(np.float32).max)
    filled = np.clip(np.where(missing, medians, scores), -most, most).astype(np.float32)
    return np.hstack([filled, missing]).astype(np.float64)


Part = LogisticPart | MonotonePart | ForestPart
"""What combines the scores."""


@dataclass(frozen=True)
class Combiner:
    """A combiner of scores."""

    columns: list[CombinedColumn]
    part: Part
    facts: Mapping[str, Any] = field(default_factory=dict)
    """How it was trained."""

    def __call__(self, scores: Floats) -> Floats:
        """Combine the scores of rows, float64 ``(n, m)`` in the order of the columns.

        Returns the probability that each is good, 0 to 1: ``(n,)``; of an isolation forest, how
        usual it is. It is NaN for a row without a score that all rows of the training had.
        """
        combined = self.part.combined(scores)
        combined[self.unknown(scores)] = np.nan
        return combined

    def unknown(self, scores: Floats) -> Mask:
        """Return the rows without a score that all rows of the training had: ``(n,)``."""
        needed = [not column.missing and column.direction != 0 for column in self.columns]
        found: Mask = np.isnan(scores[:, needed]).sum(axis=1) > 0
        return found

    def to_json(self) -> bytes:
        """Return the text of its file."""
        head = {"format": FORMAT, "kind": self.part.kind, "facts": dict(self.facts)}
        columns = [asdict(column) for column in self.columns]
        return json_bytes({**head, "columns": columns, **asdict(self.part)})


def sigmoid(logits: Floats) -> Floats:
    """Return the probabilities of logits."""
    out: Floats = 1 / (1 + np.exp(-np.clip(logits, -_LARGEST_LOGIT, _LARGEST_LOGIT)))
    return out


def combiner_of(text: bytes, file: str) -> Combiner:
    """Read a combiner from the text of its *file*. Raises ModelError for any other text."""
    try:
        found = parse_json(text)
        if not isinstance(found, dict) or "kind" not in found:
            raise ValueError("not a combiner of bitext-train-combiner")
        if found["format"] != FORMAT:
            raise ValueError(f"its format is {found['format']!r}, this version reads {FORMAT}")
        return _combiner(found)
    except (ValueError, KeyError, TypeError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise ModelError(f"{file}: damaged combiner: {reason}") from None


def _combiner(found: dict[str, Any]) -> Combiner:
    columns = [CombinedColumn(**column) for column in found["columns"]]
    for column in columns:
        if not isinstance(column.name, int | str) or column.direction not in (-1, 0, 1):
            raise ValueError(f"the column {column.name!r} is damaged")
    if not columns or len({column.name for column in columns}) < len(columns):
        raise ValueError("columns are missing, or stand twice")
    kind = next((kind for kind in get_args(Part) if kind.kind == found["kind"]), None)
    if kind is None:
        raise ValueError(f"its kind {found['kind']!r} is unknown")
    values = {each.name: found[each.name] for each in fields(kind)}
    if "trees" in values:
        values["trees"] = [Tree(**tree) for tree in values["trees"]]
    part: Part = kind(**values)
    part.check(len(columns))
    return Combiner(columns, part, dict(found["facts"]))


def _check_numbers(numbers: Sequence[float], count: int) -> None:
    if len(numbers) != count:
        raise ValueError(f"{len(numbers)} numbers, expected {count}")
    for number in numbers:
        if type(number) not in (int, float) or not math.isfinite(number):
            raise ValueError(f"{number!r} is not a finite number")
