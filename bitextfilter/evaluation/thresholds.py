"""Which score to cut at: precision, recall and yield of each cut, estimated from labelled rows.

The labelled rows say which part of the clean, and which of the noise, a cut keeps. How much noise
there is in the corpus to be cut, they do not: with a noise share of s, a cut that keeps the parts r
of the clean and q of the noise has the precision (1 - s) r / ((1 - s) r + s q), and that
denominator is its yield.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from bitextfilter.arrays import Floats
from bitextfilter.evaluation.filtering import Bootstrap, Estimate, Labelled, estimates

_TIE = 1e-12
"""Figures so near to each other are equal but for rounding: of cuts that tie, the lowest wins."""

FIGURES = ("precision", "recall", "f1", "rows", "words")
"""What is estimated of a cut; ``rows`` and ``words`` are the yields: the parts that are kept."""

RECALLS = (
    1,
    0.999,
    0.998,
    0.995,
    0.99,
    0.98,
    0.97,
    0.96,
    0.95,
    0.925,
    *np.arange(90, 0, -10) / 100,
)
"""The cuts that are shown keep about so much of what is clean."""


@dataclass(frozen=True)
class CutSettings:
    """What is assumed, and what is sought: the highest F1, unless one of the two is given."""

    noise_share: float | None = None
    """Part of the rows to be cut that is noise, over 0 and under 1; None for that of the rows."""
    precision: float | None = None
    """Seek the lowest cut of at least this precision."""
    recall: float | None = None
    """Seek the highest cut of at least this recall."""
    bootstrap: Bootstrap = field(default_factory=Bootstrap)

    @property
    def goal(self) -> str:
        """What is sought, in a word."""
        for name in ("precision", "recall"):
            if getattr(self, name) is not None:
                return f"{name}>={getattr(self, name):g}"
        return "f1"

    def share(self, labelled: Labelled) -> float:
        """Return the noise share: the one given, or that of the rows."""
        if self.noise_share is not None:
            return self.noise_share
        return 1 - float(np.mean(labelled.of(0)))


@dataclass(frozen=True)
class Cut:
    """What comes of keeping the rows that score at least ``threshold``, all from 0 to 1."""

    threshold: float
    figures: dict[str, Estimate]
    """By the names in ``FIGURES``."""
    suggested: bool
    """Whether this is what was sought."""


def cut_figures(labelled: Labelled, noise_share: float) -> tuple[Floats, Floats]:
    """Return every cut that could be best, ascending, and its precision, recall and F1.

    Those are the distinct scores of clean rows ``(cuts,)`` (of any other, the next one up keeps as
    much that is clean and less noise), with figures ``(cuts, 3)``. No score, no cut.
    """
    cuts, parts = np.unique(labelled.scores[labelled.of(0)]), []
    cuts = cuts[np.isfinite(cuts)]
    for part in (labelled.of(0), ~labelled.of(0)):
        scores = np.sort(labelled.scores[part])
        parts.append((len(scores) - np.searchsorted(scores, cuts)) / len(scores))
    return cuts, np.stack(_quality(parts[0], parts[1], noise_share), axis=-1)


def _quality(clean: Floats, noise: Floats, share: float) -> tuple[Floats, Floats, Floats]:
    """Return precision, recall and F1 of keeping the parts *clean* and *noise*."""
    right, wrong = (1 - share) * clean, share * noise
    kept = right + wrong
    precision = np.divide(right, kept, out=np.zeros_like(kept), where=kept > 0)
    return precision, clean, 2 * right / (kept + 1 - share)


def _sought(figures: Floats, settings: CutSettings) -> int | None:
    """Return the place of the cut that is sought; None if there is none."""
    precision, recall, f1 = figures.T
    if settings.precision is not None:
        found = np.flatnonzero(precision >= settings.precision - _TIE)
        return int(found[0]) if len(found) else None
    if settings.recall is not None:
        found = np.flatnonzero(recall >= settings.recall - _TIE)
        return int(found[-1]) if len(found) else None
    return int(np.argmax(f1 >= f1.max() - _TIE))


def estimate_cuts(labelled: Labelled, words: NDArray[np.int64], settings: CutSettings) -> list[Cut]:
    """Estimate what some cuts keep, ascending, the one sought among them if there is one.

    Args:
        labelled: the rows; their kinds of noise are taken to be as frequent as they are there.
        words: how many words each row has, ``(n,)``.
        settings: what is assumed and sought.

    The intervals are those of each cut as it stands: that the one sought was chosen on the same
    rows makes its figures a little too good, the less the more rows there are.
    Without a clean row that has a score there is no cut.
    """
    share = settings.share(labelled)
    cuts, figures = cut_figures(labelled, share)
    if not len(cuts):
        return []
    sought = _sought(figures, settings)
    places = {int(np.sum(figures[:, 1] >= recall)) - 1 for recall in RECALLS} - {-1}
    shown = sorted(places if sought is None else places | {sought})
    strata, statistic = _cells(labelled, words, cuts[shown], share)
    found = estimates(strata, statistic, settings.bootstrap)
    return [
        Cut(
            float(cuts[place]),
            {name: Estimate(*found[:, j, i].tolist()) for j, name in enumerate(FIGURES)},
            place == sought,
        )
        for i, place in enumerate(shown)
    ]


def _cells(
    labelled: Labelled, words: NDArray[np.int64], cuts: Floats, share: float
) -> tuple[list[Floats], _Statistic]:
    """Return the rows of each label by the cuts they pass and their words, and the statistic."""
    passed, base = np.searchsorted(cuts, labelled.scores, "right"), int(words.max()) + 1
    strata, cells = [], []
    for label in range(len(labelled.kinds) + 1):
        rows = (passed * base + words)[labelled.of(label)]
        distinct, counts = np.unique(rows, return_counts=True)
        strata.append(counts.astype(np.float64))
        cells.append(np.stack(np.divmod(distinct, base)))
    return strata, _Statistic(cells, len(cuts), share)


class _Statistic:
    """Makes the figures ``(5, cuts)`` of a resample."""

    def __init__(self, cells: Sequence[NDArray[np.int64]], cuts: int, share: float) -> None:
        """Take each stratum's cells ``(2, cells)``: how many of the *cuts* passed, and words."""
        kept = [passed[:, None] > np.arange(cuts) for passed, _ in cells]
        self._rows = [each.astype(np.float64) for each in kept]
        self._words = [each * words[:, None] for each, (_, words) in zip(kept, cells, strict=True)]
        self._lengths = [words for _, words in cells]
        self._share = share

    def __call__(self, strata: Sequence[Floats]) -> Floats:
        """Return the figures of the clean rows and of all kinds of noise."""
        sizes = [strata[0].sum(), sum(counts.sum() for counts in strata[1:])]
        clean, noise = self._parts(strata, self._rows, sizes)
        words = self._parts(strata, self._words, sizes)
        lengths = self._parts(strata, self._lengths, sizes)
        kept_words, all_words = self._mixed(*words), self._mixed(*lengths)
        return np.stack(
            [
                *_quality(clean, noise, self._share),
                self._mixed(clean, noise),
                kept_words / np.maximum(all_words, 1e-9),
            ]
        )

    @staticmethod
    def _parts(
        strata: Sequence[Floats], values: Sequence[Floats], sizes: Sequence[float]
    ) -> tuple[Floats, Floats]:
        """Return the mean of the cells' values over the clean rows, and over all noise."""
        clean, *noise = (c @ v for c, v in zip(strata, values, strict=True))
        return clean / sizes[0], reduce(np.add, noise) / sizes[1]

    def _mixed(self, clean: Floats, noise: Floats) -> Floats:
        """Return the mean over rows of which the noise share is noise."""
        return (1 - self._share) * clean + self._share * noise
