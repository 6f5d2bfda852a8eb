"""Thresholds: precision, recall and yield of each cut, estimated from labelled rows.

Labelled rows give the part r of the clean rows and the part q of the noise that a cut keeps. The
noise share s of the corpus is assumed: the precision is (1 - s) r / ((1 - s) r + s q), and the
yield is that denominator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from bitextfilter import __version__
from bitextfilter.arrays import Floats, Integers
from bitextfilter.evaluation.filtering import Labelled
from bitextfilter.evaluation.result import (
    Bootstrap,
    Estimate,
    Record,
    Result,
    Statistic,
    estimates,
    interval,
    signature,
)

NOISE_SHARE = 0.3
"""The noise share assumed of a corpus."""

_TIE = 1e-12
"""Figures this close are equal but for rounding: of cuts that tie, the lowest wins."""

CUT_FIGURES = ("precision", "recall", "f1", "rows", "words")
"""The figures of a cut; ``rows`` and ``words`` are the yields: the parts that it keeps."""

RECALLS = (
    *(1, 0.999, 0.998, 0.995, 0.99, 0.98, 0.97, 0.96, 0.95, 0.925),
    *np.arange(90, 0, -10) / 100,
)
"""About the recalls of the cuts that are shown."""


@dataclass(frozen=True)
class CutSettings:
    """The noise share assumed, and the goal: the highest F1, or a precision or recall."""

    noise_share: float | None = None
    """The noise share of the corpus to cut, over 0 and under 1; None: as in the rows."""
    precision: float | None = None
    """Seek the lowest cut of at least this precision."""
    recall: float | None = None
    """Seek the highest cut of at least this recall."""
    bootstrap: Bootstrap = field(default_factory=Bootstrap)

    @property
    def goal(self) -> str:
        """The goal in a word: ``f1``, or such as ``precision>=0.99``."""
        for name in ("precision", "recall"):
            if getattr(self, name) is not None:
                return f"{name}>={getattr(self, name):g}"
        return "f1"

    def share(self, labelled: Labelled) -> float:
        """Return the noise share: the one given, or the rows' own."""
        if self.noise_share is not None:
            return self.noise_share
        return 1 - float(np.mean(labelled.of(0)))


@dataclass(frozen=True)
class Cut:
    """The figures, 0 to 1, of keeping the rows that score at least ``threshold``."""

    threshold: float
    figures: dict[str, Estimate]
    """By the names in ``CUT_FIGURES``."""
    suggested: bool
    """Whether this cut meets the goal best."""


@dataclass(frozen=True)
class Origin:
    """The origin of estimates: scores in a file, and the command that evaluated them."""

    file: str
    """The path."""
    name: str
    """The printable name of the file."""
    command: str
    """The printable command line."""
    measure: str | None = None
    """The measure that scored the rows; None where the file has the scores."""
    model: str | None = None
    """The digest of its model."""

    def recommendation(self, known: Record, figures: Mapping[str, Estimate]) -> dict[str, Any]:
        """Return a recommended threshold as ``bitext-models recommend`` reads it.

        Args:
            known: use, measure, threshold, goal, noise share, rows and model.
            figures: precision, recall and f1, perhaps among others.
        """
        values = {name: figures[name].value for name in ("precision", "recall", "f1")}
        made = {"file": self.name, "command": self.command, "version": __version__}
        return {**known, **values, **made}


