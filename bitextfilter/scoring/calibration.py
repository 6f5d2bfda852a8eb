"""Probabilities that people call pairs right: a calibration of a model's scores.

``calibration.json`` of a model folder has curves: of the classifier's score and of other evidence
of a pair. Their sum is the logit of the probability that a person calls the row a right
translation, in a crawl with a certain share of right rows. Such a model is additive (Hastie &
Tibshirani 1990); each curve is linear between its points, so that it can be read. People's labels
of raw crawls fit them: see ``training/calibration.py``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats, Scores
from bitextfilter.errors import InputError, ModelError, SettingsError
from bitextfilter.io.records import json_bytes, parse_json
from bitextfilter.models.folders import CALIBRATION, CUTS, find_model
from bitextfilter.pairs.base import sigmoid
from bitextfilter.pairs.evidence import EVIDENCE

INPUTS = ("classifier", "cosine", *EVIDENCE)
"""The numbers of a pair that a calibration reads; ``classifier`` is the logit of ``mlp``."""

CURVES: Mapping[str, tuple[str, ...]] = {
    "classifier": ("classifier",),
    "cosine": ("cosine",),
    "foreign": ("foreign-source", "foreign-target"),
    "other": ("other-source", "other-target"),
    "marks": ("marks-source", "marks-target"),
    "length-ratio": ("length-ratio",),
    "copied": ("copied",),
    "figures": ("figures",),
}
"""The curves, and the inputs that each is applied to: both sides alike."""

DECIMALS = 4
"""Of the numbers of a calibration."""
_FORMAT = 1
Numbers = NDArray[np.floating]
_LEAST = 2.0**-25
"""The logit is of a score at least so far from 0 and from 1."""


def calibration_inputs(mlp: Numbers, cosines: Numbers, evidence: Floats) -> Floats:
    """Return ``INPUTS`` of ``n`` pairs, by their scores and ``EVIDENCE``: ``(n, len(INPUTS))``."""
    clipped = np.clip(mlp.astype(np.float64), _LEAST, 1 - _LEAST).tolist()
    logits = [math.log(score / (1 - score)) for score in clipped]
    return np.column_stack([logits, cosines, evidence])


@dataclass(frozen=True)
class Curve:
    """A curve, linear between its points and level beyond them."""

    at: list[float]
    """Ascending values of the input."""
    logits: list[float]
    """What each adds."""

    def check(self) -> None:
        """Raise ValueError unless it is one."""
        if len(self.at) != len(self.logits) or len(self.at) < 2:
            raise ValueError("a curve has no points, or points without values")
        if not all(map(_is_finite, (*self.at, *self.logits))):
            raise ValueError("a curve has a value that is no number")
        if sorted(set(self.at)) != self.at:
            raise ValueError("the points of a curve do not ascend")


def _is_finite(number: object) -> bool:
    return type(number) in (int, float) and math.isfinite(number)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Expected:
    """Shares of labelled rows, each 0 to 1, that a cut keeps."""

    right: float
    wrong: float


def pair_key(languages: Sequence[str]) -> str:
    """Return the key of two languages in either order: ``cs,en``."""
    return ",".join(sorted(languages))


@dataclass(frozen=True)
class Calibration:
    """Curves, and how they were fitted. Made by ``training/calibration.py`` and :func:`load`."""

    curves: Mapping[str, Curve]
    """By the names in ``CURVES``."""
    intercept: float
    right_share: float
    """Share of right rows in the crawl that probabilities are of, over 0 and under 1."""
    offsets: Mapping[str, float] = field(default_factory=dict)
    """By :func:`pair_key`, added to the logits of pairs in these languages."""
    cuts: Mapping[str, float] = field(default_factory=dict)
    """Least probabilities by name."""
    expected: Mapping[str, Mapping[str, Expected]] = field(default_factory=dict)
    """By :func:`pair_key`, or empty for the mean of all; then by the name of a cut."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """How it was fitted."""

    def logits(self, inputs: Floats, languages: Sequence[str]) -> Floats:
        """Return the logits of the probabilities of ``n`` pairs, ``(n,)``, by ``INPUTS``."""
        total = np.full(len(inputs), self.intercept + self.offsets.get(pair_key(languages), 0.0))
        for name, read in CURVES.items():
            curve = self.curves[name]
            columns = (inputs[:, INPUTS.index(each)] for each in read)
            added = [np.interp(column, curve.at, curve.logits) for column in columns]
            total += added[0] if len(added) == 1 else added[0] + added[1]
        return total

    def __call__(self, inputs: Floats, languages: Sequence[str]) -> Scores:
        """Return the probabilities of ``n`` pairs, 0 to 1, ``(n,)``; each depends on it alone."""
        return sigmoid(self.logits(inputs, languages))

    def expects(self, cut: str, languages: Sequence[str]) -> tuple[Expected, str]:
        """Return the expected shares of a cut by name, and the :func:`pair_key` they are of.

        The key is empty for the mean of all pairs of languages that have labels.
        """
        key = pair_key(languages)
        key = key if key in self.expected else ""
        return self.expected[key][cut], key

    def general(self) -> Calibration:
        """Return the calibration for pairs without labels: no offsets, and expected means.

        The offset of a single pair of languages is that of the model: it stays.
        """
        expected = {"": self.expected[""]} if "" in self.expected else {}
        of_model = sum(self.offsets.values()) if len(self.offsets) == 1 else 0.0
        intercept = round(self.intercept + of_model, DECIMALS)
        return replace(self, intercept=intercept, offsets={}, expected=expected)

    def to_json(self) -> bytes:
        """Return the text of its file."""
        return json_bytes({"format": _FORMAT, **asdict(self)}, indent=1)

    def write(self, folder: Path) -> None:
        """Write the file of an existing folder."""
        (folder / CALIBRATION).write_bytes(self.to_json())

    def check(self) -> None:
        """Raise ValueError unless all parts are there, and are numbers in their ranges."""
        if set(self.curves) != set(CURVES):
            raise ValueError(f"its curves are not {', '.join(CURVES)}")
        for curve in self.curves.values():
            curve.check()
        if not all(map(_is_finite, (self.intercept, *self.offsets.values()))):
            raise ValueError("the intercept or an offset is no number")
        if not 0 < self.right_share < 1:
            raise ValueError(f"right_share {self.right_share!r} is not between 0 and 1")
        if set(self.cuts) != set(CUTS) or not all(0 <= cut <= 1 for cut in self.cuts.values()):
            raise ValueError(f"its cuts are not {', '.join(CUTS)}, from 0 to 1")
        if "" not in self.expected or any(set(one) != set(CUTS) for one in self.expected.values()):
            raise ValueError("the expected shares of its cuts are missing")


def _calibration(found: Any) -> Calibration:
    if not isinstance(found, dict) or found.pop("format", None) != _FORMAT:
        raise ValueError(f"not of the format {_FORMAT}, which this version reads")
    curves = {name: Curve(**curve) for name, curve in found.pop("curves").items()}
    expected = {
        pair: {name: Expected(**shares) for name, shares in cuts.items()}
        for pair, cuts in found.pop("expected").items()
    }
    made = Calibration(curves=curves, expected=expected, **found)
    made.check()
    return made


def load_calibration(folder: Path) -> Calibration | None:
    """Read the calibration of a model folder; None if it has none. ModelError if damaged."""
    path = folder / CALIBRATION
    try:
        return _calibration(parse_json(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelError(f"{path}: unusable calibration: {error}") from error


@functools.cache
def general_calibration(languages: int = 2) -> Calibration:
    """Return the calibration for a model of so many languages, without labels of its own.

    It is that of the shipped model of as many: of two, ``en-de``, or of more, ``multi``.
    """
    found = load_calibration(find_model("en-de" if languages == 2 else "multi"))
    assert found is not None, "it is shipped"
    return found.general()


_STEPS = 1000
_STILL = 1e-6


def estimated_share(probabilities: Floats, right_share: float) -> float:
    """Estimate the share of right rows among rows by their probabilities, ``(n,)``: 0 to 1.

    *right_share*: of the crawl that the probabilities are of. By expectation maximisation: Saerens,
    Latinne & Decaestecker 2002, Adjusting the outputs of a classifier to new a priori
    probabilities, eq. 7. Returns *right_share* for no rows.
    """
    share = right_share
    values, counts = np.unique(np.round(probabilities, 4), return_counts=True)
    for _ in range(_STEPS if len(values) else 0):
        found = float(np.average(with_share(values, right_share, share), weights=counts))
        if abs(found - share) < _STILL:
            break
        share = found
    return share


def with_share(probabilities: Floats, before: float, after: float) -> Floats:
    """Return probabilities in a crawl with another share of right rows (eq. 4 of the same)."""
    right = probabilities * after * (1 - before)
    wrong = (1 - probabilities) * (1 - after) * before
    total = right + wrong
    return np.divide(right, total, out=np.zeros_like(right), where=total > 0)


ESTIMATE = "estimate"
"""In place of a share of right rows: it is estimated."""


class CorpusCut(NamedTuple):
    """A cut of a corpus by the share of its rows that are right."""

    right_share: float
    """0 to 1."""
    least: float
    """The least probability, as a calibration gives it, of a row that is kept."""

    def note(self, asked: float, estimated: bool) -> str:
        """Return a line that tells them, for a least probability *asked*."""
        found = f"{self.right_share:.1%} of the rows are right" + ", by estimate" * estimated
        return f"{found}: a probability of {asked:g} among them is {self.least:.4f} in the scores"


def corpus_cut(
    before: float, probabilities: Floats, asked: float, right_share: float | str
) -> CorpusCut:
    """Return the cut at the probability *asked* in a corpus with a share of right rows.

    Args:
        before: the share of right rows in the crawl that probabilities are of.
        probabilities: of the rows, ``(n,)``; NaN for a row without one.
        asked: 0 to 1.
        right_share: 0 to 1, or ``ESTIMATE``.

    Raises SettingsError for another number, InputError for a score that is no probability.
    """
    if not 0 <= asked <= 1:
        raise SettingsError(f"with a share of right rows, the least score is 0 to 1, not {asked:g}")
    if outside := int(((probabilities < 0) | (probabilities > 1)).sum()):
        raise InputError(f"{outside} scores are no probabilities, which are from 0 to 1")
    if isinstance(right_share, str):
        right_share = estimated_share(probabilities[np.isfinite(probabilities)], before)
    least = float(with_share(np.array([asked]), right_share, before)[0])
    return CorpusCut(right_share, least)