def cut_figures(labelled: Labelled, noise_share: float) -> tuple[Floats, Floats]:
    """Return every cut that could be best, ascending, and its precision, recall and F1.

    The cuts are the distinct scores of clean rows ``(cuts,)``, the figures ``(cuts, 3)``: in place
    of any other score, the next of these keeps as many clean rows and less noise.
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
    """Return the place of the cut that meets the goal best; None if none does."""
    precision, recall, f1 = figures.T
    if settings.precision is not None:
        found = np.flatnonzero(precision >= settings.precision - _TIE)
        return int(found[0]) if len(found) else None
    if settings.recall is not None:
        found = np.flatnonzero(recall >= settings.recall - _TIE)
        return int(found[-1]) if len(found) else None
    return int(np.argmax(f1 >= f1.max() - _TIE))


def estimate_cuts(labelled: Labelled, words: Integers, settings: CutSettings) -> list[Cut]:
    """Return the figures of some cuts, ascending, with the one that meets the goal best.

    Args:
        labelled: the rows; the corpus is assumed to have their kinds of noise as frequently.
        words: the number of words of each row, ``(n,)``.
        settings: the noise share and the goal.

    The intervals are of fixed cuts. As the suggested one was chosen on the same rows, its
    figures are slightly too good, the less the more rows there are. There are no cuts if no clean
    row has a score.
    """
    share = settings.share(labelled)
    cuts, figures = cut_figures(labelled, share)
    if not len(cuts):
        return []
    sought = _sought(figures, settings)
    places = {int(np.sum(figures[:, 1] >= recall)) - 1 for recall in RECALLS} - {-1}
    shown = sorted(places if sought is None else places | {sought})
    strata, statistic = _statistic(labelled, words, cuts[shown], share)
    found = estimates(strata, statistic, settings.bootstrap)
    return [
        Cut(
            float(cuts[place]),
            {name: Estimate(*found[:, j, i].tolist()) for j, name in enumerate(CUT_FIGURES)},
            place == sought,
        )
        for i, place in enumerate(shown)
    ]


def _statistic(
    labelled: Labelled, words: Integers, cuts: Floats, share: float
) -> tuple[list[Floats], Statistic]:
    """Return the strata, in cells of rows that pass equal cuts and have equal numbers of words.

    Also returns the function from strata to figures ``(5, cuts)``.
    """
    passed, base = np.searchsorted(cuts, labelled.scores, "right"), int(words.max()) + 1
    strata, values = [], []
    for label in range(len(labelled.kinds) + 1):
        rows = (passed * base + words)[labelled.of(label)]
        distinct, counts = np.unique(rows, return_counts=True)
        last, lengths = np.divmod(distinct, base)
        kept = last[:, None] > np.arange(len(cuts))
        strata.append(counts.astype(np.float64))
        values.append((kept.astype(np.float64), kept * lengths[:, None], lengths))

    def figures(drawn: Sequence[Floats]) -> Floats:
        sizes = drawn[0].sum(), sum(counts.sum() for counts in drawn[1:])
        means = []  # of the clean rows and of all noise: rows kept, words kept, and all words
        for kind in range(3):
            right, *wrong = (c @ each[kind] for c, each in zip(drawn, values, strict=True))
            means.append((right / sizes[0], reduce(np.add, wrong) / sizes[1]))
        clean, noise = means[0]
        rows, words_kept, all_words = ((1 - share) * c + share * n for c, n in means)
        part = words_kept / np.maximum(all_words, 1e-9)
        return np.stack([*_quality(clean, noise, share), rows, part])

    return strata, figures


def cuts_result(
    cuts: Sequence[Cut], labelled: Labelled, settings: CutSettings, origin: Origin
) -> Result:
    """Return a record for each cut; the suggested one has a signature and is recommended.

    Args:
        cuts: from :func:`estimate_cuts`.
        labelled: the rows.
        settings: the noise share and the goal.
        origin: of the rows.
    """
    share, rows = settings.share(labelled), len(labelled.labels)
    facts: dict[str, str | float] = {
        "n": rows,
        "clean": int(labelled.of(0).sum()),
        "noise_share": f"{share:.4g}",
        "by": settings.goal,
        **settings.bootstrap.facts,
        **({"sim": origin.measure, "model": origin.model or ""} if origin.measure else {}),
    }
    records, suggestion, recommended = [], None, []
    for cut in cuts:
        line = ""
        if cut.suggested:
            suggestion = line = signature(f"threshold = {cut.threshold!r}", **facts)
            known = {"use": "filtering", "measure": origin.measure, "threshold": cut.threshold}
            known |= {"goal": settings.goal, "noise_share": share, "rows": rows}
            known["model"] = origin.model
            recommended.append(origin.recommendation(known, cut.figures))
        made = {"threshold": cut.threshold, **cut.figures, "suggested": cut.suggested}
        records.append({**made, "suggestion": line})
    columns = {"threshold": "", **interval(*CUT_FIGURES, form=".4f"), "suggestion": ""}
    about: Record = {
        "file": origin.file,
        "goal": settings.goal,
        "suggestion": suggestion,
        "recommended": recommended,
    }
    return Result("suggest-threshold", columns, {"cuts": records}, about)
